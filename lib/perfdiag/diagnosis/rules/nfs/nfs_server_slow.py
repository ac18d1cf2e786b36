"""A rule on NFS servers that answer slowly, or not at all, and on the way to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from perfdiag.diagnosis.evidence.nfs.mount_calls import MODIFYING, late, requests, usual_ns
from perfdiag.diagnosis.evidence.nfs.mount_sentences import (
    calls_evidence,
    doubts,
    mount_evidence,
    nfsd_evidence,
    server_of,
    trip_evidence,
)
from perfdiag.diagnosis.evidence.nfs.wait_parts import (
    COMMIT,
    HANGING_PART,
    LOCK,
    METADATA,
    NFS,
    PROFILE_SHARE,
    READ,
    SLOW_ANSWER_NS,
    SLOWEST_BYTES_PER_SECOND,
    WRITE,
    Use,
    uses,
)
from perfdiag.diagnosis.evidence.target import again
from perfdiag.diagnosis.rule import Check, Confidence, Finding, Mechanism, Outcome, Remedy, Severity, Silence, rule
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

ID = "NFS-SERVER-SLOW"
# Waits for locks are LOCK's own: a lock that somebody has is no answer that is late.
ANSWERED = tuple(account for account in NFS if account != LOCK)


@dataclass(frozen=True)
class Case:
    """What answers took on one mount."""

    use: Use
    parts: Mapping[str, float]  # by account: time beyond round trips
    usual_ns: float  # the slowest account's call, in which half of its time was spent
    slow: bool


@rule(
    ID,
    title="An NFS server, or the way to it, answers slowly",
    accounts=NFS,
    meaning="Threads wait for answers of an NFS server that have nothing to make safe first: data read, names and"
    " attributes looked up, writes taken into its memory. A fault from 5 ms a call on (a round trip and one access to a"
    " disk), and what its bytes need at 100 MB/s. Where even the calls are slow that need no disk, it is the way to the"
    " server, or all of the server. Threads that waited most of the window and still did are a server that is gone.",
    measured="Joins the target's waits by mount, over the whole window, with the calls of that mount: time on the wire"
    " of reads, writes, look-ups; less one round trip for each wait, unless that is itself too long. What the server"
    " makes safe is left to NFS-COMMIT-SLOW, what waited in this host to NFS-CLIENT-QUEUE.",
    alternatives="A network that loses packets or is full; a server short of threads, memory or CPU; others who keep"
    " its disk busy; a lease or delegation that another client has to return first.",
    remedies="Look at the network to the server and at the server's disk, memory and threads.",
    verify="p50 of this mount's accounts in the next report; nfsiostat 1 (avg RTT).",
)
def server_slow(model: Model) -> Iterable[Outcome]:
    """Join waits for answers with the calls of their mount; one finding a mount."""
    found = False
    for use in uses(model):
        gone = _hanging(model, use)
        if gone:
            found = True
            yield gone
            continue
        case = _case(use)
        claimed_ns = sum(use.claims(case.parts).values())
        if worth(model, claimed_ns) and (case.slow or claimed_ns >= PROFILE_SHARE * model.busy_ns):
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
        text = f"this host's own NFS server: {own.count:,} requests, half of their time in requests of {about(each_ns)}"
        return Check(ID, text, each_ns, "ns", large=late(own, SLOW_ANSWER_NS))
    trips = [use.round_trip for use in uses(model) if use.round_trip]
    each = f", a round trip takes {duration(trips[0].ns)}" if trips else ""
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
            found[account] = parts.answer_ns + (parts.queue_ns if is_late else 0)
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
        return usual_ns(waits), late(waits, SLOW_ANSWER_NS)
    # The WRITEs of a flush go side by side: each waits for the bytes of all.
    bytes = use.flush_bytes if account == COMMIT else (calls.sent_bytes + calls.received_bytes) / calls.count
    return usual_ns(calls.wire), late(calls.wire, SLOW_ANSWER_NS + bytes * 1e9 / SLOWEST_BYTES_PER_SECOND)


def _answered(use: Use, account: str) -> list[str]:
    """Return the procedures of an account that are answered without making anything safe."""
    return [name for name in use.names(account) if name not in MODIFYING and name != "COMMIT"]


def _finding(model: Model, case: Case, claimed_ns: int) -> Finding:
    use = case.use
    confidence, limits = judged(model, Confidence.HIGH, doubts(model, use))
    names = [name for account in case.parts for name in (use.names if use.far else partial(_answered, use))(account)]
    return Finding(
        ID,
        fault(model, claimed_ns) if case.slow else Severity.INFO,
        confidence,
        _claim(case),
        use.claims(case.parts),
        [
            waits(together(use.rows_of(case.parts)), "waits for its answers"),
            *calls_evidence(use, dict.fromkeys(names)),
            *trip_evidence(use),
            *nfsd_evidence(use),
            *mount_evidence(use),
        ],
        _remedies(use, case),
        alternatives=[
            "a network that loses packets or is full (ss -ti dport = :2049 shows rtt and retrans)",
            "a server short of threads, memory or CPU, or others who keep its disk busy",
        ],
        limits=limits,
        verify=f"{again(model)}: p50 of {', '.join(case.parts)} on {use.name}",
        headline=_headline(case),
        mechanism=Mechanism.SLOW if case.slow or use.far else Mechanism.MANY,
    )


def _claim(case: Case) -> str:
    use = case.use
    if use.far:
        where = "the way to the server, or all of it"
        nfsd_ns = use.nfsd.requests.quantile_ns(0.5)
        if nfsd_ns is not None:  # it answers most from memory, too
            where = "the way to the server" if nfsd_ns < use.trip_ns / 2 else "the server"
            where += f" (its nfsd takes {about(nfsd_ns)} for a request)"
        return f"Even calls that need no disk take {duration(use.trip_ns)} on {use.name}: {where} is slow."
    what = " and ".join(account.removeprefix("nfs.") for account in case.parts)
    if not case.slow:
        each = f"{about(case.usual_ns)} a call"
        return f"{use.name} answers fast enough ({what}: {each}): the number of calls and their bytes take the time."
    return f"{use.name} answers slowly ({what}): half the time of its calls is in calls of {about(case.usual_ns)}."


def _headline(case: Case) -> str:
    if case.use.far:
        return f"The way to {case.use.in_brief}, or its server, is slow even without its disk"
    return (
        f"{case.use.in_brief} answers slowly" if case.slow else f"{case.use.in_brief} is asked often; it answers fast"
    )


def _remedies(use: Use, case: Case) -> list[Remedy]:
    if not case.slow:
        return [
            fix("read and write less over NFS, or more at once (rsize and wsize are in the evidence); copy to local")
        ]
    network = fix(f"the network first: ping {server_of(use)}, and ss -ti dport = :2049 (rtt, retrans)")
    disk = fix(
        f"on {server_of(use)}: iostat -x 1 (r_await), free memory, and th in /proc/net/rpc/nfsd (threads all in use)"
    )
    return [network, disk] if case.use.far else [disk, network]


# A server that is gone
def _hanging(model: Model, use: Use) -> Finding | None:
    """Return the finding of threads that waited for this mount most of the window and still do."""
    hanging = [thread for thread, _ in still_waiting(model, *ANSWERED, part=HANGING_PART, key=use.key)]
    if not hanging:
        return None
    confidence, limits = judged(model, Confidence.HIGH)
    waiting = "a hard mount waits as long as it takes, and everybody goes on then"
    if {"soft", "softerr"} & use.options.keys():
        waiting = "a soft mount gives up after retrans times timeo, and its users see errors"
    count = len(hanging)
    return Finding(
        ID,
        Severity.CRITICAL,
        confidence,
        f"{count} thread{'s' * (count > 1)} waited for {use.name} most of the window and still did when it ended: the"
        " server or the way to it may be dead.",
        use.claims({account: use.ns(account) for account in ANSWERED}),
        [waits(together(use.rows_of(ANSWERED)), "waits for its answers"), *mount_evidence(use)],
        [
            fix(f"bring the server, or the way to it, back: {waiting}"),
            fix(f"rpcinfo -t {server_of(use)} nfs asks whether it answers at all; dmesg says since when it does not"),
        ],
        alternatives=["a lease or delegation that another client has to return first", "a server that is starved"],
        limits=limits,
        verify=f"{again(model)}: no thread waits for {use.name} most of the window",
        headline=f"Threads wait for {use.in_brief}; its server may be dead",
        mechanism=Mechanism.FAILED,
    )


__all__ = ["server_slow"]
