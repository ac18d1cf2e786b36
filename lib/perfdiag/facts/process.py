"""The target processes: limits, descriptors, counters."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from perfdiag.common.by_key import groups_by_key
from perfdiag.common.text import NO_NAME
from perfdiag.facts.texts import Texts, changes, difference, lines_of, number, table, words_of

LIMIT_NAME = 26  # letters of the first column of /proc/PID/limits
# Of /proc/PID/stat, counted behind the comm in parentheses.
STAT_FIELDS = {"nice": 16, "threads": 17, "policy": 38}
IDLE_POLICY = 5  # SCHED_IDLE of include/uapi/linux/sched.h


@dataclass(frozen=True)
class Process:
    """One target; counters begin to end, everything else at the end (or the begin, if it ended before)."""

    pid: int
    comm: str
    status: Mapping[str, str]  # /proc/PID/status
    state: str  # its letter there, or of a living thread's: "T" stopped by a signal, "t" by a tracer; "" not known
    tracer: int  # the pid of who traces it, 0: nobody
    threads: int | None
    nice: int | None  # of the first thread
    resident_bytes: int | None
    anonymous_bytes: int | None  # of those the anonymous ones
    swapped_bytes: int | None
    wait_ns: int | None  # of the first thread: schedstat
    read_bytes: int | None  # from storage
    written_bytes: int | None
    read_characters: int | None  # asked for by system calls
    written_characters: int | None
    read_calls: int | None
    write_calls: int | None
    cpus_allowed: str | None  # of the first thread
    thread_cpus: Mapping[int, str] | None  # by tid, of threads that may use others than the first; at most 16 are known
    limits: Mapping[str, tuple[float, float]]  # "Max open files" -> (soft, hard), inf: unlimited
    policy: int | None = None  # of the first thread: how it is scheduled
    session: int | None = None  # /proc/PID/autogroup: the number of its session where sessions count, else None
    session_nice: int | None = None  # likewise: what its session has against others


@dataclass(frozen=True)
class Descriptors:
    """Open files of one process, or (pid 0) of the system, over time."""

    pid: int
    used: Sequence[tuple[int, int]]  # (at_ns, count), in time; may be empty
    soft_limit: float | None
    hard_limit: float | None

    @property
    def latest(self) -> int | None:
        """Number at the end."""
        return self.used[-1][1] if self.used else None

    @property
    def part(self) -> float | None:
        """The part of the limit in use; None if either is unknown, 0 if there is no limit."""
        return self.latest / self.soft_limit if self.latest is not None and self.soft_limit else None

    @property
    def growth_per_second(self) -> float | None:
        """From the first to the last count; None with fewer than two."""
        if len(self.used) < 2 or self.used[-1][0] <= self.used[0][0]:
            return None
        return (self.used[-1][1] - self.used[0][1]) * 1e9 / (self.used[-1][0] - self.used[0][0])


def pids(texts: Texts) -> list[int]:
    """Return the recorded targets."""
    return [int(name) for name in texts.names(r"/proc/([0-9]{1,10})/(?:status|stat)")]


def read_processes(texts: Texts) -> dict[int, Process]:
    """Read all that was recorded of the targets, by pid."""
    threads = groups_by_key(
        (int(match[1]), int(match[2])) for _, match in texts.match(r"/proc/([0-9]{1,10})/task/([0-9]{1,10})/status")
    )
    return {pid: _read_process(texts, pid, sorted(threads.get(pid, ()))) for pid in pids(texts)}


def _living(status: Mapping[str, str], threads: Iterable[Mapping[str, str]]) -> Mapping[str, str]:
    """Return the status of the first thread, or if that has ended (State Z) of one that has not."""
    return next((each for each in (status, *threads) if not each.get("State", "").startswith("Z")), {})


def _read_process(texts: Texts, pid: int, tids: Sequence[int]) -> Process:
    """Read one process; `tids` are its threads with a status of their own."""
    status = _status(texts.text(f"/proc/{pid}/status"))
    threads = {tid: _status(texts.text(f"/proc/{pid}/task/{tid}/status")) for tid in tids}
    living = _living(status, threads.values())
    begin, end = (stat_of(texts.text(f"/proc/{pid}/stat", phase)) for phase in ("begin", "end"))
    io = changes(*(table(texts.text(f"/proc/{pid}/io", phase)) for phase in ("begin", "end")))
    session, session_nice = session_of(texts.text(f"/proc/{pid}/autogroup"))
    sizes = table("\n".join(f"{key}: {value}" for key, value in status.items() if value.endswith(" kB")))
    return Process(
        pid=pid,
        comm=status["Name"] or NO_NAME if "Name" in status else "",
        status=status,
        state=living.get("State", "")[:1],
        tracer=number(living.get("TracerPid")) or 0,
        threads=(end or begin).get("threads"),
        nice=(end or begin).get("nice"),
        resident_bytes=sizes.get("VmRSS"),
        anonymous_bytes=sizes.get("RssAnon"),
        swapped_bytes=sizes.get("VmSwap"),
        wait_ns=_word_delta(texts, f"/proc/{pid}/schedstat", 1),
        read_bytes=io.get("read_bytes"),
        written_bytes=io.get("write_bytes"),
        read_characters=io.get("rchar"),
        written_characters=io.get("wchar"),
        read_calls=io.get("syscr"),
        write_calls=io.get("syscw"),
        cpus_allowed=status.get("Cpus_allowed_list"),
        thread_cpus=_thread_cpus(status, threads),
        limits=parse_limits(texts.text(f"/proc/{pid}/limits")),
        policy=(end or begin).get("policy"),
        session=session,
        session_nice=session_nice,
    )


def session_of(text: str | None) -> tuple[int | None, int | None]:
    """Parse "/autogroup-82 nice 0": number and nice value.  Group 0 is none: its threads stand beside the groups
    (sched_autogroup_init())."""
    words = words_of(text)
    session = number(words[0].removeprefix("/autogroup-")) if len(words) == 3 and words[1] == "nice" else None
    return (session, number(words[2])) if session else (None, None)


def _thread_cpus(first: Mapping[str, str], threads: Mapping[int, Mapping[str, str]]) -> dict[int, str]:
    """Return the CPUs of the recorded threads whose CPUs are not those of the first thread."""
    own = {tid: status.get("Cpus_allowed_list") for tid, status in threads.items()}
    return {tid: cpus for tid, cpus in own.items() if cpus and cpus != first.get("Cpus_allowed_list")}


def _status(text: str | None) -> dict[str, str]:
    pairs = (line.partition(":") for line in lines_of(text))
    return {key: value.strip() for key, colon, value in pairs if colon}


def stat_of(text: str | None) -> dict[str, int]:
    """Parse /proc/PID/stat: STAT_FIELDS, as far as they are there."""
    words = words_of((text or "").rpartition(")")[2])
    values = {name: number(words[index]) for name, index in STAT_FIELDS.items() if index < len(words)}
    return {name: value for name, value in values.items() if value is not None}


def _word_delta(texts: Texts, path: str, index: int) -> int | None:
    begin, end = (words_of(texts.text(path, phase)) for phase in ("begin", "end"))
    return difference(*(number(words[index]) if index < len(words) else None for words in (begin, end)))


def parse_limits(text: str | None) -> dict[str, tuple[float, float]]:
    """Parse /proc/PID/limits."""
    limits: dict[str, tuple[float, float]] = {}
    for line in lines_of(text):
        name, words = line[:LIMIT_NAME].rstrip(" "), words_of(line[LIMIT_NAME:])
        values = [math.inf if word == "unlimited" else number(word) for word in words[:2]]
        soft, hard = values if len(values) == 2 else (None, None)
        if name.startswith("Max ") and soft is not None and hard is not None and min(soft, hard) >= 0:
            limits[name] = (soft, hard)
    return limits


def read_descriptors(texts: Texts, pid: int) -> Descriptors:
    """Read the number of open files of a process over time, and its limit."""
    used = _first_words(texts, f"/proc/{pid}/fd")
    soft, hard = parse_limits(texts.text(f"/proc/{pid}/limits")).get("Max open files", (None, None))
    return Descriptors(pid, used, soft, hard)


def read_system_descriptors(texts: Texts) -> Descriptors | None:
    """Read /proc/sys/fs/file-nr over time."""
    used = _first_words(texts, "/proc/sys/fs/file-nr")
    words = words_of(texts.text("/proc/sys/fs/file-nr"))
    limit = number(words[2]) if len(words) == 3 else None
    limit = None if limit is None or limit < 0 else limit
    return Descriptors(0, used, limit, limit) if used else None


def _first_words(texts: Texts, path: str) -> list[tuple[int, int]]:
    if path not in texts:
        texts.text(path)  # for the reason
    values = ((at_ns, number((words_of(text) or [""])[0])) for at_ns, text in texts.series(path))
    return [(at_ns, value) for at_ns, value in values if value is not None and value >= 0]
