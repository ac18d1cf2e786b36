"""NET-SELF-SLOW: the target waits for its own threads at a connection to itself."""

from collections.abc import Iterable

from perfdiag.common.by_key import sums_by_key
from perfdiag.common.units import first_of
from perfdiag.diagnosis.evidence.fix_checks import time_under
from perfdiag.diagnosis.evidence.network.own_reader import reader_that_asks
from perfdiag.diagnosis.evidence.peers import ACCOUNTS, Connections, Peer, connections_of, local_port, peer_of
from perfdiag.diagnosis.evidence.target import subject
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import network_policy
from perfdiag.diagnosis.rule import Evidence, Finding, Mechanism, Outcome, rule
from perfdiag.diagnosis.significance import (
    claims_of,
    duration,
    fix,
    little,
    plain,
    together,
    top,
    total_ns,
    typical_ns,
    waits,
    without_rows,
    worth,
)
from perfdiag.model.model import Model, Row
from perfdiag.model.thread_accounts import ThreadLedger

ASLEEP = "wait.timer"
SHOWN = 2


@rule(
    "NET-SELF-SLOW",
    title="The target waits for its own threads at a connection",
    accounts=ACCOUNTS,
    meaning="Client and server of a connection both belong to the target, so this report also covers the threads"
    " that answer. It is a fault if those mostly sleep on a timer, or if the thread that asks is the only one that"
    " reads requests: nobody can answer it meanwhile. Else other findings of the same report name the cause.",
    measured="Waits to receive, connect and send on this host, at ports where the target itself accepts connections"
    " or receives requests. Sampled stacks show which threads answer.",
    alternatives="Another process on the same port (SO_REUSEPORT, or a forked child that is not part of the target).",
    remedies="See what the answering threads do; add more of them, or avoid the connection to the own process.",
    verify="Waits at the target's own ports are gone.",
    one_process=True,
)
def own_threads(model: Model) -> Iterable[Outcome]:
    """Yield one finding for all connections of the target to itself."""
    connections = connections_of(model)
    rows = [
        row for row in model.rows_of(*ACCOUNTS) if connections.asked(row.key) and connections.answered_here(row.key)
    ]
    if not worth(model, total_ns(rows)):
        yield without_rows(model, "NET-SELF-SLOW", *ACCOUNTS) or little(
            model, "NET-SELF-SLOW", "waiting for own threads at connections", total_ns(rows)
        )
        return
    yield _finding(model, connections, rows)


def _finding(model: Model, connections: Connections, rows: list[Row]) -> Finding:
    if reader := reader_that_asks(model, rows):
        return _of_itself(model, rows, reader)
    peers = _peers(rows)
    name = _place(peers)
    threads = _answering(model, connections, peers)
    does = _without_questions(threads)
    slept = (
        2 * does.get(ASLEEP, 0) >= sum(does.values()) > 0
        and typical_ns(together(rows)) >= network_policy.slow_answer_ns
    )
    many = len(threads) != 1
    who = _names(threads)
    doing = f" (mostly {top(does, 1)})" if does else ""
    if slept:
        sleep = "sleep on a timer" if many else "sleeps on a timer"
        doing = f", which mostly {sleep} ({top(does, 1)})"
    evidence = [waits(together(rows), f"waits for {name}")]
    if does:
        number = f"{len(threads)} thread{'s' * (len(threads) > 1)} that answer{'s' * (len(threads) == 1)}"
        evidence.append(Evidence(f"{number}: {top(does)}", float(sum(does.values())), "ns", "ledger"))
    by = (
        "port numbers"
        if all(map(connections.told, rows))
        else "port numbers, and which end answers by who waits longer"
    )
    port = peers[0].port
    return conclude(
        model,
        claims_of(rows),
        headline=f"{subject(model, begin=True)} waits for its own threads{', which sleep' if slept else ''}",
        claim=(
            f"{subject(model, begin=True)} waits {duration(total_ns(rows))} for itself: {who}"
            f" answer{'' if many else 's'} at {name}{doing}."
        ),
        mechanism=Mechanism.SLEEP if slept else Mechanism.OTHERS,
        departs=slept,
        doubts=[f"{by} tell that the target is both ends"],
        evidence=evidence,
        remedies=[
            fix(
                f"find out why {who} sleep{'' if many else 's'}, or let more threads answer on port {port}"
                if slept
                else f"find out what delays {who} on port {port}: other findings of this report name it"
            )
        ],
        verify=time_under(model, *dict.fromkeys(row.account for row in rows)),
    )


def _of_itself(model: Model, rows: list[Row], reader: ThreadLedger) -> Finding:
    name = _place(_peers(rows))
    return conclude(
        model,
        claims_of(rows),
        headline=f"{subject(model, begin=True)} waits for itself: {reader.name}, the only thread that reads requests,"
        f" asks {name}",
        claim=f"{reader.name} waits {duration(total_ns(rows))} for an answer at {name}, the target's own port, and is"
        " the only thread that reads requests: nobody can answer until it gives up.",
        mechanism=Mechanism.BUSY,
        evidence=[waits(together(rows), f"waits for {name}")],
        remedies=[
            fix("let a second worker read requests, or do what is asked for in the same request, without a connection")
        ],
        alternatives=["another process on the same port that is not part of the target, and is slow"],
        verify=time_under(model, *dict.fromkeys(row.account for row in rows)),
    )


def _peers(rows: Iterable[Row]) -> list[Peer]:
    return [peer for peer in map(peer_of, dict.fromkeys(row.key for row in rows)) if peer]


def _place(peers: list[Peer]) -> str:
    return plain(str(peers[0])) if len(peers) == 1 else f"{len(peers)} ports of its own"


def _answering(model: Model, connections: Connections, peers: Iterable[Peer]) -> list[ThreadLedger]:
    """Return the threads that were seen waiting for requests at these ports in sampled stacks."""
    ports = {str(peer.port) for peer in peers}
    asked = {key for key, socket in connections.sockets.items() if local_port(socket) in ports}
    tids = {stack.tid for stack in model.stacks if stack.kind == "wait" and stack.object in asked}
    return [thread for thread in model.threads if thread.tid in tids]


def _names(threads: list[ThreadLedger]) -> str:
    if not threads:
        return "its own threads"
    names = first_of([thread.name for thread in threads], SHOWN)
    return f"its own thread{'s' * (len(threads) > 1)} {names}"


def _without_questions(threads: Iterable[ThreadLedger]) -> dict[str, int]:
    """Return what threads do besides waiting for their next request."""
    return sums_by_key(
        (name, total.ns) for thread in threads for name, total in thread.accounts.items() if name != "net.receive"
    )
