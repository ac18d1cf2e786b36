"""NFS-SERVER-SLOW: an NFS server, or the network to it, answers slowly or not at all."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from perfdiag.common.units import plural
from perfdiag.diagnosis.evidence.fix_checks import fewer, measured, shorter
from perfdiag.diagnosis.evidence.nfs.mount_calls import MODIFYING, late, requests, usual_ns
from perfdiag.diagnosis.evidence.nfs.mount_sentences import (
    calls_evidence,
    doubts,
    mount_evidence,
    nfsd_evidence,
    server_of,
    trip_evidence,
)
from perfdiag.diagnosis.evidence.nfs.outages import ANSWERED, gone
from perfdiag.diagnosis.evidence.nfs.revalidation import forced_by, without
from perfdiag.diagnosis.evidence.nfs.server_threads import busy_threads
from perfdiag.diagnosis.evidence.nfs.small_transfers import small_transfers
from perfdiag.diagnosis.evidence.nfs.wait_parts import COMMIT, METADATA, NFS, READ, WRITE, Use, uses
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import general_policy, nfs_policy
from perfdiag.diagnosis.rule import Check, Finding, Mechanism, Outcome, Remedy, Severity, Silence, rule
from perfdiag.diagnosis.significance import (
    about,
    duration,
    fault,
    fix,
    percent,
    still_waiting,
    together,
    waits,
    without_rows,
    worth,
)
from perfdiag.model.model import Model

ID = "NFS-SERVER-SLOW"


@dataclass(frozen=True)
class Case:
    """What answers took on one mount."""

    use: Use
    parts: Mapping[str, float]  # by account: time beyond round trips
    usual_ns: float  # the slowest account's call, in which half of its time was spent
    slow: bool


@rule(
    ID,
    title="An NFS server, or the network to it, answers slowly",
    accounts=NFS,
    meaning=(
        "Threads wait for answers of an NFS server without commits: reads, look-ups, writes into its memory. A fault"
        " from 5 ms per call on, plus its bytes at 100 MB/s. If even cheap calls are slow, it is the network or the"
        " whole server. If threads waited most of the window and still do, the server may be dead;"
        " if a few waits of a second and more took most of the time of many, it was gone meanwhile."
    ),
    measured=(
        "The target's waits by mount, with the wire time of its reads, writes and look-ups, less one round trip per"
        " wait unless the round trip itself is slow. Commits are NFS-COMMIT-SLOW, the client's queue NFS-CLIENT-QUEUE."
    ),
    alternatives=(
        "A lossy or full network, a server short of threads, memory or CPU, other users of its disk, or another"
        " client must return a lease or delegation first."
    ),
    remedies="Check the network, and the server's disk, memory and threads.",
    verify="Answers take less than 5 ms (avg RTT in nfsiostat 1).",
)
def server_slow(model: Model) -> Iterable[Outcome]:
    """Judge waits for answers by the calls of their mount; one finding per mount."""
    found = False
    for use in uses(model):
        dead = _hanging(model, use) or _gone_for_a_while(model, use)
        if dead:
            found = True
            yield dead
            continue
        case = _case(use)
        claimed_ns = sum(use.claims(case.parts).values())
        if worth(model, claimed_ns) and (case.slow or claimed_ns >= nfs_policy.profile_share * model.busy_ns):
            found = True
            yield _finding(model, case, claimed_ns)
    if not found:
        yield _nothing(model)


def _nothing(model: Model) -> Check | Silence:
    rowless = without_rows(model, ID, *ANSWERED)
    if rowless:
        return rowless
    share = model.share(*ANSWERED)
    own = requests(model)
    if own.count and not uses(model):
        each_ns = usual_ns(own)
        text = f"this host's own NFS server: {own.count:,} requests, half of their time in {about(each_ns)} or less"
        return Check(ID, text, each_ns, "ns", large=late(own, nfs_policy.slow_answer_ns))
    trips = [use.round_trip for use in uses(model) if use.round_trip]
    each = f", round trip {duration(trips[0].ns)}" if trips else ""
    return Check(ID, f"waits for NFS {percent(share)} of busy time{each}", share, "share")


def _case(use: Use) -> Case:
    found: dict[str, float] = {}
    slowest, slow = 0.0, use.far
    for account in (READ, WRITE, COMMIT, METADATA):
        parts = use.parts(account)
        each_ns, is_late = _usual(use, account)
        is_late = is_late and parts.answer_ns > 0
        if is_late and not slow:
            found, slowest = {}, 0.0  # what is fast beside it is no part of the fault
        if is_late or not slow:
            queue_ns = parts.queue_ns if is_late and not use.is_mostly_queued(account) else 0
            found[account] = parts.answer_ns + queue_ns
            slowest = max(slowest, each_ns)
        slow = slow or is_late
    if use.far:
        for account in NFS:
            found[account] = found.get(account, 0.0) + use.parts(account).trip_ns
        slowest = use.trip_ns
    return Case(use, {account: ns for account, ns in found.items() if ns >= 1}, slowest, slow)


def _usual(use: Use, account: str) -> tuple[float, bool]:
    """Return the call in which half of the time was spent, and whether that is late."""
    calls = use.calls(*_answered(use, account))
    if not calls.count:
        waits = together(use.rows.get(account, ()))
        return usual_ns(waits), late(waits, nfs_policy.slow_answer_ns)
    # The WRITEs of a flush go side by side: each waits for the bytes of all.
    bytes = use.flush_bytes if account == COMMIT else (calls.sent_bytes + calls.received_bytes) / calls.count
    return usual_ns(calls.wire), late(
        calls.wire, nfs_policy.slow_answer_ns + bytes * 1e9 / nfs_policy.slowest_bytes_per_second
    )


def _answered(use: Use, account: str) -> list[str]:
    """Return the procedures of an account that are answered without making anything safe."""
    return [name for name in use.names(account) if name not in MODIFYING and name != "COMMIT"]


def _finding(model: Model, case: Case, claimed_ns: int) -> Finding:
    use = case.use
    busy = busy_threads(model, use) if case.slow or use.far else None
    names = [name for account in case.parts for name in (use.names if use.far else partial(_answered, use))(account)]
    forced = forced_by(use, use.calls(*dict.fromkeys(names)))
    trips = f"each {duration(use.trip_ns)}" if use.round_trip else "each a round trip"
    told_by_trips = use.far or not case.slow  # else the server takes long for them besides
    small = None if case.slow else small_transfers(use, names)
    again = small.headline if small else ""
    if forced and told_by_trips:
        again = f"Calls to {use.in_brief} ask again what it has told, because of {forced[0]}, {trips}"
    return conclude(
        model,
        use.claims(case.parts),
        headline=busy.headline if busy else again or _headline(case),
        claim=_claim(case),
        mechanism=Mechanism.SLOW if case.slow or use.far else Mechanism.MANY,
        severity=fault(model, claimed_ns) if case.slow or small else Severity.INFO,
        doubts=doubts(model, use),
        evidence=[
            waits(together(use.rows_of(case.parts)), "answers"),
            *calls_evidence(use, dict.fromkeys(names)),
            *trip_evidence(use),
            *([busy.evidence] if busy else []),
            *([small.evidence] if small else []),
            *nfsd_evidence(use),
            *mount_evidence(use),
        ],
        remedies=[
            *([busy.remedy] if busy else []),
            *([without(forced)] if forced else []),
            *([small.remedy] if small else []),
            *_remedies(use, case),
        ],
        alternatives=[
            "a lossy or full network (rtt and retrans in ss -ti dport = :2049)",
            "a server short of threads, memory or CPU, or other users of its disk",
        ],
        verify=shorter(model, f"answers of {use.in_brief}", case.usual_ns, nfs_policy.slow_answer_ns)
        if case.slow
        else fewer(model, f"calls to {use.in_brief}", together(use.rows_of(case.parts)).count),
    )


def _claim(case: Case) -> str:
    use = case.use
    if use.far:
        where = "The network, or the whole server,"
        nfsd_ns = use.nfsd.requests.quantile_ns(0.5)
        if nfsd_ns is not None:  # most answers come from memory
            where = "The network" if nfsd_ns < use.trip_ns / 2 else "The server"
            where += f" (nfsd takes {about(nfsd_ns)} per request)"
        return f"Even calls without disk access take {duration(use.trip_ns)} on {use.name}. {where} is slow."
    what = " and ".join(account.removeprefix("nfs.") for account in case.parts)
    if not case.slow:
        return f"{use.name} answers a call ({what}) in {about(case.usual_ns)}. There are many calls or bytes."
    return f"Half of the time of calls ({what}) to {use.name} is in calls of {about(case.usual_ns)} or more."


def _headline(case: Case) -> str:
    if case.use.far:
        return f"The network to {case.use.in_brief}, or its server, is slow even without disk access"
    return (
        f"{case.use.in_brief} answers slowly"
        if case.slow
        else f"{case.use.in_brief} is fast, but has many calls to answer"
    )


def _remedies(use: Use, case: Case) -> list[Remedy]:
    if not case.slow:
        return [fix("read and write less over NFS, or more at once (see rsize and wsize); use a local copy")]
    network = fix(f"check the network: ping {server_of(use)}, ss -ti dport = :2049 (rtt, retrans)")
    disk = fix(
        f"on {server_of(use)}: check iostat -x 1 (r_await), free memory, and th in /proc/net/rpc/nfsd (busy threads)"
    )
    return [network, disk] if case.use.far else [disk, network]


# A server that is gone
def _hanging(model: Model, use: Use) -> Finding | None:
    """Return the finding of threads that waited for this mount most of the window and still do."""
    hanging = [thread for thread, _ in still_waiting(model, *ANSWERED, part=nfs_policy.hanging_share, key=use.key)]
    if not hanging:
        return None
    waiting = "with a hard mount, threads then go on"
    if {"soft", "softerr"} & use.options.keys():
        waiting = "a soft mount fails after retrans times timeo, with errors"
    count = len(hanging)
    return conclude(
        model,
        use.claims({account: use.ns(account) for account in ANSWERED}),
        headline=f"Threads hang on {use.in_brief}: its server or the network may be dead",
        claim=f"{plural(count, 'thread')} waited for {use.name} most of the window, and still at the end.",
        mechanism=Mechanism.FAILED,
        severity=Severity.CRITICAL,
        evidence=[waits(together(use.rows_of(ANSWERED)), "waits"), *mount_evidence(use)],
        remedies=[
            fix(f"bring the server or the network back: {waiting}"),
            fix(f"rpcinfo -t {server_of(use)} nfs   (does it answer?), and dmesg (since when not)"),
        ],
        alternatives=["another client must return a lease or delegation first", "an overloaded server"],
        verify=measured(model, f"no thread hangs on {use.in_brief}"),
    )


def _gone_for_a_while(model: Model, use: Use) -> Finding | None:
    """Return the finding of a server, or of a network to it, that did not answer for a while."""
    found = gone(use)
    if found is None or not worth(model, round(sum(found.parts.values()))):
        return None
    waited = found.outage.waits
    return conclude(
        model,
        use.claims(found.parts),
        headline=f"The server of {use.in_brief} did not answer for up to {duration(waited.max_ns)}",
        claim=(
            f"{plural(found.outage.count, 'wait')} of {waited.count:,} for {use.name} took up to"
            f" {duration(waited.max_ns)}, the others {about(waited.quantile_ns(0.5) or 0)}: its server, or the"
            " network to it, was gone meanwhile."
        ),
        mechanism=Mechanism.FAILED,
        severity=fault(model, round(sum(found.parts.values()))),
        doubts=["whether the server or the network was gone is not known", *doubts(model, use)],
        evidence=[waits(waited, "answers"), *nfsd_evidence(use), *mount_evidence(use)],
        remedies=[
            fix(
                f"find out what took {server_of(use)} or the network to it away (fail-over, reboot, link, firewall):"
                " its logs, and dmesg of both, at that time"
            ),
            fix("keep the mount hard: a soft one turns such waits into errors"),
        ],
        alternatives=["the server's disk did not answer meanwhile", "another client had to return a delegation first"],
        verify=measured(model, f"no wait for {use.in_brief} takes {duration(general_policy.outage_ns)}"),
    )
