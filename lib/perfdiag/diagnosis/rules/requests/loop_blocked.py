"""LOOP-BLOCKED: one handler holds up an event loop, and all other requests wait."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from perfdiag.common.text import named
from perfdiag.common.units import first_of
from perfdiag.diagnosis.evidence.cpu.call_path import code_evidence
from perfdiag.diagnosis.evidence.cpu.stack_samples import SAMPLED, CpuSamples, Hot, called_by, functions_evidence
from perfdiag.diagnosis.evidence.fix_checks import read_in_time
from perfdiag.diagnosis.evidence.locks.holder_sentences import ROOTS, does, does_in_brief
from perfdiag.diagnosis.evidence.locks.lock_holders import SLEEP
from perfdiag.diagnosis.evidence.locks.lock_remedies import waiting_code
from perfdiag.diagnosis.evidence.requests.cheaper_commands import instead_of
from perfdiag.diagnosis.evidence.requests.computed_for import computed_for
from perfdiag.diagnosis.evidence.requests.unread_time import (
    delays_of,
    followed_time,
    hardly_unread,
    is_felt,
    meanwhile,
    queue_claims,
    read_after,
    unread_ns,
)
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import requests_policy
from perfdiag.diagnosis.rule import (
    Check,
    Confidence,
    Evidence,
    EvidenceKind,
    Mechanism,
    Outcome,
    Severity,
    rule,
)
from perfdiag.diagnosis.significance import duration, fix, percent, top
from perfdiag.model.model import Model
from perfdiag.model.requests.request_time import QUEUED, RequestTime
from perfdiag.model.requests.serving_threads import Servers, taken
from perfdiag.model.requests.unread_requests import KEPT_FROM, LISTENS, Met
from perfdiag.model.stacks.symbols import of_runtime
from perfdiag.model.thread_accounts import ThreadLedger
from perfdiag.model.waits.idle_runtime_threads import WORK, IdleThreads, scheduler_of
from perfdiag.recording.accounts import phrase_of
from perfdiag.recording.schema.limits import RECORDER

SHOWN = 3  # of several event loops
_AWAIT = "await what it waits for instead of calling it, or move the call to a worker thread or process"


@rule(
    "LOOP-BLOCKED",
    title="One handler holds up the event loop",
    accounts=(QUEUED,),
    meaning="Requests have arrived, but the one thread that reads all of them runs or waits for something else."
    " While a handler does not return to the event loop, all other requests wait.",
    measured="Time from a request's first byte in the socket until it was read, if one thread serves all"
    " connections in turn. Waits for a CPU, and long waits for a disk, a peer or a lock, belong to their"
    " own findings. CPU samples or wait stacks show whether the thread computes or sleeps, and where: a function, or"
    " the program's own inside which many samples stand. Go's scheduler, where one thread runs all goroutines, is no"
    " event loop: no goroutine holds up the others for long, and together they lack CPU time.",
    alternatives="The thread is busy all the time with short turns (CPU-SINGLE-THREAD), or has no CPU"
    " (CPU-CONTENTION).",
    remedies="Move the work to a worker thread or process, or split it and return to the loop in between.",
    verify="Requests are read within 20 ms.",
)
def loop_blocked(model: Model) -> Iterable[Outcome]:
    """Yield a finding if the event loop of a server is held up."""
    time = followed_time(model, "LOOP-BLOCKED")
    if not isinstance(time, RequestTime):
        yield time
        return
    if not time.by.loop:
        yield Check("LOOP-BLOCKED", "no event loop that serves requests was seen", 0.0, "count")
        return
    delays, queued = delays_of(model), unread_ns(time, sum(time.met.others.values()))
    if not is_felt(model, time, queued):
        yield hardly_unread("LOOP-BLOCKED", time, queued)
        return
    held = _held_elsewhere(time.met) or _held_up(model, time.by)
    yield conclude(
        model,
        queue_claims(time, taken=False),
        headline=f"{held.what}{held.headline}",
        claim=f"{held.what}{held.claim}. Requests wait for that up to {duration(delays.max_ns)} before they are read.",
        mechanism=Mechanism.SLEEP if held.sleeps else Mechanism.BUSY,
        severity=Severity.WARNING,
        best=Confidence.HIGH if held.sure else Confidence.LOW,
        doubts=[held.unsure],
        evidence=[read_after(delays), meanwhile(time.by), *_which(time.by.loops), *held.evidence],
        remedies=[fix(held.remedy)],
        alternatives=["many short turns: the thread is then busy all the time (CPU-SINGLE-THREAD)"],
        verify=read_in_time(model),
    )


@dataclass(frozen=True)
class _HeldUp:
    """What holds a loop up."""

    claim: str  # how a sentence goes on
    remedy: str
    evidence: Sequence[Evidence] = ()
    unsure: str = ""
    sure: bool = True  # that it is held up
    headline: str = ""  # how a headline goes on
    sleeps: bool = False
    what: str = "The event loop is held up"


def _held_elsewhere(met: Met) -> _HeldUp | None:
    """Return what holds loops up if that is mostly a wait with a finding of its own: for longer than all that has none.
    None if not."""
    waits = {name: part for name, part in met.passed_on.items() if name not in KEPT_FROM}
    account = max(waits, key=lambda name: waits[name], default="")
    if not account or waits[account] <= sum(met.others.values()):
        return None
    text = f"{percent(waits[account])} of the delay in the loop is {phrase_of(account)}, a finding of its own"
    return _HeldUp(
        f", mostly while its own thread {does(account)}, which has a finding of its own",
        _AWAIT,
        [Evidence(text, waits[account], "share", "ledger")],
        headline=f": its thread mostly {does_in_brief(account)}",
    )


def _held_up(model: Model, by: Servers) -> _HeldUp:
    """Return what holds the loops up, code or waits, unless it has findings of its own."""
    parts = by.met.others
    computing = sum(parts.get(name, 0.0) for name in SAMPLED)
    account = max((name for name in parts if name not in SAMPLED), key=lambda name: parts[name], default="")
    if account and parts[account] > computing:
        doing = does(account)
        text = f"{percent(parts[account])} of the delay in the loop is {phrase_of(account)}"
        evidence = [Evidence(text, parts[account], "share", "ledger")]
        if code := waiting_code(model, account, threads=by.loops):
            evidence.append(
                Evidence(
                    f"{phrase_of(account)} in {top(code)} of the sampled waits",
                    float(len(code)),
                    "count",  # of functions: that the thread waits there is in its own ledger
                    "stack samples",
                    kind=EvidenceKind.FUNCTIONS,
                )
            )
        unsure = "" if account in ROOTS else f"its thread may be idle there ({phrase_of(account)})"
        return _HeldUp(
            f" by its own thread, which mostly {doing}",
            _AWAIT,
            evidence,
            unsure,
            sure=not unsure,
            headline=f": its thread {does_in_brief(account)}",
            sleeps=account == SLEEP,
        )
    pids = {loop.pid for loop in by.loops}
    kind = scheduler_of(row.key for row in model.rows_of(WORK) if row.pid in pids)
    samples = _blocking_samples(model, by.loops, of_process=bool(kind and kind.limit))
    functions = [each for each in samples.hottest(of_few=True) if each.part.share > each.part.error]
    culprit = _culprit(samples, functions)
    headline = f" by {culprit}" if culprit else " by code that runs for long"
    claim = f"{headline}{called_by(samples)}" if functions and culprit == functions[0].name else headline
    asked = computed_for(model)
    serving = f" for requests {asked}" if asked else ""
    moved = f"the work of {asked}" if asked else "long work"
    rarer = f"; until then ask for {asked} less often" if asked else ""
    move = f"move {moved} to a worker thread or process, or return to the loop in between{rarer}"
    remedy = instead_of(asked) or move
    unsure = "" if functions else "CPU samples do not show which function held it up"
    evidence = [*code_evidence(samples, functions), *_inside(samples)]
    if kind and kind.limit:
        return _taken_up(kind, culprit, evidence, unsure)
    return _HeldUp(f"{claim}{serving}", remedy, evidence, unsure, headline=f"{headline}{serving}")


def _taken_up(kind: IdleThreads, culprit: str, evidence: Sequence[Evidence], unsure: str) -> _HeldUp:
    """Return what holds up tasks of a scheduler that lets them take turns: no event loop, but the CPU is short."""
    by = f", taken up by {culprit}" if culprit else ""
    remedy = f"let {culprit or 'the others'} do less, or let more {kind.tasks}s run at a time ({kind.limit})"
    what = f"{kind.tasks.capitalize()}s that serve wait for a turn on the CPU"
    return _HeldUp(by, remedy, evidence, unsure, headline=by, what=what)


def _inside(samples: CpuSamples) -> list[Evidence]:
    """Return of what functions of the program the work is, where each has a part of it."""
    shared = samples.shared_out(requests_policy.blocking_function_share)
    return functions_evidence(shared, " of samples, with what they call")


def _blocking_samples(model: Model, loops: Sequence[ThreadLedger], *, of_process: bool) -> CpuSamples:
    """Return the CPU samples of long turns of the loops where most of the time in which requests lay unread was behind
    such turns; else all of them, for many short turns in a row are what requests wait for.  Tasks of a scheduler are
    run by any thread of the process."""
    pids, tids = {loop.pid for loop in loops}, None if of_process else {0, *(loop.tid for loop in loops)}
    long_turns = CpuSamples(model, *pids, tids=tids, long_turns=True)
    waited_long = delays_of(model).typical_ns() >= RECORDER["LONG_TURN_NS"]
    if waited_long and long_turns.count >= requests_policy.long_turn_samples:
        return long_turns
    return CpuSamples(model, *pids, tids=tids)


def _culprit(samples: CpuSamples, functions: Sequence[Hot]) -> str:
    """Return the function in which many of the samples stand, or the narrowest inside which most do, or else the
    program's own inside which many do, or ""."""
    first = functions[0] if functions else None
    if first and first.part.share >= requests_policy.blocking_function_share and not of_runtime(first.name):
        return first.name
    path = [each for each in samples.hot_path() if not of_runtime(each.name)]
    inside = path or samples.shared_out(requests_policy.blocking_function_share) or functions[:1]
    return next((each.name for each in inside if each.part.share >= requests_policy.blocking_function_share), "")


def _which(found: Sequence[ThreadLedger]) -> list[Evidence]:
    """Return which processes' loops are busy most; requests are not attributed to one of them."""
    loops = [loop for loop in found if any(name in loop.accounts for name in LISTENS)]  # not who only computes
    loops.sort(key=lambda loop: (-taken(loop), loop.tid))
    if len(loops) < 2:
        return []
    told = [f"{named(loop.comm, loop.pid)} {percent(taken(loop))} of its time" for loop in loops]
    text = f"event loops of {len(loops)} processes were busy: {first_of(told, SHOWN)}"
    return [Evidence(text, taken(loops[0]), "share", "ledger")]
