"""From the lines of a kernel log to reports of the OOM killer: never raises, never invents.

A report begins with "invoked oom-killer" and ends with its last victim.  The kernel makes one at a time, but lines of
other CPUs stand between, the log may begin or end inside one, and its levels may be kept apart (a serial console has
no table of tasks): whatever is there is taken, what is not stays None.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from perfdiag.oom.entries import Entry
from perfdiag.oom.hostmemory import KIB, HostReader
from perfdiag.oom.shape import GroupMemory, Report, Task, Victim

MOST_TASKS = 100_000
LONGEST_NS = 120 * 1_000_000_000  # a report of 10,000 tasks on a serial console takes a minute
MIXED_NS = 2 * 1_000_000_000  # a report that has named no victim for longer lacks its end in this log
UNLIMITED_BYTES = 1 << 60  # the kernel prints "no limit" as a number of pages no host has

_N = r"([0-9]{1,15})"
_INVOKED = re.compile(
    r"(.{0,64}) invoked oom-killer: gfp_mask=0x[0-9a-f]{1,16}(?:\(([^)]*)\))?,(?: nodemask=[^ ]{0,200},)?"
    r" {1,2}order=(-?[0-9]{1,3}), oom_score_adj=(-?[0-9]{1,5})",
    re.DOTALL,
)
_ASKER = re.compile(
    r"CPU: [0-9]{1,5} (?:UID: [0-9]{1,10} )?PID: ([0-9]{1,10}) Comm: (.{0,64}?) (?:Not tainted|Tainted)", re.DOTALL
)
_USAGE = re.compile(rf"(memory|swap|memory\+swap): usage {_N}kB, limit {_N}kB, failcnt [0-9]+")
_STATS = re.compile(r"Memory cgroup stats for (.{1,4096}?):(?: (.*))?", re.DOTALL)
_STAT = re.compile(rf"([a-z_0-9]+) {_N}")
_OLD_STAT = re.compile(rf"([a-z_]+):{_N}KB")
_HEAD = re.compile(r"\[ *pid *\] +uid +tgid +total_vm +rss (.*)oom_score_adj name *")
_ROW = re.compile(r"\[ *([0-9]{1,10})\] +(.*)", re.DOTALL)
_CONSTRAINT = re.compile(
    r"oom-kill:constraint=(CONSTRAINT_[A-Z_]{1,20}),nodemask=(.{0,200}?),cpuset=(.{0,4096}?),mems_allowed=(.{0,200}?)"
    r",(global_oom|oom_memcg=.{1,4096}?),task_memcg=.{0,4096},task=.{0,64},pid=([0-9]{1,10}),uid=[0-9]{1,10}",
    re.DOTALL,
)
_KILLED = re.compile(
    r"((?:Out of memory|Out of memory \(oom_kill_allocating_task\)|Memory cgroup out of memory): |)"
    r"Kill(?:ed)? process ([0-9]{1,10}) \((.{0,64})\),?"
    rf" total-vm:{_N}kB, anon-rss:{_N}kB, file-rss:{_N}kB(?:, shmem-rss:{_N}kB)?"
    r"(?:, UID:[0-9]{1,10} pgtables:[0-9]{1,15}kB oom_score_adj:(-?[0-9]{1,5}))?",
    re.DOTALL,
)
_WHOLE = re.compile(r"Tasks in (.{1,4096}) are going to be killed due to memory\.oom\.group set", re.DOTALL)
_REAPED = re.compile(r"oom_reaper: reaped process ([0-9]{1,10}) \(.{0,64}\), now anon-rss:.*", re.DOTALL)
_UNREAPED = re.compile(r"oom_reaper: unable to reap pid:([0-9]{1,10}) \(.{0,64}\)", re.DOTALL)
_GROUP_WORDS = "Memory cgroup out of memory"


@dataclass
class _Open:
    """A report that is being read."""

    report: Report
    caller: str
    host: HostReader = field(default_factory=HostReader)
    rows: list[Task] = field(default_factory=list)
    columns: list[str] = field(default_factory=list)  # of the table of tasks, between rss and the name
    table: bool = False
    stats: bool = False
    group: GroupMemory | None = None

    def finished(self) -> Report:
        """Return all that was read; sizes in pages are known now."""
        page = self.host.page_bytes
        tasks = [
            replace(
                task,
                resident_bytes=task.resident_bytes * page,
                swap_bytes=task.swap_bytes * page,
            )
            for task in self.rows
        ]
        return replace(self.report, host=self.host.host(), tasks=tasks, group=self.group)


def parse(log: Iterable[Entry]) -> list[Report]:
    """Return all reports of a log, in the order in which they began."""
    reader = _Reader()
    for entry in log:
        reader.take(entry)
    return reader.finished()


class _Reader:
    """Reports that are open, the newest last, and those that are complete."""

    def __init__(self) -> None:
        self._open: list[_Open] = []
        self._all: list[_Open] = []

    def finished(self) -> list[Report]:
        return [each.finished() for each in self._all]

    def take(self, entry: Entry) -> None:
        self._open = [each for each in self._open if not _is_over(each, entry)]
        if match := _INVOKED.fullmatch(entry.text):
            self._begin(entry, asker=match[1], gfp=match[2] or "", order=int(match[3]))
        elif match := _KILLED.fullmatch(entry.text):
            self._killed(entry, match)
        elif match := _CONSTRAINT.fullmatch(entry.text):
            self._constrained(entry, match)
        elif entry.text.startswith(("Out of memory and no killable", "System is deadlocked on memory")):
            self._update(entry, killable=False)
        elif entry.text.startswith("Kernel panic - not syncing: "):
            words = entry.text.removeprefix("Kernel panic - not syncing: ")
            if words.startswith(("Out of memory", "System is deadlocked on memory")):
                self._update(entry, panic=True)
        elif match := _WHOLE.fullmatch(entry.text):
            self._update(entry, whole_group=match[1])
        elif match := _REAPED.fullmatch(entry.text):
            self._reaped(int(match[1]), "reaped")
        elif match := _UNREAPED.fullmatch(entry.text):
            self._reaped(int(match[1]), "unreaped")
        elif found := self._of(entry):
            _take_detail(found, entry)

    def _begin(
        self, entry: Entry, *, begin: bool = True, asker: str = "", gfp: str = "", order: int | None = None
    ) -> _Open:
        mixed = [each for each in self._open if begin and not each.report.victims and _may_mix(each, entry)]
        for each in mixed:
            each.report = replace(each.report, mixed=True)
        report = Report(entry.clock_ns, entry.realtime_ns, begin, asker, None, order, gfp, mixed=bool(mixed))
        report = replace(report, sequence=entry.sequence)
        opened = _Open(report, entry.caller)
        self._open.append(opened)
        self._all.append(opened)
        return opened

    def _of(self, entry: Entry) -> _Open | None:
        """Return the report a line belongs to: that of its caller, where the log names callers, else the newest."""
        named = [each for each in self._open if entry.caller and each.caller == entry.caller]
        unnamed = [each for each in self._open if not (entry.caller and each.caller)]
        found = named or unnamed
        return found[-1] if found else None

    def _update(self, entry: Entry, **changes: object) -> None:
        found = self._of(entry) or self._begin(entry, begin=False)
        found.report = replace(found.report, **changes)  # type: ignore[arg-type]  # fields by name

    def _constrained(self, entry: Entry, match: re.Match[str]) -> None:
        found = self._of(entry)
        if found is None or found.report.constraint:
            found = self._begin(entry, begin=False)
        limited = match[5].startswith("oom_memcg=")
        found.report = replace(
            found.report,
            constraint=match[1],
            nodes=match[4] if match[2] == "(null)" else match[2],
            cpuset=match[3],
            of_group=found.report.of_group or limited,
            chosen_pid=int(match[6]),
        )
        if limited:
            found.group = replace(found.group or GroupMemory(""), path=match[5].removeprefix("oom_memcg="))
        found.table = False

    def _killed(self, entry: Entry, match: re.Match[str]) -> None:
        pid = int(match[2])
        chosen = [each for each in self._open if each.report.chosen_pid == pid]
        found = chosen[-1] if chosen else self._of(entry)
        if found is None or (
            not chosen and found.report.victims and found.report.whole_group is None
        ):  # its beginning is not in the log
            found = self._begin(entry, begin=False)
        found.report = replace(found.report, kills=found.report.kills + 1)
        if any(victim.pid == pid for victim in found.report.victims):
            return  # with memory.oom.group the first one is told twice
        anonymous, file, shared = (None if match[n] is None else int(match[n]) * KIB for n in (5, 6, 7))
        adjustment = None if match[8] is None else int(match[8])
        victim = Victim(pid, match[3], anonymous, file, shared, adjustment, entry.clock_ns)
        words = match[1]
        found.report = replace(
            found.report,
            victims=(*found.report.victims, victim),
            sequence=entry.sequence,
            of_group=found.report.of_group or words.startswith(_GROUP_WORDS),
            allocating=found.report.allocating or "(oom_kill_allocating_task)" in words,
        )
        found.table = found.stats = False

    def _reaped(self, pid: int, which: str) -> None:
        for each in reversed(self._all):
            if any(victim.pid == pid for victim in each.report.victims):
                pids = {pid, *getattr(each.report, which)}
                each.report = replace(each.report, **{which: sorted(pids)})  # type: ignore[arg-type]
                return


def _age_ns(opened: _Open, entry: Entry) -> int | None:
    """Return how long before this line a report began; None where the log has no times."""
    begin, now = opened.report.at_ns, entry.clock_ns
    if begin is None or now is None:
        begin, now = opened.report.realtime_ns, entry.realtime_ns
    return None if begin is None or now is None else now - begin


def _is_over(opened: _Open, entry: Entry) -> bool:
    """Whether a report must have ended before this line, because its time has gone by."""
    age_ns = _age_ns(opened, entry)
    return age_ns is not None and not -MIXED_NS <= age_ns <= LONGEST_NS


def _may_mix(opened: _Open, entry: Entry) -> bool:
    """Whether the lines of a report that begins here cannot be told from those of one that has not ended."""
    age_ns = _age_ns(opened, entry)
    apart = bool(opened.caller and entry.caller and opened.caller != entry.caller)
    return not apart and (age_ns is None or age_ns <= MIXED_NS)


def _take_detail(found: _Open, entry: Entry) -> None:
    """Take a line of a report that nothing else is known by."""
    text = entry.text
    if found.table and (task := _row(found.columns, text)):
        if len(found.rows) < MOST_TASKS:
            found.rows.append(task)
    elif match := _HEAD.fullmatch(text):
        found.table, found.stats = True, False
        found.columns = [word for word in match[1].split(" ") if word]
    elif match := _ASKER.match(text):
        if found.report.asker_pid is None and match[2] == found.report.asker:
            found.report = replace(found.report, asker_pid=int(match[1]))
    elif match := _USAGE.fullmatch(text):
        _take_usage(found, match)
    elif match := _STATS.fullmatch(text):
        group = found.group or GroupMemory("")
        stat = {name: int(number) * KIB for name, number in _OLD_STAT.findall(match[2] or "")}
        found.group = replace(group, path=group.path or match[1], stat=stat)
        found.stats = True
    else:
        for line in text.split("\n"):
            match = _STAT.fullmatch(line.strip(" ")) if found.stats else None
            if match and found.group:
                found.group = replace(found.group, stat={**found.group.stat, match[1]: int(match[2])})
            elif found.report.begin:
                found.host.take(line)


def _take_usage(found: _Open, match: re.Match[str]) -> None:
    group = found.group or GroupMemory("")
    usage, limit = int(match[2]) * KIB, int(match[3]) * KIB
    known_limit = None if limit >= UNLIMITED_BYTES else limit
    if match[1] == "memory":
        found.group = replace(group, usage_bytes=usage, limit_bytes=known_limit)
    elif match[1] == "swap":
        found.group = replace(group, swap_usage_bytes=usage, swap_limit_bytes=known_limit)


def _row(columns: list[str], text: str) -> Task | None:
    """Return a row of the table of tasks: sizes of memory and swap in pages still, as the kernel prints them."""
    match = _ROW.fullmatch(text)
    if match is None:
        return None
    # uid tgid total_vm rss, what else this kernel has, oom_score_adj; the rest is the name, which may hold blanks.
    words = re.split(" +", match[2], maxsplit=5 + len(columns))
    if len(words) < 6 + len(columns) or not all(re.fullmatch(r"-?[0-9]{1,19}", word) for word in words[:-1]):
        return None
    numbers = dict(zip(["uid", "tgid", "total_vm", "rss", *columns, "adj"], map(int, words[:-1]), strict=True))
    return Task(
        pid=int(match[1]),
        name=words[-1],
        resident_bytes=max(0, numbers["rss"]),
        page_table_bytes=max(0, numbers.get("pgtables_bytes", 0)),
        swap_bytes=max(0, numbers.get("swapents", 0)),
        oom_score_adj=numbers["adj"],
    )


__all__ = ["parse"]
