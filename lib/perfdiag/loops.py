"""Who serves the requests: one thread that turns from connection to connection, or workers, each with its own."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from perfdiag.model import ThreadLedger
from perfdiag.requests import Exchange

# A loop reads from many connections with one thread, which has most of what its process computes.
LOOP_TURNS = 0.5
LOOP_PART = 0.6
# Whoever is in these would take up what comes; not who waits for the next request of one connection.
FREE = ("net.accept", "wait.work")


@dataclass(frozen=True)
class Servers:
    """The threads that serve, as far as they hold up requests that they have not come to."""

    loop: bool
    busy: float  # the part of their time in which they are with somebody
    runq: Mapping[str, float]  # of that: waiting for a CPU, by account


def servers(exchanges: Sequence[Exchange], threads: Sequence[ThreadLedger]) -> Servers:
    """Return who serves the requests of a target."""
    loops = _loops(exchanges, threads)
    serving = loops or [thread for thread in threads if thread.tid]
    free = (*FREE, "wait.events", "net.request") if loops else FREE
    wall_ns = sum(thread.wall_ns for thread in serving)
    taken_ns = wall_ns - sum(thread.ns(*free) for thread in serving)
    names = ("runq.busy", "runq.waking", "runq.throttled", "cpu.stolen")
    waits = {name: sum(thread.ns(name) for thread in serving) / taken_ns for name in names} if taken_ns > 0 else {}
    return Servers(bool(loops), taken_ns / wall_ns if wall_ns else 0.0, waits)


def _loops(exchanges: Sequence[Exchange], threads: Iterable[ThreadLedger]) -> list[ThreadLedger]:
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


__all__ = ["FREE", "Servers", "servers"]
