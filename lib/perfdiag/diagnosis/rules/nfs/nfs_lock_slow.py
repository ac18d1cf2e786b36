"""A rule on locks over NFS: held by others, or granted slowly."""

from __future__ import annotations

from collections.abc import Iterable

from perfdiag.diagnosis.evidence.nfs.mount_calls import late, usual_ns
from perfdiag.diagnosis.evidence.nfs.mount_sentences import (
    calls_evidence,
    doubts,
    mount_evidence,
    server_of,
    trip_evidence,
)
from perfdiag.diagnosis.evidence.nfs.wait_parts import HANGING_PART, LOCK, SLOW_ANSWER_NS, Use, uses
from perfdiag.diagnosis.evidence.target import again, subject
from perfdiag.diagnosis.rule import Check, Confidence, Evidence, Finding, Mechanism, Outcome, Remedy, rule
from perfdiag.diagnosis.significance import (
    about,
    duration,
    fault,
    fix,
    judged,
    percent,
    still_waiting,
    together,
    waits,
    without_rows,
    worth,
)
from perfdiag.model.model import Model

ID = "NFS-LOCK-SLOW"
# Waits that take twice as long as all calls for locks together are for who has the lock, not for answers.
LONGER = 2.0


@rule(
    ID,
    title="Locks on NFS are held or granted slowly",
    accounts=(LOCK,),
    meaning="Threads wait for locks on files of an NFS server (fcntl, flock). Either somebody else has the lock, on"
    " this or any other client: then waits are longer than the calls themselves, and NFS asks again only after a second"
    " or more unless the server tells it; or the server answers slowly. A fault from 5 ms a call on, or when held. The"
    " round trip of each fast lock is left to NFS-METADATA-CHATTY.",
    measured="Joins the target's waits for locks by mount, over the whole window, with the calls of that mount that"
    " lock and unlock (LOCK, LOCKT, LOCKU; of NFS 3 those of its lock manager): queue, wire and server. What waits are"
    " longer than all these calls took somebody had the lock.",
    alternatives="A flush before unlocking (booked as nfs.commit where it is seen); a lock manager or its callback that"
    " a firewall blocks (NFS 3, 4.0): then a lock is only found free at the next asking.",
    remedies="Hold locks for less, lock less often, or lock on a local file system where one host suffices.",
    verify="p50 of nfs.lock in the next report.",
)
def lock_slow(model: Model) -> Iterable[Outcome]:
    """Join waits for locks with the calls of their mount; one finding a mount."""
    found = False
    for use in uses(model):
        ns = use.ns(LOCK)
        held = worth(model, ns) and _held(model, use)
        calls = use.calls(*use.names(LOCK))
        wire = calls.wire if calls.count else together(use.rows_of([LOCK]))
        if not held and not late(wire, use.trip_ns * bool(calls.count) + SLOW_ANSWER_NS):
            continue
        claimed = use.claims({LOCK: ns - use.parts(LOCK).trip_ns})
        if worth(model, sum(claimed.values())):
            found = True
            yield _finding(model, use, claimed, held=held, each_ns=usual_ns(wire))
    if not found:
        share = model.share(LOCK)
        yield without_rows(model, ID, LOCK) or Check(ID, f"locks on NFS {percent(share)} of busy time", share, "share")


def _still(model: Model, use: Use) -> int:
    """Return how many threads waited for a lock on this mount most of the window and still did."""
    return len(still_waiting(model, LOCK, part=HANGING_PART, key=use.key))


def _held(model: Model, use: Use) -> bool:
    calls = use.calls(*use.names(LOCK))
    took_ns = calls.queue.sum_ns + calls.wire.sum_ns + calls.reply_ns
    return _still(model, use) > 0 or (bool(use.probe) and use.ns(LOCK) > LONGER * took_ns)


def _finding(
    model: Model, use: Use, claimed: dict[str | tuple[str, str], int], *, held: bool, each_ns: float
) -> Finding:
    names = use.names(LOCK)
    calls, still = use.calls(*names), _still(model, use)
    confidence, limits = judged(model, Confidence.HIGH, doubts(model, use))
    took_ns = calls.queue.sum_ns + calls.wire.sum_ns
    claim = f"Locks on {use.name} are granted slowly: half the time of its calls for them is in calls of"
    claim += f" {about(each_ns)}."
    evidence = [waits(together(use.rows_of([LOCK])), "waits for its locks"), *calls_evidence(use, names)]
    if held:
        claim = f"Somebody else has the locks on {use.name} that {subject(model)} waits for"
        claim += f"; {still} thread{'s' * (still > 1)} still did when the window ended." if still else "."
        text = f"all {calls.count:,} calls for locks took {duration(took_ns)}: the rest is waiting for who has them"
        evidence.append(Evidence(text, float(took_ns), "ns", use.probe or "ledger"))
    return Finding(
        ID,
        fault(model, sum(claimed.values())),
        confidence,
        claim,
        claimed,
        [*evidence, *trip_evidence(use), *mount_evidence(use)],
        _remedies(use, held=held),
        alternatives=["a callback of the server that a firewall blocks: the lock is found free at the next asking"]
        if held
        else ["a network that is slow or loses packets", "a server short of threads"],
        limits=limits,
        verify=f"{again(model)}: nfs.lock on {use.name}, p50",
        headline=f"Somebody else holds locks on {use.in_brief}"
        if held
        else f"Locks on {use.in_brief} are granted slowly",
        mechanism=Mechanism.BUSY if held else Mechanism.SLOW,
    )


def _remedies(use: Use, *, held: bool) -> list[Remedy]:
    local = fix("lock on a local file system (flock on /run/lock) where all who lock are on this host")
    if not held:
        return [fix(f"look at {server_of(use)} and the way to it as for NFS-SERVER-SLOW"), local]
    holder = fix("find who has the lock: lslocks here; on the server lslocks and /proc/fs/nfsd/clients/*/states")
    return [holder, fix("hold locks for less: no flush and no network call while one is held"), local]


__all__ = ["lock_slow"]
