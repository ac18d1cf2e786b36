"""A rule on connections of which the target is both ends: what keeps the answer stands in the same books."""

from __future__ import annotations

from collections.abc import Iterable

from perfdiag.common.units import first_of
from perfdiag.diagnosis.evidence.network.peers import ACCOUNTS, Connections, Peer, connections_of, peer_of
from perfdiag.diagnosis.evidence.network.unanswered_calls import SLOW_ANSWER_NS
from perfdiag.diagnosis.evidence.target import again, subject
from perfdiag.diagnosis.rule import Check, Confidence, Evidence, Finding, Mechanism, Outcome, Severity, rule
from perfdiag.diagnosis.significance import (
    claims_of,
    duration,
    fault,
    fix,
    judged,
    percent,
    plain,
    together,
    top,
    total_ns,
    typical_ns,
    waits,
    without_rows,
    worth,
)
from perfdiag.model.model import Model
from perfdiag.model.thread_accounts import ThreadLedger

ASLEEP = "wait.timer"
SHOWN = 2


@rule(
    "NET-SELF-SLOW",
    title="The target waits for its own threads at a connection",
    accounts=ACCOUNTS,
    meaning="Client and server of a connection both belong to the target: what keeps the answer is in this report, as"
    " the time of the threads that answer. A fault where those mostly sleep on a timer; else their own"
    " findings name the cause, and this is only its path.",
    measured="Waits of net.receive, net.connect and net.send on this host, at ports on which the target itself waits"
    " for connections or for questions, over the window; where requests are not measured, also at those on which it"
    " listens. The threads that answer are those whose sampled stacks wait"
    " there.",
    alternatives="Another process on the same port (SO_REUSEPORT, a forked child that is not part of the target).",
    remedies="Look at what the threads that answer do; more of them, or no connection to oneself.",
    verify="perfdiag latency again: waits for the target's own ports.",
    one_process=True,
)
def own_threads(model: Model) -> Iterable[Outcome]:
    """One finding for all connections of the target to itself."""
    connections = connections_of(model)
    rows = [
        row for row in model.rows_of(*ACCOUNTS) if connections.asked(row.key) and connections.answered_here(row.key)
    ]
    if not worth(model, total_ns(rows)):
        share = total_ns(rows) / model.busy_ns if model.busy_ns else 0.0
        text = f"waiting for own threads at connections {percent(share)} of busy time"
        yield without_rows(model, "NET-SELF-SLOW", *ACCOUNTS) or Check("NET-SELF-SLOW", text, share, "share")
        return
    peers = [peer for peer in map(peer_of, dict.fromkeys(row.key for row in rows)) if peer]
    name = plain(str(peers[0])) if len(peers) == 1 else f"{len(peers)} ports of its own"
    threads = _answering(model, connections, peers)
    does = _without_questions(threads)
    slept = 2 * does.get(ASLEEP, 0) >= sum(does.values()) > 0 and typical_ns(together(rows)) >= SLOW_ANSWER_NS
    many = len(threads) != 1
    who = _names(threads)
    doing = f"; {'those are' if many else 'it is'} mostly in {top(does, 1)}" if does else ""
    if slept:
        sleep = "sleep on a timer" if many else "sleeps on a timer"
        doing = f", which mostly {sleep} ({top(does, 1)})"
    evidence = [waits(together(rows), f"waits for {name}")]
    if does:
        number = f"{len(threads)} thread{'s' * (len(threads) > 1)} that answer{'s' * (len(threads) == 1)}"
        evidence.append(Evidence(f"{number}: {top(does)}", float(sum(does.values())), "ns", "ledger"))
    by = "port numbers" if all(map(connections.told, rows)) else "port numbers, which end answers by who waits longer"
    confidence, limits = judged(model, Confidence.HIGH, [f"that the target is both ends is told by {by}"])
    port = peers[0].port
    yield Finding(
        "NET-SELF-SLOW",
        fault(model, total_ns(rows)) if slept else Severity.INFO,
        confidence,
        f"The target waits {duration(total_ns(rows))} for itself: {who} answer{'' if many else 's'} at {name}{doing}.",
        claims_of(rows),
        evidence,
        [
            fix(
                f"look at what {who} sleep{'' if many else 's'} for, or let more threads answer on port {port}"
                if slept
                else f"look at what keeps {who}, on port {port}: its own findings name that"
            )
        ],
        limits=limits,
        verify=f"{again(model)}: waits for {name}",
        headline=f"{subject(model, begin=True)} waits for its own threads{', which sleep' if slept else ''}",
        mechanism=Mechanism.SLEEP if slept else Mechanism.OTHERS,
    )


def _answering(model: Model, connections: Connections, peers: Iterable[Peer]) -> list[ThreadLedger]:
    """Return the threads seen to wait for questions at these ports; they are known by their sampled stacks only."""
    ports = {str(peer.port) for peer in peers}
    asked = {key for key, socket in connections.sockets.items() if socket.local.rpartition(":")[2] in ports}
    tids = {stack.tid for stack in model.stacks if stack.kind == "wait" and stack.object in asked}
    return [thread for thread in model.threads if thread.tid in tids]


def _names(threads: list[ThreadLedger]) -> str:
    if not threads:
        return "its own threads"
    names = first_of([f"{plain(thread.comm)} ({thread.tid})" for thread in threads], SHOWN)
    return f"its own thread{'s' * (len(threads) > 1)} {names}"


def _without_questions(threads: Iterable[ThreadLedger]) -> dict[str, int]:
    """Return what threads do besides waiting for their next question."""
    sums: dict[str, int] = {}
    for thread in threads:
        for name, total in thread.accounts.items():
            if name != "net.receive":
                sums[name] = sums.get(name, 0) + total.ns
    return sums


__all__ = ["own_threads"]
