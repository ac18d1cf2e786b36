"""NET-UDP-DROPS: a socket drops datagrams, as a rule because its receive buffer is full."""

from collections.abc import Iterable
from dataclasses import dataclass

from perfdiag.common.units import plural
from perfdiag.diagnosis.evidence.fix_checks import measured
from perfdiag.diagnosis.evidence.network.datagram_drops import BUFFER, LARGER, why_dropped
from perfdiag.diagnosis.evidence.network.datagrams import datagrams
from perfdiag.diagnosis.evidence.network.delayed_acks import RECEIVE
from perfdiag.diagnosis.evidence.network.lost_datagrams import Lost, lost_datagrams
from perfdiag.diagnosis.evidence.peers import connections_of
from perfdiag.diagnosis.evidence.target import subject
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import network_policy
from perfdiag.diagnosis.rule import Check, Evidence, Finding, Mechanism, Outcome, Severity, Silence, rule
from perfdiag.diagnosis.significance import claims_of, duration, fault, fix, total_ns
from perfdiag.model.model import Model, Row
from perfdiag.recording.accounts import TIMER

ID, PROBE = "NET-UDP-DROPS", "/proc/PID/net/udp"


@dataclass(frozen=True)
class _Dropping:
    """A port at which datagrams were dropped, on this host."""

    port: int
    dropped: int
    received: int  # by the target, at this port; 0: it is not the target's
    rows: list[Row]  # waits of the target for an answer from there


@rule(
    ID,
    title="A socket drops datagrams",
    accounts=(RECEIVE, TIMER),
    meaning="A socket of UDP keeps what has come in until it is read. Where its buffer is full, the kernel drops what"
    " comes next, and whoever sent it waits for an answer until it asks again. It also drops what a filter of the"
    " socket refuses, and datagrams with wrong checksums.",
    measured="Drops of each socket in the window, at ports where the target receives, or on this host where it asks:"
    " ten or more, and 1 % of what came. Of calls, if they are half of what was not answered; their waits are"
    " claimed. Drops of a socket that ended in the window are not seen. The reason is the one that the counters of"
    " the network namespace leave (InErrors, RcvbufErrors, InCsumErrors, MemErrors). Where no port"
    " explains them, RcvbufErrors, if most of what came there was the target's and more was dropped than"
    " it had sent; sleeps of threads that receive, of which each ends in asking again, are claimed.",
    alternatives="The namespace counts the drops of other programs, too.",
    remedies="Give the socket a larger buffer (SO_RCVBUF, net.core.rmem_default and rmem_max), read it from more"
    " threads (SO_REUSEPORT), or send less at once. Where the buffer is not the reason, the kernel tells"
    " it: perf trace -a -e skb:kfree_skb.",
    verify="nstat -n; sleep 10; nstat UdpRcvbufErrors: none.",
    beats=("NET-PEER-SLOW", "NET-SELF-SLOW", "TARGET-SLEEPS", "WAIT-TIMER-IN-REQUEST"),
)
def udp_drops(model: Model) -> Iterable[Outcome]:
    """Yield a finding for each port that drops a part of what comes there."""
    drops = model.facts.udp_drops
    found = [each for port, dropped in sorted((drops or {}).items()) if (each := _dropping(model, port, dropped))]
    lost = None if found else lost_datagrams(model)
    if lost:
        yield _of_namespace(model, lost)
        return
    if drops is None:
        if any(each.line.direction in ("datagram", "datagram_port") for each in model.exchanges):
            yield Silence(ID, "drops of sockets were not recorded", "ss -uampn shows each socket's (the d of skmem)")
        return
    for each in found:
        yield _finding(model, each)
    if not found:
        dropped = sum(drops.values())
        yield Check(ID, f"{plural(dropped, 'datagram')} dropped by sockets", float(dropped), "count")


def _dropping(model: Model, port: int, dropped: int) -> _Dropping | None:
    """Return what is known of a port, if its drops matter to the target."""
    came = [each.line for each in model.exchanges if each.line.object == f"port:{port}"]
    received = sum(line.untimed for line in came if line.direction == "datagram_port")
    asked = {each.line.object for each in model.exchanges if each.line.direction == "datagram"}
    peers = {key for key in asked if key.endswith(f":{port}") and connections_of(model).near(key)}
    sent = datagrams(model, peers)
    if 2 * dropped < sent.sent - sent.received:
        peers = set()
    whole = dropped + max(received, sent.received)
    if not (received or peers) or dropped < max(network_policy.udp_drops, network_policy.udp_drops_share * whole):
        return None
    return _Dropping(port, dropped, received, [row for row in model.rows_of(RECEIVE) if row.key in peers])


def _finding(model: Model, of: _Dropping) -> Finding:
    ns = total_ns(of.rows)
    whose = f"Port {of.port}" + (f" of {subject(model)}" if of.received else ", which is asked on this host,")
    waited = f" Threads waited {duration(ns)} for answers from there." if ns else ""
    came = f" of {of.dropped + of.received:,} that came" if of.received else ""
    why = why_dropped(model, of.dropped)
    dropped = f"{whose} dropped {plural(of.dropped, 'datagram')}"
    at_port = Evidence(f"{of.dropped:,} dropped at port {of.port}{came}", float(of.dropped), "count", PROBE)
    full = why.reason is BUFFER
    return conclude(
        model,
        claims_of(of.rows),
        headline=f"{dropped}: its receive buffer is full" if full else f"{dropped}, {why.reason.words}",
        claim=f"{dropped}{came}, {why.reason.words}.{waited}",
        mechanism=why.reason.mechanism,
        severity=Severity.WARNING if of.received else fault(model, ns),
        doubts=[why.doubt],
        evidence=[at_port, *why.evidence],
        remedies=[fix(why.reason.remedy.format(port=of.port))],
        alternatives=[why.alternative],
        verify=measured(model, "no datagram dropped"),
        inside=bool(of.received),
    )


def _of_namespace(model: Model, lost: Lost) -> Finding:
    whose, dropped = subject(model), plural(lost.dropped, "datagram")
    slept = f" Threads slept {duration(lost.slept_ns)} until they asked again." if lost.sleepers else ""
    guessed = "the sleep may be a pause of the program's own: that it ends in asking again is inferred from its count"
    return conclude(
        model,
        {TIMER: lost.slept_ns} if lost.sleepers else {},
        headline=f"This host dropped {dropped} for {whose}: the receive buffer is full",
        claim=f"{dropped} were dropped in the network namespace of {whose}, because a receive buffer was full;"
        f" most that came there were for {whose} ({lost.received:,}).{slept}",
        mechanism=Mechanism.LIMIT,
        severity=Severity.WARNING,
        doubts=[
            "the kernel counts these drops for all sockets of the network namespace together",
            guessed if lost.sleepers else "",
        ],
        evidence=[Evidence(f"{lost.dropped:,} dropped (RcvbufErrors)", float(lost.dropped), "count", "net/snmp")],
        remedies=[
            fix(f"give the socket of {whose} {LARGER}"),
            fix("see which socket drops (the d of skmem): ss -uampn"),
        ],
        alternatives=["the dropped datagrams were another program's"],
        verify=measured(model, "no datagram dropped"),
        inside=True,
    )
