"""NET-CONNECT-SLOW: connecting takes long, because nobody answers SYNs and the kernel repeats them."""

from collections.abc import Hashable, Iterable, Sequence

from perfdiag.common.by_key import groups_by_key
from perfdiag.common.units import first_of, plural
from perfdiag.diagnosis.evidence.fix_checks import measured
from perfdiag.diagnosis.evidence.network.connect_attempts import CONNECT, ID, Connects, answered_by_ipv4, connects_of
from perfdiag.diagnosis.evidence.network.dropped_packets import DroppedHere, dropped_here
from perfdiag.diagnosis.evidence.network.failed_connects import failed_at_once
from perfdiag.diagnosis.evidence.network.full_tables import FullTable, full_table
from perfdiag.diagnosis.evidence.peers import peer_of
from perfdiag.diagnosis.evidence.requests.calls import (
    claimed,
    felt,
    fine_or_unknown,
    longer,
    not_followed,
    of_requests_ns,
    severity,
)
from perfdiag.diagnosis.evidence.target import subject
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import network_policy
from perfdiag.diagnosis.rule import (
    LOST_PACKETS,
    Evidence,
    Finding,
    Mechanism,
    Outcome,
    Remedy,
    rule,
)
from perfdiag.diagnosis.significance import (
    about,
    brief,
    duration,
    fix,
    plain,
    still_waiting,
    together,
    total_ns,
    waits,
)
from perfdiag.model.model import Model
from perfdiag.model.requests.request_time import REST
from perfdiag.recording.accounts import TIMER


@rule(
    ID,
    title="Connecting to a peer takes long",
    accounts=(CONNECT, REST, TIMER),
    meaning="The peer's kernel accepts a connection within one round trip, however busy its programs are. Without"
    " an answer, the kernel here repeats the SYN after 1, 3 and 7 seconds: the accept queue there is full,"
    " a firewall drops the packets, its table of connections is full, or the address is dead. Connects that"
    " fail at once cost no time themselves; the pause before another try does.",
    measured="Waits to connect by peer, and the time from the first SYN until the connection stood or failed"
    " (inet_sock_set_state), even if no thread waited. Slow is more than the shortest round trip plus the"
    " larger of half of it and 10 ms; if the round trip is unknown, half a second, which only a repeated"
    " SYN explains. Failures at once count if there is at least one for each slow request, and half of the"
    " requests' time was followed nowhere, or slept in no more sleeps than connects failed.",
    alternatives="The peer is far away and its round trip was never measured; packets are lost (NET-RETRANSMITS).",
    remedies="Look at the peer's accept queue first, then at firewalls, then whether anything listens there.",
    verify="Connecting takes about a round trip; nstat -z TcpExtTCPSynRetrans stays at 0.",
    beats=(
        "CPU-OVERSUBSCRIBED",
        "NET-PEER-SLOW",
        "NET-SELF-SLOW",
        "WAIT-TIMER-IN-REQUEST",
        "CALL-RETRIED",
        "TARGET-SLEEPS",
    ),
    elsewhere=True,
)
def connect_slow(model: Model) -> Iterable[Outcome]:
    """Yield one finding for each peer to which connecting is slow, and a check of those that refuse at once."""
    slow = _slow(model)
    for group in slow:
        yield _finding(model, group)
    told = {each.key for group in slow for each in group}
    failed = [found for each in connects_of(model) if each.key not in told and (found := failed_at_once(model, each))]
    yield from failed
    if not slow and not failed:
        yield fine_or_unknown(model, ID, "connecting", CONNECT)


def _slow(model: Model) -> list[Sequence[Connects]]:
    """Return the slow peers: many with the same port and the same ailment together, as one cause is more likely."""
    groups = groups_by_key((_ailment(each), each) for each in connects_of(model) if each.waited_ns or each.took_ns)
    found: list[Sequence[Connects]] = []
    for group in groups.values():
        several = [group] if len(group) >= network_policy.alike_peers else [[each] for each in group]
        found += [each for each in several if _is_felt(model, each)]
    return found


def _is_felt(model: Model, group: Sequence[Connects]) -> bool:
    waited_ns, took_ns = sum(each.waited_ns for each in group), sum(each.took_ns for each in group)
    if felt(model, waited_ns, of_requests_ns(model, took_ns)):
        return True
    unanswered = sum(each.unanswered for each in group)
    return unanswered >= network_policy.retransmits and took_ns > 0 and model.request_time is None


def _ailment(connects: Connects) -> Hashable:
    peer = peer_of(connects.key)
    return (peer.port if peer else connects.key, connects.none_succeeded, connects.retried)


def _finding(model: Model, group: Sequence[Connects]) -> Finding:
    """Return the finding on one peer, or on several that are alike."""
    first, full = group[0], full_table(model, several_peers=len(group) > 1)
    name, took_ns = _names(group), sum(max(each.waited_ns, each.took_ns) for each in group)
    tried = full if full and (first.none_succeeded or first.retried) else None
    headline, claim, mechanism = _told(model, group, name, took_ns)
    if tried:
        claim = f"{tried.sentence} Connecting to {name} needs repeated SYNs, {duration(took_ns)} in all."
        headline, mechanism = tried.headline, Mechanism.LIMIT
    keys = {each.key for each in group}
    here = dropped_here(model, keys, sum(each.unanswered for each in group)) if not tried else None
    if here:
        headline = f"{headline}: {here.words}"
    hanging = [thread for thread, wait in still_waiting(model, CONNECT) if wait.object in keys]
    if hanging:
        claim += f" {len(hanging)} of the threads still waited at the end."
    success = f"connecting to {name} takes less than {duration(first.limit_ns)}"
    if first.none_succeeded:
        success = f"connects to {name} succeed"
    waited_ns = sum(each.waited_ns for each in group)
    requests_ns = sum(of_requests_ns(model, each.took_ns) for each in group)
    counted = "" if first.call else "repeated SYNs were not counted"
    shared = "the part of each peer is estimated from the time of its calls" if requests_ns else ""
    claims: dict[tuple[str, str], int] = {
        (CONNECT, each.key): min(each.waited_ns, total_ns(each.rows)) for each in group
    }
    return conclude(
        model,
        claimed(claims, requests_ns),
        headline=headline,
        claim=claim,
        mechanism=mechanism,
        severity=severity(model, waited_ns, requests_ns, sum(each.took_ns for each in group)),
        doubts=[counted, shared, not_followed(model)],
        evidence=[*_evidence(first), *_others(group[1:]), *_here(here, tried)],
        remedies=[*(tried.remedies if tried else []), *([here.remedy] if here else _remedies(model, first))],
        alternatives=[LOST_PACKETS],
        verify=measured(model, success),
    )


def _here(here: DroppedHere | None, full: FullTable | None) -> list[Evidence]:
    """Return what shows that this host itself drops the packets."""
    return [each.evidence for each in (here, full) if each]


def _names(group: Sequence[Connects]) -> str:
    """Return the name of the peer, or how many there are."""
    peer = peer_of(group[0].key)
    if len(group) == 1:
        return group[0].name
    return f"{len(group)} peers{f' at port {peer.port}' if peer else ''}"


def _told(model: Model, group: Sequence[Connects], name: str, took_ns: int) -> tuple[str, str, Mechanism]:
    """Return headline, claim and mechanism, whatever this host's own tables say."""
    first = group[0]
    if first.none_succeeded and first.call:
        failed = sum(each.call.line.connects_failed for each in group if each.call)
        claim = (
            f"None of {failed:,} connects to {name} succeeded: {subject(model)} gave up after"
            f" {duration(took_ns)} in all."
        )
        return f"None of {failed:,} connects to {brief(name)} succeeded{_beside(model, first)}", claim, Mechanism.FAILED
    if first.retried:
        why = "its accept queue is full, a firewall drops packets, or nobody is there"
        if len(group) > 1:
            why = "a firewall or this host drops packets, or their accept queues are full"
        claim = f"Connecting to {name} needs repeated SYNs, {duration(took_ns)} in all: {why}."
        return f"Connecting to {brief(name)} needs repeated SYNs{_beside(model, first)}", claim, Mechanism.FAILED
    claim = f"Connecting to {name} takes far longer than the round trip: {duration(took_ns)} in all."
    return f"Connecting to {brief(name)} is slow", claim, Mechanism.SLOW


def _beside(model: Model, connects: Connects) -> str:
    by_ipv4 = answered_by_ipv4(model, connects)
    return f", while {by_ipv4.name} answers: no IPv6 packet gets there" if by_ipv4 else ""


def _others(others: Sequence[Connects]) -> list[Evidence]:
    if not others:
        return []
    ns = sum(max(each.waited_ns, each.took_ns) for each in others)
    names = first_of([each.name for each in others], 3)
    return [Evidence(f"{duration(ns)} for the others: {names}", float(ns), "ns", "ledger")]


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
            evidence.append(Evidence(f"{line.retries:,} SYNs repeated", float(line.retries), "count", "tcp_sock"))
    if connects.way_ns is not None:
        text = f"shortest round trip {duration(connects.way_ns)}"
        evidence.append(Evidence(text, float(connects.way_ns), "ns", "tcp_info"))
    return evidence


def _remedies(model: Model, connects: Connects) -> list[Remedy]:
    peer = peer_of(connects.key)
    if answered_by_ipv4(model, connects) and peer:
        route = f"fix the IPv6 route (ip -6 route get {plain(peer.address.strip('[]'))}), or remove the AAAA record"
        return [fix(f"{route}; until then put 'precedence ::ffff:0:0/96 100' into /etc/gai.conf, which prefers IPv4")]
    port = f" sport = :{peer.port}" if peer else ""
    present = model.facts.sysctl("net/core/somaxconn")
    limit = f" (present {plain(present)} here)" if peer and peer.local and present else ""
    queue = fix(
        f"look at the peer's accept queue: ss -ltn{port} (Recv-Q against Send-Q), nstat -az TcpExtListenOverflows"
        " TcpExtListenDrops; if it is full, the program there accepts too slowly, or its queue is too short:"
        f" listen() and net.core.somaxconn{limit}"
    )
    dead = fix(
        "check that the peer is up and listens; if it does, look for a firewall that drops instead of refusing;"
        " remove dead addresses from the list of peers"
    )
    pool = fix("keep connections open and share them (a pool)")
    return [dead, queue, pool] if connects.none_succeeded else [queue, dead, pool]
