"""A rule on NFS servers that take long to make something safe: COMMITs, FILE_SYNC WRITEs, changes of names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

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
from perfdiag.diagnosis.evidence.nfs.wait_parts import (
    COMMIT,
    METADATA,
    PROFILE_SHARE,
    SLOW_COMMIT_NS,
    SLOWEST_BYTES_PER_SECOND,
    WRITE,
    Use,
    uses,
)
from perfdiag.diagnosis.evidence.target import again, idle_share
from perfdiag.diagnosis.rule import Check, Confidence, Finding, Mechanism, Outcome, Remedy, Severity, rule
from perfdiag.diagnosis.significance import (
    about,
    duration,
    fault,
    fix,
    judged,
    percent,
    together,
    waits,
    without_rows,
    worth,
)
from perfdiag.model.model import Model

ID = "NFS-COMMIT-SLOW"
MOSTLY = 0.5


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
    meaning="Threads wait until an NFS server has data or names safe on its disk: fsync, close, unlock, O_SYNC writes"
    " (COMMITs, and small WRITEs that are FILE_SYNC and need none), files created, renamed and removed. Only what the"
    " server takes beyond a round trip is claimed: the round trips stay however fast it commits (NFS-METADATA-CHATTY)."
    " A fault from 10 ms a call on, and what its bytes need at 100 MB/s; less is profile.",
    measured="Joins the target's waits by mount, over the whole window, with the calls of that mount (queue, wire and"
    " server of each, from the kernel's own clocks, whoever asked), with its flushes (COMMITs, WRITEs and bytes of"
    " each) and, where the server is the same host, with its own times. The server's part of a call is its time on the"
    " wire less a round trip: what the fastest call that needs no disk takes (GETATTR, LOOKUP), with its error.",
    alternatives="A slow network (then cheap calls are slow, too: NFS-SERVER-SLOW); others who keep the server's disk"
    " busy; a server whose threads are all in use; large writes that are limited by the link.",
    remedies="On the server a log device or a write cache that survives a power cut; fewer commits, each of more."
    " Never a server that answers before data is safe: a crash of it then loses what applications believe to be safe.",
    verify="p50 of nfs.commit in the next report; COMMIT and WRITE in nfsiostat 1.",
)
def commit_slow(model: Model) -> Iterable[Outcome]:
    """Join the waits for safety with the calls of their mount; one finding a mount."""
    found = False
    for use in uses(model):
        case = _case(use)
        claimed_ns = sum(use.claims(case.parts).values())
        if worth(model, claimed_ns) and (case.slow or claimed_ns >= PROFILE_SHARE * model.busy_ns):
            found = True
            yield _finding(model, case, claimed_ns)
    if not found:
        rowless = without_rows(model, ID, COMMIT)
        share = model.share(COMMIT)
        yield rowless or Check(ID, f"NFS commits {percent(share)} of busy time", share, "share")


def _case(use: Use) -> Case:
    known = {account: use.parts(account) for account in (COMMIT, WRITE, METADATA)}
    data_ns = known[COMMIT].commit_ns + known[WRITE].commit_ns
    wanted = MODIFYING
    if data_ns >= known[METADATA].commit_ns:
        wanted = ("COMMIT", *(("WRITE",) if use.stable_part >= MOSTLY else ()))
    names = tuple(name for name in wanted if name in use.procedures)
    wire = use.calls(*names).wire if names else together(use.rows_of([COMMIT]))
    slow = late(wire, use.trip_ns * bool(names) + SLOW_COMMIT_NS + use.flush_bytes * 1e9 / SLOWEST_BYTES_PER_SECOND)
    each_ns = usual_ns(wire) if slow else wire.quantile_ns(0.5) or usual_ns(wire)
    # What waits in the queue before slow calls waits for them.
    parts = {name: part.commit_ns + (part.queue_ns if slow else 0) for name, part in known.items() if part.commit_ns}
    return Case(use, names, parts, slow, max(0.0, each_ns - use.trip_ns * bool(names)))


def _finding(model: Model, case: Case, claimed_ns: int) -> Finding:
    use = case.use
    local = use.nfsd.requests.count > 0
    confidence, limits = judged(model, Confidence.HIGH, doubts(model, use))
    whole_ns = use.ns(*case.parts)
    rest_ns = whole_ns - claimed_ns
    return Finding(
        ID,
        fault(model, claimed_ns) if case.slow else Severity.INFO,
        confidence,
        _claim(case, nfsd_part(use)),
        use.claims(case.parts),
        [
            waits(together(use.rows_of(case.parts)), "waits until data or names were safe"),
            *calls_evidence(use, case.names),
            *trip_evidence(use),
            *flush_evidence(use),
            *nfsd_evidence(use, case.names),
            *(disk_evidence(model) if local else []),
            *mount_evidence(use),
        ],
        _remedies(use, case.slow, local=local),
        alternatives=[
            *([above] if (above := above_disk(model, use)) else []),
            "others who keep the server's disk busy",
            _busy_server(model) if local else "a server without a free thread (th in its /proc/net/rpc/nfsd)",
        ],
        limits=limits,
        verify=f"{again(model)}: nfs.commit on {use.name}, p50",
        returns=f"A server that commits at once leaves {duration(rest_ns)} of these {duration(whole_ns)}."
        if rest_ns >= PROFILE_SHARE * whole_ns
        else "",
        headline=_headline(case),
        mechanism=Mechanism.OTHERS if not case.names else Mechanism.SLOW if case.slow else Mechanism.MANY,
    )


def _busy_server(model: Model) -> str:
    """Return what else makes a server slow that is this host."""
    idle = idle_share(model)
    return f"CPUs too busy to serve{'' if idle is None else f' (they were idle {percent(idle)} of the time)'}"


def _claim(case: Case, inside: float | None) -> str:
    use, each = case.use, about(case.each_ns)
    if not case.names:
        return f"Making data safe on {use.name} takes {each} a wait: too long or not, and where, its calls would tell."
    what = "changes of names and attributes" if case.names[0] in MODIFYING else " and ".join(case.names)
    beyond = f" beyond a round trip of {duration(use.trip_ns)}" if use.round_trip else ", round trip included"
    if not case.slow:
        return f"{use.name} makes data safe as fast as disks do ({what}: {each}{beyond}): the number of calls costs."
    nfsd = "" if inside is None else f"; {percent(inside)} of the time of all calls is its nfsd's"
    return f"The server of {use.name} takes long to make data safe: {what} {each}{beyond}{nfsd}."


def _headline(case: Case) -> str:
    name = case.use.in_brief
    if not case.names:
        return f"Threads wait until {name} has data safe"
    return f"The server of {name} takes long to make data safe" if case.slow else f"Data is made safe on {name} often"


def _remedies(use: Use, slow: bool, *, local: bool) -> list[Remedy]:
    found = [fix("fewer commits: several changes per fsync or transaction; temporary files on a local disk")]
    if not slow:
        return found
    better = fix(
        "on the server: a log device or write cache that survives a power cut for the exported file system (its flush"
        " is what a commit waits for)"
    )
    look = fix(f"on {server_of(use)}, meanwhile: iostat -x 1 (f_await, w_await of the exported disk)")
    return [better, *found] if local else [look, better, *found]


__all__ = ["commit_slow"]
