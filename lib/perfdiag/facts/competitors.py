"""The processes behind which the target waited longest for a CPU or a file's lock, as they were at the end."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from perfdiag.facts import cgroup, process
from perfdiag.facts.storage import Mount
from perfdiag.facts.texts import Texts, number, words_of
from perfdiag.recording.schema.limits import RECORDER

PATTERN = r"/competitor/([0-9]{1,10})/stat"  # of the recorder: /proc/PID/stat
GONE = ("No such file or directory", "No such process")
REAL_TIME = (1, 2, 6)  # SCHED_FIFO, SCHED_RR, SCHED_DEADLINE of include/uapi/linux/sched.h


@dataclass(frozen=True, slots=True)
class Competitor:
    """One of them. `weighed` are the control groups that it is in and that share CPUs by weight, the innermost
    first."""

    pid: int
    ended: bool
    nice: int | None  # of the first thread
    policy: int | None  # likewise
    session: int | None  # /proc/PID/autogroup, as of Process
    session_nice: int | None
    weighed: Sequence[cgroup.Weight]
    ran_ns: int | None = None  # since it began, its first thread
    queued_ns: int | None = None  # of that thread, while others had its CPU

    @property
    def queued_part(self) -> float:
        """Return how much of the time that it wanted a CPU it waited for one; 0 where that is not known."""
        wanted_ns = (self.ran_ns or 0) + (self.queued_ns or 0)
        return (self.queued_ns or 0) / wanted_ns if wanted_ns else 0.0


def read_competitors(texts: Texts, mounts: Sequence[Mount]) -> Mapping[int, Competitor]:
    """Read those that were looked at, by pid; not one whose files could not be read though it may live."""
    pids = (int(match[1]) for _, match in islice(texts.match(PATTERN), RECORDER["COMPETITORS"]))
    return {pid: seen for pid in pids if (seen := _read(texts, mounts, pid))}


def _read(texts: Texts, mounts: Sequence[Mount], pid: int) -> Competitor | None:
    path = f"/competitor/{pid}/stat"
    text = texts.text(path, "end")
    ended = any(error in GONE for error in texts.errors(path)) if text is None else is_zombie(text)
    if text is None and not ended:
        return None
    stat = process.stat_of(text)
    session, session_nice = process.session_of(texts.text(f"/competitor/{pid}/autogroup", "end"))
    ran, queued, *_ = [*map(number, words_of(texts.text(f"/competitor/{pid}/schedstat", "end"))), None, None]
    return Competitor(
        pid=pid,
        ended=ended,
        nice=stat.get("nice"),
        policy=stat.get("policy"),
        session=session,
        session_nice=session_nice,
        weighed=cgroup.weights(texts, mounts, texts.text(f"/competitor/{pid}/cgroup", "end")),
        ran_ns=ran,
        queued_ns=queued,
    )


def is_zombie(stat: str) -> bool:
    """Return whether the process has ended, and its parent has not asked how."""
    return words_of(stat.rpartition(")")[2])[:1] in (["Z"], ["X"])
