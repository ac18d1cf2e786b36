"""OOM kills of the past: the document behind `perfdiag host --since` and its --json."""

import msgspec

from perfdiag.diagnosis.rule import Evidence, Remedy

SCHEMA = 1


class Process(msgspec.Struct, frozen=True, kw_only=True):
    """A process of a kernel log; `comm` is untrusted, and escaped when it is shown."""

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
    """Something that is unknown, and what would show it."""

    what: str
    reason: str
    fix: str


class PastKills(msgspec.Struct, frozen=True, kw_only=True):
    """OOM kills of a past period."""

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
