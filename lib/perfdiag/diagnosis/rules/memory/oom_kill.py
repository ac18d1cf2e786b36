"""OOM-KILL: the kernel killed a process because memory ran out."""

from collections.abc import Iterable, Sequence

from perfdiag.diagnosis.evidence.memory.oom_causes import Cause
from perfdiag.diagnosis.evidence.memory.oom_explanation import explain, named
from perfdiag.diagnosis.evidence.memory.oom_remedies import NO_MORE_KILLS, remedies_for
from perfdiag.diagnosis.evidence.memory.oom_window import (
    EVENT,
    hits_target,
    in_window,
    is_marked,
    is_own_group,
    own_pids,
)
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
from perfdiag.model.model import Model
from perfdiag.recording import schema

ID = "OOM-KILL"
MOST_MARKED = 20  # victims without a report, listed one by one
GROUP, HOST, COMPACTION = "memory.cgroup", "memory.reclaim", "memory.compaction"
# The target's waits for the same memory: the same remedy saves them.
_ACCOUNTS = {Cause.CGROUP: (GROUP,), Cause.HOST: (HOST,), Cause.CACHE: (HOST,), Cause.FRAGMENTATION: (HOST, COMPACTION)}


@rule(
    ID,
    title="The OOM killer ended a process",
    accounts=(GROUP, HOST, COMPACTION),
    meaning=(
        "Memory ran out while the recording ran, and the kernel killed a process: the target, a member of its cgroup,"
        " or another process. The finding names the cause: cgroup limit, host memory, unreclaimable cache,"
        " fragmentation, NUMA or cpuset."
    ),
    measured=(
        "The kernel's mark on a victim, joined by pid with its report in the kernel log: the request, the limit, the"
        " use of memory and the task table (in recordings without tasks below 4 MiB). Reclaim time for the same cause"
        " is claimed."
    ),
    alternatives="A leak (more memory only delays it), or another process grew than the victim.",
    remedies="By cause: the limit, less memory, files in memory, locked pages, slow writeback, large pieces, nodes.",
    verify="oom_kill in /proc/vmstat and in the group's memory.events stops growing.",
    beats=("MEM-CGROUP-LIMIT", "MEM-RECLAIM", "MEM-FRAGMENTATION", "THP-STALL"),
)
def oom_kill(model: Model) -> Iterable[Outcome]:
    """Explain every kill of the window, else yield the check or the silence."""
    log = model.facts.kernel_log
    reports = [] if log is None else list(log.oom_reports)
    now = [index for index, each in enumerate(reports) if in_window(model, each)]
    events = [event for event in model.events if event.name == EVENT]
    told = {victim.pid for index in now for victim in reports[index].report.victims}
    found = False
    for cause_group in _alike(model, reports, now):
        found = True
        yield _told(model, reports, cause_group)
    # A marked process without a report was already exiting; without the log this is unknown.
    marked = [] if _is_log_whole(model) else [event for event in events if event.pid not in told]
    own = own_pids(model)
    marked.sort(key=lambda event: event.pid not in own)
    for number, event in enumerate(marked[:MOST_MARKED], 1):
        found = True
        yield _marked(model, event, len(marked) - number if number == MOST_MARKED else 0)
    if found:
        return
    if _is_log_whole(model):
        yield Check(ID, "no OOM kill in the kernel log", 0.0, "count")
    elif model.measured("oom") and not model.coverage.lost.get("ring_buffer"):
        yield Check(ID, "no OOM kill: the kernel marked no victim", 0.0, "count")
    else:
        reason = "the kernel's marks on victims were not recorded, nor its whole log"
        if model.measured("oom"):
            reason = "events were lost (perhaps marks on victims), and the kernel log is incomplete"
        yield Silence(ID, reason, "perfdiag check (feature oom), or perfdiag host --since TIME")


def _is_log_whole(model: Model) -> bool:
    log = model.facts.kernel_log
    return log is not None and not log.incomplete and model.facts.texts.text(KERNEL_LOG, "end") is not None


def _alike(model: Model, reports: Sequence[OomReport], now: Sequence[int]) -> list[list[int]]:
    """Return the reports of the window, grouped by cause, cgroup and relation to the target."""
    found: dict[tuple[object, ...], list[int]] = {}
    for index in now:
        report = reports[index].report
        path = report.group.path if report.group else ""
        key = (explain(report).cause, path, hits_target(model, report.victims), not report.victims)
        found.setdefault(key, []).append(index)
    return list(found.values())


def _told(model: Model, reports: Sequence[OomReport], chosen: Sequence[int]) -> Finding:
    """Return the finding of reports of one kind, explained by the first: later ones may follow from it."""
    first = reports[chosen[0]].report
    said = explain(first, [each.report for each in reports[: chosen[0]]], small_left_out=True)
    own, own_group = hits_target(model, first.victims), is_own_group(model, first)
    claim = said.claim
    if own:
        claim += f" It was part of {subject(model)}."
    if len(chosen) > 1:
        claim += f" There were {len(chosen)} such kills."
    unsure = recording_limits(model)
    if reports[chosen[0]].in_window is None and not is_marked(model, first):
        unsure.append("only the log's clock says that it is of the window")
    limits = [*said.limits, *unsure]
    confidence = lowered(said.confidence) if unsure else said.confidence
    concerned = own or own_group or said.cause is not Cause.CGROUP  # another group's limit does not affect it
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
    """Return the finding of a victim with a mark only, and the number of further ones."""
    own = event.pid in own_pids(model)
    asker = f" {named(event.by_comm, event.by_pid)} requested memory." if event.by_pid else ""
    report = Report(event.at_ns, None, False, victims=(Victim(event.pid, event.text),))
    limits = [
        "the kernel log with cause and sizes was not read",
        "the kernel marks an exiting process, too",
        *recording_limits(model),
    ]
    return Finding(
        ID,
        Severity.CRITICAL if own else Severity.WARNING,
        Confidence.LOW,
        f"The OOM killer marked {named(event.text, event.pid)}.{asker} Cause: unknown."
        + (f" It was part of {subject(model)}." if own else "")
        + (f" {more:,} more were marked." if more else ""),
        {},
        [
            Evidence(
                f"marked as OOM victim: {plain(event.text) or 'pid ' + str(event.pid)}", 1.0, "count", "mark_victim"
            )
        ],
        remedies_for(Cause.UNKNOWN, report, None),
        alternatives=["it was exiting already"],
        limits=limits,
        verify=NO_MORE_KILLS,
        headline=f"The OOM killer marked {named(event.text, event.pid)}",
        mechanism=Mechanism.FAILED,
        others=_victims(report.victims),
    )
