"""A rule on processes that the kernel killed for want of memory while the recording ran."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from perfdiag.diagnosis.evidence.memory.oom_causes import Cause
from perfdiag.diagnosis.evidence.memory.oom_explanation import explain, named
from perfdiag.diagnosis.evidence.memory.oom_remedies import NO_MORE_KILLS, remedies_for
from perfdiag.diagnosis.evidence.target import subject
from perfdiag.diagnosis.rule import (
    Check,
    Confidence,
    Evidence,
    Finding,
    Mechanism,
    Other,
    Outcome,
    Relation,
    Severity,
    Silence,
    rule,
)
from perfdiag.diagnosis.significance import lowered, plain, recording_limits
from perfdiag.facts.host_facts import OomReport
from perfdiag.facts.kernel_log import KERNEL_LOG
from perfdiag.facts.oom.oom_report import Report, Victim
from perfdiag.model.model import Model, once
from perfdiag.recording import schema

ID = "OOM-KILL"
EVENT = "oom_kill"
MOST_MARKED = 20  # victims without a report that are told one by one
CLOCKS_APART_NS = 60_000_000_000  # the log's clock drifts from the recording's; a pid does not come back so soon
GROUP, HOST, COMPACTION = "memory.cgroup", "memory.reclaim", "memory.compaction"
# What the target waited for while the memory of that cause ran out: the same remedy gives it back.
_ACCOUNTS = {Cause.CGROUP: (GROUP,), Cause.HOST: (HOST,), Cause.CACHE: (HOST,), Cause.FRAGMENTATION: (HOST, COMPACTION)}


@rule(
    ID,
    title="The OOM killer ended a process",
    accounts=(GROUP, HOST, COMPACTION),
    meaning="Memory ran out while the recording ran, and the kernel ended a process: the target, one of its control"
    " group, or a neighbour on the host. The claim names the cause: cgroup limit, host memory, unreclaimable cache,"
    " fragmentation, NUMA or cpuset.",
    measured="The kernel's mark on a victim as an event, joined by pid with its report in the kernel log of the window:"
    " who asked for how much, the limit that was met, what memory was used for, the table of tasks. Time spent on"
    " reclaim for the same want is claimed. Tasks of less than 4 MiB are not in the recorded table.",
    alternatives="A leak, which more memory only delays; a neighbour that grew and is not the victim.",
    remedies="By the cause: a limit, less memory, files in memory, locked pages, slow write-back, large pieces, nodes.",
    verify="No new kill: oom_kill in /proc/vmstat and in memory.events of the group stand still.",
    beats=("MEM-CGROUP-LIMIT", "MEM-RECLAIM", "MEM-FRAGMENTATION", "THP-STALL"),
)
def oom_kill(model: Model) -> Iterable[Outcome]:
    """Explain every kill of the window; say when nobody was killed, or when that is not known."""
    log = model.facts.kernel_log
    reports = [] if log is None else list(log.oom_reports)
    now = [index for index, each in enumerate(reports) if _in_window(model, each)]
    events = [event for event in model.events if event.name == EVENT]
    told = {victim.pid for index in now for victim in reports[index].report.victims}
    found = False
    for cause_group in _alike(model, reports, now):
        found = True
        yield _told(model, reports, cause_group)
    # Whom the kernel marks and says nothing of was ending by itself; without its log that is not known.
    marked = [] if _is_log_whole(model) else [event for event in events if event.pid not in told]
    own = _own_pids(model)
    marked.sort(key=lambda event: event.pid not in own)
    for number, event in enumerate(marked[:MOST_MARKED], 1):
        found = True
        yield _marked(model, event, len(marked) - number if number == MOST_MARKED else 0)
    if found:
        return
    if _is_log_whole(model):
        yield Check(ID, "no OOM kill in the window: the kernel log has none", 0.0, "count")
    elif model.measured("oom") and not model.coverage.lost.get("ring_buffer"):
        yield Check(ID, "no OOM kill in the window: the kernel marked no victim", 0.0, "count")
    else:
        reason = "neither the kernel's mark on victims nor its whole log was recorded"
        if model.measured("oom"):
            reason = "events were lost, marks on victims perhaps among them, and the kernel log is not whole"
        yield Silence(ID, reason, "see perfdiag check, feature oom; by hand: perfdiag host --since TIME")


def _is_log_whole(model: Model) -> bool:
    log = model.facts.kernel_log
    return log is not None and not log.incomplete and model.facts.texts.text(KERNEL_LOG, "end") is not None


def _in_window(model: Model, each: OomReport) -> bool:
    """Whether a report is of the window; where the log was not read at its begin, by its clock.

    A victim that was marked in the window is of it though its report was in the log by the time that was first read.
    """
    if _is_marked(model, each.report):
        return True
    if each.in_window is not None:
        return each.in_window
    at_ns, start_ns = each.report.at_ns, model.header.start_ns
    return at_ns is not None and start_ns <= at_ns <= start_ns + model.window_ns


@once
def _marks(model: Model) -> dict[int, int]:
    """Return when processes were marked."""
    return {event.pid: event.at_ns for event in model.events if event.name == EVENT}


def _is_marked(model: Model, report: Report) -> bool:
    """Whether one of its victims was marked in the window."""
    marks = _marks(model)
    return any(
        victim.pid in marks and abs(marks[victim.pid] - (victim.at_ns or 0)) <= CLOCKS_APART_NS
        for victim in report.victims
    )


def _alike(model: Model, reports: Sequence[OomReport], now: Sequence[int]) -> list[list[int]]:
    """Return the reports of the window, those of one cause, group and victim's relation to the target together."""
    found: dict[tuple[object, ...], list[int]] = {}
    for index in now:
        report = reports[index].report
        path = report.group.path if report.group else ""
        key = (explain(report).cause, path, _hits_target(model, report.victims), not report.victims)
        found.setdefault(key, []).append(index)
    return list(found.values())


def _told(model: Model, reports: Sequence[OomReport], chosen: Sequence[int]) -> Finding:
    """Return the finding of reports of one kind; the first is told, because what follows may follow from it."""
    first = reports[chosen[0]].report
    said = explain(first, [each.report for each in reports[: chosen[0]]], small_left_out=True)
    own, own_group = _hits_target(model, first.victims), _is_own_group(model, first)
    claim = said.claim
    if own:
        claim += f" It was part of {subject(model)}."
    if len(chosen) > 1:
        claim += f" {len(chosen)} such kills in the window."
    unsure = recording_limits(model)
    if reports[chosen[0]].in_window is None and not _is_marked(model, first):
        unsure.append("the log was not read when the window began: that it is of the window is told by its clock")
    limits = [*said.limits, *unsure]
    confidence = lowered(said.confidence) if unsure else said.confidence
    concerned = own or own_group or said.cause is not Cause.CGROUP  # what other groups may use takes nothing from it
    wanted = _ACCOUNTS.get(said.cause, ()) if concerned else ()
    return Finding(
        ID,
        Severity.CRITICAL if own or own_group else Severity.WARNING if concerned or model.host else Severity.INFO,
        confidence,
        claim,
        {account: model.ns(account) for account in wanted if model.ns(account)},
        said.evidence,
        said.remedies,
        ruled_out=said.ruled_out,
        alternatives=said.alternatives,
        limits=limits,
        verify=said.verify,
        headline=said.headline,
        mechanism=Mechanism.FAILED,
        others=_victims(first.victims),
    )


def _victims(victims: Iterable[Victim]) -> list[Other]:
    return [Other(each.pid, plain(each.comm), Relation.VICTIM) for each in victims]


def _marked(model: Model, event: schema.Event, more: int = 0) -> Finding:
    """Return the finding of a victim of which only the mark is known, with how many more there are."""
    own = event.pid in _own_pids(model)
    asker = f" {named(event.by_comm, event.by_pid)} had asked for memory." if event.by_pid else ""
    report = Report(event.at_ns, None, False, victims=(Victim(event.pid, event.text),))
    limits = [
        "the kernel log of the window was not read: cause, sizes and why this one are in it",
        "a process that was ending by itself is marked, too",
        *recording_limits(model),
    ]
    return Finding(
        ID,
        Severity.CRITICAL if own else Severity.WARNING,
        Confidence.LOW,
        f"The OOM killer marked {named(event.text, event.pid)}.{asker} Cause: not told."
        + (f" It was part of {subject(model)}." if own else "")
        + (f" {more:,} more were marked." if more else ""),
        {},
        [Evidence(f"marked as victim: {plain(event.text) or 'pid ' + str(event.pid)}", 1.0, "count", "mark_victim")],
        remedies_for(Cause.UNKNOWN, report, None),
        alternatives=["it was ending by itself"],
        limits=limits,
        verify=NO_MORE_KILLS,
        headline=f"The OOM killer marked {named(event.text, event.pid)}",
        mechanism=Mechanism.FAILED,
        others=_victims(report.victims),
    )


@once
def _own_pids(model: Model) -> set[int]:
    return {target.pid for target in model.header.targets} | {thread.pid for thread in model.threads if thread.pid}


def _hits_target(model: Model, victims: Iterable[Victim]) -> bool:
    """Whether a process of the target is among the victims."""
    own = _own_pids(model)
    return any(victim.pid in own for victim in victims)


def _is_own_group(model: Model, report: Report) -> bool:
    """Whether the limit is one the target lives under."""
    path = report.group.path if report.of_group and report.group else ""
    return bool(path.strip("/")) and any(group.path.endswith(path) for group in model.facts.memory_groups)


__all__ = ["oom_kill"]
