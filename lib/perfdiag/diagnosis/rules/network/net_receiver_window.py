"""NET-RECEIVER-WINDOW: the peer's receive window holds a sender back."""

from collections.abc import Iterable

from perfdiag.diagnosis.evidence.fix_checks import checked
from perfdiag.diagnosis.evidence.network.connections import Cause, held_ns, named, outcomes
from perfdiag.diagnosis.evidence.peers import connections_of, name_of, peer_of, round_trip_ns
from perfdiag.diagnosis.evidence.requests.calls import of_requests_ns, severity
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import network_policy
from perfdiag.diagnosis.rule import Check, Evidence, Finding, Mechanism, Outcome, rule
from perfdiag.diagnosis.significance import about, brief, duration, fault, fix, plain, size, together, waits
from perfdiag.model.model import Model
from perfdiag.model.requests.exchanges import Exchange, own_calls
from perfdiag.model.requests.request_time import PEERS
from perfdiag.recording import schema


@rule(
    "NET-RECEIVER-WINDOW",
    title="The peer does not read fast enough",
    accounts=("net.send",),
    meaning="Threads wait in send because the peer's receive window is full: its program reads too slowly, or its"
    " receive buffer is too small for the distance.",
    measured="At each wait in send, what held the connection: the part of waits held by the peer's window, times"
    " the time waited there; if the window held most of them, waits for the own buffer count as well. Of calls of an"
    " event loop: their bytes in windows of the peer's, a round trip each.",
    alternatives="The reader at the peer is itself held up (CPU, disk, lock); its receive buffer is smaller than"
    " rate times round trip.",
    remedies="Measure the reader at the peer; enlarge its receive buffer (net.ipv4.tcp_rmem there).",
    verify="ss -tim on this host: rwnd_limited of the connection no longer grows.",
    beats=(
        "NET-PEER-SLOW",
        "NET-SELF-SLOW",
    ),
)
def receiver_window(model: Model) -> Iterable[Outcome]:
    """Join waits in send with what held the connection, here the peer's window. Clients belong to NET-SLOW-CLIENT."""
    asked = connections_of(model).asked
    held = [found for each in own_calls(model.exchanges)[1] if (found := _held_call(model, each)) is not None]
    yield from held
    for outcome in outcomes(
        model,
        "NET-RECEIVER-WINDOW",
        ("net.send",),
        lambda rows, socket: held_ns(rows, socket, _waits(socket)) if asked(socket.object) else 0,
        _receiver_finding,
        "waits for receive windows",
    ):
        if not (held and isinstance(outcome, Check)):  # that no thread waits so is not that of the rule
            yield outcome


def _waits(socket: schema.Socket) -> int:
    """Return how many waits the peer's window held: if most, then those with the own buffer full as well, since that
    empties no faster."""
    most = socket.waits_receiver > socket.waits_buffer + socket.waits_congestion
    return socket.waits_receiver + (socket.waits_buffer if most else 0)


def _held_call(model: Model, call: Exchange) -> Finding | None:
    """Return the finding of calls of an event loop, for which no thread waits in send: so many windows of the peer's, a
    round trip each, take most of their time."""
    connections, key = connections_of(model), call.line.object
    socket, way_ns = connections.sockets.get(key), connections.way_ns(key)
    if call.line.direction != "connected" or not call.line.count or not socket or not way_ns:
        return None
    each_bytes, window = call.line.bytes_out / call.line.count, socket.send_window_bytes
    typical_ns = call.whole.typical_ns()
    if not window or each_bytes < network_policy.windows_of_call * window or not typical_ns:
        return None
    sending_ns = round(each_bytes / window * way_ns)
    if not network_policy.windows_share <= sending_ns / typical_ns <= 1 / network_policy.windows_share:
        return None  # the window has grown since, or the peer is slow beside it
    ns = of_requests_ns(model, round(min(1.0, sending_ns / typical_ns) * call.waited_ns))
    name = name_of(key, call.object)
    return conclude(
        model,
        {PEERS: ns} if ns else {},
        headline=f"The receive window of {brief(name)} is too small for the distance",
        claim=(
            f"Calls to {name} send {size(each_bytes)} each through a receive window of {size(window)}, at a round trip"
            f" of {duration(way_ns)}: that is {duration(min(sending_ns, typical_ns))} of the {about(typical_ns)} each"
            " takes."
        ),
        mechanism=Mechanism.LIMIT,
        severity=severity(model, 0, ns),
        doubts=["the window was read at one call in sixteen, and is inferred to be what these wait for"],
        evidence=[
            Evidence(f"{call.line.count:,} calls of {size(each_bytes)}", each_bytes, "bytes", "sockets"),
            Evidence(f"receive window {size(window)}", float(window), "bytes", "tcp_sock"),
            Evidence(f"shortest round trip {duration(way_ns)}", float(way_ns), "ns", "tcp_sock"),
        ],
        remedies=[_LARGER, fix("send less at a time, or from nearer")],
        alternatives=["the reader at the peer is itself held up, so that its window stays small"],
        verify=checked(f"ss -tim dst {plain(str(peer_of(key)))}", "rwnd_limited stays the same"),
    )


_LARGER = fix(
    "if the reader keeps up, enlarge its buffer at the peer: third value of net.ipv4.tcp_rmem, at least rate times"
    " round trip"
)


def _receiver_finding(model: Model, causes: list[Cause]) -> Finding:
    socket = causes[0][2]
    taken_ns = sum(cause[3] for cause in causes)
    evidence = [
        waits(together([row for cause in causes for row in cause[1]]), "waits to send"),
        Evidence(
            f"{socket.waits_receiver:,} waits held by the peer's window, {socket.waits_congestion:,} by"
            f" congestion, {socket.waits_buffer:,} by the own buffer",
            float(socket.waits_receiver),
            "count",
            "tcp_sock",
        ),
        Evidence(
            f"the peer's window was {size(socket.send_window_bytes)} at the last wait",
            float(socket.send_window_bytes),
            "bytes",
            "tcp_sock",
        ),
    ]
    round_trip = round_trip_ns([socket])
    if round_trip and socket.send_window_bytes:
        rate = socket.send_window_bytes * 1e9 / round_trip
        evidence.append(
            Evidence(
                f"such a window allows {size(rate)}/s at a round trip of {duration(round_trip)}",
                rate,
                "bytes/s",
                "tcp_sock",
            )
        )
    peer = peer_of(causes[0][0][1])
    measure = f"perfdiag latency --port {peer.port}" if peer else "perfdiag latency"
    again = f"ss -tim dst {plain(str(peer or 'PEER'))}"
    return conclude(
        model,
        {claim: ns for claim, _, _, ns in causes},
        headline=f"{brief(named(causes))} reads too slowly: its receive window is full",
        claim=f"{named(causes)} reads too slowly: its receive window is full, {duration(taken_ns)} of waiting in send.",
        mechanism=Mechanism.SLOW,
        severity=fault(model, taken_ns),
        evidence=evidence,
        remedies=[
            fix(f"measure the reader at the peer: {measure}"),
            _LARGER,
        ],
        alternatives=["the reader is itself held up", "the window is too small for the distance"],
        verify=checked(again, "rwnd_limited of the connection stays the same"),
    )
