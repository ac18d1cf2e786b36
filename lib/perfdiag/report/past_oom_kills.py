"""What is reported of OOM kills that are over: the document behind `perfdiag host --since` and its --json."""

from __future__ import annotations

import msgspec

from perfdiag.common.text import printable
from perfdiag.diagnosis.evidence.memory.oom_causes import group_holdings, holdings
from perfdiag.diagnosis.evidence.memory.oom_explanation import Explained
from perfdiag.diagnosis.evidence.memory.oom_victims import largest
from perfdiag.diagnosis.rule import Evidence, Remedy, Severity

SCHEMA = 1
ID = "OOM-KILL"
TASKS = 10


class Process(msgspec.Struct, frozen=True, kw_only=True):
    """A process of a report; `comm` is untrusted, escaped as it is shown."""

    pid: int | None
    comm: str
    resident_bytes: int | None = None
    oom_score_adj: int | None = None


class Kill(msgspec.Struct, frozen=True, kw_only=True):
    """One run of the OOM killer, with its explanation as in a finding."""

    id: str
    severity: str
    realtime_ns: int | None  # since 1970; null: the log's clock counts from a boot that is not known
    early_ns: int  # it may have been earlier by so much
    clock_ns: int | None  # of the kernel log, since boot
    cause: str
    confidence: str
    claim: str
    asker: Process | None
    order: int | None
    gfp: str
    constraint: str
    nodes: str
    group: str
    limit_bytes: int | None
    victims: list[Process]
    memory: dict[str, int]  # what it was used for, in bytes
    tasks: list[Process]  # the largest
    evidence: list[Evidence]
    ruled_out: list[str]
    alternatives: list[str]
    limits: list[str]
    remedies: list[Remedy]
    verify: str


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """A control group that has counted kills since it was made."""

    path: str
    kills: int


class Missing(msgspec.Struct, frozen=True, kw_only=True):
    """Something that cannot be known, and what would tell."""

    what: str
    reason: str
    fix: str


class Afterwards(msgspec.Struct, frozen=True, kw_only=True):
    """OOM kills of a stretch of time that is over."""

    schema: int
    perfdiag: str
    host: str
    source: str  # "/dev/kmsg" or the file that was read
    since_ns: int  # of realtime, like all here but clock_ns
    until_ns: int
    log_begins_ns: int | None  # null: the log has no times of day
    kills: list[Kill]
    outside: int  # kills of the log before `since_ns` or after `until_ns`
    counted: int | None  # processes killed since boot, as the kernel counts; null: not this host's log, or not readable
    in_log: int  # kills told by all reports of the log, counted as the kernel counts
    groups: list[Group] | None
    not_measured: list[Missing]
    verdict: str


def kill_of(explained: Explained, realtime_ns: int | None, early_ns: int) -> Kill:
    """Return an explanation as it is written down."""
    report = explained.report
    held = group_holdings(report.group) if report.of_group and report.group else []
    if not report.of_group and report.host:
        held = holdings(report.host)
    asked = report.begin
    return Kill(
        id=ID,
        severity=Severity.CRITICAL.value,
        realtime_ns=realtime_ns,
        early_ns=early_ns,
        clock_ns=report.at_ns,
        cause=explained.cause.value,
        confidence=explained.confidence.value,
        claim=explained.claim,
        asker=Process(pid=report.asker_pid, comm=printable(report.asker)) if asked else None,
        order=report.order,
        gfp=printable(report.gfp),
        constraint=report.constraint,
        nodes=printable(report.nodes),
        group=printable(report.group.path) if report.group else "",
        limit_bytes=report.group.limit_bytes if report.group else None,
        victims=[
            Process(
                pid=victim.pid,
                comm=printable(victim.comm),
                resident_bytes=victim.resident_bytes,
                oom_score_adj=victim.oom_score_adj,
            )
            for victim in report.victims
        ],
        memory={each.holder.name.lower(): each.bytes for each in held},
        tasks=[
            Process(
                pid=task.pid,
                comm=printable(task.name),
                resident_bytes=task.resident_bytes,
                oom_score_adj=task.oom_score_adj,
            )
            for task in largest(report, TASKS)
        ],
        evidence=list(explained.evidence),
        ruled_out=list(explained.ruled_out),
        alternatives=list(explained.alternatives),
        limits=list(explained.limits),
        remedies=list(explained.remedies),
        verify=explained.verify,
    )


__all__ = ["ID", "SCHEMA", "Afterwards", "Group", "Kill", "Missing", "Process", "kill_of"]
