"""A rule on connections that take long to come about: SYNs that nobody answers, and the kernel sends again."""

from __future__ import annotations

from collections.abc import Iterable

from perfdiag.common.units import plural
from perfdiag.diagnosis.evidence.network.connect_attempts import CONNECT, ENOUGH_FAILED, ID, Connects, connects_of
from perfdiag.diagnosis.evidence.network.connections import ENOUGH_RETRANSMITS
from perfdiag.diagnosis.evidence.network.peers import peer_of
from perfdiag.diagnosis.evidence.requests.calls import (
    claimed,
    felt,
    fine_or_unknown,
    longer,
    not_followed,
    of_requests_ns,
    severity,
)
from perfdiag.diagnosis.evidence.target import again, subject
from perfdiag.diagnosis.rule import Check, Confidence, Evidence, Finding, Mechanism, Outcome, Remedy, rule
from perfdiag.diagnosis.significance import (
    about,
    brief,
    duration,
    fix,
    judged,
    plain,
    still_waiting,
    together,
    total_ns,
    waits,
)
from perfdiag.model.model import Model

FAILED_SHARE = 0.1


@rule(
    ID,
    title="Connections to a peer take long to come about",
    accounts=(CONNECT,),
    meaning="A connection is answered by the peer's kernel, within one round trip, however busy its programs are. Where"
    " no answer comes it is asked for again after 1, 3 and 7 seconds: the queue of the socket that listens there is"
    " full, a firewall drops what it does not like, or the address is dead.",
    measured="Waits of net.connect by peer over the window, and the time from the first SYN until the connection stood"
    " or failed (inet_sock_set_state) with the SYNs sent again, also where no thread waited for it. The norm is the"
    " shortest round trip and half of it, at least 10 ms more; where that is not known half a second, which only a"
    " repeated SYN explains. What requests wait for in an event loop is shared out by what calls to each peer took.",
    alternatives="A peer that is far away and was never measured; loss on the way (NET-RETRANSMITS).",
    remedies="Look at the peer's queue of connections, then at the firewalls between, then whether anybody is there.",
    verify="perfdiag latency again: waits of net.connect near the round trip; nstat TcpExtTCPSynRetrans does not grow.",
    beats=(
        "NET-PEER-SLOW",
        "NET-SELF-SLOW",
    ),
    elsewhere=True,
)
def connect_slow(model: Model) -> Iterable[Outcome]:
    """One finding for each peer to which connecting is slow; a check of those that refuse at once."""
    said = 0
    for each in connects_of(model):
        requests_ns = of_requests_ns(model, each.took_ns)
        enough = each.unanswered >= ENOUGH_RETRANSMITS and each.took_ns and model.request_time is None
        if felt(model, each.waited_ns, requests_ns) or enough:
            said += 1
            yield _finding(model, each, requests_ns)
        elif (refused := _refused(each)) is not None:
            said += 1
            yield refused
    if not said:
        yield fine_or_unknown(model, ID, "waiting for connections", CONNECT)


def _refused(connects: Connects) -> Check | None:
    """Return that many connects failed, which took no time that anybody waited for."""
    line = connects.call.line if connects.call else None
    if line is None or line.connects_failed < ENOUGH_FAILED:
        return None
    part = line.connects_failed / (line.connects + line.connects_failed)
    if part < FAILED_SHARE:
        return None
    tried = plural(line.connects + line.connects_failed, "connect")
    return Check(ID, f"{line.connects_failed:,} of {tried} to {connects.name} failed, soon", part, "share", large=True)


def _finding(model: Model, connects: Connects, requests_ns: int) -> Finding:
    key, name = connects.key, connects.name
    took_ns = max(connects.waited_ns, connects.took_ns)
    if connects.none_succeeded and connects.call:
        failed = connects.call.line.connects_failed
        claim = f"None of {failed:,} connects to {name} succeeded: {duration(took_ns)} until {subject(model)} gave up."
        headline, mechanism = f"None of {failed:,} connects to {brief(name)} succeeded", Mechanism.FAILED
    elif connects.retried:
        claim = (
            f"Connecting to {name} takes retries: {duration(took_ns)} in all, because its queue of connections is full,"
            " a firewall drops them, or nobody is there."
        )
        headline, mechanism = f"Connecting to {brief(name)} takes retries", Mechanism.FAILED
    else:
        claim = f"Connecting to {name} takes far longer than the way: {duration(took_ns)} in all."
        headline, mechanism = f"Connecting to {brief(name)} is slow", Mechanism.SLOW
    hanging = [thread for thread, wait in still_waiting(model, CONNECT) if wait.object == key]
    if hanging:
        claim += f" {len(hanging)} of the threads still waited at the end."
    counted = "" if connects.call else "SYNs sent again were not counted"
    shared = "whose requests waited is shared out by what calls took" if requests_ns else ""
    confidence, limits = judged(model, Confidence.HIGH, [counted, shared, not_followed(model)])
    return Finding(
        ID,
        severity(model, connects.waited_ns, requests_ns, connects.took_ns),
        confidence,
        claim,
        claimed({(CONNECT, key): min(connects.waited_ns, total_ns(connects.rows))}, requests_ns),
        _evidence(connects),
        _remedies(model, connects),
        limits=limits,
        alternatives=["loss on the way: see NET-RETRANSMITS"],
        verify=f"{again(model)}: connecting to {name} takes a round trip",
        headline=headline,
        mechanism=mechanism,
    )


def _evidence(connects: Connects) -> list[Evidence]:
    evidence = [waits(together(connects.rows), f"waits for {connects.name}")] if connects.rows else []
    if connects.call:
        line, latencies = connects.call.line, connects.call.connect
        failed = f", {line.connects_failed:,} failed" if line.connects_failed else ""
        failed += f", {line.connecting:,} not made when the window ended" if line.connecting else ""
        slow = f", {longer(latencies, connects.limit_ns):,} of them took {about(connects.limit_ns)} or more"
        text = f"{plural(latencies.count, 'connect')}{failed}{slow}; longest {duration(latencies.max_ns)}"
        evidence.append(Evidence(text, float(latencies.sum_ns), "ns", "inet_sock_set_state"))
        if line.retries:
            evidence.append(Evidence(f"{line.retries:,} SYNs sent again", float(line.retries), "count", "tcp_sock"))
    if connects.way_ns is not None:
        text = f"shortest round trip {duration(connects.way_ns)}"
        evidence.append(Evidence(text, float(connects.way_ns), "ns", "tcp_info"))
    return evidence


def _remedies(model: Model, connects: Connects) -> list[Remedy]:
    peer = peer_of(connects.key)
    port = f" sport = :{peer.port}" if peer else ""
    present = model.facts.sysctl("net/core/somaxconn")
    limit = f" (present {plain(present)} here)" if peer and peer.local and present else ""
    queue = fix(
        f"look at the peer's queue of connections: ss -ltn{port} (Recv-Q against Send-Q), nstat -az"
        " TcpExtListenOverflows TcpExtListenDrops; if it is full its program accepts too slowly, or asks for too"
        f" short a queue: listen() and net.core.somaxconn{limit}"
    )
    dead = fix(
        "check that the peer is up and listens; if it does, look for a firewall that drops instead of refusing; take"
        " dead addresses out of the list of peers"
    )
    pool = fix("keep connections open and share them (a pool): what is connected need not connect")
    return [dead, queue, pool] if connects.none_succeeded else [queue, dead, pool]


__all__ = ["connect_slow"]
