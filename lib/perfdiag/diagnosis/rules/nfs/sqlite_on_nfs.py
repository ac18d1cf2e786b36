"""SQLITE-ON-NFS: each transaction of a SQLite database needs many calls to an NFS server."""

import math
from collections.abc import Iterable, Sequence

from perfdiag.diagnosis.evidence.fix_checks import less
from perfdiag.diagnosis.evidence.nfs.mount_sentences import (
    calls_evidence,
    flush_evidence,
    mount_evidence,
    trip_evidence,
)
from perfdiag.diagnosis.evidence.nfs.wait_parts import COMMIT, LOCK, METADATA, NFS, Use, uses
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import nfs_policy
from perfdiag.diagnosis.rule import Check, Evidence, Finding, Mechanism, Outcome, Remedy, Silence, rule
from perfdiag.diagnosis.significance import duration, fix, percent, together, waits, worth
from perfdiag.model.model import Model
from perfdiag.recording import schema

ID = "SQLITE-ON-NFS"


@rule(
    ID,
    title="A SQLite database lies on NFS",
    accounts=NFS,
    meaning=(
        "Threads wait for NFS inside SQLite. Each transaction takes several locks, creates and removes a journal,"
        " writes and commits: each a round trip or a flush of the server. Unlocking flushes the file, so PRAGMA"
        " synchronous does not help."
    ),
    measured=(
        "The target's waits by mount, with the sampled stacks of such waits: the part with SQLite on the user stack."
    ),
    alternatives="Another part of the program uses the same mount. A slow server makes it worse (NFS-COMMIT-SLOW).",
    remedies=(
        "Keep the database on a local disk and copy it to NFS, and put several changes in one transaction. Never use"
        " WAL on NFS: it needs shared memory."
    ),
    verify="The same work waits less on the mount.",
    beats=(
        "NFS-SYNC-MOUNT",
        "NFS-COMMIT-SLOW",
        "NFS-SERVER-SLOW",
        "NFS-METADATA-CHATTY",
        "NFS-CLIENT-QUEUE",
        "NFS-LOCK-SLOW",
    ),
)
def sqlite_on_nfs(model: Model) -> Iterable[Outcome]:
    """Judge waits by their stacks; one finding per mount."""
    said = False
    for use in uses(model):
        stacks = [stack for stack in model.wait_stacks(*NFS, key=use.key) if stack.user or stack.scan]
        weight_ns = sum(stack.weight_ns for stack in stacks)
        own = [stack for stack in stacks if _sqlite(stack)]
        part = sum(stack.weight_ns for stack in own) / weight_ns if weight_ns else 0.0
        if worth(model, int(part * use.ns(*NFS))):
            said = True
            yield _finding(model, use, part, stacks, own)
        elif not stacks and _like_a_database(model, use):
            said = True
            yield Silence(
                ID,
                f"locks, commits and look-ups on {use.name} look like a database, but no user stack shows it",
                "ls -l /proc/PID/fd   (names with -journal or .db); perfdiag check (feature stacks)",
            )
    if not said:
        yield Check(ID, "no NFS wait inside SQLite", 0.0, "share")


def _sqlite(stack: schema.Stack) -> bool:
    return any(frame.startswith("sqlite3") or "(libsqlite3" in frame for frame in (*stack.user, *stack.scan))


def _like_a_database(model: Model, use: Use) -> bool:
    whole = use.ns(*NFS)
    return worth(model, whole) and all(
        use.ns(name) >= nfs_policy.sqlite_pattern_share * whole for name in (LOCK, COMMIT, METADATA)
    )


def _finding(
    model: Model, use: Use, part: float, stacks: Sequence[schema.Stack], own: Sequence[schema.Stack]
) -> Finding:
    samples, whole = sum(stack.count for stack in stacks), use.ns(*NFS)
    error = _error(part, samples)
    claimed = use.claims({account: part * use.ns(account) for account in NFS})
    asked = sum(flush.count for flush in use.flushes if flush.cause in ("fsync", "fdatasync", "msync"))
    unlocking = sum(flush.count for flush in use.flushes if flush.cause in ("fcntl", "flock", "close"))
    return conclude(
        model,
        claimed,
        headline=f"A SQLite database on {use.in_brief} (NFS) makes a call for each step",
        claim=(
            f"SQLite makes {percent(part)} of the waits on {use.name}: each lock, look-up and commit is a call to the"
            " server."
        ),
        mechanism=Mechanism.MANY,
        doubts=[f"only {samples} sampled waits" if error > nfs_policy.sqlite_error_share else ""],
        evidence=[
            waits(together(use.rows_of(NFS)), "waits"),
            Evidence(
                f"{percent(part)} with SQLite on the stack ({sum(stack.count for stack in own)} of {samples} sampled"
                " waits)",
                part,
                "share",
                "stack samples",
                error=error,
            ),
            Evidence(_split(use), float(whole), "ns", "ledger"),
            *flush_evidence(use),
            *calls_evidence(use, use.procedures, most=4),
            *trip_evidence(use),
            *mount_evidence(use),
        ],
        remedies=_remedies(),
        ruled_out=[f"PRAGMA synchronous: {unlocking:,} flushes came from unlock or close, {asked:,} from fsync"]
        if unlocking > asked
        else [],
        alternatives=["another part of the program uses the same mount"],
        verify=less(model, f"waiting on {use.in_brief}", part * whole),
    )


def _split(use: Use) -> str:
    """Return the time of the mount by account, in words."""
    times = sorted(((use.ns(name), name.removeprefix("nfs.")) for name in NFS), reverse=True)
    return ", ".join(f"{name} {duration(ns)}" for ns, name in times if ns)


def _error(part: float, samples: int) -> float:
    """Return the half width of a sampled share (two standard errors, one sample at least)."""
    return max(2 * math.sqrt(part * (1 - part) / samples), 1 / samples) if samples else 1.0


def _remedies() -> list[Remedy]:
    return [
        fix("keep the database on a local disk and copy it to NFS when the job ends (sqlite3 FILE '.backup COPY')"),
        fix("put several changes into one transaction: each transaction costs the same locks and commits"),
    ]
