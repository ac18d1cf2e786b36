"""NET-PEER-SLOW: the target waits for a peer, because the peer is slow or because it is asked often."""

from collections.abc import Iterable

from perfdiag.common.units import plural
from perfdiag.diagnosis.evidence.fix_checks import fewer, measured, shorter
from perfdiag.diagnosis.evidence.local.peer_work import PeerWork, of_waits
from perfdiag.diagnosis.evidence.local.slow_peers import (
    had_nothing_to_answer,
    idle_evidence,
    meanwhile,
    slow_by_its_work,
)
from perfdiag.diagnosis.evidence.network.connect_attempts import told_apart
from perfdiag.diagnosis.evidence.network.datagrams import Datagrams, datagrams
from perfdiag.diagnosis.evidence.network.delayed_acks import evidence_of
from perfdiag.diagnosis.evidence.network.given_up_calls import given_up_calls
from perfdiag.diagnosis.evidence.network.large_answers import large_answers
from perfdiag.diagnosis.evidence.network.late_greetings import late_greeting
from perfdiag.diagnosis.evidence.network.measuring_peers import measure, show_other_end
from perfdiag.diagnosis.evidence.network.peer_judgement import judged
from perfdiag.diagnosis.evidence.network.peer_waits import PeerWaits, waits_for
from perfdiag.diagnosis.evidence.network.said_once import said_once
from perfdiag.diagnosis.evidence.network.servers_on_this_host import on_this_host
from perfdiag.diagnosis.evidence.network.slow_clients import tells_of_requests
from perfdiag.diagnosis.evidence.network.turns import with_limit
from perfdiag.diagnosis.evidence.network.unanswered_calls import outstanding
from perfdiag.diagnosis.evidence.network.waits_for_clients import clients_finding
from perfdiag.diagnosis.evidence.network.waits_for_the_end import waits_for_the_end
from perfdiag.diagnosis.evidence.peers import ACCOUNTS, Connections, connections_of, lost_between, peer_of
from perfdiag.diagnosis.evidence.requests.blocking_calls import holding
from perfdiag.diagnosis.evidence.silent_ends import nothing_came, silent
from perfdiag.diagnosis.evidence.target import subject
from perfdiag.diagnosis.evidence.waits_in_vain import never_answered
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import network_policy
from perfdiag.diagnosis.rule import Confidence, Evidence, Finding, Mechanism, Outcome, Severity, rule
from perfdiag.diagnosis.significance import (
    about,
    brief,
    claims_of,
    duration,
    fault,
    fine,
    fix,
    still_waiting,
    total_ns,
    waits,
    worth,
)
from perfdiag.model.model import Model, Row
from perfdiag.model.requests.request_time import PEERS


@rule(
    "NET-PEER-SLOW",
    title="A peer across the network answers slowly",
    accounts=(*ACCOUNTS, PEERS),
    meaning="Threads wait until another host or a local server answers, accepts a connection, or takes data. If"
    " answers take much longer than the round trip, look at the peer. If they are as fast as the network"
    " allows, the peer is fine and the number of calls is the cost.",
    measured="Waits to receive, connect and send by peer, with the shortest round trip of its TCP connections; of"
    " requests, the calls made for them, also while an event loop or another thread continues. Slow is"
    " more than that round trip plus the larger of half of it and 10 ms, for the wait in which half of the"
    " time was spent; the round trips themselves are not claimed. Clients (recognized by port numbers) are"
    " separate; connections of the target to itself are NET-SELF-SLOW. If waits of 40 ms may be delayed"
    ' acknowledgements (NET-DELAYED-ACK), the finding names both. It says "work or an answer" if nothing'
    " shows that an answer was due: no wait ended, nothing was sent between the waits, nothing ever came,"
    " or most waits timed out. A target that closes the connection after such a timeout needed an answer."
    " Requests may read on after an answer, until the peer closes the connection: where nothing more came, that"
    " is told as a wait for the end alone. If an event loop's own thread waits for the peer, no other request is read"
    " meanwhile: then the call that blocks is the fault. Where requests of an event loop asked on a connection behind"
    " another call that was not answered yet, until that was they waited for it. The rest of an answer counts, too,"
    " from when all that had come was read until more came, and so does a greeting, from when it was connected. A peer"
    " on this host is looked at while it is waited for, and so is whom that waits for: what they are in then is the"
    " cause. Where answers begin soon and most of the time is for the rest of a megabyte or more each, their length is"
    " the cause; it is a fault if the target passes on a twentieth of that or less.",
    alternatives="Packets are lost (NET-RETRANSMITS); the peer has nothing to send; acknowledgements delayed by 40"
    " ms; a name server that does not answer.",
    remedies="Keep connections open, where each call makes one. Measure the peer in the same way; ask for less, in"
    " fewer round trips; release locks before the call if other threads wait for them meanwhile.",
    names={Mechanism.MANY: "NET-CALLS-MANY", Mechanism.LARGE: "NET-ANSWERS-LARGE"},
    verify="Waits for the peer take less than a round trip and 10 ms.",
    elsewhere=True,
)
def peer_slow(model: Model) -> Iterable[Outcome]:
    """Yield one finding for each peer that takes enough time, one for all other peers, and one for clients."""
    connections = connections_of(model)
    rows = model.rows_of(*ACCOUNTS)
    mine: dict[str, list[Row]] = {}
    clients: list[Row] = []
    here: list[Row] = []
    elsewhere = told_apart(model)
    for row in rows:
        peer = peer_of(row.key)
        if row.account == "net.connect" and row.key in elsewhere:
            continue
        if not connections.asked(row.key) or (peer and peer.unconnected):
            clients.append(row)
        elif not connections.answered_here(row.key):
            mine.setdefault(row.key if peer else "", []).append(row)
        else:
            here.append(row)
    large = _large(model, mine.values())
    small = _small(mine.values(), large)
    found = 0
    of_threads: list[tuple[str, Finding]] = []
    for group in [*large, *([small] if worth(model, total_ns(small)) else [])]:
        finding, key = _peer_finding(model, connections, group), group[0].key
        of_threads.append((key, finding if finding.inside else with_limit(model, finding, key)))
    for finding in said_once(of_threads, outstanding(model)):
        found += 1
        yield finding
    if tells_of_requests(model):
        clients = [row for row in clients if row.account != "net.receive" or connections.asked(row.key)]
    if worth(model, total_ns(clients)):
        found += 1
        yield clients_finding(model, connections, clients)
    if model.host and worth(model, total_ns(here)):
        found += 1
        yield on_this_host(model, here)
    if not found:
        yield fine(model, "NET-PEER-SLOW", "waiting for peers", *ACCOUNTS)


def _large(model: Model, groups: Iterable[list[Row]]) -> list[list[Row]]:
    """Return the waits for each peer that has a finding of its own: not of many peers that are no fault each, which may
    be one together."""
    large = [group for group in groups if worth(model, total_ns(group))]
    faults = [group for group in large if fault(model, total_ns(group)) is Severity.WARNING]
    return faults if len(large) - len(faults) >= network_policy.peers_told_apart else large


def _small(groups: Iterable[list[Row]], large: list[list[Row]]) -> list[Row]:
    """Return the waits for all other peers together; of very many those that took most: the rest is nobody's."""
    told = set(map(id, large))
    rows = [row for group in groups if id(group) not in told for row in group]
    rows.sort(key=lambda row: -row.distribution.sum_ns)
    return rows[: network_policy.small_peers_together]


def _peer_finding(model: Model, connections: Connections, group: list[Row]) -> Finding:
    found, keys = waits_for(model, connections, group), {row.key for row in group}
    sent = datagrams(model, keys)
    if sent.unanswered:
        return _unanswered(model, found, sent)
    work = of_waits(model, group)
    if other := large_answers(model, found) or _given_up(model, found) or _silent(model, found, sent, group, work):
        return other
    severity, claim, remedies, mechanism, headline = judged(model, found)
    holds = holding(model, group, f"for {brief(found.name)}") if found.slow else None
    if found.slow and not holds and (known := _told_by_its_work(model, found, group, work)):
        return known
    if holds:
        headline, claim, remedies = holds.headline, claim + holds.claim, [holds.remedy, *remedies]
    evidence = [*_evidence(found, sent), *(holds.evidence if holds else ()), *idle_evidence(work)]
    hanging = [thread for thread, wait in still_waiting(model, *ACCOUNTS) if wait.object in keys]
    if hanging:
        claim += f" {len(hanging)} of the threads still waited at the end."
    not_known = "the round trip to the peer was not measured" if found.round_trip_ns is None else ""
    best, alike = Confidence.HIGH, ""
    if found.like_delayed:
        best, alike = Confidence.MEDIUM, "a peer that works for 40 ms and a delayed acknowledgement look alike"
        evidence += evidence_of(model)
    beyond = found.beyond
    perhaps_own = _perhaps_own(model, connections, keys)
    long = found.receives and found.typical_ns >= network_policy.long_answer_ns
    for_work = "a client of a queue that answers when there is work waits in the same way" if long else ""
    if perhaps_own:
        best = Confidence.MEDIUM
    held = any(map(connections.perhaps_answered_here, keys))
    inherited = f"{subject(model)} holds the listening socket there, too; nothing shows that it answers" if held else ""
    return conclude(
        model,
        {key: round(ns * beyond) for key, ns in claims_of(group).items()},
        headline=headline,
        claim=claim,
        mechanism=mechanism,
        severity=severity,
        best=best,
        doubts=[not_known, alike, perhaps_own, inherited, for_work],
        evidence=evidence,
        remedies=remedies,
        alternatives=[
            lost_between(found.peers),
            "the peer has nothing to send yet: this is then waiting for work",
        ],
        verify=_check(model, found, mechanism),
        inside=holds is not None or found.connects_anew,
    )


def _told_by_its_work(model: Model, found: PeerWaits, group: list[Row], work: PeerWork | None) -> Finding | None:
    """Return the finding of slow answers of one peer on this host by what that did meanwhile; None: not known."""
    if len(found.peers) != 1:
        return None
    if had_nothing_to_answer(model, work):
        may = f"answers or for work: {meanwhile(work)}"
        return silent(model, group, found.name, measure(found.peers), came="it waits for events itself", may=may)
    return slow_by_its_work(model, group, work, found.name)


def _evidence(found: PeerWaits, sent: Datagrams) -> list[Evidence]:
    evidence = [waits(found.waits, f"waits for {found.name}"), *sent.evidence]
    round_trip = found.round_trip_ns
    if round_trip is not None:
        evidence.append(Evidence(f"shortest round trip {duration(round_trip)}", float(round_trip), "ns", "tcp_info"))
    if found.repeated:
        sent_again = f"{found.repeated:,} segments retransmitted"
        evidence.append(Evidence(sent_again, float(found.repeated), "count", "tcp_retransmit_skb"))
    return evidence


def _given_up(model: Model, found: PeerWaits) -> Finding | None:
    """Return the finding of waits that no answer ends: a greeting does, its own timeouts, or the peer closes; else
    None."""
    if other := late_greeting(model, found) or given_up_calls(model, found) or waits_for_the_end(model, found):
        return other
    return never_answered(model, found.rows, found.name, fix(measure(found.peers))) if found.receives else None


def _silent(model: Model, found: PeerWaits, sent: Datagrams, group: list[Row], work: PeerWork | None) -> Finding | None:
    """Return the finding on waits that may be for an answer or for work; None where an answer is owed."""
    if found.receives and found.slow and sent.may_be_news(found.waits.count):
        came = f"{sent.received:,} came back for {plural(sent.sent, 'datagram')}"
        may = "late answers or for unsolicited data"
        return silent(model, group, found.name, measure(found.peers), came=came, may=may)
    if found.unasked or found.one_way or (found.silent and nothing_came(model, group)):
        came, may = "it asked for nothing meanwhile", "work or for one long answer"
        if found.one_way or nothing_came(model, group):
            came, may = "nothing came", "work or for an answer"
        look = f"{show_other_end(found.peers)}; or {measure(found.peers)}"
        return silent(model, group, found.name, look, came=came, may=may)
    if found.perhaps_acknowledges and found.slow:
        came = f"half of that in waits of {about(found.typical_ns)}"
        does = meanwhile(work)
        may = f"answers or for work: {does}" if does else "slow answers or for the next of what it acknowledges"
        answers = found.agreeing("answers")
        known = slow_by_its_work(model, group, work, found.name, answers=answers, may_feed=True)
        return known or silent(model, group, found.name, measure(found.peers), came=came, may=may)
    return None


def _check(model: Model, found: PeerWaits, mechanism: Mechanism) -> str:
    if mechanism is not Mechanism.SLOW:
        return fewer(model, f"waits for {found.name}", found.waits.count)
    norm_ns = (found.round_trip_ns or 0) + network_policy.slow_answer_ns
    return shorter(model, f"waits for {found.name}", found.typical_ns, norm_ns)


def _unanswered(model: Model, found: PeerWaits, sent: Datagrams) -> Finding:
    """Return the finding of threads that wait for answers to datagrams, none of which came."""
    answers, has, it = map(found.agreeing, ("answers", "has", "it"))
    return conclude(
        model,
        claims_of(found.rows),
        headline=f"{brief(found.name)} {answers} no datagram, and threads wait for {it}",
        claim=(
            f"{found.name} {has} answered none of {plural(sent.sent, 'datagram')}; threads wait there for"
            f" {duration(found.waits.sum_ns)}."
        ),
        mechanism=Mechanism.FAILED,
        severity=fault(model, found.waits.sum_ns),
        best=Confidence.MEDIUM,
        doubts=["UDP does not show whether a datagram asks for an answer"],
        evidence=[waits(found.waits, f"waits for {found.name}"), *sent.evidence],
        remedies=[
            fix(
                "see whether anything answers there, and whether a firewall drops the datagrams; or"
                f" {measure(found.peers)}"
            )
        ],
        alternatives=["a feed that needs no answer; its sender waits there for something else"],
        verify=measured(model, f"datagrams come from {found.name}, now 0 for {sent.sent:,} sent"),
    )


def _perhaps_own(model: Model, connections: Connections, keys: set[str]) -> str:
    """Return the limit that the target may be the server itself, or "": a server in epoll shows no port. Does not
    matter for a whole host."""
    near = sorted(str(peer.port) for key in keys if (peer := peer_of(key)) and connections.near(key))
    serving = any("wait.events" in t.accounts and not set(ACCOUNTS) & t.accounts.keys() for t in model.threads)
    listeners = model.facts.listeners  # those at which it answers are known then
    if not near or not serving or model.host or (listeners and listeners.complete):
        return ""
    return f"it is unknown whether {subject(model)} itself answers there: ss -ltnp sport = :{near[0]}"
