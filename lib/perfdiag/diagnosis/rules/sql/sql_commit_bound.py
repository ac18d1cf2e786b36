"""SQL-COMMIT-BOUND: sessions mostly wait until their commits are safe, on a disk that is as fast as it can be."""

from collections.abc import Iterable

from perfdiag.diagnosis.evidence.disk.disk_waits import FLUSH
from perfdiag.diagnosis.evidence.disk.wait_judgement import judge
from perfdiag.diagnosis.evidence.fix_checks import fewer
from perfdiag.diagnosis.evidence.session_waits import LOCK, lock_rows, sessions, wait_of
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import sql_policy
from perfdiag.diagnosis.rule import Claim, Evidence, Finding, Mechanism, Outcome, Severity, rule
from perfdiag.diagnosis.significance import (
    about,
    by_key,
    claims_of,
    duration,
    fix,
    little,
    percent,
    together,
    total_ns,
    typical_ns,
    waits,
    worth,
)
from perfdiag.model.model import Model
from perfdiag.recording import schema
from perfdiag.recording.distribution import Distribution, merged

ID = "SQL-COMMIT-BOUND"
DISK = "disk.flush"


@rule(
    ID,
    title="Sessions mostly wait for their commits",
    accounts=(LOCK, DISK),
    meaning="Each commit waits until the write-ahead log is on disk: one session flushes it, others wait in"
    " line. The flushes are as fast as such a disk is (else it is DISK-FLUSH-SLOW), but there are too many.",
    measured="Waits of sessions in disk.flush with the wait event WALSync or WALWrite, and in lock.database for the"
    " LWLock WALWrite, if the flushes are no fault of the disk.",
    alternatives="Long transactions need no fewer flushes: look at commits a second (pg_stat_database.xact_commit).",
    remedies="Put several changes into one transaction; set commit_delay if dozens of sessions commit at once; give the"
    " log a disk with power-loss protection. Never switch fsync off.",
    verify="The same work makes fewer flushes.",
    beats=("DISK-FLUSH-SLOW",),
    met=False,
)
def commit_bound(model: Model) -> Iterable[Outcome]:
    """Yield a finding if commits take much of the busy time; flushes of a slow disk, and sessions in line behind them,
    belong to DISK-FLUSH-SLOW."""
    flushes = merged(_distribution(line) for line in _flushes(model))
    queue = lock_rows(model, lambda wait: wait.is_for_wal)
    ns = flushes.sum_ns + total_ns(queue)
    if not worth(model, ns) or ns < sql_policy.commit_share * model.busy_ns or _slow_disk(model):
        yield little(model, ID, "commits", ns)
        return
    yield _finding(model, flushes, ns)


def _flushes(model: Model) -> list[schema.DatabaseWait]:
    """Return the flushes of the log by sessions; the WAL writer delays only sessions in line."""
    found = []
    for line in model.database_waits:
        wait = wait_of(model, line.object)
        if line.account == DISK and line.pid in sessions(model) and wait and wait.is_for_wal:
            found.append(line)
    return found


def _distribution(line: schema.DatabaseWait) -> Distribution:
    return Distribution(line.count, line.sum_ns, line.max_ns, dict(line.buckets))


def _slow_disk(model: Model) -> bool:
    found = [each for each in judge(FLUSH, model) if isinstance(each, Finding)]
    return any(each.severity is not Severity.INFO for each in found)


def _finding(model: Model, flushes: Distribution, ns: int) -> Finding:
    queue = lock_rows(model, lambda wait: wait.is_for_wal)
    claims: dict[Claim, int] = dict(claims_of(queue))
    disk_ns = model.ns(DISK)
    for pair, rows in by_key(model.rows_of(DISK)).items():
        claims[pair] = round(flushes.sum_ns * total_ns(rows) / disk_ns) if disk_ns else 0
    share = ns / model.busy_ns
    line = together(queue)
    return conclude(
        model,
        claims,
        headline=f"Sessions spend {percent(share)} of their busy time in commits",
        claim=f"Sessions waited {duration(ns)} until their commits were on disk; half of the time of log flushes is"
        f" in flushes of about {about(typical_ns(flushes))} or less. The disk is fast, but there are too many"
        " flushes.",
        mechanism=Mechanism.MANY,
        departs=False,
        evidence=[
            waits(flushes, "flushes of the write-ahead log by sessions", "wait event"),
            *([waits(line, "waits in line for a flush by another session", "wait event")] if line.count else []),
            Evidence(f"{flushes.count:,} flushes", float(flushes.count), "count", "wait event"),
        ],
        remedies=[
            fix("put several changes into one transaction: each commit costs a flush"),
            fix("ALTER SYSTEM SET commit_delay = 500 lets sessions that commit at once share a flush (microseconds)"),
        ],
        ruled_out=["a slow disk"],
        verify=fewer(model, "flushes", flushes.count),
        inside=True,
    )
