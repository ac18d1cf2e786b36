"""A rule on event loops that one handler holds up: whoever else is served by them waits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from perfdiag.common.units import first_of
from perfdiag.diagnosis.evidence.cpu.stack_samples import FUNCTIONS, SAMPLED, CpuSamples, Part, called_by, words
from perfdiag.diagnosis.evidence.locks.lock_holders import ROOTS, SLEEP, does_in_brief
from perfdiag.diagnosis.evidence.locks.lock_remedies import waiting_code
from perfdiag.diagnosis.evidence.requests.calls import without_time
from perfdiag.diagnosis.evidence.requests.unread_time import (
    HELD_UP_NS,
    delays_of,
    hardly_unread,
    is_held_up,
    meanwhile,
    not_followed,
    queue_claims,
    read_after,
    unread_ns,
)
from perfdiag.diagnosis.evidence.target import again
from perfdiag.diagnosis.rule import (
    Check,
    Confidence,
    Evidence,
    EvidenceKind,
    Finding,
    Mechanism,
    Outcome,
    Severity,
    rule,
)
from perfdiag.diagnosis.significance import FAULT_SHARE, duration, fix, judged, percent, plain, top
from perfdiag.model.model import Model
from perfdiag.model.requests.request_time import QUEUED
from perfdiag.model.requests.serving_threads import taken
from perfdiag.model.requests.unread_requests import LISTENS
from perfdiag.model.thread_accounts import ThreadLedger

# A program with less of the CPU samples of the target names no function.
WORTH_PROGRAM = 0.1
# Nor does code that is spread over many: the largest part of it is a good part, by more than the sample's error.
WORTH_FUNCTION = 0.25
SHOWN = 3  # of several event loops


@rule(
    "LOOP-BLOCKED",
    title="One handler holds up the event loop",
    accounts=(QUEUED,),
    meaning="Requests have arrived and are not read: the one thread that reads all of them runs, or waits for,"
    " something else meanwhile. Everything a handler does without giving way is paid by all the others.",
    measured="Time from a request's first byte in the socket until it was read, of all requests (sk_data_ready and"
    " sock_recv_length); where one thread turns from connection to connection. Of that, as much as it waits for a CPU,"
    " or for long for a disk, a peer or a lock, is those findings'. Of the rest it is said whether it mostly computes,"
    " and then in which functions (of all CPU samples of the target in the same window), or sleeps.",
    alternatives="A thread that is busy all the time with short turns (CPU-SINGLE-THREAD); no CPU for it"
    " (CPU-CONTENTION). Where other processes of the target compute, too, the function can be one of theirs.",
    remedies="Give the work to a worker thread or process, or do it in pieces that give way.",
    verify="perfdiag latency again: the delay until requests are read.",
)
def loop_blocked(model: Model) -> Iterable[Outcome]:
    """One finding where the loop of a server is held up."""
    time = model.request_time
    if time is None or not model.measured("requests"):
        yield without_time(model, "LOOP-BLOCKED", "no requests were served")
        return
    if not time.by.followed:
        yield not_followed("LOOP-BLOCKED", time)
        return
    if not time.by.loop:
        yield Check("LOOP-BLOCKED", "no event loop that serves requests was seen", 0.0, "count")
        return
    delays, queued = delays_of(model), unread_ns(time, sum(time.met.others.values()))
    if queued < FAULT_SHARE * time.ns or not is_held_up(model):
        yield hardly_unread("LOOP-BLOCKED", time, queued)
        return
    held = _held_up(model, time.met.others)
    confidence, limits = judged(model, Confidence.HIGH if held.sure else Confidence.LOW, [held.unsure])
    yield Finding(
        "LOOP-BLOCKED",
        Severity.WARNING,
        confidence,
        f"The event loop is held up{held.claim}: requests wait for it, up to {duration(delays.max_ns)} before they are"
        " read.",
        queue_claims(time, taken=False),
        [read_after(delays), meanwhile(time.by), *_which(time.by.loops), *held.evidence],
        [fix(held.remedy)],
        alternatives=["many short turns: then the thread is busy all the time (CPU-SINGLE-THREAD)"],
        limits=limits,
        verify=f"{again(model)}: requests are read within {duration(HELD_UP_NS)}",
        headline=f"The event loop is held up{held.headline}",
        mechanism=Mechanism.SLEEP if held.sleeps else Mechanism.BUSY,
    )


@dataclass(frozen=True)
class _HeldUp:
    """By what a loop is held up."""

    claim: str  # how a sentence goes on
    remedy: str
    evidence: Sequence[Evidence] = ()
    unsure: str = ""
    sure: bool = True  # that it is held up
    headline: str = ""  # how a headline goes on
    sleeps: bool = False


def _held_up(model: Model, parts: Mapping[str, float]) -> _HeldUp:
    """Return by what the loops are held up: by code, or by waits; not by what has findings of its own."""
    computing = sum(parts.get(name, 0.0) for name in SAMPLED)
    account = max((name for name in parts if name not in SAMPLED), key=lambda name: parts[name], default="")
    if account and parts[account] > computing:
        does = ROOTS.get(account, (f"is in {account}", ""))[0]
        text = f"of what requests meet that wait for a loop {percent(parts[account])} is {account}"
        evidence = [Evidence(text, parts[account], "share", "ledger")]
        if code := waiting_code(model, account):
            evidence.append(
                Evidence(
                    f"{account} in {top(code)} of the sampled waits",
                    1.0,
                    "share",
                    "stack samples",
                    kind=EvidenceKind.FUNCTIONS,
                )
            )
        remedy = "await what it waits for instead of calling it, or give that to a worker thread or process"
        unsure = "" if account in ROOTS else f"whether its thread waits for something in {account} cannot be told"
        return _HeldUp(
            f" by its own thread, which mostly {does}",
            remedy,
            evidence,
            unsure,
            sure=not unsure,
            headline=f": its thread {does_in_brief(account)}",
            sleeps=account == SLEEP,
        )
    samples = CpuSamples(model)
    functions = [each for each in samples.hottest() if each[1].share > each[1].error]
    named = functions and functions[0][1].share >= WORTH_FUNCTION
    claim = f", mostly by {functions[0][0]}{called_by(samples)}" if named else " by code that runs for long"
    remedy = "give what takes long to a worker thread or process, or let it give way in between"
    unsure = _unsure(model, samples, functions)
    return _HeldUp(claim, remedy, _functions(functions), unsure, headline=" by code that runs for long")


def _unsure(model: Model, samples: CpuSamples, functions: Sequence[tuple[str, Part]]) -> str:
    """Return what speaks against the hottest function being the one that holds up the loop, "" where nothing does."""
    if not functions:
        return "which function held it up was not sampled"
    names = {thread.pid: thread.comm for thread in model.threads if thread.tid == thread.pid}
    counts: Counter[str] = Counter()
    for stack in samples.stacks:
        counts[names.get(stack.pid, "")] += stack.count
    several = sum(count >= WORTH_PROGRAM * samples.count for count in counts.values()) > 1
    return "several programs computed: the function can be another program's" if several else ""


def _functions(hot: Sequence[tuple[str, Part]]) -> list[Evidence]:
    """Return where the CPU time went while requests waited, with the error of the sample."""
    return (
        [Evidence(words(hot), hot[0][1].share, "share", FUNCTIONS, hot[0][1].error, kind=EvidenceKind.FUNCTIONS)]
        if hot
        else []
    )


def _which(found: Sequence[ThreadLedger]) -> list[Evidence]:
    """Return which of several processes' loops are with somebody all the time; requests are not told apart by them."""
    loops = [loop for loop in found if any(name in loop.accounts for name in LISTENS)]  # not who only computes
    loops.sort(key=lambda loop: (-taken(loop), loop.tid))
    if len(loops) < 2:
        return []
    told = [f"{plain(loop.comm)} ({loop.pid}) {percent(taken(loop))} of its time" for loop in loops]
    text = f"event loops of {len(loops)} processes, busy with somebody: {first_of(told, SHOWN)}"
    return [Evidence(text, taken(loops[0]), "share", "ledger")]


__all__ = ["loop_blocked"]
