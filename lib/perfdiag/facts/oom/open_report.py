"""A report of the OOM killer while it is read, and the lines that have no meaning outside one."""

import re
from dataclasses import dataclass, field, replace
from functools import cache

from perfdiag.facts.oom.host_memory import KIB, HostReader
from perfdiag.facts.oom.log_lines import Entry
from perfdiag.facts.oom.oom_report import GroupMemory, Report, Task, Victim

UNLIMITED_BYTES = 1 << 60  # the kernel prints "no limit" as a number of pages no host has
MOST_STATS = 1000  # the kernel knows some 60
_N = r"([0-9]{1,15})"
_ASKER = re.compile(
    r"CPU: [0-9]{1,5} (?:UID: [0-9]{1,10} )?PID: ([0-9]{1,10}) Comm: (.{0,64}?) (?:Not tainted|Tainted)", re.DOTALL
)
_USAGE = re.compile(rf"(memory|swap|memory\+swap): usage {_N}kB, limit {_N}kB, failcnt [0-9]+")
_STATS = re.compile(r"Memory cgroup stats for (.{1,4096}?):(?: (.*))?", re.DOTALL)
_STAT = re.compile(rf"([a-z_0-9]+) {_N}")
_OLD_STAT = re.compile(rf"(?<![a-z_])([a-z_]{{1,40}}):{_N}KB")
_HEAD = re.compile(r"\[ *pid *\] +uid +tgid +total_vm +rss (.*)oom_score_adj name *")
_FIRST_COLUMNS = ("uid", "tgid", "total_vm", "rss")
_MOST_COLUMNS = 20  # the kernel has four more at most


@dataclass
class Open:
    """A report that is being read."""

    report: Report
    caller: str
    host: HostReader = field(default_factory=HostReader)
    rows: list[Task] = field(default_factory=list)
    columns: list[str] = field(default_factory=list)  # of the table of tasks, between rss and the name
    table: bool = False
    stats: bool = False
    group: GroupMemory | None = None
    victims: dict[int, Victim] = field(default_factory=dict)  # by pid
    reaped: set[int] = field(default_factory=set)
    unreaped: set[int] = field(default_factory=set)
    kills: int = 0

    @property
    def numbers(self) -> int:
        """How many numbers of the host and of a control group are kept, about."""
        return self.host.numbers + (len(self.group.stat) if self.group else 0)

    def finished(self) -> Report:
        """Return all that was read; sizes in pages are known now."""
        page = self.host.page_bytes
        tasks = [
            Task(
                task.pid,
                task.name,
                task.resident_bytes * page,
                task.page_table_bytes,
                task.swap_bytes * page,
                task.oom_score_adj,
            )
            for task in self.rows
        ]
        return replace(
            self.report,
            host=self.host.host(),
            tasks=tasks,
            group=self.group,
            victims=tuple(self.victims.values()),
            reaped=sorted(self.reaped),
            unreaped=sorted(self.unreaped),
            kills=self.kills,
        )


def take_detail(found: Open, entry: Entry) -> None:
    """Take a line of a report that nothing else is known by."""
    text = entry.text
    if match := _HEAD.fullmatch(text):
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
            if match and found.group and len(found.group.stat) < MOST_STATS:
                found.group = replace(found.group, stat={**found.group.stat, match[1]: int(match[2])})
            elif found.report.begin:
                found.host.take(line)


def _take_usage(found: Open, match: re.Match[str]) -> None:
    group = found.group or GroupMemory("")
    limit = int(match[3]) * KIB
    known_limit = None if limit >= UNLIMITED_BYTES else limit
    if match[1] == "memory":
        found.group = replace(group, usage_bytes=int(match[2]) * KIB, limit_bytes=known_limit)
    elif match[1] == "swap":
        found.group = replace(group, swap_limit_bytes=known_limit)


def row_of(columns: list[str], text: str) -> Task | None:
    """Return a row of the table of tasks: sizes of memory and swap in pages still, as the kernel prints them."""
    match = _row(len(columns)).fullmatch(text) if len(columns) <= _MOST_COLUMNS else None
    if match is None:
        return None
    pid, *words, name = match.groups()
    numbers = dict(zip([*_FIRST_COLUMNS, *columns, "adj"], words, strict=True))
    return Task(
        pid=int(pid),
        name=name,
        resident_bytes=max(0, int(numbers["rss"])),
        page_table_bytes=max(0, int(numbers.get("pgtables_bytes", 0))),
        swap_bytes=max(0, int(numbers.get("swapents", 0))),
        oom_score_adj=int(numbers["adj"]),
    )


@cache
def _row(columns: int) -> re.Pattern[str]:
    """Return what a row looks like: the first columns, what else this kernel has, oom_score_adj; the rest is the name,
    which may hold blanks."""
    numbers = r"(-?[0-9]{1,19}) +" * (len(_FIRST_COLUMNS) + columns + 1)
    return re.compile(rf"\[ *([0-9]{{1,10}})\] +{numbers}(.*)", re.DOTALL)
