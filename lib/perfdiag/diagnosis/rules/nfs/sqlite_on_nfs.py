"""A rule on SQLite databases that lie on NFS: each transaction locks, looks, writes and commits over the network."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from perfdiag.diagnosis.evidence.nfs.mount_sentences import (
    calls_evidence,
    flush_evidence,
    mount_evidence,
    trip_evidence,
)
from perfdiag.diagnosis.evidence.nfs.wait_parts import COMMIT, LOCK, METADATA, NFS, Use, uses
from perfdiag.diagnosis.evidence.target import again
from perfdiag.diagnosis.rule import Check, Confidence, Evidence, Finding, Mechanism, Outcome, Remedy, Silence, rule
from perfdiag.diagnosis.significance import duration, fault, fix, judged, percent, together, waits, worth
from perfdiag.model.model import Model
from perfdiag.recording import schema

ID = "SQLITE-ON-NFS"
# What a database does on a mount in any window worth a look: each of the three takes part of the time.
PATTERN_PART = 0.02
# A sampled share with a larger error is not sure.
ENOUGH_ERROR = 0.2


@rule(
    ID,
    title="A SQLite database lies on NFS",
    accounts=NFS,
    meaning="Threads wait for NFS inside SQLite. Each transaction takes and drops several locks, creates and removes a"
    " journal, writes and commits, one call after the other: what is microseconds on a local disk is a round trip or a"
    " flush of the server each. Unlocking a file flushes it over NFS, so less safety in SQLite does not help.",
    measured="Joins the target's waits by mount, over the whole window, with the stacks sampled where such waits began:"
    " the part of them, by time, that has SQLite's functions or its library on the user stack; with the calls and"
    " flushes of that mount.",
    alternatives="Another part of the program that uses the same mount; a server that commits slowly makes it worse"
    " (its part is in the evidence; NFS-COMMIT-SLOW says when SQLite is not what waits).",
    remedies="The database on a local disk, copied to NFS when a job ends; several changes in one transaction. Never"
    " WAL on NFS: it needs memory that all users of the database share.",
    verify="time of nfs.* in the next report.",
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
    """Join waits with the stacks they began with; one finding a mount."""
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
                f"locks, commits and look-ups on {use.name} look like a database's, but no user stack shows whose",
                "ls -l /proc/PID/fd shows files that end in -journal or .db; perfdiag check, feature stacks",
            )
    if not said:
        yield Check(ID, "no waiting for NFS inside SQLite was seen", 0.0, "share")


def _sqlite(stack: schema.Stack) -> bool:
    return any(frame.startswith("sqlite3") or "(libsqlite3" in frame for frame in (*stack.user, *stack.scan))


def _like_a_database(model: Model, use: Use) -> bool:
    whole = use.ns(*NFS)
    return worth(model, whole) and all(use.ns(name) >= PATTERN_PART * whole for name in (LOCK, COMMIT, METADATA))


def _finding(
    model: Model, use: Use, part: float, stacks: Sequence[schema.Stack], own: Sequence[schema.Stack]
) -> Finding:
    samples, whole = sum(stack.count for stack in stacks), use.ns(*NFS)
    error = _error(part, samples)
    claimed = use.claims({account: part * use.ns(account) for account in NFS})
    confidence, limits = judged(
        model, Confidence.HIGH, [f"{samples} sampled waits only" if error > ENOUGH_ERROR else ""]
    )
    asked = sum(flush.count for flush in use.flushes if flush.cause in ("fsync", "fdatasync", "msync"))
    unlocking = sum(flush.count for flush in use.flushes if flush.cause in ("fcntl", "flock", "close"))
    return Finding(
        ID,
        fault(model, sum(claimed.values())),
        confidence,
        f"A SQLite database lies on {use.name}, and its locks, look-ups and commits are calls to the server one after"
        f" the other: {percent(part)} of the time waited for this mount.",
        claimed,
        [
            waits(together(use.rows_of(NFS)), "waits for this mount"),
            Evidence(
                f"{percent(part)} of that time has SQLite on the user stack"
                f" ({sum(stack.count for stack in own)} of {samples} sampled waits)",
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
        _remedies(),
        ruled_out=[
            f"less safety in SQLite: {unlocking:,} flushes came with unlocking or closing, {asked:,} were asked for"
        ]
        if unlocking > asked
        else [],
        alternatives=["another part of the program that uses the same mount"],
        limits=limits,
        verify=f"{again(model)}: nfs.* on {use.name}",
        headline=f"A SQLite database lies on NFS ({use.in_brief}): each step is a call",
        mechanism=Mechanism.MANY,
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
        fix("put several changes into one transaction: each costs the same locks, journal and commits"),
    ]


__all__ = ["sqlite_on_nfs"]
