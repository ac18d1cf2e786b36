"""What the rules on waits for disks judge alike: is the device slow, something above it, or is it asked often?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from perfdiag.diagnosis.evidence.disk.backing_disks import Requests, device_of
from perfdiag.diagnosis.evidence.disk.disk_waits import FLUSH, Case, Kind, case_of, without_cpus
from perfdiag.diagnosis.evidence.disk.other_users import LIMIT, Neighbours, neighbours
from perfdiag.diagnosis.evidence.disk.slow_members import slow_member
from perfdiag.diagnosis.evidence.locks.wait_paths import behind_ns
from perfdiag.diagnosis.evidence.target import again, subject
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
)
from perfdiag.diagnosis.significance import (
    about,
    brief,
    by_key,
    duration,
    fault,
    fix,
    judged,
    percent,
    together,
    total_ns,
    typical_ns,
    waits,
    without_rows,
    worth,
)
from perfdiag.model.model import Model

# Waits as long as their device allows are profile, and named from a tenth of the busy time on.
PROFILE_SHARE = 0.1
# Without the device's own times only waits of twice the norm are surely too long.
SURELY = 2
STARVED = "how long the kernel's own threads waited for CPUs is not known here"
WHO_HAS_CPUS = fix("see who has the CPUs, and measure again when they are free: perfdiag host")
MEASURED = (
    "Exact waits by device (ledger), over the whole window; joined by device number, through partitions, md and dm to"
    " the disks below, with queue and service time of those disks' requests (from the requests themselves, whoever"
    " asked). The wait and the request in which half of the time was spent are compared. Norms for one request: 20 ms"
    " where a disk turns, 2 ms (flushes 4 ms) for flash, 10 ms for virtual disks; large requests may take as long as"
    " their bytes need at 100 MB/s; the slow member of an array (DISK-MEMBER-SLOW) is left out. What the disks moved"
    " (diskstats) is compared with what the target's processes read and wrote (/proc/PID/io) at most, with all that"
    " was dirty when the window began: the rest is others'. Time lost above the device while CPUs are idle for less"
    " than 5 % may be the kernel's own threads' wait for one."
)


def judge(kind: Kind, model: Model) -> Iterable[Outcome]:
    """Judge the waits of one kind, device by device."""
    found = False
    for rows in by_key(model.rows_of(kind.account)).values():
        if worth(model, total_ns(rows) + behind_ns(model, rows[0].account, rows[0].key)):
            finding = _finding(model, kind, case_of(model, kind, rows))
            found = found or finding is not None
            yield from [finding] if finding else []
    if not found:
        rowless = without_rows(model, kind.id, kind.account) or _nameless(model, kind)
        if rowless:
            yield rowless
            return
        whole = together(model.rows_of(kind.account))
        each = f", half of the time in waits of {about(typical_ns(whole))} or less" if whole.count else ""
        share = model.share(kind.account)
        yield Check(kind.id, f"{kind.nouns} {percent(share)} of busy time{each}", share, "share")


def _nameless(model: Model, kind: Kind) -> Silence | None:
    """Return the silence of waits on a device that is not known: what such a device should take is not known either."""
    ns = total_ns([row for row in model.rows_of(kind.account) if not device_of(row)])
    if not worth(model, ns):
        return None
    reason = f"{duration(ns)} of waiting for {kind.nouns}, on which device is not known"
    return Silence(kind.id, reason, f"iostat -x 1 while {subject(model)} runs shows which disks are busy")


def _finding(model: Model, kind: Kind, case: Case) -> Finding | None:
    name, slow = case.where.name, _slow_requests(model, kind, case)
    others = neighbours(model, case.where, case.rows) if case.above or slow or _long(kind, case) else None
    judgement = _judgement(model, kind, case, slow, others)
    if judgement is None:
        return None
    severity, claimed, claim, mechanism, headline = judgement
    starved = without_cpus(model) if case.above else ""
    best = Confidence.MEDIUM if starved else Confidence.HIGH
    confidence, limits = judged(model, best, [_limit(model, case), LIMIT if others else "", STARVED if starved else ""])
    alternatives = ["work of other processes on the same disk (its requests are all counted together)"]
    if case.above or others:
        alternatives = [kind.above] if case.above else ["a disk that is slow without that work too"]
    return Finding(
        kind.id,
        severity,
        confidence,
        claim,
        {(kind.account, case.rows[0].key): claimed},
        [*_evidence(model, kind, case), *([others.evidence] if others else [])],
        [*([WHO_HAS_CPUS] if starved else []), *([others.remedy] if others else []), *_remedies(kind, case, severity)],
        ruled_out=[]
        if case.above or others or not case.chain.count or slow
        else ["a slow device, and anything above it"],
        alternatives=alternatives,
        limits=limits,
        verify=f"{again(model)}: {kind.account} on {name}, p50",
        headline=headline,
        mechanism=mechanism,
    )


def _judgement(
    model: Model, kind: Kind, case: Case, slow: str, others: Neighbours | None
) -> tuple[Severity, int, str, Mechanism, str] | None:
    """Return how bad the waits on one device are, how much of them is claimed, the claim and its cause in brief;
    None: not worth one."""
    ns, name, each = total_ns(case.rows), case.where.name, about(case.wait_ns)
    felt_ns = ns + behind_ns(model, kind.account, case.rows[0].key)
    mean = duration(case.wait.sum_ns / case.wait.count) if case.wait.count else each
    half = f"take {mean} on average, half the time is in waits of {each}"
    if case.above:
        above = "the time is lost above the device" + (f"; {others.words}" if others else "")
        if starved := without_cpus(model):
            above += f", as likely as not because the kernel's own threads wait for CPUs: {starved}"
        disk = f"its disk answers in {about(case.chain.typical_ns)}"
        claim = f"Waits for {kind.nouns} on {name} {half}, {disk}: {above}."
        headline = f"{kind.nouns.capitalize()} on {brief(name)} wait above the disk, which is fast"
        return fault(model, felt_ns), case.lost_ns, claim, Mechanism.SLOW, headline
    if others:
        long = slow or f"half the time of {kind.nouns} is in waits of {each}"
        claim = f"Others keep the disk under {name} busy: {others.words}, and {long}; a wait takes {mean} on average."
        headline = f"Other processes keep the disk under {brief(name)} busy"
        return fault(model, felt_ns), ns, claim, Mechanism.BUSY, headline
    if slow:
        claim = f"The disk under {name} is slow: {slow}; a wait for {kind.nouns} takes {mean} on average."
        return fault(model, felt_ns), ns, claim, Mechanism.SLOW, f"The disk under {brief(name)} is slow at {kind.nouns}"
    if not case.chain.count and case.wait_ns >= SURELY * case.where.norm_ns(case.chain, kind is FLUSH):
        return (
            fault(model, felt_ns),
            ns,
            f"Waits for {kind.nouns} on {name} {half}: longer than any such device should.",
            Mechanism.SLOW,
            f"{kind.nouns.capitalize()} on {brief(name)} take longer than any such device should",
        )
    if felt_ns < PROFILE_SHARE * model.busy_ns:
        return None
    each_of = f"{case.wait.count:,} waits for {kind.nouns} on {name} take {mean} on average"
    norm = "its disk's requests" if case.chain.count else "such devices may"
    claim = (
        f"{each_of} (half the time is in waits of {each}), as long as {norm}: none is slow, but there are many."
        if case.where.device
        else f"{each_of}: too long or not, which device is not known."
    )
    mechanism = Mechanism.MANY if case.where.device else Mechanism.OTHERS
    many = f"There are many {kind.nouns} on {brief(name)}; none of them is slow"
    return (
        Severity.INFO,
        ns,
        claim,
        mechanism,
        many if case.where.device else f"Threads wait for {kind.nouns} on {brief(name)}",
    )


def _long(kind: Kind, case: Case) -> bool:
    """Whether waits take longer than a small request should: large ones of others may be as fast as they can be."""
    small = Requests(0, 0, case.wait, case.wait)
    return case.wait_ns >= case.where.norm_ns(small, kind is FLUSH)


def _slow_requests(model: Model, kind: Kind, case: Case) -> str:
    """Return which requests take longer in the disk than they should, "" for none.

    A wait shorter than a request did not wait for such a request: those were others'.  A member that holds its array
    back is a finding of its own, and says nothing of the rest.
    """
    for operation in reversed(kind.operations):
        apart = slow_member(model, case.where, operation)
        alike = replace(case.where, disks=tuple(disk for disk in case.where.disks if disk != apart))
        requests = alike.requests(model, operation)
        typical, norm = typical_ns(requests.service), case.where.norm_ns(requests, operation == "flush")
        if requests.count and typical >= norm and case.wait_ns >= max(norm, typical / 2):
            return f"{operation} requests take it {about(typical)} (norm {duration(norm)})"
    return ""


def _limit(model: Model, case: Case) -> str:
    if case.chain.count:
        return ""
    if not model.measured("block"):
        return "the device's own times were not measured"
    lost = model.coverage.lost.get("devices_full", 0)
    full = f" ({lost:,} requests found the table of devices full)" if lost else ""
    return f"no request of the disks under {case.where.name} was seen{full}: what they took is not known"


def _evidence(model: Model, kind: Kind, case: Case) -> list[Evidence]:
    found = [waits(case.wait, f"waits for {kind.nouns} on {case.where.name}")]
    for operation in kind.operations:
        requests = case.where.requests(model, operation)
        if requests.count:
            found.append(
                Evidence(
                    f"{requests.count:,} {operation} requests: queue {about(typical_ns(requests.queue))}, device"
                    f" {about(typical_ns(requests.service))}",
                    float(typical_ns(requests.service)),
                    "ns",
                    "block_rq_complete",
                )
            )
    return found


def _remedies(kind: Kind, case: Case, severity: Severity) -> list[Remedy]:
    found = [fix(kind.fewer)]
    if case.above:
        return [fix(f"look at what lies between {case.where.name} and its disk: {kind.above}"), *found]
    if severity is Severity.INFO:
        return found
    if kind is FLUSH:
        better = (
            "a disk whose write cache survives a power cut (power-loss protection, battery-backed controller),"
            " at least for the log or journal"
        )
    else:
        better = "a faster disk, or this data on another one; ask the provider or the storage what it promises"
    return [*found, fix(better)]


__all__ = ["MEASURED", "judge"]
