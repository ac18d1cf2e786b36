"""Who serves the requests: one thread that turns from connection to connection, or workers, each with its own."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from perfdiag.common.by_key import groups_by_key
from perfdiag.model.requests.unread_requests import LISTENS, Met, Part, met_at_loops, met_at_workers
from perfdiag.model.thread_accounts import ThreadLedger
from perfdiag.recording.accounts import PARKED

# A loop reads from many connections with one thread, which reads most of what its process does.  Workers are never seen
# to turn from one that is open to another (0 % in all recordings of such here); loops are where two are open at a time:
# where clients open one for each request, that is hardly more often than somebody has to wait.
LOOP_TURNS = 0.1
LOOP_PART = 0.6


@dataclass(frozen=True)
class Servers:
    """The threads that serve, as far as they hold up requests that they have not come to."""

    loops: Sequence[ThreadLedger] = ()  # event loops; none where workers serve
    busy: float = 0.0  # the part of their time in which loops are with somebody
    met: Met = field(default_factory=Met)  # what requests meet at them
    error: float = 0.0  # which part of that may be told of the wrong accounts
    followed: bool = True  # who read requests was recorded, and in what he was before; older recordings do not tell

    @property
    def loop(self) -> bool:
        """Whether event loops serve, not workers."""
        return bool(self.loops)


def servers(
    threads: Sequence[ThreadLedger], unread: Sequence[Part] = (), error: float = 0.0, listens: Collection[str] = LISTENS
) -> Servers:
    """Return who serves the requests of a target; `unread`: what requests were seen to meet, but for `error`.

    `listens`: accounts in which threads take up what comes.
    """
    if not any(thread.requests_read is not None for thread in threads):
        return Servers(followed=False)
    if loops := _event_loops(threads):
        return Servers(loops, _busy(loops), met_at_loops(unread, listens), error)
    return Servers(met=met_at_workers(unread, listens), error=error)


def taken(loop: ThreadLedger) -> float:
    """Return in which part of its time an event loop is surely with somebody: a blocked one may be idle."""
    return 1 - loop.ns(*LISTENS, PARKED) / max(1, loop.wall_ns)


def _busy(loops: Sequence[ThreadLedger]) -> float:
    return sum(_reads(thread) * taken(thread) for thread in loops) / sum(map(_reads, loops))


def _event_loops(threads: Sequence[ThreadLedger]) -> list[ThreadLedger]:
    """Return, of each process, the thread that read most of its requests, if it turned from connection to connection.

    Threads of a pool that take turns at reading (Go's) are none: each of them has read a part.
    """
    by_process = groups_by_key((thread.pid, thread) for thread in threads if thread.requests_read)
    found = []
    for readers in by_process.values():
        first = max(readers, key=_reads)
        is_loop = first.requests_turned >= LOOP_TURNS * _reads(first)
        if is_loop and _reads(first) >= LOOP_PART * sum(map(_reads, readers)):
            found.append(first)
    return found


def _reads(thread: ThreadLedger) -> int:
    return thread.requests_read or 0
