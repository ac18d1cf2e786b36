"""Locks of files that give processes the turn to wait for work: who waits for such a lock is as idle as who holds it.

Servers of several processes let one at a time wait for the next connection (Postfix, Apache's Mutex, PreFork of Perl).
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from perfdiag.common.by_key import sums_by_key
from perfdiag.model.waits.wait_chains import is_for_answer
from perfdiag.recording import schema
from perfdiag.recording.recording import Recording

FILE_LOCK = "lock.file"
_FOR_WORK = ("net.accept", "wait.events")
_MOSTLY = 0.5
_HARDLY = 0.05


def turns_to_receive(recording: Recording, holders: Mapping[str, frozenset[int]]) -> frozenset[str]:
    """Return the files for whose locks threads waited mostly while the holder waited for work, and none of them in a
    request.  Who waits between two requests of a client is not idle so: it may keep a lock of that client's.

    `holders`: the processes that hold locks at the end, by file: they tell of waits that had not ended, where no
    request or call is under way, which the holder could be waiting for.
    """
    details = (each for each in recording.details.values() if each.account == FILE_LOCK)
    waited = sums_by_key((each.object, each.sum_ns) for each in details)
    if not waited or _inside_ns(recording) > _HARDLY * sum(waited.values()):
        return frozenset()
    lines = (line for line in recording.because if line.account == FILE_LOCK and not line.inside and _for_work(line))
    idle = Counter(sums_by_key((line.object, line.sum_ns) for line in lines))
    idle.update({} if _is_owed(recording) else _not_ended(recording, holders))
    return frozenset(object for object, ns in waited.items() if idle[object] > _MOSTLY * ns)


def _inside_ns(recording: Recording) -> int:
    """Return for how long requests waited for locks of files."""
    return sum(part.sum_ns for line in recording.exchanges for part in line.accounts if part.account == FILE_LOCK)


def _is_owed(recording: Recording) -> bool:
    """Return whether an answer of the target, or to it, was outstanding when the window ended."""
    return bool(recording.requests_left) or any(line.open or line.connecting for line in recording.exchanges)


def _for_work(line: schema.Because) -> bool:
    return line.root in _FOR_WORK and not is_for_answer(line)


def _not_ended(recording: Recording, holders: Mapping[str, frozenset[int]]) -> Mapping[str, int]:
    """Return for how long waits that had not ended were for locks whose holders waited for work meanwhile, by file."""
    since_ns = _wait_for_work_since(recording.threads.values())
    found: defaultdict[str, int] = defaultdict(int)
    for line in recording.threads.values():
        if line.open is None or line.open.account != FILE_LOCK:
            continue
        pids = holders.get(":".join(line.open.object.split(":")[:4]), frozenset())  # without the name of the file
        if pids and pids <= since_ns.keys():
            begun_ns = max(line.open.since_ns, recording.header.start_ns, *(since_ns[pid] for pid in pids))
            found[line.open.object] += max(0, recording.end_ns - begun_ns)
    return found


def _wait_for_work_since(threads: Iterable[schema.Thread]) -> dict[int, int]:
    """Return the processes all of whose threads wait for work at the end, and since when."""
    found: dict[int, int] = {}
    working: set[int] = set()
    for line in threads:
        if line.open and line.open.account in _FOR_WORK:
            found[line.pid] = max(found.get(line.pid, 0), line.open.since_ns)
        elif line.state == "alive":
            working.add(line.pid)
    return {pid: since_ns for pid, since_ns in found.items() if pid not in working}


__all__ = ["FILE_LOCK", "turns_to_receive"]
