"""NET-SLOW-CLIENT: clients send a request piece by piece, or read the answer slowly."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from perfdiag.common.units import plural
from perfdiag.diagnosis.evidence.fix_checks import time_under
from perfdiag.diagnosis.evidence.network.connections import held_ns
from perfdiag.diagnosis.evidence.network.delayed_acks import lengths, looks_alike, telling
from perfdiag.diagnosis.evidence.network.delayed_arrivals import arriving_each_ns, delayed_arrivals
from perfdiag.diagnosis.evidence.network.kept_answers import new_connections, small_buffer
from perfdiag.diagnosis.evidence.network.send_buffers import kept_by_way
from perfdiag.diagnosis.evidence.network.slow_clients import tells_of_requests
from perfdiag.diagnosis.evidence.peers import connections_of
from perfdiag.diagnosis.evidence.requests.calls import by_peer, felt, fine_or_unknown, not_followed, severity
from perfdiag.diagnosis.evidence.target import subject
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import network_policy
from perfdiag.diagnosis.rule import (
    LOST_PACKETS,
    Claim,
    Evidence,
    Finding,
    Mechanism,
    Outcome,
    Remedy,
    Severity,
    account_of,
    rule,
)
from perfdiag.diagnosis.significance import by_key, duration, fix, size, together, total_ns, typical_ns, waits
from perfdiag.model.model import Model, Row
from perfdiag.model.requests.exchanges import Exchange
from perfdiag.model.requests.request_time import ARRIVING, UNTAKEN

ID, RECEIVE, SEND = "NET-SLOW-CLIENT", "net.receive", "net.send"


@dataclass(frozen=True)
class _Clients:
    """What clients delay: requests that arrive piece by piece, and answers they do not read."""

    arriving: list[Row]  # waits of threads for the rest of a request, where the requests' time is not known
    coming_ns: int  # of requests, where it is
    requests: list[Exchange]  # the slowest to arrive first
    sending: dict[str, int]  # waits to send, by client, for as long as its window was full
    full_ns: int  # of requests, where their time is known: with the send buffer full
    full: list[Exchange]  # those whose answers found it so, the longest first
    delayed: bool = False  # the waits of `arriving` last as long as a kernel delays an acknowledgement

    @property
    def threads_ns(self) -> int:
        """Return how long threads waited."""
        return total_ns(self.arriving) + sum(self.sending.values())

    @property
    def slow(self) -> bool:
        """Whether a client takes longer than its messages need on the network."""
        waited = (
            bool(self.arriving)
            and not self.delayed
            and typical_ns(together(self.arriving)) >= network_policy.slow_answer_ns
        )
        arrived = self.coming_ns > 0 and any(map(_arrives_slowly, self.requests))
        return waited or arrived or any(map(_over_norm, self.full)) or bool(self.sending)

    @property
    def arrived(self) -> list[Exchange]:
        """Return the requests that clients send slowly; all of them if no client is slow."""
        arrived = [each for each in self.requests if each.line.count]
        return list(filter(_arrives_slowly, arrived)) if self.slow else arrived

    @property
    def arriving_ns(self) -> int:
        """Return their part of the requests' time."""
        return _part_ns(self.coming_ns, _arriving_ns, self.arrived, self.requests)

    @property
    def untaken(self) -> list[Exchange]:
        """Return the requests whose answers clients read slowly; all of them if no client is slow."""
        return list(filter(_over_norm, self.full)) if self.slow else self.full

    @property
    def untaken_ns(self) -> int:
        """Return their part of the requests' time."""
        return _part_ns(self.full_ns, _untaken_ns, self.untaken, self.full)

    @property
    def requests_ns(self) -> int:
        """Return how long requests waited, where their time is known."""
        return self.arriving_ns + self.untaken_ns

    def severity(self, model: Model) -> Severity:
        """Return the severity of the time lost by threads and requests; WARNING only if clients are slow."""
        loop_ns = sum(map(_untaken_ns, self.untaken))
        return severity(model, self.threads_ns, self.requests_ns, loop_ns) if self.slow else Severity.INFO


@rule(
    ID,
    title="Clients send requests slowly, or read answers slowly",
    accounts=(RECEIVE, SEND, ARRIVING, UNTAKEN),
    meaning="The rest of a request does not arrive, or the client's receive window or this host's send buffer is"
    " full of an answer. A worker that serves one client at a time is occupied meanwhile; an event loop can"
    " serve others. The cause is the client, or the network on the way to it.",
    measured="Time from a request's first byte read to its last (if unknown: waits to receive inside of requests),"
    " and waits to send that the client's window held; without a waiting thread, the time with a full send"
    " buffer; what keeps an answer there, the client's window, the network or the buffer's size, is seen each"
    " time it is found full. Slow is 10 ms on average for requests of one name, plus, for answers, the time a line of 1"
    " Gbit/s needs, or one of 10 Mbit/s where the network keeps them. Where it does, and nearly each request has a"
    " connection of its own, the finding says so: a new connection takes a few packets at first.",
    alternatives="Packets to the client are lost (NET-RETRANSMITS); large messages over a slow line.",
    remedies="Put a proxy in front that buffers whole requests and answers; limit how long a client may take.",
    verify="request.arriving, request.untaken and net.send are under 5 % of the time.",
    beats=(
        "NET-PEER-SLOW",
        "NET-RECEIVER-WINDOW",
        "NET-CHATTY",
        "SQL-CHATTY",
        "NET-CONGESTION",
        "NET-DELAYED-ACK",
        "NET-DNS-SLOW",
        "NET-SELF-SLOW",
    ),
    elsewhere=True,
)
def slow_client(model: Model) -> Iterable[Outcome]:
    """Yield one finding for all clients together, because clients come and go."""
    clients = _clients(model)
    unknown = model.request_time is None and clients.severity(model) is not Severity.INFO
    if felt(model, clients.threads_ns, clients.requests_ns) or unknown:
        yield _kept(model, clients) or _finding(model, clients)
    else:
        yield fine_or_unknown(model, ID, "waiting for clients, inside of requests, and for others", RECEIVE, SEND)


def _clients(model: Model) -> _Clients:
    connections, calls = connections_of(model), by_peer(model, "connected")
    rows = [row for row in model.rows_of(RECEIVE, SEND) if not connections.asked(row.key) and row.key not in calls]
    time = model.request_time
    requests = [each for each in model.exchanges if each.served]
    late = {id(each) for each in delayed_arrivals(model)}  # thousands: not compared with each other
    in_time = [each for each in requests if id(each) not in late]
    sending = {
        key: held_ns(group, socket, socket.waits_receiver)
        for (account, key), group in by_key(rows).items()
        if account == SEND and (socket := connections.sockets.get(key)) is not None
    }
    # Where the time of requests is not known, a name counts whose answers are mostly not taken.
    least = network_policy.retransmits_explain_share if time is None else 0
    untaken = [each for each in requests if _untaken_ns(each) and _untaken_ns(each) >= least * each.line.sum_ns]
    arriving = [row for row in rows if row.account == RECEIVE] if time is None and tells_of_requests(model) else []
    return _Clients(
        arriving,
        _part_ns(time.accounts.get(ARRIVING, 0), _arriving_ns, in_time, requests) if time else 0,
        sorted(in_time, key=lambda each: -arriving_each_ns(each)),
        {key: ns for key, ns in sending.items() if ns > 0},
        time.accounts.get(UNTAKEN, 0) if time else 0,
        sorted(untaken, key=lambda each: -_untaken_ns(each)),
        delayed=bool(arriving) and looks_alike(model, connections, arriving),
    )


def _part_ns(ns: int, measure: Callable[[Exchange], int], some: list[Exchange], every: list[Exchange]) -> int:
    """Return the part of a time that some exchanges have, by a measure of all."""
    whole = sum(map(measure, every))
    return ns * sum(map(measure, some)) // whole if whole else 0


def _arriving_ns(exchange: Exchange) -> int:
    return exchange.line.arriving_ns


def _arrives_slowly(exchange: Exchange) -> bool:
    return arriving_each_ns(exchange) >= network_policy.slow_answer_ns


def _untaken_ns(exchange: Exchange) -> int:
    return exchange.line.untaken_ns or 0


def _over_norm(exchange: Exchange) -> bool:
    """Return whether clients read the answers of this name slower than a line carries them, or the way to them is
    slower than a usual one: a connection that begins sends little more each round trip."""
    way, line = network_policy.slow_way_ns_per_byte, network_policy.slow_client_ns_per_byte
    usual_ns = exchange.line.bytes_out * (way if kept_by_way([exchange]) else line)
    return _each_ns(exchange, _untaken_ns(exchange) - usual_ns) >= network_policy.slow_answer_ns


def _each_ns(exchange: Exchange, ns: int) -> int:
    return ns // max(1, exchange.line.count)


def _finding(model: Model, clients: _Clients) -> Finding:
    unasked = "" if model.measured("tcp") else "it was not measured what delays answers"
    claims: dict[Claim, int] = {(SEND, key): ns for key, ns in clients.sending.items()}
    for (account, key), group in by_key(clients.arriving).items():
        claims[account, key] = total_ns(group)
    claims |= {name: ns for name, ns in ((ARRIVING, clients.arriving_ns), (UNTAKEN, clients.untaken_ns)) if ns}
    return conclude(
        model,
        claims,
        headline=_headline(clients),
        claim=_claim(model, clients),
        mechanism=Mechanism.SLOW if clients.slow else Mechanism.UNDETERMINED if clients.delayed else Mechanism.OTHERS,
        severity=clients.severity(model),
        doubts=[unasked, not_followed(model)],
        evidence=_evidence(clients),
        remedies=_remedies(clients),
        alternatives=[LOST_PACKETS, "large messages over a slow line"],
        verify=time_under(model, *dict.fromkeys(map(account_of, claims))),
    )


def _kept(model: Model, clients: _Clients) -> Finding | None:
    """Return the finding on answers that clients would take; None if it is clients that do not."""
    if not clients.untaken_ns or clients.untaken_ns < clients.arriving_ns:
        return None
    kept = (clients.untaken, clients.untaken_ns, clients.severity(model), _evidence(clients))
    return small_buffer(model, *kept) if clients.slow else new_connections(model, *kept)


def _claim(model: Model, clients: _Clients) -> str:
    arriving_ns, sending_ns = clients.arriving_ns or total_ns(clients.arriving), sum(clients.sending.values())
    untaken_ns = sum(map(_untaken_ns, clients.untaken))
    if not clients.slow and clients.delayed:
        return (
            f"The rest of a request arrives after {lengths(clients.arriving)}, {duration(arriving_ns)} in all: as"
            " long as a kernel delays an acknowledgement. Clients that write a request in small pieces wait for it."
        )
    if not clients.slow:
        ways = [f"Requests take {duration(arriving_ns)} in all to arrive, as long as the network needs."]
        full = f"Answers find send buffers full for {duration(untaken_ns)} in all, as long answers do."
        return " ".join([*(ways if arriving_ns or not untaken_ns else []), *([full] if untaken_ns else [])])
    parts = [f"send their requests slowly ({duration(arriving_ns)} from first byte to last)"] if arriving_ns else []
    parts += [f"read answers slowly ({duration(sending_ns)} with their windows full)"] if sending_ns else []
    way = "get answers slowly over the network" if kept_by_way(clients.untaken) else "read answers slowly"
    parts += [f"{way} ({duration(untaken_ns)} with send buffers full of them)"] if untaken_ns else []
    return f"Clients {' and '.join(parts)}. {subject(model, begin=True)} waits for them inside of requests."


def _headline(clients: _Clients) -> str:
    sends = bool(clients.arriving_ns or clients.arriving)
    takes = bool(clients.sending or clients.untaken)
    how = " slowly" if clients.slow else ""
    if clients.delayed and not clients.slow:
        return "Clients send requests in pieces; perhaps acknowledgements are delayed"
    if sends and takes:
        return f"Clients send requests and read answers{how}"
    if not sends and clients.slow and not clients.sending and kept_by_way(clients.untaken):
        return "Answers reach clients slowly: the network on the way takes no more"
    return f"Clients send requests{how}" if sends else f"Clients read answers{how}"


def _evidence(clients: _Clients) -> list[Evidence]:
    evidence = []
    for each in clients.arrived[:2] if clients.arriving_ns else []:
        text = f"{each.line.count:,} requests {each.title} arrived in {duration(arriving_each_ns(each))} on average"
        evidence.append(Evidence(text, float(each.line.arriving_ns), "ns", "sock_recv_length"))
    if clients.arriving:
        evidence.append(waits(together(clients.arriving), "waits for the rest of a request"))
    if clients.sending:
        ns = sum(clients.sending.values())
        text = f"{duration(ns)} of waits in send with the windows of {len(clients.sending):,} clients full"
        evidence.append(Evidence(text, float(ns), "ns", "tcp_sock"))
    for each in clients.untaken[:2]:
        line = each.line
        text = (
            f"{duration(_untaken_ns(each))} of {duration(line.sum_ns)} in {plural(line.count, 'request')} {each.title},"
        )
        text += f" {duration(_each_ns(each, _untaken_ns(each)))} each on average, with the send buffer full; answers of"
        text += f" {size(line.bytes_out // max(1, line.count))}"
        evidence.append(Evidence(text, float(_untaken_ns(each)), "ns", "tcp_probe"))
    unended = sum(each.line.open for each in clients.requests)
    if unended:
        oldest = duration(max(each.line.oldest_ns for each in clients.requests))
        text = f"{unended:,} requests not answered when the window ended, the oldest {oldest} old"
        evidence.append(Evidence(text, float(unended), "count", "sockets"))
    return evidence


def _remedies(clients: _Clients) -> list[Remedy]:
    if clients.delayed and not clients.slow:
        return [telling()]
    whose = fix(
        "see in ss -tin who is slow: the client if rwnd_limited grows, the network if cwnd stays small or retrans grows"
    )
    smaller = fix("send less: compress answers, or send them in parts")
    return [
        *([whose] if clients.sending or clients.untaken else []),
        fix(
            "put a proxy in front that buffers whole requests and answers (nginx: proxy_request_buffering and"
            " proxy_buffering on)"
        ),
        fix(
            "limit how long a client may take (nginx: client_header_timeout, client_body_timeout, send_timeout;"
            " Apache: mod_reqtimeout), so that slow clients do not occupy all workers"
        ),
        *([smaller] if clients.untaken else []),
    ]
