"""Who serves the requests: one thread that turns from connection to connection, or workers, each with its own."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from perfdiag.accounts import Kind, kind_of
from perfdiag.exchanges import Exchange
from perfdiag.model import ThreadLedger
from perfdiag.unread import RUNQ, Met, Part, has_finding, met_at_loops, met_at_workers

# A loop reads from many connections with one thread, which reads most of what its process does, or (where that was not
# recorded) computes most of it.  Workers are never seen to turn from one that is open to another (0 % in all recordings
# of such here); loops are where two are open at a time: where clients open one for each request, that is hardly more
# often than somebody has to wait.
LOOP_TURNS = 0.1
LOOP_PART = 0.6
HARDLY_FREE = 0.5
# Who is idle for so much of the time, and never waits for requests, is a master that looks on.
MASTER_IDLE = 0.9
# Whoever is in these would take up what comes; not who waits for the next request of one connection.
FREE = ("net.accept", "wait.work")
TURNS = ("wait.events", "net.request")
LOOP_FREE = (*FREE, *TURNS)
COMPUTES = ("cpu.user", "cpu.kernel", "cpu.irq")  # in as many pieces as it is interrupted


@dataclass(frozen=True)
class Servers:
    """The threads that serve, as far as they hold up requests that they have not come to."""

    loops: Sequence[ThreadLedger]  # event loops; none where workers serve
    busy: float  # the part of their time in which they are with somebody
    met: Met  # what requests meet at them

    @property
    def loop(self) -> bool:
        """Whether event loops serve, not workers."""
        return bool(self.loops)


def servers(exchanges: Sequence[Exchange], threads: Sequence[ThreadLedger], unread: Sequence[Part] = ()) -> Servers:
    """Return who serves the requests of a target; `unread`: what requests were seen to meet.

    Recordings of earlier versions do not tell that: then it is what they would meet on average.
    """
    seen = any(thread.requests_read is not None for thread in threads)
    if loops := _seen_loops(threads) if seen else _event_loops(exchanges, threads):
        return Servers(loops, _busy(loops), met_at_loops(unread) if unread else _met_at(loops))
    serving = [thread for thread in threads if thread.tid]
    wall_ns, taken_ns = sum(thread.wall_ns for thread in serving), sum(_taken_ns(thread, FREE) for thread in serving)
    waits = {name: sum(thread.ns(name) for thread in serving) / taken_ns for name in RUNQ} if taken_ns > 0 else {}
    return Servers((), taken_ns / wall_ns if wall_ns else 0.0, met_at_workers(unread) if unread else Met(waits))


def taken(loop: ThreadLedger) -> float:
    """Return in which part of its time an event loop is with somebody."""
    return _taken_ns(loop, LOOP_FREE) / max(1, loop.wall_ns)


def _met_at(loops: Sequence[ThreadLedger]) -> Met:
    """Return what requests meet that wait for event loops.

    Who comes while a loop is with somebody waits for as long as that takes: what takes long is met more often, and for
    longer.  A turn takes as long as the longest wait in it, and as long as turns are on average.
    """
    passed_on: defaultdict[str, float] = defaultdict(float)
    others: defaultdict[str, float] = defaultdict(float)
    for thread in loops:
        free = [thread.accounts[name].count for name in LOOP_FREE if name in thread.accounts]
        if not free and len(loops) > 1 and _looks_on(thread):
            continue
        turn_ns = _taken_ns(thread, LOOP_FREE) / max(1, sum(free))
        for name, total in thread.accounts.items():
            if name in LOOP_FREE:
                continue
            weight = total.ns / max(1, thread.wall_ns) * max(turn_ns, total.ns / max(1, total.count))
            if name in COMPUTES:
                weight = total.ns / max(1, thread.wall_ns) * turn_ns
            (passed_on if has_finding(name, total) else others)[name] += weight
    whole = sum(others.values()) + sum(passed_on.values()) or 1.0
    passed, rest = ({name: ns / whole for name, ns in sums.items() if ns} for sums in (passed_on, others))
    return Met(passed, rest)


def _looks_on(thread: ThreadLedger) -> bool:
    idle_ns = sum(total.ns for name, total in thread.accounts.items() if kind_of(name) is Kind.IDLE)
    return idle_ns >= MASTER_IDLE * thread.wall_ns


def _busy(loops: Sequence[ThreadLedger]) -> float:
    all_ns = sum(map(_runs_ns, loops))
    return sum(_runs_ns(thread) / all_ns * taken(thread) for thread in loops)


def _taken_ns(thread: ThreadLedger, free: tuple[str, ...]) -> int:
    return thread.wall_ns - thread.ns(*free)


def _seen_loops(threads: Sequence[ThreadLedger]) -> list[ThreadLedger]:
    """Return, of each process, the thread that read most of its requests, if it turned from connection to connection.

    Threads of a pool that take turns at reading (Go's) are none: each of them has read a part.
    """
    by_process: defaultdict[int, list[ThreadLedger]] = defaultdict(list)
    for thread in threads:
        if thread.requests_read:
            by_process[thread.pid].append(thread)
    found = []
    for readers in by_process.values():
        first = max(readers, key=_reads)
        is_loop = first.requests_turned >= LOOP_TURNS * _reads(first)
        if is_loop and _reads(first) >= LOOP_PART * sum(map(_reads, readers)):
            found.append(first)
    return found


def _reads(thread: ThreadLedger) -> int:
    return thread.requests_read or 0


def _event_loops(exchanges: Sequence[Exchange], threads: Sequence[ThreadLedger]) -> list[ThreadLedger]:
    """Return the event loops, one of each process that may serve; none where workers serve, or no thread can be told.

    A process in which nobody waits for events is one of them, whose loop is never free, if it has their name: else it
    is a child with other work.
    """
    served = [each.line for each in exchanges if each.served]
    if sum(line.turns for line in served) < LOOP_TURNS * sum(line.count for line in served) or not served:
        return []
    turning = [thread for thread in threads if _turns(thread)]
    pids, names = {thread.pid for thread in turning}, {thread.comm for thread in turning}
    by_process: defaultdict[int, list[ThreadLedger]] = defaultdict(list)
    for thread in threads:
        if not turning or thread.pid in pids or thread.comm in names:
            by_process[thread.pid].append(thread)
    found = []
    for of_process in by_process.values():
        if not any(map(_runs_ns, of_process)):
            continue
        loop = _loop_of(of_process)
        if loop is None:
            return []
        found.append(loop)
    return found


def _loop_of(threads: Sequence[ThreadLedger]) -> ThreadLedger | None:
    """Return the loop of a process: the thread that does most of what is computed.  Where that one never waits for
    events, and another does, that one if it is hardly free for them."""
    first = max(threads, key=_runs_ns)
    others = [thread for thread in threads if _turns(thread)]
    if others and not _turns(first):
        hindered = max(others, key=taken)
        return hindered if taken(hindered) >= HARDLY_FREE else None
    return first if _runs_ns(first) >= LOOP_PART * sum(map(_runs_ns, threads)) else None


def _turns(thread: ThreadLedger) -> bool:
    return thread.ns(*TURNS) > 0


def _runs_ns(thread: ThreadLedger) -> int:
    return thread.ns("cpu.user", "cpu.kernel")


__all__ = ["FREE", "LOOP_FREE", "Servers", "servers", "taken"]
