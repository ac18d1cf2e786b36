"""Control groups of the targets and their ancestors, versions 1 and 2 alike.  Unlimited is `math.inf`."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from posixpath import dirname

from perfdiag.facts.storage import Mount
from perfdiag.facts.texts import Texts, changes, lines_of, number, table, words_of

THROTTLES_1 = {"rbps": "read_bps", "wbps": "write_bps", "riops": "read_iops", "wiops": "write_iops"}
# The recorder looks at no more (facts_cgroup.c).
MOST_HIERARCHIES = 32
MOST_DIRECTORIES = 1024
MOST_NESTED = 256  # of competitors: who is deeper has no weights that are looked at
UNLIMITED_BYTES = 1 << 62  # version 1 writes "no limit" as the largest number of whole pages


@dataclass(frozen=True)
class Cgroup:
    """What all kinds share.  `path` is the directory as mounted on the recorded host."""

    path: str
    version: int  # 1 or 2
    pids: tuple[int, ...]  # targets in it or below it
    inode: int | None  # the ID of objects "cgroup:ID"
    depth: int  # 0: the hierarchy's root as far as it is visible


@dataclass(frozen=True)
class CpuGroup(Cgroup):
    """CPU bandwidth; counters begin to end."""

    quota_cpus: float | None  # quota / period, inf: unlimited, None: unknown
    period_ns: int | None
    weight: int | None  # cpu.weight, or cpu.shares in version 1
    periods: int | None
    throttled_periods: int | None
    throttled_ns: int | None
    usage_ns: int | None


@dataclass(frozen=True)
class MemoryGroup(Cgroup):
    """Memory limits at the end; events begin to end."""

    limit_bytes: float | None  # memory.max or memory.limit_in_bytes
    high_bytes: float | None  # version 2 only
    usage_bytes: int | None
    swap_limit_bytes: float | None
    events: Mapping[str, int]  # version 2: low, high, max, oom, oom_kill; version 1: failcnt (as max), oom_kill
    stat: Mapping[str, int]  # memory.stat at the end: anon, file, shmem, file_dirty ... (version 1: rss, cache ...)
    changes: Mapping[str, int]  # of the counters in memory.stat, begin to end


@dataclass(frozen=True)
class IoGroup(Cgroup):
    """I/O limits by device "MAJOR:MINOR"; counters begin to end."""

    limits: Mapping[str, Mapping[str, int]]  # rbps, wbps, riops, wiops; only those that are set
    counters: Mapping[str, Mapping[str, int]]  # version 2: rbytes, wbytes, rios, wios, dbytes, dios


@dataclass(frozen=True)
class PidsGroup(Cgroup):
    """Number of tasks, at the end."""

    limit: float | None
    current: int | None
    refused: int | None  # tasks that could not be made in the window, for this limit or one above


@dataclass(frozen=True)
class CpusetGroup(Cgroup):
    """CPUs that its processes may use, at the start."""

    cpus: str  # "0-3,8"


@dataclass
class Directory:
    """A directory of a hierarchy that targets are in or below."""

    path: str
    controller: str | None  # None: version 2
    depth: int
    pids: list[int] = field(default_factory=list)


def find_directories(texts: Texts, mounts: Sequence[Mount]) -> Sequence[Directory]:
    """Return the directories of all targets' groups, each followed by its ancestors up to the mount point."""
    found: dict[tuple[str, str | None], Directory] = {}
    hierarchies = _hierarchies(mounts)
    for (controller, group), pids in _members(texts).items():
        for directory, depth in _places(hierarchies, controller, group):
            if len(found) == MOST_DIRECTORIES and (directory, controller) not in found:
                break
            entry = found.setdefault((directory, controller), Directory(directory, controller, depth))
            entry.pids = sorted({*entry.pids, *pids}) if entry.pids else list(pids)
    return sorted(found.values(), key=lambda directory: -directory.depth)


def _members(texts: Texts) -> dict[tuple[str | None, str], dict[int, None]]:
    """Return the targets in each group by controller (None: version 2) and name: most targets share theirs."""
    found: dict[tuple[str | None, str], dict[int, None]] = {}
    for path, match in texts.match(r"/proc/([0-9]{1,10})/cgroup"):
        for controller, group in _parse(texts.text(path)):
            found.setdefault((controller, group), {})[int(match[1])] = None
    return found


def _parse(text: str | None) -> Iterator[tuple[str | None, str]]:
    """Yield the groups that /proc/PID/cgroup names, by controller (None: version 2)."""
    for line in lines_of(text):
        identity, _, rest = line.partition(":")
        controllers, _, group = rest.partition(":")
        if identity.isdigit() and group.startswith("/"):
            for controller in controllers.split(",") if controllers else [None]:
                yield controller, group


@dataclass(frozen=True, slots=True)
class Weight:
    """What part of its parent's CPUs a group gets, beside the groups there."""

    directory: str
    version: int  # 1: cpu.shares, 2: cpu.weight
    weight: int


def weights(texts: Texts, mounts: Sequence[Mount], text: str | None) -> list[Weight]:
    """Return the weights of the groups in this /proc/PID/cgroup that share CPUs by weight, the innermost first."""
    hierarchies = _hierarchies(mounts)
    found = []
    for controller, group in _parse(text):
        if controller in (None, "cpu") and group.count("/") <= MOST_NESTED:
            for directory, depth in _places(hierarchies, controller, group):
                path = f"{directory}/{'cpu.weight' if controller is None else 'cpu.shares'}"
                weight = number(texts.text(path)) if depth and path in texts else None
                if weight:
                    found.append(Weight(directory, 1 if controller else 2, weight))
    return found


def _hierarchies(mounts: Sequence[Mount]) -> list[Mount]:
    """Return the mounts of control groups that are looked at."""
    return [mount for mount in mounts if mount.fstype in ("cgroup", "cgroup2")][:MOST_HIERARCHIES]


def _places(mounts: Sequence[Mount], controller: str | None, group: str) -> Iterator[tuple[str, int]]:
    """Yield the directory of a group and its ancestors; the choice of the mount is facts_cgroup.c's."""
    best: Mount | None = None
    for mount in mounts:
        fits = mount.fstype == "cgroup" and controller in mount.options if controller else mount.fstype == "cgroup2"
        root = mount.root.rstrip("/")
        if fits and (group == root or group.startswith(f"{root}/")) and (not best or _rank(mount) <= _rank(best)):
            best = mount
    if best:
        rest = group[len(best.root.rstrip("/")) :].rstrip("/")
        for depth in range(rest.count("/"), -1, -1):
            yield best.mountpoint + rest, depth
            rest = dirname(rest).rstrip("/")


def _rank(mount: Mount) -> tuple[bool, int]:
    return mount.root != "/", len(mount.mountpoint)


class Reader:
    """Reads the groups of a recording, nearest to the targets first."""

    def __init__(self, texts: Texts, mounts: Sequence[Mount]) -> None:
        self._texts = texts
        self.directories = find_directories(texts, mounts)

    def _of(self, controller: str, *files: str) -> Iterator[tuple[Directory, int]]:
        """Yield the directories that show a controller: version 1, or version 2 with one of its files."""
        for directory in self.directories:
            if directory.controller == controller:
                yield directory, 1
            elif directory.controller is None and any(f"{directory.path}/{file}" in self._texts for file in files):
                yield directory, 2

    def _place(self, directory: Directory, version: int) -> tuple[str, int, tuple[int, ...], int | None, int]:
        """Return what all kinds of groups share, in the order of `Cgroup`."""
        words = words_of(self._texts.text(directory.path))
        inode = number(words[2]) if len(words) == 3 else None
        return directory.path, version, tuple(directory.pids), inode, directory.depth

    def _number(self, directory: Directory, file: str) -> int | None:
        path = f"{directory.path}/{file}"
        return self._texts.number(path) if path in self._texts else None

    def _limit(self, directory: Directory, file: str) -> float | None:
        word = self._texts.word(f"{directory.path}/{file}")
        value = number(word)
        if word == "max" or (value is not None and value >= UNLIMITED_BYTES):
            return math.inf
        return value

    def _delta(self, directory: Directory, file: str) -> dict[str, int]:
        path = f"{directory.path}/{file}"
        return changes(table(self._texts.text(path, "begin")), table(self._texts.text(path, "end")))

    def cpu(self) -> Iterator[CpuGroup]:
        """Yield CPU bandwidth."""
        for directory, version in self._of("cpu", "cpu.max", "cpu.weight"):
            stat = self._delta(directory, "cpu.stat")
            throttled = stat.get("throttled_time")
            if version == 2:
                quota, period_us = self._quota_2(directory)
                throttled = _times_1000(stat.get("throttled_usec"))
            else:
                quota, period_us = self._quota_1(directory)
            yield CpuGroup(
                *self._place(directory, version),
                quota_cpus=quota,
                period_ns=_times_1000(period_us),
                weight=self._number(directory, "cpu.weight" if version == 2 else "cpu.shares"),
                periods=stat.get("nr_periods"),
                throttled_periods=stat.get("nr_throttled"),
                throttled_ns=throttled,
                usage_ns=_times_1000(stat.get("usage_usec")) if version == 2 else self._usage_1(directory),
            )

    def _quota_2(self, directory: Directory) -> tuple[float | None, int | None]:
        words = words_of(self._texts.text(f"{directory.path}/cpu.max"))
        period = number(words[1]) if len(words) == 2 else None
        quota = number(words[0]) if words else None
        if words and words[0] == "max":
            return math.inf, period
        return quota / period if quota is not None and period else None, period

    def _quota_1(self, directory: Directory) -> tuple[float | None, int | None]:
        quota, period = self._number(directory, "cpu.cfs_quota_us"), self._number(directory, "cpu.cfs_period_us")
        if quota is not None and quota < 0:
            return math.inf, period
        return quota / period if quota is not None and period else None, period

    def _usage_1(self, directory: Directory) -> int | None:
        path = f"{directory.path}/cpuacct.usage"
        return self._texts.delta(path) if path in self._texts else None

    def memory(self) -> Iterator[MemoryGroup]:
        """Yield memory limits."""
        for directory, version in self._of("memory", "memory.max", "memory.current"):
            first = version == 1
            limit = self._limit(directory, "memory.limit_in_bytes" if first else "memory.max")
            yield MemoryGroup(
                *self._place(directory, version),
                limit_bytes=limit,
                high_bytes=None if first else self._limit(directory, "memory.high"),
                usage_bytes=self._number(directory, "memory.usage_in_bytes" if first else "memory.current"),
                swap_limit_bytes=self._swap_1(directory, limit) if first else self._limit(directory, "memory.swap.max"),
                events=self._events_1(directory) if first else self._delta(directory, "memory.events"),
                stat=table(self._texts.text(f"{directory.path}/memory.stat")),
                changes=self._delta(directory, "memory.stat"),
            )

    def _swap_1(self, directory: Directory, limit: float | None) -> float | None:
        """Version 1 limits the sum of memory and swap."""
        both = self._limit(directory, "memory.memsw.limit_in_bytes")
        if both is None or both == math.inf or limit is None:
            return both if both == math.inf else None
        return max(both - limit, 0)

    def _events_1(self, directory: Directory) -> dict[str, int]:
        events = {name: n for name, n in self._delta(directory, "memory.oom_control").items() if name == "oom_kill"}
        refused = self._texts.delta(f"{directory.path}/memory.failcnt")
        return events if refused is None else {**events, "max": refused}

    def io(self) -> Iterator[IoGroup]:
        """Yield I/O limits."""
        for directory, version in self._of("blkio", "io.max", "io.stat"):
            begin, end = (_by_device(self._texts.text(f"{directory.path}/io.stat", p)) for p in ("begin", "end"))
            yield IoGroup(
                *self._place(directory, version),
                limits=self._limits_1(directory)
                if version == 1
                else _by_device(self._texts.text(f"{directory.path}/io.max")),
                counters={device: changes(begin.get(device, {}), values) for device, values in end.items()},
            )

    def _limits_1(self, directory: Directory) -> dict[str, dict[str, int]]:
        limits: dict[str, dict[str, int]] = {}
        for name, file in THROTTLES_1.items():
            for line in lines_of(self._texts.text(f"{directory.path}/blkio.throttle.{file}_device")):
                device, _, value = line.partition(" ")
                limit = number(value)
                if limit is not None:
                    limits.setdefault(device, {})[name] = limit
        return limits

    def cpusets(self) -> Iterator[CpusetGroup]:
        """Yield the CPUs that groups may use."""
        for directory, version in self._of("cpuset", "cpuset.cpus.effective"):
            file = "cpuset.effective_cpus" if version == 1 else "cpuset.cpus.effective"
            if cpus := self._texts.word(f"{directory.path}/{file}"):
                yield CpusetGroup(*self._place(directory, version), cpus=cpus)

    def pids(self) -> Iterator[PidsGroup]:
        """Yield task limits."""
        for directory, version in self._of("pids", "pids.max"):
            yield PidsGroup(
                *self._place(directory, version),
                limit=self._limit(directory, "pids.max"),
                current=self._number(directory, "pids.current"),
                refused=self._delta(directory, "pids.events").get("max"),
            )

    def frozen(self) -> dict[int, bool]:
        """Return of each target whether its group was frozen at the end, by itself or with an ancestor."""
        known: dict[int, bool] = {}
        for directory in self.directories:
            path = f"{directory.path}/{'cgroup.events' if directory.controller is None else 'freezer.state'}"
            text = self._texts.text(path, "end") if path in self._texts else None
            if text is not None and directory.controller in (None, "freezer"):
                frozen = table(text).get("frozen") == 1 or text.strip() == "FROZEN"
                known.update({pid: known.get(pid, False) or frozen for pid in directory.pids})
        return known


def _times_1000(value: int | None) -> int | None:
    return None if value is None else value * 1000


def _by_device(text: str | None) -> dict[str, dict[str, int]]:
    """Parse lines "8:0 rbps=1048576 wbps=max"; what is not a number is left out."""
    devices: dict[str, dict[str, int]] = {}
    for line in lines_of(text):
        device, *pairs = words_of(line) or [""]
        values = {key: number(value) for key, _, value in (pair.partition("=") for pair in pairs)}
        if device:
            devices[device] = {key: value for key, value in values.items() if value is not None}
    return devices
