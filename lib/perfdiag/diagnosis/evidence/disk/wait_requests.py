"""What the requests of a disk say of waits for it: which are slow, and what they are evidence of."""

from dataclasses import replace

from perfdiag.diagnosis.evidence.disk.backing_disks import device_of
from perfdiag.diagnosis.evidence.disk.disk_waits import FLUSH, Case, Kind
from perfdiag.diagnosis.evidence.disk.flushed_files import flushes_shown
from perfdiag.diagnosis.evidence.disk.other_users import Neighbours
from perfdiag.diagnosis.evidence.disk.slow_members import slow_member
from perfdiag.diagnosis.rule import Evidence
from perfdiag.diagnosis.significance import about, duration, typical_ns, waits
from perfdiag.model.model import Model


def slow_requests(model: Model, kind: Kind, case: Case) -> str:
    """Return the requests slower than usual for such a disk, "" for none.

    A wait shorter than a request did not wait for it.  A slow array member is a finding of its own.
    """
    for operation in reversed(kind.operations):
        apart = slow_member(model, case.where, operation)
        alike = replace(case.where, disks=tuple(disk for disk in case.where.disks if disk != apart))
        requests = alike.requests(model, operation)
        typical, norm = typical_ns(requests.service), case.where.norm_ns(requests, operation == "flush")
        if requests.count and typical >= norm and case.wait_ns >= max(norm, typical / 2):
            return f"{operation.capitalize()} requests take {about(typical)} (usual: up to {duration(norm)})"
    return ""


def limit_of(model: Model, case: Case) -> str:
    """Return why nothing is known of a disk's own times, "" where it is."""
    if case.chain.count:
        return ""
    if not model.measured("block"):
        return "the device's own times were not measured"
    lost = model.coverage.lost.get("devices_full", 0)
    full = f" (the table of devices was full for {lost:,} requests)" if lost else ""
    return f"no request to the disks under {case.where.name} was seen{full}"


def evidence_of(model: Model, kind: Kind, case: Case, others: Neighbours | None = None) -> list[Evidence]:
    """Return the waits, the part of others, and queue and service time of the requests behind them."""
    found = [waits(case.wait, kind.counted), *([others.evidence] if others else [])]
    for operation in kind.operations:
        requests = case.where.requests(model, operation)
        # What no wait was as long as, somebody else waited for.
        whose = ", mostly of other processes" if typical_ns(requests.queue) > case.wait.max_ns else ""
        if requests.count:
            found.append(
                Evidence(
                    f"{requests.count:,} {operation} requests{whose}: {about(typical_ns(requests.queue))} in the queue,"
                    f" {about(typical_ns(requests.service))} in the device each",
                    float(typical_ns(requests.service)),
                    "ns",
                    "block_rq_complete",
                )
            )
    return [*found, *(flushes_shown(model, device_of(case.rows[0])) if kind is FLUSH else [])]
