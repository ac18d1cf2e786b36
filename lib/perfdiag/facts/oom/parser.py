"""From the lines of a kernel log to reports of the OOM killer: never raises, never invents.

A report begins with "invoked oom-killer" and ends with its last victim.  The kernel makes one at a time, but lines of
other CPUs stand between, the log may begin or end inside one, and its levels may be kept apart (a serial console has
no table of tasks): whatever is there is taken, what is not stays None.
"""

import re
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf

from perfdiag.facts.oom import constraint
from perfdiag.facts.oom.host_memory import KIB
from perfdiag.facts.oom.log_lines import Entry
from perfdiag.facts.oom.oom_report import GroupMemory, Report, Task, Victim
from perfdiag.facts.oom.open_report import Open, row_of, take_detail

MOST_REPORTS = 10_000  # of a log; of more the newest count
MOST_OPEN = 16  # reports at one time: the kernel makes one, callers may be told late
MOST_TASKS = 500_000  # rows of all tables together, some 150 MB
MOST_VICTIMS = 100_000  # of all reports together: so many processes few hosts can have
MOST_NUMBERS = 500_000  # of all reports together, on the memory of hosts and control groups: a report has some 300
LONGEST_NS = 120 * 1_000_000_000  # a report of 10,000 tasks on a serial console takes a minute
MIXED_NS = 2 * 1_000_000_000  # a report that has named no victim for longer lacks its end in this log

_EVER, _NEVER = (-inf, inf), (inf, -inf)

_N = r"([0-9]{1,15})"
_INVOKED = re.compile(
    r"(.{0,64}) invoked oom-killer: gfp_mask=0x[0-9a-f]{1,16}(?:\(([^)]*)\))?,(?: nodemask=[^ ]{0,200},)?"
    r" {1,2}order=(-?[0-9]{1,3}), oom_score_adj=(-?[0-9]{1,5})",
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
_INVOKES = " invoked oom-killer: "
_KILLS = ("Out of memory", "Memory cgroup out of memory", "Kill")
_CONSTRAINT = "oom-kill:constraint="
_NONE_LEFT = ("Out of memory and no killable", "System is deadlocked on memory")
_PANIC = "Kernel panic - not syncing: "
_OTHERS = (_CONSTRAINT, *_NONE_LEFT, _PANIC, "Tasks in ", "oom_reaper: ")
_GROUP_WORDS = "Memory cgroup out of memory"


@dataclass(frozen=True)
class Told:
    """What a log says of the OOM killer, and what of that was too much to be kept."""

    reports: Sequence[Report]  # in the order in which they began
    reports_left_out: int = 0  # older ones
    kills_left_out: int = 0  # theirs, as the kernel counts them
    tasks_left_out: int = 0  # rows of tables
    victims_left_out: int = 0
    lines_left_out: int = 0  # on the memory of hosts and control groups


def parse(log: Iterable[Entry]) -> list[Report]:
    """Return all reports of a log, in the order in which they began."""
    return list(read(log).reports)


def read(log: Iterable[Entry]) -> Told:
    """Return the reports of a log, in memory and time that do not depend on what it says."""
    reader = _Reader()
    for entry in log:
        reader.take(entry)
    return reader.finished()


class Lasting:
    """Between which times surely no open report is over: the reports need not be asked at each line."""

    def __init__(self, reports: Iterable[Open]) -> None:
        self._clock, self._realtime = _EVER, _EVER
        for each in reports:
            self.add(each)

    def add(self, opened: Open) -> None:
        self._clock = _narrowed(self._clock, opened.report.at_ns)
        self._realtime = _narrowed(self._realtime, opened.report.realtime_ns)

    def is_sure_at(self, entry: Entry) -> bool:
        if entry.clock_ns is not None:
            return self._clock[0] <= entry.clock_ns <= self._clock[1]
        return entry.realtime_ns is None or self._realtime[0] <= entry.realtime_ns <= self._realtime[1]


def _narrowed(bounds: tuple[float, float], at_ns: int | None) -> tuple[float, float]:
    low, high = bounds
    return _NEVER if at_ns is None else (max(low, at_ns - MIXED_NS), min(high, at_ns + LONGEST_NS))


class _Reader:
    """Reports that are open, the newest last, and all that are kept."""

    def __init__(self) -> None:
        self._open: list[Open] = []
        self._lasting = Lasting(())
        self._all: deque[Open] = deque()
        self._by_victim: dict[int, Open] = {}  # the newest report that names a pid
        self._tasks = self._victims = self._numbers = 0
        self._reports_left_out = self._kills_left_out = self._tasks_left_out = self._victims_left_out = 0
        self._lines_left_out = 0

    def finished(self) -> Told:
        return Told(
            [each.finished() for each in self._all],
            self._reports_left_out,
            self._kills_left_out,
            self._tasks_left_out,
            self._victims_left_out,
            self._lines_left_out,
        )

    def take(self, entry: Entry) -> None:
        if not self._lasting.is_sure_at(entry):
            self._open = [each for each in self._open if not _is_over(each, entry)]
            self._lasting = Lasting(self._open)
        text = entry.text  # most lines of a log are none of these: ask what costs least first
        if _INVOKES in text and (match := _INVOKED.fullmatch(text)):
            self._begin(entry, asker=match[1], gfp=match[2] or "", order=int(match[3]))
        elif text.startswith(_KILLS) and (match := _KILLED.fullmatch(text)):
            self._killed(entry, match)
        elif not (text.startswith(_OTHERS) and self._take_other(entry)) and (found := self._of(entry)):
            self._detail(found, entry)

    def _take_other(self, entry: Entry) -> bool:
        """Take a line that says by itself what it is about; return whether it was one."""
        if entry.text.startswith(_CONSTRAINT):
            self._constrained(entry)
        elif entry.text.startswith(_NONE_LEFT):
            self._update(entry, killable=False)
        elif entry.text.startswith(_PANIC):
            words = entry.text.removeprefix(_PANIC)
            if words.startswith(("Out of memory", "System is deadlocked on memory")):
                self._update(entry, panic=True)
        elif match := _WHOLE.fullmatch(entry.text):
            self._update(entry, whole_group=match[1])
        elif match := _REAPED.fullmatch(entry.text) or _UNREAPED.fullmatch(entry.text):
            self._reap(int(match[1]), reaped=match.re is _REAPED)
        else:
            return False
        return True

    def _reap(self, pid: int, *, reaped: bool) -> None:
        if found := self._by_victim.get(pid):
            (found.reaped if reaped else found.unreaped).add(pid)

    def _detail(self, found: Open, entry: Entry) -> None:
        if found.table and (task := row_of(found.columns, entry.text)):
            self._keep_task(found, task)
        elif self._numbers < MOST_NUMBERS:
            before = found.numbers
            take_detail(found, entry)
            self._numbers += found.numbers - before
        else:
            self._lines_left_out += 1

    def _keep_task(self, found: Open, task: Task) -> None:
        if self._tasks < MOST_TASKS:
            self._tasks += 1
            found.rows.append(task)
        else:
            self._tasks_left_out += 1

    def _begin(
        self, entry: Entry, *, begin: bool = True, asker: str = "", gfp: str = "", order: int | None = None
    ) -> Open:
        mixed = [each for each in self._open if not each.victims and _may_mix(each, entry)] if begin else []
        for each in mixed:
            if not each.report.mixed:
                each.report = replace(each.report, mixed=True)
        whether, sequence = bool(mixed), entry.sequence
        report = Report(
            entry.clock_ns, entry.realtime_ns, begin, asker, None, order, gfp, mixed=whether, sequence=sequence
        )
        opened = Open(report, entry.caller)
        self._lasting.add(opened)
        self._open = [*self._open[1 - MOST_OPEN :], opened]
        self._all.append(opened)
        if len(self._all) > MOST_REPORTS:
            self._forget(self._all.popleft())
        return opened

    def _forget(self, oldest: Open) -> None:
        self._reports_left_out += 1
        self._kills_left_out += oldest.kills
        self._tasks -= len(oldest.rows)
        self._victims -= len(oldest.victims)
        self._numbers -= oldest.numbers
        for pid in oldest.victims:
            if self._by_victim.get(pid) is oldest:
                del self._by_victim[pid]

    def _of(self, entry: Entry) -> Open | None:
        """Return the report a line belongs to: that of its caller, where the log names callers, else the newest."""
        if not entry.caller:
            return self._open[-1] if self._open else None
        named = [each for each in self._open if each.caller == entry.caller]
        unnamed = [each for each in self._open if not each.caller]
        found = named or unnamed
        return found[-1] if found else None

    def _update(self, entry: Entry, **changes: object) -> None:
        found = self._of(entry) or self._begin(entry, begin=False)
        found.report = replace(found.report, **changes)  # type: ignore[arg-type]  # fields by name

    def _constrained(self, entry: Entry) -> None:
        found = self._of(entry)
        said = constraint.read(entry.text, found.group.path if found and found.group else "")
        if said is None:
            return
        if found is None or found.report.constraint:
            found = self._begin(entry, begin=False)
        found.report = replace(
            found.report,
            constraint=said.kind,
            nodes=said.nodes,
            cpuset=said.cpuset,
            of_group=found.report.of_group or said.group is not None,
            chosen_pid=said.chosen_pid,
            ambiguous=said.ambiguous,
        )
        if said.group is not None:
            found.group = replace(found.group or GroupMemory(""), path=said.group)
        found.table = False

    def _killed(self, entry: Entry, match: re.Match[str]) -> None:
        pid = int(match[2])
        chosen = [each for each in self._open if each.report.chosen_pid == pid]
        found = chosen[-1] if chosen else self._of(entry)
        if found is None or (
            not chosen and found.victims and found.report.whole_group is None
        ):  # its beginning is not in the log
            found = self._begin(entry, begin=False)
        found.kills += 1
        if pid in found.victims:
            return  # with memory.oom.group the first one is told twice
        if self._victims >= MOST_VICTIMS:
            self._victims_left_out += 1
            return
        anonymous, file, shared = (None if match[n] is None else int(match[n]) * KIB for n in (5, 6, 7))
        adjustment = None if match[8] is None else int(match[8])
        self._victims += 1
        self._by_victim[pid] = found
        found.victims[pid] = Victim(pid, match[3], anonymous, file, shared, adjustment, entry.clock_ns)
        words = match[1]
        found.report = replace(
            found.report,
            sequence=entry.sequence,
            of_group=found.report.of_group or words.startswith(_GROUP_WORDS),
            allocating=found.report.allocating or "(oom_kill_allocating_task)" in words,
        )
        found.table = found.stats = False


def _age_ns(opened: Open, entry: Entry) -> int | None:
    """Return how long before this line a report began; None where the log has no times."""
    begin, now = opened.report.at_ns, entry.clock_ns
    if begin is None or now is None:
        begin, now = opened.report.realtime_ns, entry.realtime_ns
    return None if begin is None or now is None else now - begin


def _is_over(opened: Open, entry: Entry) -> bool:
    """Whether a report must have ended before this line, because its time has gone by."""
    age_ns = _age_ns(opened, entry)
    return age_ns is not None and not -MIXED_NS <= age_ns <= LONGEST_NS


def _may_mix(opened: Open, entry: Entry) -> bool:
    """Whether the lines of a report that begins here cannot be told from those of one that has not ended."""
    age_ns = _age_ns(opened, entry)
    apart = bool(opened.caller and entry.caller and opened.caller != entry.caller)
    return not apart and (age_ns is None or age_ns <= MIXED_NS)
