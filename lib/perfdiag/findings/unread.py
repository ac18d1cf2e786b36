"""Rules on requests that have arrived and that nobody reads: a loop that is held up, or workers that are all busy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from perfdiag.exchanges import Latencies, together
from perfdiag.findings.base import Check, Confidence, Evidence, Finding, Outcome, Severity, Silence, rule
from perfdiag.findings.calls import spread, without_time
from perfdiag.findings.samples import FUNCTIONS, CpuSamples, Part, called_by, words
from perfdiag.findings.target import again
from perfdiag.findings.weigh import FAULT_SHARE, duration, fix, judged, percent, plain
from perfdiag.loops import FREE, LOOP_FREE, event_loops, taken
from perfdiag.model import Model, ThreadLedger
from perfdiag.requests import PEERS, QUEUED, REST, RequestTime
from perfdiag.units import first_of
from perfdiag.whole import counted

# Less than this is a wake-up: nobody holds up a loop with it.  Half of the delay must lie in longer ones: a loop that
# has all it can do keeps each request waiting for some microseconds, and one of half a million for an accident.
HELD_UP_NS = 20_000_000
# Workers that are idle for more of the time could have read.
SATURATED_IDLE = 0.3
# A program with less of the CPU samples of the target names no function.
WORTH_PROGRAM = 0.1
_SHOWN = 3  # of several event loops
# A worker that waits for the next request on a connection that is kept alive serves nobody else meanwhile.
BOUND, BOUND_PART = "net.request", 0.3


@rule(
    "LOOP-BLOCKED",
    title="One handler holds up the event loop",
    accounts=(QUEUED,),
    meaning="Requests have arrived and are not read: the one thread that reads all of them runs, or waits for,"
    " something else meanwhile. Everything a handler does without giving way is paid by all the others.",
    measured="Time from a request's first byte in the socket until it was read, of all requests (sk_data_ready and"
    " sock_recv_length); where one thread turns from connection to connection. The functions are those of all CPU"
    " samples of the target in the same window.",
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
    if not time.loop:
        yield Check("LOOP-BLOCKED", "no event loop that serves requests was seen", 0.0, "count")
        return
    delays, queued = _delays(model), time.accounts.get(QUEUED, 0)
    if not _is_fault(time) or delays.typical_ns() < HELD_UP_NS:
        yield _fine("LOOP-BLOCKED", time)
        return
    samples = CpuSamples(model)
    functions = samples.hottest()
    held = f", mostly by {functions[0][0]}{called_by(samples)}" if functions else ""
    confidence, limits = judged(model, Confidence.HIGH, [_unsure(model, samples)])
    yield Finding(
        "LOOP-BLOCKED",
        Severity.WARNING,
        confidence,
        f"The event loop is held up{held}: requests wait for it, up to {duration(delays.max_ns)} before they are read.",
        {QUEUED: queued},
        [_evidence(delays), *_which(model), *_functions(functions)],
        [fix("give what takes long to a worker thread or process, or let it give way in between")],
        alternatives=["many short turns: then the thread is busy all the time (CPU-SINGLE-THREAD)"],
        limits=limits,
        verify=f"{again(model)}: requests are read within {duration(HELD_UP_NS)}",
    )


@rule(
    "POOL-SATURATED",
    title="All workers are busy while requests wait",
    accounts=(QUEUED,),
    meaning="Requests have arrived, in accepted connections or in the queue of the socket that listens, and nobody"
    " reads them: all threads or processes that could are serving others.",
    measured="Time from a request's first byte in the socket until it was read (a connection that is not accepted yet"
    " included), against the time that threads that accept or read requests were idle, over the window.",
    alternatives="Workers that wait for something slow: then that is the cause, and more of them only hide it.",
    remedies="More workers, if what they wait for can take more; else what they wait for.",
    verify="perfdiag latency again: the delay until requests are read.",
)
def pool_saturated(model: Model) -> Iterable[Outcome]:
    """One finding where all workers of a server are busy."""
    time = model.request_time
    if time is None or not model.measured("requests"):
        yield without_time(model, "POOL-SATURATED", "no requests were served")
        return
    if time.loop:
        yield Check("POOL-SATURATED", "no workers that serve requests were seen", 0.0, "count")
        return
    workers = [thread for thread in model.threads if any(name in thread.accounts for name in (*FREE, BOUND))]
    wall_ns = sum(thread.wall_ns for thread in workers)
    idle = sum(thread.ns(*FREE) for thread in workers) / wall_ns if wall_ns else 0.0
    bound = sum(thread.ns(BOUND) for thread in workers) / wall_ns if wall_ns else 0.0
    queued, delays = time.accounts.get(QUEUED, 0), _delays(model)
    if not _is_fault(time) or idle > SATURATED_IDLE or delays.typical_ns() < HELD_UP_NS:
        yield _fine("POOL-SATURATED", time)
        return
    does = max(
        (name for name in time.accounts if name not in (QUEUED, REST)), key=lambda name: time.accounts[name], default=""
    )
    busy = f", mostly with {does}" if does else ""
    more = fix("more workers, if what they wait for can take more; else shorten what keeps them busy")
    if bound >= BOUND_PART:
        busy = f", {percent(bound)} of their time with connections that are kept alive and silent"
        more = fix("keep silent connections for less long (KeepAliveTimeout), or serve them by events; more workers")
    if not workers and not any(map(_is_taken, model.threads)) and not _serve_always(model):
        reason = "requests wait to be read, and who could read them was not seen: nobody waited for one"
        yield Silence("POOL-SATURATED", reason, "record for longer, or the whole service")
        return
    unseen = "" if workers else "which threads serve was not seen: nobody waited for a request"
    confidence, limits = judged(model, Confidence.HIGH, [unseen])
    serve = f"threads that serve were idle {percent(idle)} of the time"
    yield Finding(
        "POOL-SATURATED",
        Severity.WARNING,
        confidence,
        f"All workers are taken{busy}: requests that have arrived wait up to {duration(delays.max_ns)} to be read.",
        {QUEUED: queued},
        [_evidence(delays), *([Evidence(serve, idle, "share", "ledger")] if workers else [])],
        [more],
        alternatives=[f"workers that wait for something slow: {does}"] if does in (PEERS, "net.receive") else [],
        limits=limits,
        verify=f"{again(model)}: requests are read within {duration(HELD_UP_NS)}",
    )


def _unsure(model: Model, samples: CpuSamples) -> str:
    """Return what speaks against the hottest function being the one that holds up the loop, "" where nothing does."""
    if not samples.hottest(1):
        return "which function held it up was not sampled"
    names = {thread.pid: thread.comm for thread in model.threads if thread.tid == thread.pid}
    counts: Counter[str] = Counter()
    for stack in samples.stacks:
        counts[names.get(stack.pid, "")] += stack.count
    several = sum(count >= WORTH_PROGRAM * samples.count for count in counts.values()) > 1
    return "several programs computed: the function can be another program's" if several else ""


def _functions(hot: Sequence[tuple[str, Part]]) -> list[Evidence]:
    """Return where the CPU time went while requests waited, with the error of the sample."""
    return [Evidence(words(hot), hot[0][1].share, "share", FUNCTIONS, hot[0][1].error)] if hot else []


def _is_taken(thread: ThreadLedger) -> bool:
    """Whether a thread was with something nearly all the time: beside it there may be masters that only look on."""
    busy_ns = sum(total.ns for name, total in thread.accounts.items() if counted(name))
    return busy_ns > (1 - SATURATED_IDLE) * thread.wall_ns > 0


def _serve_always(model: Model) -> bool:
    """Whether requests that were read were with somebody nearly all the time, as many at once as there are threads but
    for one that may only look on: such a thread never waits for a request, and may sleep while it has one."""
    threads = sum(thread.tid > 0 for thread in model.threads)
    served_ns = sum(each.line.whole_ns - each.line.read_delay_ns for each in model.exchanges if each.served)
    return served_ns > (1 - SATURATED_IDLE) * model.window_ns * max(1, threads - 1)


def _is_fault(time: RequestTime) -> bool:
    return time.accounts.get(QUEUED, 0) >= FAULT_SHARE * time.ns


def _delays(model: Model) -> Latencies:
    return together(each.read_delay for each in model.exchanges if each.served)


def _fine(id: str, time: RequestTime) -> Check:
    queued = time.accounts.get(QUEUED, 0)
    text = f"requests wait {duration(queued)} to be read, {percent(queued / time.ns)} of their time"
    return Check(id, text, queued / time.ns, "share")


def _which(model: Model) -> list[Evidence]:
    """Return which of several processes' loops are with somebody all the time; requests are not told apart by them."""
    found = event_loops(model.exchanges, model.threads)
    loops = [loop for loop in found if any(name in loop.accounts for name in LOOP_FREE)]  # not who only computes
    loops.sort(key=lambda loop: (-taken(loop), loop.tid))
    if len(loops) < 2:
        return []
    told = [f"{plain(loop.comm)} ({loop.pid}) {percent(taken(loop))} of its time" for loop in loops]
    text = f"event loops of {len(loops)} processes, busy with somebody: {first_of(told, _SHOWN)}"
    return [Evidence(text, taken(loops[0]), "share", "ledger")]


def _evidence(delays: Latencies) -> Evidence:
    text = f"{delays.count:,} requests read after {spread(delays)}"
    return Evidence(text, float(delays.sum_ns), "ns", "sockets")


__all__ = ["loop_blocked", "pool_saturated"]
