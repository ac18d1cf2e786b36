"""Rules on file systems: servers and daemons that answer slowly, directories that have grown too large."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from perfdiag.diagnosis.evidence.locks.outside_wakers import ended_by
from perfdiag.diagnosis.evidence.target import subject
from perfdiag.diagnosis.rule import Confidence, Evidence, Finding, Mechanism, Outcome, Remedy, Severity, rule
from perfdiag.diagnosis.significance import (
    about,
    brief,
    by_key,
    claims_of,
    duration,
    fault,
    fine,
    fix,
    judged,
    percent,
    plain,
    share_above,
    still_waiting,
    together,
    total_ns,
    typical_ns,
    waits,
    worth,
)
from perfdiag.model.model import Model, Row
from perfdiag.recording.distribution import Distribution

# Waits for NFS have accounts and rules of their own; they are here only where a recording could not tell them apart.
REMOTE = ("remote.fs",)

# One answer needs a round trip (under 1 ms inside a site) and at most one seek of a disk (4 ms): 5 ms are its norm.
SLOW_ANSWER_NS = 5_000_000
# Waits from 134 ms on (a bucket's edge) are no disk any more: retransmission, a server that stops, a dead path.
STALL_NS = 134_217_728
# A thread whose wait lasted half of the window and has not ended hangs.
HANGING_PART = 0.5


@rule(
    "FS-REMOTE-SLOW",
    title="A remote or user-space file system answers slowly",
    accounts=REMOTE,
    meaning="Threads wait for the server or daemon behind a mount: CIFS, 9p, Ceph, virtiofs, FUSE; NFS where its"
    " accounts (nfs.*) could not be told apart. Answers that take longer than a round trip and one disk access are a"
    " fault; fast answers that add up are profile, for then their number takes the time.",
    measured="Joins waits of remote.fs by mount, over the whole window, with threads whose wait had not ended; mounts"
    " that only together take a share worth a finding are taken together. The norm is 5 ms per answer, for the wait in"
    " which half of the time was spent.",
    alternatives="A slow network to the server, a busy server, a slow disk behind it, or (FUSE) a daemon on this host"
    " that is itself starved of CPU or memory.",
    remedies="Look at the server or daemon; keep files with many small synchronous operations on a local file system.",
    verify="perfdiag latency on the same target again: p50 per answer of this mount.",
)
def remote(model: Model) -> Iterable[Outcome]:
    """Join remote waits by mount; one finding a mount, and one for all that only count together."""
    rows = model.rows_of(*REMOTE)
    if not worth(model, total_ns(rows)):
        yield fine(model, "FS-REMOTE-SLOW", "remote file systems", *REMOTE)
        return
    mounts: dict[str, list[Row]] = {}
    for (_account, key), group in by_key(rows).items():
        mounts.setdefault(key, []).extend(group)
    small: list[Row] = []
    for group in mounts.values():
        if worth(model, total_ns(group)):
            yield _slow(model, group, [group[0].key])
        else:
            small += group
    if worth(model, total_ns(small)):
        yield _slow(model, small, sorted({row.key for row in small}, key=lambda key: -total_ns(mounts[key])))


def _slow(model: Model, rows: Sequence[Row], keys: Sequence[str]) -> Finding:
    """Return the finding on the mounts `keys`, the largest first, and on the waits for them."""
    largest, others = next(row for row in rows if row.key == keys[0]), len(keys) - 1
    name, fstype = plain(largest.object or "a mount without a name"), _type_of(model, keys[0])
    name += f" and {others} smaller mount{'s' * (others > 1)}" if others else ""
    whole = together(rows)
    typical = typical_ns(whole)
    hanging = [thread for thread, wait in still_waiting(model, *REMOTE, part=HANGING_PART) if wait.object in keys]
    severity, claim, mechanism, headline = _remote_claim(model, name, whole, len(hanging), several=bool(others))
    confidence, limits = judged(model, Confidence.HIGH, ["" if fstype else "the mount could not be named"])
    stalled = share_above(whole, STALL_NS)
    evidence = [waits(whole, f"waits on {name}")]
    if stalled:
        evidence.append(Evidence(f"{percent(stalled)} of that time in waits over 134 ms", stalled, "share", "ledger"))
    return Finding(
        "FS-REMOTE-SLOW",
        severity,
        confidence,
        claim,
        claims_of(rows),
        evidence,
        _remote_remedies(fstype, typical, _daemon(model, rows)),
        alternatives=[
            "network to the server (retransmissions, a full link)",
            "the server's own disk, CPU or memory",
            *(["the FUSE daemon on this host waits or has no CPU"] if fstype.startswith("fuse") else []),
        ],
        limits=limits,
        verify=f"p50 per wait on {name} under {duration(SLOW_ANSWER_NS)}",
        headline=headline,
        mechanism=mechanism,
    )


def _remote_claim(
    model: Model, name: str, whole: Distribution, hanging: int, *, several: bool
) -> tuple[Severity, str, Mechanism, str]:
    typical, answer = typical_ns(whole), f"{brief(name)} {'answer' if several else 'answers'}"
    if hanging:
        claim = (
            f"{hanging} thread{'s' * (hanging > 1)} waited for {name} most of the window and still did when it"
            " ended: the server or daemon behind it may be dead."
        )
        headline = f"Threads wait for {brief(name)}; what serves it may be dead"
        return Severity.CRITICAL, claim, Mechanism.FAILED, headline
    if typical >= SLOW_ANSWER_NS:
        claim = (
            f"{name} {'answer' if several else 'answers'} slowly: half the waiting time is in waits of"
            f" {about(typical)} or more."
        )
        return fault(model, whole.sum_ns), claim, Mechanism.SLOW, f"{answer} slowly"
    claim = (
        f"{name} {'answer' if several else 'answers'} fast enough ({about(typical)}), but {subject(model)} waited"
        f" for {'them' if several else 'it'} {whole.count:,} times."
    )
    return Severity.INFO, claim, Mechanism.MANY, f"{answer} fast, but is asked often"


def _type_of(model: Model, key: str) -> str:
    """Return the type of the file system a wait names, "" if no mount shows it."""
    mount = model.facts.mount_of(key.removeprefix("mount:"))
    return mount.fstype if mount else ""


def _daemon(model: Model, rows: Sequence[Row]) -> tuple[str, str]:
    """Return (", by the waits it ended python3 (77)", "77") of the thread that answers for a mount of user space."""
    own = {thread.tid for thread in model.threads}
    ended = [row for row in rows if row.waker_tid and row.waker_tid not in own]
    tid = max(ended, key=lambda row: row.waker_count).waker_tid if ended else 0
    if tid:
        return f", by the waits it ended {ended_by(model, rows, tid)}", str(tid)
    return " (find /proc/[0-9]*/fd -lname /dev/fuse shows whose it is)", "DAEMON"


def _remote_remedies(fstype: str, typical: int, daemon: tuple[str, str]) -> list[Remedy]:
    if fstype.startswith("fuse"):
        who, pid = daemon
        first = fix(f"look at the daemon that serves the mount{who}: perfdiag latency --pid {pid}, meanwhile")
    elif fstype.startswith("nfs"):
        first = fix(
            "ask where the time goes: mountstats --nfs (queue, wire and server per call); then look at the"
            " server's disk and CPU"
        )
    else:
        first = fix("look at the server behind the mount: its CPU, its disk, and the network between")
    if typical < SLOW_ANSWER_NS:
        return [fix("make fewer round trips: keep small files, locks and databases local, copy whole files"), first]
    return [first, fix("keep what needs many small synchronous operations on a local file system")]


__all__ = ["remote"]
