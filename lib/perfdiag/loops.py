"""Who serves the requests: one thread that turns from connection to connection, or workers, each with its own."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from perfdiag.exchanges import Exchange
from perfdiag.model import ThreadLedger

# A loop reads from many connections with one thread, which has most of what its process computes.
LOOP_TURNS = 0.5
LOOP_PART = 0.6
# Whoever is in these would take up what comes; not who waits for the next request of one connection.
FREE = ("net.accept", "wait.work")
LOOP_FREE = (*FREE, "wait.events", "net.request")
RUNQ = ("runq.busy", "runq.waking", "runq.throttled", "cpu.stolen")


@dataclass(frozen=True)
class Servers:
    """The threads that serve, as far as they hold up requests that they have not come to."""

    loop: bool
    busy: float  # the part of their time in which they are with somebody
    runq: Mapping[str, float]  # of that: waiting for a CPU, by account


def servers(exchanges: Sequence[Exchange], threads: Sequence[ThreadLedger]) -> Servers:
    """Return who serves the requests of a target."""
    if loops := event_loops(exchanges, threads):
        return _by_loops(loops)
    serving = [thread for thread in threads if thread.tid]
    wall_ns, taken_ns = sum(thread.wall_ns for thread in serving), sum(_taken_ns(thread, FREE) for thread in serving)
    waits = {name: sum(thread.ns(name) for thread in serving) / taken_ns for name in RUNQ} if taken_ns > 0 else {}
    return Servers(False, taken_ns / wall_ns if wall_ns else 0.0, waits)


def taken(loop: ThreadLedger) -> float:
    """Return in which part of its time an event loop is with somebody."""
    return _taken_ns(loop, LOOP_FREE) / max(1, loop.wall_ns)


def _by_loops(loops: Sequence[ThreadLedger]) -> Servers:
    """Return what a request meets at its loop.  How many each serves is not told: of those alike, who runs for longer
    serves more, and a master that sleeps, or a worker that nobody asks, has next to no part in what requests meet."""
    all_ns = sum(map(_runs_ns, loops))
    busy, waits = 0.0, dict.fromkeys(RUNQ, 0.0)
    for thread in loops:
        part, taken_ns = _runs_ns(thread) / all_ns, _taken_ns(thread, LOOP_FREE)
        busy += part * taken_ns / max(1, thread.wall_ns)
        for name in RUNQ:
            waits[name] += part * thread.ns(name) / max(1, taken_ns)
    return Servers(True, busy, waits)


def _taken_ns(thread: ThreadLedger, free: tuple[str, ...]) -> int:
    return thread.wall_ns - thread.ns(*free)


def event_loops(exchanges: Sequence[Exchange], threads: Iterable[ThreadLedger]) -> list[ThreadLedger]:
    """Return the event loops: of each process the one thread that does most; none where workers serve."""
    served = [each.line for each in exchanges if each.served]
    if sum(line.turns for line in served) < LOOP_TURNS * sum(line.count for line in served) or not served:
        return []
    by_process: defaultdict[int, list[ThreadLedger]] = defaultdict(list)
    for thread in threads:
        by_process[thread.pid].append(thread)
    found = []
    for of_process in by_process.values():
        first = max(of_process, key=_runs_ns)
        if not _runs_ns(first):
            continue
        if _runs_ns(first) < LOOP_PART * sum(map(_runs_ns, of_process)):
            return []
        found.append(first)
    return found


def _runs_ns(thread: ThreadLedger) -> int:
    return thread.ns("cpu.user", "cpu.kernel")


__all__ = ["FREE", "LOOP_FREE", "Servers", "event_loops", "servers", "taken"]
