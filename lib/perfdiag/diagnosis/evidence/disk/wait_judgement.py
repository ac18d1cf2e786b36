"""Judge disk waits: is the device slow, a layer above it, or are there many requests?"""

from collections.abc import Iterable

from perfdiag.diagnosis.evidence.disk.amplification import Amplification, amplification
from perfdiag.diagnosis.evidence.disk.backing_disks import Requests, device_of
from perfdiag.diagnosis.evidence.disk.disk_waits import FLUSH, READ, Case, Kind, case_of, without_cpus
from perfdiag.diagnosis.evidence.disk.erasures import erased
from perfdiag.diagnosis.evidence.disk.flushed_files import flushed_files
from perfdiag.diagnosis.evidence.disk.freed_blocks import discarding
from perfdiag.diagnosis.evidence.disk.journal_waits import JournalWait, journal_wait
from perfdiag.diagnosis.evidence.disk.layers import Layer, layer_of
from perfdiag.diagnosis.evidence.disk.other_users import LIMIT, Neighbours, neighbours
from perfdiag.diagnosis.evidence.disk.outages import did_not_answer
from perfdiag.diagnosis.evidence.disk.part_of_work import as_part_of_work
from perfdiag.diagnosis.evidence.disk.read_ahead import ReadAhead, small_read_ahead
from perfdiag.diagnosis.evidence.disk.read_files import read_file
from perfdiag.diagnosis.evidence.disk.sync_calls import REMEDY
from perfdiag.diagnosis.evidence.disk.wait_requests import evidence_of, limit_of, slow_requests
from perfdiag.diagnosis.evidence.fix_checks import fewer, shorter
from perfdiag.diagnosis.evidence.locks.wait_paths import behind_ns
from perfdiag.diagnosis.evidence.target import subject
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import disk_policy
from perfdiag.diagnosis.rule import (
    Check,
    Confidence,
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
    percent,
    together,
    total_ns,
    typical_ns,
    without_rows,
    worth,
)
from perfdiag.model.model import Model

STARVED = "the waits of kernel threads for CPUs were not measured"
WHO_HAS_CPUS = fix("find the processes on the CPUs (perfdiag host), and measure again when CPUs are free")
MEASURED = (
    "Waits by device, through partitions, md and dm to the disks below, against queue and service time of the disks'"
    " requests. One request may take 20 ms on a rotating disk, 2 ms (flushes 4 ms) on flash and 10 ms on a virtual"
    " disk, plus its bytes at 100 MB/s. What the disks moved beyond what the target can have asked for is other"
    " processes', named by block_bio_queue. With CPUs idle below 5 %, time above the device may be kernel threads'"
    " wait for a CPU."
)


def judge(kind: Kind, model: Model) -> Iterable[Outcome]:
    """Judge the waits of one kind, device by device."""
    found = False
    for rows in by_key(model.rows_of(kind.account)).values():
        if worth(model, total_ns(rows) + behind_ns(model, rows[0].account, rows[0].key)):
            case = case_of(model, kind, rows)
            finding = _finding(model, kind, case)
            found = found or finding is not None
            yield from [as_part_of_work(model, kind, case, finding)] if finding else []
    if not found:
        rowless = without_rows(model, kind.id, kind.account) or _nameless(model, kind)
        if rowless:
            yield rowless
            return
        whole = together(model.rows_of(kind.account))
        each = f", half of it in waits of {about(typical_ns(whole))} or less" if whole.count else ""
        share = model.share(kind.account)
        yield Check(kind.id, f"{kind.nouns} {percent(share)} of busy time{each}", share, "share")


def _nameless(model: Model, kind: Kind) -> Silence | None:
    """Return the silence of waits on an unknown device."""
    ns = total_ns([row for row in model.rows_of(kind.account) if not device_of(row)])
    if not worth(model, ns):
        return None
    reason = f"{duration(ns)} of waiting for {kind.nouns} on an unknown device"
    return Silence(kind.id, reason, f"iostat -x 1 while {subject(model)} runs   (busy disks)")


def _finding(model: Model, kind: Kind, case: Case) -> Finding | None:
    if freed := discarding(model, kind, case):
        return freed
    if journal := _journal_wait(model, kind, case):
        return _of_journal(model, kind, case, journal)
    slow = slow_requests(model, kind, case)
    others = neighbours(model, case.where, case.rows) if case.above or slow or _long(kind, case) else None
    if not others and (told := erased(model, kind, case) or did_not_answer(model, kind, case)):
        return told
    more, little = amplification(model, case.where) if case.above else None, small_read_ahead(model, kind, case)
    layer = _layer(model, kind, case) if case.above and not more else None
    judgement = (
        _of_amplification(model, kind, case, more)
        if more
        else _judgement(model, kind, case, slow, others, little, layer)
    )
    if judgement is None:
        return None
    severity, claimed, claim, mechanism, headline = judgement
    starved = without_cpus(model) if case.above else ""
    best = Confidence.MEDIUM if starved else Confidence.HIGH
    return conclude(
        model,
        {(kind.account, case.rows[0].key): claimed},
        headline=headline,
        claim=claim,
        mechanism=mechanism,
        severity=severity,
        best=best,
        doubts=[
            limit_of(model, case),
            LIMIT if others else "",
            STARVED if starved else "",
            layer.doubt if layer else "",
        ],
        evidence=[*(each.evidence for each in (more, little) if each), *evidence_of(model, kind, case, others)],
        remedies=[
            *([WHO_HAS_CPUS] if starved else []),
            *([fix(layer.remedy)] if layer and layer.remedy else []),
            *(each.remedy for each in (more, others, little) if each),
            *_remedies(kind, case, severity),
        ],
        ruled_out=[]
        if case.above or others or not case.chain.count or slow
        else ["a slow device", "a delay above the device"],
        alternatives=[_alternative(kind, case, others)],
        verify=_check(model, kind, case),
        others=others.others if others else (),
    )


def _alternative(kind: Kind, case: Case, others: Neighbours | None) -> str:
    if case.above:
        return kind.above
    if others:
        return "the disk is slow without that work, too"
    return "other processes use the same disk (all requests are counted together)"


def _layer(model: Model, kind: Kind, case: Case) -> Layer | None:
    """Return what the waits on one device stand in above it, where that is known."""
    return layer_of(model, case.where, model.wait_stacks(kind.account, key=case.rows[0].key))


def _check(model: Model, kind: Kind, case: Case) -> str:
    small = Requests(0, 0, case.wait, case.wait)
    if not _long(kind, case):
        return fewer(model, f"{kind.counted} on {case.where.name}", case.wait.count)
    return shorter(model, f"{kind.nouns} on {case.where.name}", case.wait_ns, case.where.norm_ns(small, kind is FLUSH))


def _judgement(
    model: Model,
    kind: Kind,
    case: Case,
    slow: str,
    others: Neighbours | None,
    little: ReadAhead | None,
    layer: Layer | None,
) -> tuple[Severity, int, str, Mechanism, str] | None:
    """Return severity, claimed time, claim, mechanism and headline of the waits on one device; None: no finding."""
    ns, name, each = total_ns(case.rows), case.where.name, about(case.wait_ns)
    felt_ns = ns + behind_ns(model, kind.account, case.rows[0].key)
    mean = duration(case.wait.sum_ns / case.wait.count) if case.wait.count else each
    half = f"take {mean} on average (half of the time in waits of {each} or more)"
    if case.above:
        above = f" {others.sentence}" if others else ""
        if starved := without_cpus(model):
            above += f" Kernel threads probably wait for CPUs: {starved}."
        disk = f"the disk answers in {about(case.chain.typical_ns)}"
        claim = f"{kind.nouns.capitalize()} on {name} {half}; {disk}.{above}"
        fast = "" if (layer and layer.remedy) or not _is_fast(model, kind, case) else "; the disk is fast"
        where = f"wait in the kernel{layer.words if layer else ''}"
        headline = f"{kind.nouns.capitalize()} on {brief(name)} {where}{fast}"
        return fault(model, felt_ns), case.lost_ns, claim, Mechanism.ABOVE, headline
    if others:
        long = f"{slow}; " if slow else ""
        claim = f"{others.sentence} {long}{kind.nouns} on {name} {half}."
        claim = claim[:1].upper() + claim[1:]
        headline = others.keeps_busy(f"the disk under {brief(name)}")
        return fault(model, felt_ns), ns, claim, Mechanism.BUSY, headline
    if slow:
        claim = f"{slow} on {name}; {kind.nouns} take {mean} on average."
        headline = f"The disk under {brief(name)} is slow at {kind.nouns}{_of_files(model, kind, case)}"
        return fault(model, felt_ns), ns, claim, Mechanism.SLOW, headline
    surely_ns = disk_policy.surely_slow_factor * case.where.norm_ns(case.chain, kind is FLUSH)
    if not case.chain.count and case.wait_ns >= surely_ns:
        return (
            fault(model, felt_ns),
            ns,
            f"{kind.nouns.capitalize()} on {name} {half}.",
            Mechanism.SLOW,
            f"{kind.nouns.capitalize()} on {brief(name)} take far longer than is usual for a disk",
        )
    if felt_ns < disk_policy.profile_share * model.busy_ns:
        return None
    return _profile(model, kind, case, half, mean, little)


def _of_amplification(
    model: Model, kind: Kind, case: Case, more: Amplification
) -> tuple[Severity, int, str, Mechanism, str]:
    """Return the same of waits on a volume that moves more than it is asked for."""
    ns, each, of_disk = total_ns(case.rows), about(case.wait_ns), about(case.chain.typical_ns)
    claim = f"{more.sentence(case.where.name)} {kind.nouns.capitalize()} take {each}, the disk {of_disk}."
    headline = f"The disks below {brief(case.where.name)} move {more.times} as they are asked for"
    lost_ns = max(case.lost_ns, round(ns * (1 - 1 / more.factor)))
    return fault(model, ns + behind_ns(model, kind.account, case.rows[0].key)), lost_ns, claim, Mechanism.MANY, headline


def _profile(
    model: Model, kind: Kind, case: Case, half: str, mean: str, little: ReadAhead | None
) -> tuple[Severity, int, str, Mechanism, str]:
    """Return the same of waits that are no fault of the device."""
    ns, name = total_ns(case.rows), case.where.name
    claim = f"{case.wait.count:,} {kind.counted} on {name} {half}."
    if not case.where.device:
        claim += " The device is unknown, so its usual time is, too."
        return Severity.INFO, ns, claim, Mechanism.OTHERS, f"Threads wait for {kind.nouns} on {brief(name)}"
    if case.chain.count:
        claim += " The disk's requests take as long."
    what = f"{case.wait.count:,} {kind.counted}{_of_files(model, kind, case)}"
    usual = ", usual for this disk" if _is_fast(model, kind, case) else ""
    many = f"{what} on {brief(name)} cost {mean} each{usual}"
    if little:
        many = f"{what} on {brief(name)}, {mean} each, {little.words}"
    return fault(model, ns) if little else Severity.INFO, ns, claim, Mechanism.MANY, many


def _of_files(model: Model, kind: Kind, case: Case) -> str:
    """Return " of counts.db-wal", what is flushed, or read, where that is known."""
    if kind is READ:
        return read_file(model, device_of(case.rows[0]))
    files = flushed_files(model, device_of(case.rows[0])) if kind is FLUSH else ""
    return f" of {files}" if files else ""


def _is_fast(model: Model, kind: Kind, case: Case) -> bool:
    """Return whether its requests were seen, and those of each operation take no longer than usual: short waits of the
    target prove nothing, because others may wait long for the same disk."""
    seen = [(operation, case.where.requests(model, operation)) for operation in kind.operations]
    times = [(typical_ns(of.service), case.where.norm_ns(of, name == "flush")) for name, of in seen if of.count]
    return bool(times) and all(took_ns < norm_ns for took_ns, norm_ns in times)


def _journal_wait(model: Model, kind: Kind, case: Case) -> JournalWait | None:
    return journal_wait(model, case.rows[0].key) if kind is FLUSH and _long(kind, case) else None


def _of_journal(model: Model, kind: Kind, case: Case, journal: JournalWait) -> Finding:
    """Return the finding of waits for a journal that the threads did not ask to be written."""
    ns, name = total_ns(case.rows), case.where.name
    return conclude(
        model,
        {(kind.account, case.rows[0].key): ns},
        headline=journal.headline,
        claim=(
            f"{journal.headline}: {case.wait.count:,} waits on {name}, half of that time in waits of"
            f" {about(case.wait_ns)} or more. {journal.who}"
        ),
        mechanism=Mechanism.BUSY,
        severity=fault(model, ns + behind_ns(model, kind.account, case.rows[0].key)),
        best=Confidence.HIGH,
        doubts=[limit_of(model, case)],
        evidence=evidence_of(model, kind, case),
        remedies=[fix(journal.remedy)],
        alternatives=[journal.alternative],
        verify=_check(model, kind, case),
    )


def _long(kind: Kind, case: Case) -> bool:
    """Whether waits take longer than a small request may."""
    small = Requests(0, 0, case.wait, case.wait)
    return case.wait_ns >= case.where.norm_ns(small, kind is FLUSH)


def _remedies(kind: Kind, case: Case, severity: Severity) -> list[Remedy]:
    found = [fix(REMEDY if case.sync else kind.fewer)]
    if case.above:
        look = f"check the layers between {case.where.name} and its disk (lsblk -s, dmsetup table): {kind.above}"
        return [fix(look), *found]
    if severity is Severity.INFO:
        return found
    if kind is FLUSH:
        better = "use a disk with power-loss protection or a battery-backed controller, at least for the log"
    else:
        better = "use a faster disk, or move this data to another one; check the provider's guarantee"
    return [*found, fix(better)]
