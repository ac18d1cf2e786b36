"""NFS-COMMIT-SLOW: an NFS server takes long to make data or names safe."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from perfdiag.diagnosis.evidence.fix_checks import fewer, shorter
from perfdiag.diagnosis.evidence.nfs.mount_calls import MODIFYING, late, usual_ns
from perfdiag.diagnosis.evidence.nfs.mount_sentences import (
    above_disk,
    calls_evidence,
    disk_evidence,
    doubts,
    flush_evidence,
    mount_evidence,
    nfsd_evidence,
    nfsd_part,
    server_of,
    trip_evidence,
)
from perfdiag.diagnosis.evidence.nfs.outages import gone
from perfdiag.diagnosis.evidence.nfs.server_threads import busy_threads
from perfdiag.diagnosis.evidence.nfs.wait_parts import COMMIT, METADATA, WRITE, Use, uses
from perfdiag.diagnosis.evidence.target import idle_share
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import nfs_policy
from perfdiag.diagnosis.rule import Finding, Mechanism, Outcome, Remedy, Severity, rule
from perfdiag.diagnosis.significance import (
    about,
    duration,
    fault,
    fine,
    fix,
    percent,
    together,
    waits,
    worth,
)
from perfdiag.model.model import Model

ID = "NFS-COMMIT-SLOW"


@dataclass(frozen=True)
class Case:
    """What waiting for a server to make things safe took on one mount."""

    use: Use
    names: tuple[str, ...]  # the procedures that wait for the server's disk
    parts: Mapping[str, float]  # by account: the server's part, without round trips
    slow: bool  # longer than a disk should take
    each_ns: float  # without a round trip: the call in which half of the time was spent where slow, else half of them


@rule(
    ID,
    title="An NFS server takes long to make data safe",
    accounts=(COMMIT, WRITE, METADATA),
    meaning=(
        "Threads wait until an NFS server has data or names safe on disk: fsync, close, unlock, O_SYNC writes, and"
        " creating, renaming or removing files. Only the server's time beyond a round trip is claimed. A fault from 10"
        " ms per call on, plus its bytes at 100 MB/s; less is a profile."
    ),
    measured=(
        "The target's waits by mount, with queue, wire and server time of the mount's calls and its flushes. The"
        " server's part is the wire time less the round trip of the fastest cheap call (GETATTR, LOOKUP). If this host"
        " is the server, its own times are used."
    ),
    alternatives=(
        "A slow network (NFS-SERVER-SLOW), other users of the server's disk, no free nfsd thread, or large writes on"
        " a full link."
    ),
    remedies=(
        "Give the server a log device or a power-safe write cache, or commit less often. Never use an async export: a"
        " server crash loses data applications believe safe."
    ),
    names={Mechanism.MANY: "NFS-COMMITS-MANY"},
    verify="Commits take less than 10 ms, or there are fewer (COMMIT and WRITE in nfsiostat 1).",
)
def commit_slow(model: Model) -> Iterable[Outcome]:
    """Judge waits for safety by the calls of their mount; one finding per mount."""
    found = False
    for use in uses(model):
        if gone(use):
            found = True  # NFS-SERVER-SLOW tells of it
            continue
        case = _case(use)
        claimed_ns = sum(use.claims(case.parts).values())
        if worth(model, claimed_ns) and (case.slow or claimed_ns >= nfs_policy.profile_share * model.busy_ns):
            found = True
            yield _finding(model, case, claimed_ns)
    if not found:
        yield fine(model, ID, "NFS commits", COMMIT)


def _case(use: Use) -> Case:
    known = {account: use.parts(account) for account in (COMMIT, WRITE, METADATA)}
    data_ns = known[COMMIT].commit_ns + known[WRITE].commit_ns
    wanted = MODIFYING
    if data_ns >= known[METADATA].commit_ns:
        wanted = ("COMMIT", *(("WRITE",) if use.stable_part >= nfs_policy.commit_share else ()))
    names = tuple(name for name in wanted if name in use.procedures)
    wire = use.calls(*names).wire if names else together(use.rows_of([COMMIT]))
    slow = late(
        wire,
        use.trip_ns * bool(names)
        + nfs_policy.slow_commit_ns
        + use.flush_bytes * 1e9 / nfs_policy.slowest_bytes_per_second,
    )
    each_ns = usual_ns(wire) if slow else wire.quantile_ns(0.5) or usual_ns(wire)
    # What waits in the queue before slow calls waits for them.
    parts = {name: part.commit_ns + (part.queue_ns if slow else 0) for name, part in known.items() if part.commit_ns}
    return Case(use, names, parts, slow, max(0.0, each_ns - use.trip_ns * bool(names)))


def _finding(model: Model, case: Case, claimed_ns: int) -> Finding:
    use = case.use
    local = use.nfsd.requests.count > 0
    busy = busy_threads(model, use) if case.slow else None
    whole_ns = use.ns(*case.parts)
    rest_ns = whole_ns - claimed_ns
    return conclude(
        model,
        use.claims(case.parts),
        headline=busy.headline if busy else _headline(case, local=local),
        claim=_claim(case, nfsd_part(use)),
        mechanism=Mechanism.OTHERS if not case.names else Mechanism.SLOW if case.slow else Mechanism.MANY,
        severity=fault(model, claimed_ns) if case.slow else Severity.INFO,
        doubts=doubts(model, use),
        evidence=[
            waits(together(use.rows_of(case.parts)), "waits until the server had data or names on disk"),
            *([busy.evidence] if busy else []),
            *calls_evidence(use, case.names),
            *trip_evidence(use),
            *flush_evidence(use),
            *nfsd_evidence(use, case.names),
            *(disk_evidence(model) if local else []),
            *mount_evidence(use),
        ],
        remedies=[*([busy.remedy] if busy else []), *_remedies(use, case.slow, local=local)],
        alternatives=[
            *([above] if (above := above_disk(model, use)) else []),
            "other users of the server's disk",
            _busy_server(model) if local else "no free nfsd thread on the server (th in /proc/net/rpc/nfsd)",
        ],
        verify=shorter(model, f"commits on {use.in_brief}", case.each_ns, nfs_policy.slow_commit_ns)
        if case.slow
        else fewer(model, f"commits on {use.in_brief}", together(use.rows_of(case.parts)).count),
        returns=(
            f"With instant commits {duration(rest_ns)} of {duration(whole_ns)} would remain."
            if rest_ns >= nfs_policy.profile_share * whole_ns
            else ""
        ),
    )


def _busy_server(model: Model) -> str:
    """Return what else makes a server slow that is this host."""
    idle = idle_share(model)
    return f"CPUs too busy to serve{'' if idle is None else f' (idle {percent(idle)} of the time)'}"


def _claim(case: Case, inside: float | None) -> str:
    use, each = case.use, about(case.each_ns)
    if not case.names:
        return f"A wait for safe data on {use.name} takes {each}. Its calls were not counted."
    what = "changes of names and attributes" if case.names[0] in MODIFYING else " and ".join(case.names)
    beyond = f" beyond a round trip of {duration(use.trip_ns)}" if use.round_trip else ", round trip included"
    if not case.slow:
        return f"{what} on {use.name} take {each}{beyond}, as fast as a disk. There are too many."
    nfsd = "" if inside is None else f"; {percent(inside)} of that time is in nfsd"
    return f"{what} on {use.name} take {each}{beyond}{nfsd}."


def _headline(case: Case, *, local: bool) -> str:
    name = case.use.in_brief
    if not case.names:
        return f"Threads wait for safe data on {name}"
    here = ", this host," if local else ""
    return f"The server of {name}{here} commits slowly" if case.slow else f"Threads commit data on {name} too often"


def _remedies(use: Use, slow: bool, *, local: bool) -> list[Remedy]:
    found = [fix("commit less often: several changes per fsync or transaction; temporary files on a local disk")]
    if not slow:
        return found
    server = "this host, which is the server" if local else server_of(use)
    look = fix(f"on {server}: iostat -x 1 (f_await, w_await of the exported disk)")
    return [look, fix("on the server: add a log device or power-safe write cache for the exported file system"), *found]
