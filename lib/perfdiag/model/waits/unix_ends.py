"""The process at the other end of a unix socket, as far as it is known.

Its object names the process that made that end.  This one may have left it to another: a service manager listens for
its services, a parent makes a pair before it forks.  Who ended most of the waits there is at the other end.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from perfdiag.common.by_key import groups_by_key
from perfdiag.recording import schema
from perfdiag.recording.recording import Recording

UNIX = "ipc.unix"
_OF_WAITS = 0.5


def maker_pid(key: str) -> int | None:
    """Return the process that made the other end of a unix socket, as its object names it."""
    pid = key.removeprefix("unix:").partition(":")[0]
    return int(pid) if key.startswith("unix:") and pid.isascii() and pid.isdigit() else None


def unix_ends(recording: Recording) -> Mapping[str, tuple[int, int, str]]:
    """Return process, thread and its name of who is known to be at the other end, by object."""
    lines = groups_by_key(
        (line.object, line) for line in recording.details.values() if line.account == UNIX and maker_pid(line.object)
    )
    own = {line.tid: (line.pid, line.comm) for line in recording.threads.values()}
    return {object: end for object, of in lines.items() if (end := _end(of, own))}


def _end(lines: Iterable[schema.Detail], own: Mapping[int, tuple[int, str]]) -> tuple[int, int, str] | None:
    ended: Counter[tuple[int, int, str]] = Counter()
    waits = 0
    for line in lines:
        pid, comm = own.get(line.waker_tid, (line.waker_pid, line.waker_comm))
        ended[pid, line.waker_tid, comm] += line.waker_count
        waits += line.count
    end, count = max(ended.items(), key=lambda item: (item[1], item[0]))
    return end if end[0] and count >= _OF_WAITS * waits else None
