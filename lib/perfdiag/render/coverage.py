"""How far to believe a report, and what measuring cost: one line, unless something is wrong with the recording."""

from collections.abc import Mapping

from rich.text import Text

from perfdiag.common.units import count, duration, fine_share, plural, size
from perfdiag.diagnosis.policy import general_policy
from perfdiag.recording.schema import NO_TIME_LOST
from perfdiag.render import lost_records
from perfdiag.render.layout import HEADING, Page, Section, pad
from perfdiag.report.contract import Cost, GivenUp, Program, Report

_LEAST_NS = 1_000_000_000  # of a window shorter than that the recorder's begin and end would be a share of
_KINDS = 3  # of losses that a line names


def doubts(report: Report, page: Page) -> list[str]:
    """Return what is wrong with the recording, the worst first; nothing of a good one."""
    coverage = report.coverage
    found = []
    if coverage.contradictions:
        more = len(coverage.contradictions) - 1
        rest = f" and {more} more: --full" if more and not page.full else ""
        texts = coverage.contradictions if page.full else coverage.contradictions[:1]
        found.append(f"The recording contradicts itself: {'; '.join(texts)}{rest}")
    off, worst = coverage.closed_error, coverage.worst_thread_error
    if off > general_policy.closed_error_share:
        found.append(f"{fine_share(off)} of time is counted twice or not at all (worst thread {fine_share(worst)})")
    elif worst > general_policy.closed_error_share:
        found.append(f"For the worst thread, {fine_share(worst)} of time is counted twice or not at all")
    if coverage.unexplained_share >= general_policy.fault_share:
        found.append(f"{fine_share(coverage.unexplained_share)} of time is unexplained")
    if coverage.lost is None:
        found.append("It is unknown how much was lost: the recording has no end")
    elif _lost(report) > general_policy.tolerable_loss_share * coverage.records:
        found.append(_losses(report, page))
    if coverage.stack_agreement is not None and coverage.stack_agreement < general_policy.stack_agreement_share:
        found.append(_stacks(report))
    return found


def warning(report: Report, page: Page) -> Section:
    """Return what makes a report unsure, to be shown above everything else."""
    found = doubts(report, page)
    lines = page.wrapped("; ".join(found), first="TRUST    ", limit=3, style=HEADING) if found else []
    return Section(lines, [])


def line(report: Report, *, stacks: bool = True) -> str:
    """Return one line on how far to believe a report: time accounted for, losses, and whether sampled stacks agree."""
    coverage = report.coverage
    accounted = max(0.0, 1 - coverage.closed_error - coverage.unexplained_share)
    lost = _lost(report)
    nothing = "losses unknown" if coverage.lost is None else "nothing lost"
    parts = [f"{fine_share(accounted)} of thread time measured"]
    parts.append(f"{count(lost)} of {plural(coverage.records, 'record')} lost" if lost else nothing)
    return ", ".join([*parts, *([_stacks(report)] if stacks else [])])


def _stacks(report: Report) -> str:
    coverage = report.coverage
    if coverage.stack_agreement is None:
        return "no stacks sampled"
    samples = plural(coverage.stack_samples, "stack sample")
    if coverage.stack_agreement >= 1:
        return f"{samples} {'agrees' if coverage.stack_samples == 1 else 'agree'}"
    most = "".join(f" (most: {account}, stack says {seen})" for account, seen, _ in coverage.disagreements[:1])
    return f"{samples} agree for {fine_share(coverage.stack_agreement)} of their time{most}"


def _lost(report: Report) -> int:
    return sum(number for name, number in (report.coverage.lost or {}).items() if name not in NO_TIME_LOST)


def _losses(report: Report, page: Page) -> str:
    timed = {name: number for name, number in (report.coverage.lost or {}).items() if name not in NO_TIME_LOST}
    lost, named = f"{count(_lost(report))} of {plural(report.coverage.records, 'record')} lost", _largest(timed, page)
    return f"{lost} ({named})" if named else lost


def _largest(counters: Mapping[str, int], page: Page) -> str:
    kinds = sorted(((name, number) for name, number in counters.items() if number), key=lambda item: -item[1])
    return ", ".join(lost_records.told(name, number) for name, number in kinds[: page.limit(_KINDS)])


def in_full(report: Report, page: Page) -> list[Section]:
    """Return, for a full page, all that is known of the recording, its cost, and where stacks disagree."""
    coverage = report.coverage
    told = [line(report)]
    if _lost(report):
        told.append(_losses(report, page))
    if coverage.cpu_split_error is not None:
        split = f"+-{fine_share(coverage.cpu_split_error)}" if coverage.cpu_split_error < 1 else "unknown"
        told.append(f"user/kernel split {split}")
    unseen = _largest({name: number for name, number in (coverage.lost or {}).items() if name in NO_TIME_LOST}, page)
    if unseen:
        told.append(f"not seen, without loss of time: {unseen}")
    programs = [
        page.line(f"  {pad(program.name, 32)} {_ran(program)}")
        for program in (report.cost.probes if report.cost else [])
    ]
    disagree = [
        page.line(f"  {account}, stack says {seen}: {duration(ns)}") for account, seen, ns in coverage.disagreements
    ]
    believed = page.wrapped("; ".join(told), first="TRUST  ") + page.wrapped(_cost(report), first="COST   ")
    listed = (("COST BY PROGRAM", programs), ("STACKS THAT DISAGREE", disagree))
    return [
        Section(believed, []),
        *(Section([Text(title, HEADING), *lines], []) for title, lines in listed if lines),
    ]


def _cost(report: Report) -> str:
    cost, window_ns = report.cost, report.window.duration_ns
    if cost is None or not window_ns:
        return "unknown: the recording has no end"
    measured = [program.ns for program in cost.probes if program.ns is not None]
    missing = len(cost.probes) - len(measured)
    inside = fine_share(sum(measured) / window_ns) if measured else "not measured"
    inside += f" ({missing} of {len(cost.probes)} not measured)" if measured and missing else ""
    memory = "not measured" if cost.rss_bytes is None else size(cost.rss_bytes)
    if cost.cpu_ns is None:
        took = "not measured"
    elif window_ns < _LEAST_NS:
        took = f"{duration(cost.cpu_ns)} of CPU time, to begin and end"
    else:
        took = f"{fine_share(cost.cpu_ns / window_ns)} of one CPU"
    slowed = f"; its probes take {fine_share(cost.of_target)} of the target's CPU time" if cost.of_target else ""
    return f"recorder {took}, BPF programs {inside}; memory {memory}{slowed}{_budget(cost)}"


def _budget(cost: Cost) -> str:
    """Return whether the budget was kept, and what was given up for it."""
    if cost.max_share is None:
        return ""
    if cost.share is None:
        kept = "not measured"
    else:
        kept = f"{'kept' if cost.kept else 'NOT KEPT'} at {fine_share(cost.share)}"
    steps = ", ".join(map(_step, cost.given_up))
    given_up = f"; given up: {steps}" if steps else ""
    return f"; budget {100 * cost.max_share:g} % of the target's CPU time: {kept}{given_up}"


def _step(step: GivenUp) -> str:
    part = f"all but one in {count(step.one_of)} of " if step.one_of else ""
    shares = [fine_share(each) for each in (step.share_before, step.share_after) if each is not None]
    return f"{part}{step.what} after {duration(step.after_ns)} ({' -> '.join(shares) or 'not measured'})"


def _ran(program: Program) -> str:
    if program.runs is None or program.ns is None:
        return f"{'not measured':>12}"
    return f"{count(program.runs):>12} runs {duration(program.ns):>8}"
