"""Waits at pipes for news that nobody sent, or that comes from threads of the same process.

A thread that reads a pipe of its own process is woken by another thread of it, as one on a futex is: the handler of
signals, or a worker.  One that got nothing in the whole window did nothing in it.  Where requests are served, and none
of them was in such a wait, nobody waited for that thread either, and nothing shows that it is not idle.
"""

from collections import Counter
from collections.abc import Iterable

from perfdiag.model.stacks.symbols import WAITS_FOR_ROOM
from perfdiag.recording import schema
from perfdiag.recording.accounts import PIPE
from perfdiag.recording.recording import Recording


def idle_pipes(recording: Recording) -> frozenset[tuple[int, str]]:
    """Return such pipes, by process and object."""
    served = [line for line in recording.exchanges if line.direction == "accepted" and line.count]
    if not served or _hold_up_requests(recording, served):
        return frozenset()
    writers = {
        (stack.pid, stack.object)
        for stack in recording.stacks
        if stack.account == PIPE and not WAITS_FOR_ROOM.isdisjoint(stack.kernel)
    }
    waiting = Counter((line.pid, line.open.object) for line in recording.threads.values() if line.open)
    own = {(line.pid, line.tid) for line in recording.threads.values()}
    return frozenset(
        (line.pid, line.object)
        for line in recording.details.values()
        if line.account == PIPE
        and (line.pid, line.object) not in writers
        and (line.count <= waiting[line.pid, line.object] or _is_own(line, own))
    )


def _is_own(line: schema.Detail, own: set[tuple[int, int]]) -> bool:
    """Return whether a thread of the process itself ended most of these waits."""
    return (line.pid, line.waker_tid) in own and 2 * line.waker_count > line.count


def _hold_up_requests(recording: Recording, served: Iterable[schema.Exchange]) -> bool:
    """Return whether requests waited at pipes, or for threads that did."""
    inside = any(each.account == PIPE for line in served for each in line.accounts)
    unread = any(PIPE in (line.account, line.root) for line in recording.requests_unread)
    left = any(PIPE in (part.account, part.root) for line in recording.requests_left for part in line.parts)
    behind = any(PIPE in (line.account, line.root, *line.steps) for line in recording.because if line.inside)
    return inside or unread or left or behind
