"""Why the kernel chose its victim, and which task grew, from the task table of its report."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from perfdiag.facts.oom.oom_report import Report, Task

UNKILLABLE = -1000  # oom_score_adj


class Why(Enum):
    """The reason for the choice."""

    LARGEST = "largest"  # killing it freed most
    ADJUSTED = "adjusted"  # its oom_score_adj put it before larger ones
    SPARED = "spared"  # larger ones have an oom_score_adj below 0
    ALLOCATING = "allocating"  # vm.oom_kill_allocating_task
    NOT_TOLD = "not told"  # no task table in the log, or it does not explain the choice


@dataclass(frozen=True)
class Choice:
    """The victim among the candidates."""

    why: Why
    victim: Task | None = None  # its row of the table
    rival: Task | None = None  # the largest other one
    candidates: int = 0
    adjusted_bytes: int = 0  # what the victim's oom_score_adj counts as


@dataclass(frozen=True)
class Growth:
    """The growth of a task since an earlier report of the same log."""

    task: Task
    bytes: int
    since_ns: int | None  # between the two reports


def choice_of(report: Report) -> Choice:
    """Return why the first victim was chosen."""
    victim = report.victim
    rows = {task.pid: task for task in report.tasks}
    row = rows.get(victim.pid) if victim else None
    if report.allocating:
        return Choice(Why.ALLOCATING, row)
    if victim is None or row is None:
        return Choice(Why.NOT_TOLD)
    others = [task for task in report.tasks if task.oom_score_adj != UNKILLABLE and task.pid != row.pid]
    rival = max(others, key=lambda task: task.held_bytes, default=None)
    points = _unit_bytes(report)
    adjusted = round(row.oom_score_adj * points)
    choice = Choice(Why.LARGEST, row, rival, len(others) + 1, adjusted)
    if rival is None or (rival.held_bytes <= row.held_bytes and row.oom_score_adj <= 0):
        return choice
    best = max(task.held_bytes + task.oom_score_adj * points for task in others)
    # The table is printed before the choice: later allocations are tolerated.
    if row.held_bytes + adjusted < 0.95 * best:
        return Choice(Why.NOT_TOLD, row, rival, len(others) + 1, adjusted)
    if rival.held_bytes > row.held_bytes:
        why = Why.ADJUSTED if row.oom_score_adj > 0 else Why.SPARED
        return Choice(why, row, rival, len(others) + 1, adjusted)
    return choice


def _unit_bytes(report: Report) -> float:
    """Return the bytes of one point of oom_score_adj: a thousandth of the memory."""
    if report.group is not None and (report.of_group or report.host is None):
        limits = [report.group.limit_bytes or 0, report.group.swap_limit_bytes or 0]
        return sum(limits) / 1000
    if report.host is None or report.host.usable_bytes is None:
        return 0.0
    return (report.host.usable_bytes + (report.host.swap_total_bytes or 0)) / 1000


def growth_of(report: Report, earlier: Sequence[Report]) -> Growth | None:
    """Return the task with the largest growth since the last comparable report; None if unknown."""
    if not report.tasks:
        return None
    before = next((each for each in reversed(earlier) if each.tasks and table_of(each) == table_of(report)), None)
    if before is None:
        return None
    held = {(task.pid, task.name): task.held_bytes for task in before.tasks}
    grown = [
        (task.held_bytes - held[task.pid, task.name], task) for task in report.tasks if (task.pid, task.name) in held
    ]
    most, task = max(grown, key=lambda pair: pair[0], default=(0, None))
    if task is None or most <= 0:
        return None
    known = report.at_ns is not None and before.at_ns is not None
    return Growth(task, most, report.at_ns - before.at_ns if known else None)  # type: ignore[operator]  # both known


def table_of(report: Report) -> tuple[bool, str | None]:
    """Return the scope of a report's task table: the host, or one control group."""
    return report.of_group, report.group.path if report.of_group and report.group else None


def largest(report: Report, count: int = 3) -> list[Task]:
    """Return the largest tasks."""
    return sorted(report.tasks, key=lambda task: -task.held_bytes)[:count]
