"""The processes behind which the target waited longest for a CPU, as they were when the window ended."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from perfdiag.facts import cgroup, process
from perfdiag.facts.storage import Mount
from perfdiag.facts.texts import Texts

PATTERN = r"/competitor/([0-9]{1,10})/stat"  # of the recorder: /proc/PID/stat
REAL_TIME = (1, 2, 6)  # SCHED_FIFO, SCHED_RR, SCHED_DEADLINE of include/uapi/linux/sched.h


@dataclass(frozen=True, slots=True)
class Competitor:
    """One of them. `weighed` are the directories of control groups that it is in and that share CPUs by weight, the
    innermost first, with their weights."""

    pid: int
    ended: bool
    nice: int | None  # of the first thread
    policy: int | None  # likewise
    session: int | None  # /proc/PID/autogroup, as of Process
    session_nice: int | None
    weighed: Mapping[str, int]


def read_competitors(texts: Texts, mounts: Sequence[Mount]) -> Mapping[int, Competitor]:
    """Read those that were looked at, by pid."""
    return {int(match[1]): _read(texts, mounts, int(match[1])) for _, match in texts.match(PATTERN)}


def _read(texts: Texts, mounts: Sequence[Mount], pid: int) -> Competitor:
    text = texts.text(f"/competitor/{pid}/stat", "end")
    stat = process.stat_of(text)
    session, session_nice = process.session_of(texts.text(f"/competitor/{pid}/autogroup", "end"))
    return Competitor(
        pid=pid,
        ended=text is None,
        nice=stat.get("nice"),
        policy=stat.get("policy"),
        session=session,
        session_nice=session_nice,
        weighed=cgroup.weights(texts, mounts, texts.text(f"/competitor/{pid}/cgroup", "end")),
    )
