"""Requests that wait for other threads of the target: what three rules say of them."""

from collections.abc import Iterable, Mapping

from perfdiag.common.by_key import sums_by_key
from perfdiag.diagnosis.evidence.cpu.call_path import code_evidence
from perfdiag.diagnosis.evidence.cpu.common_work import serving_samples
from perfdiag.diagnosis.evidence.cpu.garbage_collection import COLLECTS, collection
from perfdiag.diagnosis.evidence.cpu.stack_samples import CpuSamples
from perfdiag.diagnosis.evidence.fix_checks import part_under
from perfdiag.diagnosis.evidence.locks import lock_remedies
from perfdiag.diagnosis.evidence.locks.holder_sentences import ROOTS, does, does_in_brief
from perfdiag.diagnosis.evidence.locks.lock_holders import SLEEP
from perfdiag.diagnosis.evidence.locks.lock_remedies import waiting_code
from perfdiag.diagnosis.evidence.locks.wait_paths import by_pair
from perfdiag.diagnosis.evidence.requests.interpreter_locks import interpreter_lock
from perfdiag.diagnosis.evidence.requests.unproven_futex_waits import Waits, parked_waits
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import general_policy, locks_policy, requests_policy
from perfdiag.diagnosis.rule import (
    Confidence,
    Evidence,
    EvidenceKind,
    Finding,
    Mechanism,
    Other,
    Relation,
    Severity,
)
from perfdiag.diagnosis.significance import brief, duration, fix, percent, plain, thread_of, top
from perfdiag.model.model import Model
from perfdiag.model.requests.request_time import RequestTime
from perfdiag.model.thread_accounts import ThreadLedger
from perfdiag.recording.accounts import PARKED

ALTERNATIVES = ["long polling: requests are meant to wait", "work that one thread does for several requests"]
OWN_MUTEX = "a mutex of the program's own, whose holder runs"
# What is waited for in these has findings that know whether it is slow: without one it departs from no norm.
JUDGED = ("runq.", "disk.", "nfs.", "net.", "memory.", "remote.")


def in_turn(model: Model) -> Iterable[Finding]:
    """Return the waits of threads that serve requests and wait for each other, for an unknown lock: part of
    LOCK-CONTENTION."""
    if time := model.request_time:
        for waits in parked_waits(model, time):
            if waits.in_turn and waits.ns >= general_policy.fault_share * time.ns:
                yield finding(model, time, waits)


def finding(model: Model, time: RequestTime, waits: Waits) -> Finding:
    """Return the finding on requests that wait for another thread of the target."""
    code = sums_by_key((name, ns) for key in waits.parts for name, ns in waiting_code(model, PARKED, key).items())
    row_ns, rows = by_pair(model), model.rows_of(PARKED, key=next(iter(waits.parts)))
    lock = interpreter_lock(model, rows[0].pid, waits.ns, code) if waits.in_turn else None
    holder = lock.holder if lock else thread_of(model, waits.holder)
    samples = _samples(model, waits) if waits.root == "cpu.user" else None
    garbage = collection(model, samples) if samples and not waits.in_turn else None
    doing = COLLECTS if garbage else ""
    headline = _headline(waits, _name(holder), samples, doing)
    claim, remedies = _claim(waits, _name(holder), doing), [garbage.remedy if garbage else fix(_remedy(waits))]
    if lock:
        claim, remedies = lock_remedies.claim(lock.lock, rows, lock.lock.name, waits.ns)
        headline, claim = lock.headline, f"{claim}. {lock.meanwhile}"
    unseen = "" if waits.root else f"it is unknown what {waits.name} did meanwhile, or it was several things"
    if waits.in_turn:
        followed = holder or waits.known >= locks_policy.holder_root_share
        unseen = "" if followed else "of a long queue only the last few threads could be followed"
    return conclude(
        model,
        {(PARKED, key): row_ns[PARKED, key] for key in waits.parts},
        headline=headline,
        claim=claim,
        mechanism=Mechanism.BUSY if lock else _mechanism(waits),
        severity=_severity(model, time, waits, collects=garbage is not None),
        best=Confidence.MEDIUM if unseen else Confidence.HIGH,
        doubts=[
            lock_remedies.without_names(lock.lock) if lock else "no stack shows what these threads wait for",
            "" if lock else unseen,
        ],
        evidence=_evidence(time, waits, code, samples),
        remedies=remedies,
        alternatives=[OWN_MUTEX] if lock else ALTERNATIVES,
        verify=part_under(model, PARKED, "request time", waits.ns / time.ns, general_policy.fault_share),
        others=[Other(holder.pid, plain(holder.comm), Relation.HOLDER)] if holder and waits.in_turn else [],
    )


def _samples(model: Model, waits: Waits) -> CpuSamples:
    """Return what is computed meanwhile: by those that requests wait for, or that take turns as they serve."""
    return serving_samples(model) if waits.in_turn else CpuSamples(model, tids=waits.tids)


def _evidence(time: RequestTime, waits: Waits, code: Mapping[str, int], samples: CpuSamples | None) -> list[Evidence]:
    mean = f"a request is blocked for {duration(waits.ns // time.count)} on average"
    evidence = [Evidence(f"{mean}, {percent(waits.ns / time.ns)} of its time", float(waits.ns), "ns", "ledger")]
    if code:
        text = f"blocked in {top(code)} of the sampled waits"
        evidence.append(Evidence(text, 1.0, "share", "stack samples", kind=EvidenceKind.FUNCTIONS))
    if waits.roots:
        text = f"meanwhile the awaited thread: {top(waits.roots)} (known for {percent(waits.known)})"
        evidence.append(Evidence(text, waits.known, "share", "sched_waking"))
    of = " of their CPU samples" if len(waits.tids) > 1 else " of its CPU samples"
    return [*evidence, *(code_evidence(samples, samples.hottest(), of) if samples else [])]


def _name(holder: ThreadLedger | None) -> str:
    return holder.name if holder else "the awaited thread"


def _mechanism(waits: Waits) -> Mechanism:
    if waits.keeps:
        return Mechanism.BUSY
    return Mechanism.SLEEP if waits.root == SLEEP and not waits.outside else Mechanism.OTHERS


def _claim(waits: Waits, holder: str, doing: str) -> str:
    doing = doing or does(waits.root)
    if waits.root and waits.outside:
        doing = f"itself waits for something from outside ({waits.root})"
    if waits.keeps:
        doing = "itself waits for the next request of its client, although most requests need not wait for it"
        if waits.holds_locks:
            doing = "waits for its client in an open transaction, which holds their lock"
    several = len(waits.tids) > 1
    if waits.in_turn:
        claim = f"Requests wait {duration(waits.ns)} for each other, like threads that take a lock in turn"
        return f"{claim}. Meanwhile {holder} mostly {doing}." if waits.root else f"{claim}."
    claim = f"Requests wait {duration(waits.ns)} for {waits.name}"
    if not waits.root and waits.news:
        return f"{claim}, which {'were' if several else 'was'} not there at the beginning."
    return f"{claim}, {'each of ' if several else ''}which mostly {doing}." if waits.root else f"{claim}."


def _headline(waits: Waits, holder: str, samples: CpuSamples | None, doing: str) -> str:
    whom = "each other, as for a lock" if waits.in_turn else brief(waits.name)
    if not waits.root:
        return f"Requests wait for {whom}"
    who = f"; meanwhile {brief(holder)}" if waits.in_turn else ", each of which" if len(waits.tids) > 1 else ", which"
    if waits.holds_locks:
        if len(waits.tids) > 1:
            return "Sessions hold locks in transactions and wait for their clients; statements wait for that"
        return f"{whom} holds locks in a transaction and waits for its client; statements wait for that"
    if waits.keeps:
        return f"Requests wait for {whom}{who} waits for its client"
    if waits.outside:
        return f"Requests wait for {whom}{who} waits for something from outside"
    if doing:
        return f"Requests wait for {whom}{who} {doing}"
    spot = samples.hot_spot() if samples else None
    does = f"computes in {spot.name}" if spot and spot.nameless_of is None else does_in_brief(waits.root)
    return f"Requests wait for {whom}{who} {does}"


def _severity(model: Model, time: RequestTime, waits: Waits, *, collects: bool) -> Severity:
    """Return WARNING if requests wait for longer than the awaited work takes, or for something that should take no
    time, as a collector that goes on beside them."""
    felt = (
        waits.ns >= general_policy.fault_of_window_share * model.window_ns
        and waits.ns >= requests_policy.handover_ns * time.count
    )
    unknown = not waits.root and not waits.has_books  # it may have come with news, and ended
    if waits.keeps:
        return Severity.WARNING if felt else Severity.INFO
    if not felt or unknown or waits.outside or waits.root.startswith(JUDGED):
        return Severity.INFO
    if waits.root.startswith("cpu.") and not waits.in_turn and not collects:
        threads = (thread_of(model, tid) for tid in waits.tids)
        computed_ns = sum(thread.ns("cpu.user", "cpu.kernel") for thread in threads if thread)
        return Severity.WARNING if waits.ns > requests_policy.queue_factor * computed_ns else Severity.INFO
    return Severity.WARNING


def _remedy(waits: Waits) -> str:
    if waits.holds_locks:
        return (
            "end the transaction (COMMIT) before the client computes, calls a service or waits for a person;"
            " SELECT * FROM information_schema.innodb_trx lists open ones with their sessions"
        )
    if waits.keeps:
        return (
            f"find out what {waits.name} holds while it waits for its client, as a lock or an open transaction (a"
            " database lists its sessions), and end it sooner"
        )
    if waits.in_turn:
        return ROOTS.get(waits.root, ("", ""))[1] or "shorten what threads do while others wait, or share less"
    if waits.root == SLEEP:
        return "shorten that sleep, or let what sleeps wait for the event itself"
    if len(waits.tids) > 1:
        return f"see what {waits.name} do: their time is these requests'; give them less to do, or add such threads"
    return f"see what {waits.name} does: its time is these requests'; give it less to do, or add such threads"
