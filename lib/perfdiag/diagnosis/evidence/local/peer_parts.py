"""Who did what at the other end of the target's waits: what several processes did is told of none of them alone."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from perfdiag.common.by_key import groups_by_key, sums_by_key
from perfdiag.common.text import named, printable
from perfdiag.diagnosis.significance import plain
from perfdiag.model.waits.peer_waits import PeerWait

SEVERAL = "several processes"
_UNKNOWN = "several threads or processes"
ENDED = "a thread or child of its own that has ended"
_MOST = 0.5  # who was in an account for less of its time is not named with it
LEAST_TOLD = 0.35  # of what is known: less is no cause of most of it


@dataclass(frozen=True)
class Doer:
    """A process that was in something meanwhile, or its threads of one name."""

    pid: int
    comm: str
    is_peer: bool  # it is who ended the waits, not one behind
    has_ended: bool = False  # it was a thread or child of that, which has ended

    @property
    def name(self) -> str:
        """Its name, or that of whose thread or child it was: "python3 (18958)"."""
        return plain(named(self.comm, self.pid)) if self.comm else f"process {self.pid}"

    @property
    def who(self) -> str:
        """The same, but for one that has ended."""
        return ENDED if self.has_ended else self.name


@dataclass(frozen=True)
class Part:
    """What one of them, or several together, were in for how long."""

    doer: Doer | None  # None: several
    root: str  # the account
    lines: Sequence[PeerWait]  # the longest first

    @property
    def ns(self) -> int:
        """How long that was."""
        return ns_of(self.lines)

    @property
    def object(self) -> str:
        """What most of that was for, "" if the account has none."""
        return plain(self.lines[0].root_object)

    @property
    def who(self) -> str:
        """That one, or those, in words."""
        if self.doer:
            return self.doer.who
        doers = list(map(_threads_of_one_name, self.lines))
        return crowd_of([(doer.pid, doer.comm) for doer in doers if doer]) if all(doers) else _UNKNOWN


def crowd_of(processes: Sequence[tuple[int, str]]) -> str:
    """Return several processes in words: "postgres (16 processes)" where all whose name is known have the same."""
    names = {comm for _, comm in processes if comm}
    number = len({pid for pid, _ in processes})
    return f"{plain(printable(names.pop()))} ({number} processes)" if len(names) == 1 and number > 1 else SEVERAL


def root_of(each: PeerWait) -> str:
    """Return the account that who is waited for was in."""
    return "cpu.user" if each.line.root == "cpu.kernel" else each.line.root


def ns_of(lines: Sequence[PeerWait]) -> int:
    """Return how long all of that took."""
    return sum(each.line.sum_ns for each in lines)


def peer_of_most(lines: Sequence[PeerWait]) -> Doer | None:
    """Return the process that ended most of the waits; None where no one did."""
    by_peer = sums_by_key((Doer(each.line.peer_pid, each.line.peer_comm, True), each.line.sum_ns) for each in lines)
    most = max(by_peer, key=lambda peer: by_peer[peer])
    return most if by_peer[most] >= _MOST * ns_of(lines) else None


def doer_of_most(lines: Sequence[PeerWait]) -> Doer | None:
    """Return the process that was in these for most of the time; None where no one was."""
    doer_of = _processes(lines)
    by_doer = sums_by_key((doer_of(each), each.line.sum_ns) for each in lines)
    return next((doer for doer, ns in by_doer.items() if ns > _MOST * ns_of(lines)), None)


def parts_of(lines: Sequence[PeerWait], first: str, whole_ns: int) -> list[Part]:
    """Return who was in what, the longest first, but in front whose the account `first` mostly was: the threads of one
    name, all threads of a process, or nobody's alone."""
    of_first = [each for each in lines if root_of(each) == first]
    peer = peer_of_most(lines)
    behind = [each for each in lines if not peer or each.line.peer_pid == peer.pid]
    for doer_of in (_threads_of_one_name, _processes(lines)):
        parts = _parts(behind, doer_of)
        most = next((part for part in parts if part.root == first and part.doer), None)
        all_ns = sum(part.ns for part in parts if most and part.doer == most.doer)
        if most and most.ns >= _MOST * ns_of(of_first) and all_ns >= LEAST_TOLD * whole_ns:
            return [most, *(part for part in parts if part is not most)]
    return [Part(None, first, of_first), *parts]


def _parts(lines: Sequence[PeerWait], doer_of: Callable[[PeerWait], Doer | None]) -> list[Part]:
    groups = groups_by_key(((doer_of(each), root_of(each)), each) for each in lines)
    return sorted((Part(doer, root, members) for (doer, root), members in groups.items()), key=lambda part: -part.ns)


def _threads_of_one_name(each: PeerWait) -> Doer | None:
    line = each.line
    if line.root_pid:
        return Doer(line.root_pid, line.root_comm, (line.root_pid, line.root_comm) == (line.peer_pid, line.peer_comm))
    if line.root_tid == line.peer_pid:  # the process itself has ended, as a worker for each connection does
        return Doer(line.peer_pid, line.peer_comm, True)
    # Without a thread: the recorder had no room to tell them apart.
    return Doer(line.peer_pid, line.peer_comm, True, has_ended=True) if line.root_tid else None


def _processes(lines: Sequence[PeerWait]) -> Callable[[PeerWait], Doer | None]:
    """Return the same by process, under its own name where that is known."""
    names = {each.line.root_pid: each.line.root_comm for each in reversed(lines)}
    names |= {each.line.root_pid: each.line.root_comm for each in lines if each.line.root_tid == each.line.root_pid}
    names |= {each.line.peer_pid: each.line.peer_comm for each in lines}

    def doer_of(each: PeerWait) -> Doer | None:
        doer = _threads_of_one_name(each)
        if doer is None or doer.has_ended:
            return doer
        return Doer(doer.pid, names[doer.pid], doer.pid == each.line.peer_pid)

    return doer_of
