"""NFS-LOCK-SLOW: locks on NFS are held by others, or granted slowly."""

from collections.abc import Iterable

from perfdiag.common.units import plural
from perfdiag.diagnosis.evidence.fix_checks import shorter
from perfdiag.diagnosis.evidence.nfs.mount_calls import late, usual_ns
from perfdiag.diagnosis.evidence.nfs.mount_sentences import (
    calls_evidence,
    doubts,
    mount_evidence,
    server_of,
    trip_evidence,
)
from perfdiag.diagnosis.evidence.nfs.wait_parts import LOCK, Use, uses
from perfdiag.diagnosis.evidence.target import subject
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import nfs_policy
from perfdiag.diagnosis.rule import Claim, Evidence, Finding, Mechanism, Outcome, Remedy, rule
from perfdiag.diagnosis.significance import (
    about,
    duration,
    fine,
    fix,
    still_waiting,
    together,
    waits,
    worth,
)
from perfdiag.model.model import Model

ID = "NFS-LOCK-SLOW"


@rule(
    ID,
    title="Locks on NFS are held or granted slowly",
    accounts=(LOCK,),
    meaning=(
        "Threads wait for file locks on an NFS server (fcntl, flock). Either another process on this or any client"
        " holds the lock, and NFS retries only every second or more; or the server answers slowly. A fault from 5 ms"
        " per call on, or if held."
    ),
    measured=(
        "The target's lock waits by mount, with the mount's lock calls (LOCK, LOCKT, LOCKU, or the lock manager of"
        " NFS 3). Waits beyond these calls are for the holder."
    ),
    alternatives="A flush before unlocking (nfs.commit), or a firewall blocks the lock callback (NFS 3, 4.0).",
    remedies="Hold locks shorter, lock less often, or lock on a local file system if one host suffices.",
    verify="Lock calls take less than 5 ms.",
)
def lock_slow(model: Model) -> Iterable[Outcome]:
    """Judge waits for locks by the calls of their mount; one finding per mount."""
    found = False
    for use in uses(model):
        ns = use.ns(LOCK)
        held = worth(model, ns) and _held(model, use)
        calls = use.calls(*use.names(LOCK))
        wire = calls.wire if calls.count else together(use.rows_of([LOCK]))
        if not held and not late(wire, use.trip_ns * bool(calls.count) + nfs_policy.slow_answer_ns):
            continue
        claimed = use.claims({LOCK: ns - use.parts(LOCK).trip_ns})
        if worth(model, sum(claimed.values())):
            found = True
            yield _finding(model, use, claimed, held=held, each_ns=usual_ns(wire))
    if not found:
        yield fine(model, ID, "locks on NFS", LOCK)


def _still(model: Model, use: Use) -> int:
    """Return how many threads waited for a lock here most of the window, and still at the end."""
    return len(still_waiting(model, LOCK, part=nfs_policy.hanging_share, key=use.key))


def _held(model: Model, use: Use) -> bool:
    calls = use.calls(*use.names(LOCK))
    took_ns = calls.queue.sum_ns + calls.wire.sum_ns + calls.reply_ns
    return _still(model, use) > 0 or (bool(use.probe) and use.ns(LOCK) > nfs_policy.lock_held_factor * took_ns)


def _finding(model: Model, use: Use, claimed: dict[Claim, int], *, held: bool, each_ns: float) -> Finding:
    names = use.names(LOCK)
    calls, still = use.calls(*names), _still(model, use)
    took_ns = calls.queue.sum_ns + calls.wire.sum_ns
    claim = f"Half of the time of lock calls to {use.in_brief} is in calls of {about(each_ns)} or more."
    evidence = [waits(together(use.rows_of([LOCK])), "lock waits"), *calls_evidence(use, names)]
    if held:
        claim = f"{subject(model, begin=True)} waits for locks on {use.in_brief} held by another process"
        claim += f"; {plural(still, 'thread')} still waited at the end." if still else "."
        text = f"{duration(took_ns)} in all {calls.count:,} lock calls; the rest is waiting for the holder"
        evidence.append(Evidence(text, float(took_ns), "ns", use.probe or "ledger"))
    return conclude(
        model,
        claimed,
        headline=(
            f"Another process holds the locks on {use.in_brief}"
            if held
            else f"Locks on {use.in_brief} are granted slowly"
        ),
        claim=claim,
        mechanism=Mechanism.BUSY if held else Mechanism.SLOW,
        doubts=doubts(model, use),
        evidence=[*evidence, *trip_evidence(use), *mount_evidence(use)],
        remedies=_remedies(use, held=held),
        alternatives=["a firewall blocks the server's lock callback"]
        if held
        else ["a slow or lossy network", "a server short of threads"],
        verify=shorter(model, f"lock calls to {use.in_brief}", each_ns, nfs_policy.slow_answer_ns),
    )


def _remedies(use: Use, *, held: bool) -> list[Remedy]:
    local = fix("lock on a local file system (flock in /run/lock) if all users are on this host")
    if not held:
        return [fix(f"check {server_of(use)} and the network to it, as for NFS-SERVER-SLOW"), local]
    holder = fix("find the holder: lslocks here; on the server lslocks and /proc/fs/nfsd/clients/*/states")
    return [holder, fix("hold locks shorter: no flush and no network call inside"), local]
