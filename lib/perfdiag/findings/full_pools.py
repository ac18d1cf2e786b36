"""A rule on pools of workers that are all busy while requests wait."""

from __future__ import annotations

from collections.abc import Iterable

from perfdiag.exchanges import Latencies
from perfdiag.findings.base import Check, Confidence, Evidence, Finding, Outcome, Severity, Silence, rule
from perfdiag.findings.calls import without_time
from perfdiag.findings.target import again
from perfdiag.findings.unread import HELD_UP_NS, delays_of, hardly_unread, is_held_up, read_after, unread_ns
from perfdiag.findings.weigh import FAULT_SHARE, duration, fix, judged, percent, plain
from perfdiag.loops import FREE
from perfdiag.model import Model, ThreadLedger
from perfdiag.requests import PEERS, QUEUED, REST, RequestTime
from perfdiag.unread import BOUND
from perfdiag.whole import counted

# Workers that are idle for more of the time could have read.
SATURATED_IDLE = 0.3
BOUND_PART = 0.3
# Threads that live for less of the window serve one connection each, if there are as many as half of the requests.
SHORT_LIVED, MADE = 0.1, 0.5


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
    queued, delays = unread_ns(time, time.met.taken), delays_of(model)
    if queued < FAULT_SHARE * time.ns or idle > SATURATED_IDLE or not is_held_up(model):
        yield hardly_unread("POOL-SATURATED", time)
        return
    if _is_made_for_each(model):
        yield _not_made_yet(model, queued, delays)
        return
    does = _does(time)
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
        [read_after(delays), *([Evidence(serve, idle, "share", "ledger")] if workers else [])],
        [more],
        alternatives=[f"workers that wait for something slow: {does}"] if does in (PEERS, "net.receive") else [],
        limits=limits,
        verify=f"{again(model)}: requests are read within {duration(HELD_UP_NS)}",
    )


def _does(time: RequestTime) -> str:
    """Return in what workers mostly were that requests waited for: as recorded, or else as requests that were read."""
    met = {name: part for name, part in time.met.others.items() if name != BOUND}
    spent = met if time.met.taken is not None else {**time.accounts, QUEUED: 0, REST: 0}
    does = max(spent, key=lambda name: spent[name], default="")
    return does if spent.get(does) else ""


def _is_made_for_each(model: Model) -> bool:
    """Return whether a thread, or process, is made for each connection: there is no pool that could be full."""
    served = sum(each.line.count for each in model.exchanges if each.served)
    short = (each for each in model.threads if each.wall_ns < SHORT_LIVED * model.window_ns * each.threads)
    return sum(each.threads for each in short) >= MADE * served


def _not_made_yet(model: Model, queued: int, delays: Latencies) -> Finding:
    """Return that requests wait for whoever accepts them and makes a thread for each."""
    lasting = [each for each in model.threads if each.tid and each.wall_ns > (1 - SHORT_LIVED) * model.window_ns]
    accepts = [thread for thread in lasting if thread.ns("net.accept")] or lasting
    who = accepts[0] if len(accepts) == 1 else None
    busy = {} if who is None else {name: total.ns for name, total in who.accounts.items() if name not in FREE}
    does = max(busy, key=lambda name: busy[name], default="")
    says, unseen = "", "which thread accepts was not seen: several may, or nobody waited for a connection"
    if who is not None and does:
        says = f": {plain(who.comm)} ({who.tid}), which accepts, is in {does} for {percent(busy[does] / who.wall_ns)}"
        says, unseen = f"{says} of its time", ""
    confidence, limits = judged(model, Confidence.HIGH, [unseen])
    return Finding(
        "POOL-SATURATED",
        Severity.WARNING,
        confidence,
        f"Requests wait up to {duration(delays.max_ns)} to be read, as a thread is made for each connection{says}.",
        {QUEUED: queued},
        [read_after(delays)],
        [fix("see what who accepts does between two connections; threads that are there already need not be made")],
        alternatives=["new threads that wait for a CPU or an interpreter's lock: see runq.* and lock.futex in WHERE"],
        limits=limits,
        verify=f"{again(model)}: requests are read within {duration(HELD_UP_NS)}",
    )


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


__all__ = ["pool_saturated"]
