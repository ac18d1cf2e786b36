"""DISK-QUEUEING: requests wait in the queue of a disk."""

from collections.abc import Iterable

from perfdiag.diagnosis.evidence.disk.backing_disks import DISK, Backing, device_of
from perfdiag.diagnosis.evidence.disk.device_load import hardly_waits, unmeasured
from perfdiag.diagnosis.evidence.disk.disk_waits import KINDS, Case, case_of
from perfdiag.diagnosis.evidence.disk.other_users import LIMIT, Neighbours, neighbours
from perfdiag.diagnosis.evidence.fix_checks import part_under
from perfdiag.diagnosis.evidence.target import setting, subject
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import disk_policy
from perfdiag.diagnosis.rule import (
    Check,
    Evidence,
    Finding,
    Mechanism,
    Outcome,
    Remedy,
    Severity,
    Silence,
    rule,
)
from perfdiag.diagnosis.significance import (
    about,
    brief,
    by_key,
    fault,
    fix,
    percent,
    plain,
    size,
    total_ns,
    typical_ns,
    worth,
)
from perfdiag.model.model import Model


@rule(
    "DISK-QUEUEING",
    title="Requests wait in the queue of a disk",
    accounts=DISK,
    meaning=(
        "The disk serves each request in good time, but requests wait longer in the kernel's queue than the disk"
        " needs for them. The queue depth is too high for this disk."
    ),
    measured=(
        "Queue time against service time of all requests to the disk, joined by device and operation with the"
        " target's waits. A wait must be long enough to include that queue; the queue's part is"
        " claimed, or all of it where other processes move most of the disk's bytes."
    ),
    alternatives=(
        "An I/O scheduler or priority (BFQ) delays requests, the device has a small queue, or another process streams"
        " large files."
    ),
    remedies="Find the other users of the disk, change the scheduler, send fewer requests at once, or add disks.",
    verify=("With --full, requests spend less than half of their time in the queue; aqu-sz in iostat -x 1 is smaller."),
    beats=("DISK-FLUSH-SLOW", "DISK-READ-SLOW", "DISK-WRITE-SLOW"),
)
def queueing(model: Model) -> Iterable[Outcome]:
    """Join queue and service time of requests with the target's waits, by device and kind of wait."""
    groups = {
        pair: rows
        for pair, rows in by_key(model.rows_of(*DISK)).items()
        if device_of(rows[0]) and worth(model, total_ns(rows))
    }
    if not groups:
        yield hardly_waits(model, "DISK-QUEUEING", "disk queues")
    elif not model.measured("block"):
        yield unmeasured("DISK-QUEUEING")
    for (account, _), rows in groups.items() if model.measured("block") else ():
        case = case_of(model, KINDS[account], rows)
        requests, name = case.chain, case.where.name
        if not requests.count:
            yield Silence("DISK-QUEUEING", f"no request of the disks under {name} was seen", "iostat -x 1")
            continue
        queue_ns, part = typical_ns(requests.queue), requests.queued_part
        others = neighbours(model, case.where, rows)
        # Whoever keeps the disk busy has the time in the device, too.
        ns = total_ns(rows) if others else round(total_ns(rows) * part * _explained(case))
        # A wait shorter than the queue was not in it: the scheduler let it pass.
        stood = case.wait_ns >= queue_ns
        if part < disk_policy.queued_share or queue_ns < disk_policy.queued_ns or not stood or not worth(model, ns):
            whose = "" if stood else f" (other processes' requests: {subject(model)}'s waits are shorter)"
            yield Check(
                "DISK-QUEUEING",
                f"{name}: {percent(part)} of the request time ({', '.join(KINDS[account].operations)}) is"
                f" queueing{whose}",
                part,
                "share",
            )
            continue
        yield _finding(model, account, case, ns, others)


def _finding(model: Model, account: str, case: Case, ns: int, others: Neighbours | None) -> Finding:
    requests, name = case.chain, case.where.name
    queue_ns, part = typical_ns(requests.queue), requests.queued_part
    in_flight = (requests.queue.sum_ns + requests.service.sum_ns) / model.window_ns
    return conclude(
        model,
        {(account, case.rows[0].key): ns},
        headline=_headline(name, others),
        claim=(
            f"Requests to {name} wait {about(queue_ns)} in its queue; the disk needs"
            f" {about(typical_ns(requests.service))}.{f' {others.sentence}' if others else ''}"
        ),
        mechanism=Mechanism.BUSY,
        severity=Severity.INFO if requests.streams and not others else fault(model, ns),
        doubts=[LIMIT if others else "requests of all processes are counted together"],
        evidence=[
            *([others.evidence] if others else []),
            Evidence(
                f"{percent(part)} of request time is queueing: {requests.count:,} requests of"
                f" {size(requests.bytes / requests.count)}, {in_flight:.1f} in flight",
                part,
                "share",
                "block_rq_complete",
            ),
            *_busy(model, case.where),
        ],
        remedies=[
            *([others.remedy] if others else []),
            *_scheduler(model, case.where),
            fix(
                ("" if others else "find other users of the disk (iotop -obP) and limit or move them; ")
                + "send fewer requests at once, or spread them over more disks"
            ),
        ],
        others=others.others if others else (),
        alternatives=[f"a scheduler or I/O priority delays {subject(model)}", "another process streams large files"],
        verify=part_under(model, "queueing", f"request time of {name}", part, disk_policy.queued_share),
    )


def _headline(name: str, others: Neighbours | None) -> str:
    if others and others.held_back:
        return others.keeps_busy(f"disk {brief(name)}")
    return f"Requests queue at disk {brief(name)}{f' behind those of {others.who}' if others else ''}"


def _explained(case: Case) -> float:
    """Return the part of a wait its requests explain; the rest passes above the device."""
    mean_wait = case.wait.sum_ns / case.wait.count if case.wait.count else 0.0
    mean_request = case.chain.mean_ns
    return min(1.0, disk_policy.requests_per_wait * mean_request / mean_wait) if mean_wait else 0.0


def _busy(model: Model, where: Backing) -> list[Evidence]:
    found = []
    for device in where.disks:
        disk = model.facts.disks.get(device)
        if disk and disk.activity and model.window_ns:
            share = min(1.0, disk.activity.busy_ns / model.window_ns)
            found.append(
                Evidence(f"{percent(share)} of the time {plain(disk.name)} is busy", share, "share", "diskstats")
            )
    return found[:2]


def _scheduler(model: Model, where: Backing) -> list[Remedy]:
    """Return a trial if the scheduler does not fit the medium."""
    found = []
    for device in where.disks[:1]:
        disk = model.facts.disks.get(device)
        fitting = {"rotational": "mq-deadline", "solid": "none"}.get(where.medium)
        if disk and disk.scheduler and fitting and disk.scheduler not in (fitting, "mq-deadline"):
            found.append(setting(f"/sys/block/{disk.whole}/queue/scheduler", fitting, disk.scheduler))
    return found
