"""A rule on slow clients: those that send a request piece by piece, or do not take the answer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from perfdiag.exchanges import Exchange
from perfdiag.findings.base import Confidence, Evidence, Finding, Outcome, Remedy, Severity, rule
from perfdiag.findings.calls import by_peer, felt, fine_or_unknown, not_followed, severity
from perfdiag.findings.connections import held_ns
from perfdiag.findings.outstanding import SLOW_ANSWER_NS
from perfdiag.findings.peers import connections_of
from perfdiag.findings.target import again, subject
from perfdiag.findings.weigh import by_key, duration, fix, judged, together, total_ns, typical_ns, waits
from perfdiag.model import Model, Row
from perfdiag.requests import ARRIVING

ID, RECEIVE, SEND = "NET-SLOW-CLIENT", "net.receive", "net.send"


@dataclass(frozen=True)
class _Clients:
    """What clients hold up: requests that arrive piece by piece, and answers that they do not take."""

    arriving: list[Row]  # waits of threads for the rest of a request, where the requests' time is not known
    arriving_ns: int  # of requests, where it is
    requests: list[Exchange]  # the slowest to arrive first
    sending: dict[str, int]  # waits to send, by client, for as long as its window was full

    @property
    def threads_ns(self) -> int:
        """Return how long threads waited."""
        return total_ns(self.arriving) + sum(self.sending.values())

    @property
    def slow(self) -> bool:
        """Whether a client takes longer than its messages take on the way."""
        long = typical_ns(together(self.arriving)) if self.arriving else 0
        mean = _mean_ns(self.requests[0]) if self.requests and self.arriving_ns else 0
        return max(long, mean) >= SLOW_ANSWER_NS or bool(self.sending)


@rule(
    ID,
    title="Clients send requests slowly, or take answers slowly",
    accounts=(RECEIVE, SEND, ARRIVING),
    meaning="A request has begun to arrive and the rest of it does not come, or an answer finds the client's receive"
    " window full. Meanwhile a worker that serves one client at a time is taken; the cause is the client, or its way"
    " here.",
    measured="Over the window, the time from a request's first byte read until its last, of all requests; where their"
    " time is not known as a whole, waits of net.receive on accepted connections, which are counted inside of requests"
    " only. Waits of net.send on accepted connections for the part that was held by the client's window. The norm is"
    " 10 ms on average for requests of one name.",
    alternatives="Loss on the way to the client (NET-RETRANSMITS); large uploads over a thin line, which take their"
    " time.",
    remedies="A proxy in front that takes requests in whole before it hands them on, and answers off this host's hands;"
    " limits on how long a client may take.",
    verify="perfdiag latency again: request.arriving in the requests' time.",
    refines=("NET-PEER-SLOW", "NET-RECEIVER-WINDOW"),
)
def slow_client(model: Model) -> Iterable[Outcome]:
    """One finding for all clients together: which ones they are changes by the minute."""
    clients = _clients(model)
    if felt(model, clients.threads_ns, clients.arriving_ns):
        yield _finding(model, clients)
    else:
        yield fine_or_unknown(model, ID, "waiting for clients, inside of requests, and for others", RECEIVE, SEND)


def tells_of_requests(model: Model) -> bool:
    """Return whether waits to receive from clients are known to lie inside of requests: then this rule has them."""
    return model.measured("requests") and any(each.served for each in model.exchanges)


def _clients(model: Model) -> _Clients:
    connections, calls = connections_of(model), by_peer(model, "connected")
    rows = [row for row in model.rows_of(RECEIVE, SEND) if not connections.asked(row.key) and row.key not in calls]
    time = model.request_time
    requests = [each for each in model.exchanges if each.served]
    sending = {
        key: held_ns(group, socket, socket.waits_receiver)
        for (account, key), group in by_key(rows).items()
        if account == SEND and (socket := connections.sockets.get(key)) is not None
    }
    return _Clients(
        [row for row in rows if row.account == RECEIVE] if time is None and tells_of_requests(model) else [],
        time.accounts.get(ARRIVING, 0) if time else 0,
        sorted(requests, key=lambda each: -_mean_ns(each)),
        {key: ns for key, ns in sending.items() if ns > 0},
    )


def _mean_ns(exchange: Exchange) -> int:
    return exchange.line.arriving_ns // exchange.line.count if exchange.line.count else 0


def _finding(model: Model, clients: _Clients) -> Finding:
    unasked = "" if model.measured("tcp") else "what holds answers up was not measured"
    confidence, limits = judged(model, Confidence.HIGH, [unasked, not_followed(model)])
    claims: dict[str | tuple[str, str], int] = {(SEND, key): ns for key, ns in clients.sending.items()}
    for (account, key), group in by_key(clients.arriving).items():
        claims[account, key] = total_ns(group)
    if clients.arriving_ns:
        claims[ARRIVING] = clients.arriving_ns
    return Finding(
        ID,
        severity(model, clients.threads_ns, clients.arriving_ns) if clients.slow else Severity.INFO,
        confidence,
        _claim(model, clients),
        claims,
        _evidence(clients),
        _remedies(),
        limits=limits,
        alternatives=["loss on the way: see NET-RETRANSMITS", "large uploads over a thin line"],
        verify=f"{again(model)}: less of request.arriving, net.receive and net.send",
    )


def _claim(model: Model, clients: _Clients) -> str:
    arriving_ns, sending_ns = clients.arriving_ns or total_ns(clients.arriving), sum(clients.sending.values())
    if not clients.slow:
        return f"Requests take {duration(arriving_ns)} in all to arrive, which is their way here."
    parts = [f"send their requests slowly ({duration(arriving_ns)} from first byte to last)"] if arriving_ns else []
    parts += [f"take answers slowly ({duration(sending_ns)} with their windows full)"] if sending_ns else []
    return f"Clients {' and '.join(parts)}: {subject(model)} waits for them inside of requests."


def _evidence(clients: _Clients) -> list[Evidence]:
    evidence = []
    arrived = [each for each in clients.requests if each.line.count]
    for each in arrived[:2] if clients.arriving_ns else []:
        text = f"{each.line.count:,} requests {each.title} arrived in {duration(_mean_ns(each))} on average"
        evidence.append(Evidence(text, float(each.line.arriving_ns), "ns", "sock_recv_length"))
    if clients.arriving:
        evidence.append(waits(together(clients.arriving), "waits for the rest of a request"))
    if clients.sending:
        ns = sum(clients.sending.values())
        text = f"{duration(ns)} of waits in send with the windows of {len(clients.sending):,} clients full"
        evidence.append(Evidence(text, float(ns), "ns", "tcp_sock"))
    unended = sum(each.line.open for each in clients.requests)
    if unended:
        oldest = duration(max(each.line.oldest_ns for each in clients.requests))
        text = f"{unended:,} requests not answered when the window ended, the oldest since {oldest}"
        evidence.append(Evidence(text, float(unended), "count", "sockets"))
    return evidence


def _remedies() -> list[Remedy]:
    return [
        fix(
            "put a proxy in front that takes requests in whole before it hands them on, and answers at once (nginx:"
            " proxy_request_buffering and proxy_buffering on)"
        ),
        fix(
            "limit how long a client may take (nginx: client_header_timeout, client_body_timeout, send_timeout; Apache:"
            " mod_reqtimeout), so that slow ones do not take all workers"
        ),
    ]


__all__ = ["slow_client", "tells_of_requests"]
