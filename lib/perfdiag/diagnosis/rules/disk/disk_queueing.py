"""A rule on requests that wait in front of a disk, because more is asked at once than it can take."""

from __future__ import annotations

from collections.abc import Iterable

from perfdiag.diagnosis.evidence.disk.backing_disks import DISK, Backing, device_of
from perfdiag.diagnosis.evidence.disk.device_load import hardly_waits, unmeasured
from perfdiag.diagnosis.evidence.disk.disk_waits import CHAIN, KINDS, Case, case_of
from perfdiag.diagnosis.evidence.disk.other_users import neighbours
from perfdiag.diagnosis.evidence.target import again, setting, subject
from perfdiag.diagnosis.rule import (
    Check,
    Confidence,
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
    judged,
    percent,
    plain,
    size,
    total_ns,
    typical_ns,
    worth,
)
from perfdiag.model.model import Model

# Queueing is what makes requests slow when it takes at least half of their time ...
QUEUED_PART = 0.5
# ... and a millisecond: shorter queues are how a scheduler merges and a device works in parallel.
QUEUED_NS = 1_000_000


@rule(
    "DISK-QUEUEING",
    title="Requests wait in front of a disk, not in it",
    accounts=DISK,
    meaning="The disk answers each request in good time, but requests wait longer in the kernel's queue than the disk"
    " needs for them: more is asked at once than it can take.",
    measured="Queue time (from insertion to the device's start) against service time of all requests of the disks"
    " below the device, whoever asked, over the whole window; joined by device and kind (reads with reads) with the"
    " target's exact waits, which must be long enough to have stood in that queue. The queue's part of them is"
    " claimed.",
    alternatives="An I/O scheduler that holds requests back on purpose (BFQ, a priority class); a device with a small"
    " queue of its own; large streams of somebody else.",
    remedies="Find who else writes or reads; a scheduler that fits the medium; fewer requests at once; more disks.",
    verify="iostat -x 1: aqu-sz and await fall while the disk's own time stays.",
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
        yield hardly_waits(model, "DISK-QUEUEING", "queues of disks")
    elif not model.measured("block"):
        yield unmeasured("DISK-QUEUEING")
    for (account, _), rows in groups.items() if model.measured("block") else ():
        case = case_of(model, KINDS[account], rows)
        requests, name = case.chain, case.where.name
        if not requests.count:
            yield Silence("DISK-QUEUEING", f"no request of the disks under {name} was seen", "iostat -x 1")
            continue
        queue_ns, part = typical_ns(requests.queue), requests.queued_part
        ns = round(total_ns(rows) * part * _explained(case))
        # A wait shorter than the queue did not stand in it: the scheduler let it pass, and others waited.
        stood = case.wait_ns >= queue_ns
        if part < QUEUED_PART or queue_ns < QUEUED_NS or not stood or not worth(model, ns):
            others = "" if stood else f", of others: {subject(model)}'s own waits are shorter"
            yield Check(
                "DISK-QUEUEING",
                f"{name}: queueing {percent(part)} of the time of its requests"
                f" ({', '.join(KINDS[account].operations)}){others}",
                part,
                "share",
            )
            continue
        yield _finding(model, account, case, ns)


def _finding(model: Model, account: str, case: Case, ns: int) -> Finding:
    requests, name = case.chain, case.where.name
    queue_ns, part = typical_ns(requests.queue), requests.queued_part
    others = neighbours(model, case.where, case.rows)
    confidence, limits = judged(
        model, Confidence.HIGH, ["the disk's requests are counted together, whoever asked for them"]
    )
    in_flight = (requests.queue.sum_ns + requests.service.sum_ns) / model.window_ns
    return Finding(
        "DISK-QUEUEING",
        Severity.INFO if requests.streams and not others else fault(model, ns),
        confidence,
        f"Requests to {name} wait {about(queue_ns)} in its queue and only {about(typical_ns(requests.service))}"
        f" in the disk: more is asked at once than it can take{f'; {others.words}' if others else ''}.",
        {(account, case.rows[0].key): ns},
        [
            Evidence(
                f"queue {percent(part)} of {requests.count:,} requests' time; {in_flight:.1f} in flight on average,"
                f" {size(requests.bytes / requests.count)} each",
                part,
                "share",
                "block_rq_complete",
            ),
            *([others.evidence] if others else []),
            *_busy(model, case.where),
        ],
        [
            *([others.remedy] if others else []),
            *_scheduler(model, case.where),
            fix(
                ("" if others else "find who else uses the disk (iotop, or perfdiag on them) and move or slow it; ")
                + "ask for less at once; spread over more disks"
            ),
        ],
        alternatives=[f"a scheduler or I/O priority that holds {subject(model)} back", "streams of other processes"],
        limits=limits,
        verify=f"{again(model)}; iostat -x 1: aqu-sz, await",
        headline=f"Requests queue at disk {brief(name)}{', mostly behind those of others' if others else ''}",
        mechanism=Mechanism.BUSY,
    )


def _explained(case: Case) -> float:
    """Return which part of a wait its requests can stand for; the rest passes above the device."""
    mean_wait = case.wait.sum_ns / case.wait.count if case.wait.count else 0.0
    mean_request = case.chain.mean_ns
    return min(1.0, CHAIN * mean_request / mean_wait) if mean_wait else 0.0


def _busy(model: Model, where: Backing) -> list[Evidence]:
    found = []
    for device in where.disks:
        disk = model.facts.disks.get(device)
        if disk and disk.activity and model.window_ns:
            share = min(1.0, disk.activity.busy_ns / model.window_ns)
            found.append(Evidence(f"{plain(disk.name)} busy {percent(share)} of the time", share, "share", "diskstats"))
    return found[:2]


def _scheduler(model: Model, where: Backing) -> list[Remedy]:
    """Return a trial where the scheduler does not fit the medium."""
    found = []
    for device in where.disks[:1]:
        disk = model.facts.disks.get(device)
        fitting = {"rotational": "mq-deadline", "solid": "none"}.get(where.medium)
        if disk and disk.scheduler and fitting and disk.scheduler not in (fitting, "mq-deadline"):
            found.append(setting(f"/sys/block/{disk.whole}/queue/scheduler", fitting, disk.scheduler))
    return found


__all__ = ["queueing"]
