"""Which OOM kills are of the window, and which of these concern the target."""

from collections.abc import Iterable

from perfdiag.facts.host_facts import OomReport
from perfdiag.facts.oom.oom_report import Report, Victim
from perfdiag.model.model import Model, once

EVENT = "oom_kill"
CLOCKS_APART_NS = 60_000_000_000  # the log's clock drifts; a pid is not reused so soon


def kills_told(model: Model) -> int:
    """Return how many kills in the target, or at the limit of its own group, OOM-KILL tells."""
    log = model.facts.kernel_log
    reports = [each.report for each in (log.oom_reports if log else ()) if in_window(model, each)]
    concerned = [each for each in reports if is_own_group(model, each) or hits_target(model, each.victims)]
    told = {victim.pid for report in concerned for victim in report.victims}
    return len(told | (_marks(model).keys() & own_pids(model)))


def in_window(model: Model, each: OomReport) -> bool:
    """Return whether a report is of the window, by its clock if the log was not read at the start.
    A victim marked in the window counts, even if its report was in the log at the first read.
    """
    if is_marked(model, each.report):
        return True
    if each.in_window is not None:
        return each.in_window
    at_ns, start_ns = each.report.at_ns, model.header.start_ns
    return at_ns is not None and start_ns <= at_ns <= start_ns + model.window_ns


@once
def _marks(model: Model) -> dict[int, int]:
    """Return the time of each mark, by pid."""
    return {event.pid: event.at_ns for event in model.events if event.name == EVENT}


def is_marked(model: Model, report: Report) -> bool:
    """Return whether one of its victims was marked in the window."""
    marks = _marks(model)
    return any(
        victim.pid in marks and abs(marks[victim.pid] - (victim.at_ns or 0)) <= CLOCKS_APART_NS
        for victim in report.victims
    )


@once
def own_pids(model: Model) -> set[int]:
    """Return the processes of the target."""
    return {target.pid for target in model.header.targets} | {thread.pid for thread in model.threads if thread.pid}


def hits_target(model: Model, victims: Iterable[Victim]) -> bool:
    """Return whether a process of the target is among the victims."""
    own = own_pids(model)
    return any(victim.pid in own for victim in victims)


def is_own_group(model: Model, report: Report) -> bool:
    """Return whether the limit applies to the target."""
    path = report.group.path if report.of_group and report.group else ""
    return bool(path.strip("/")) and any(group.path.endswith(path) for group in model.facts.memory_groups)
