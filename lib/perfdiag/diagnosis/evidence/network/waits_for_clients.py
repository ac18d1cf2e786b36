"""Waiting for own clients: idle between requests; inside a request, the client or the network is slow."""

from perfdiag.common.units import duration
from perfdiag.diagnosis.evidence.fix_checks import measured
from perfdiag.diagnosis.evidence.network.delayed_acks import looks_alike
from perfdiag.diagnosis.evidence.peers import Connections, peer_of
from perfdiag.diagnosis.evidence.target import subject
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.rule import Confidence, Finding, Mechanism
from perfdiag.diagnosis.significance import claims_of, fix, plain, together, waits
from perfdiag.model.model import Model, Row


def clients_finding(model: Model, connections: Connections, group: list[Row]) -> Finding:
    """Return the finding of waiting for own clients, which is no fault: from here, a slow client looks like a silent
    one."""
    whole = together(group)
    found = [peer for peer in map(peer_of, dict.fromkeys(row.key for row in group)) if peer]
    peers, local = len({row.key for row in group}), bool(found) and all(peer.local for peer in found)
    names = (
        f"ss -tnp shows who has {plain(str(found[0]))}" if found and not found[0].unconnected else "ss -tnp shows them"
    )
    in_pieces = "clients write in small pieces and wait for acknowledgements delayed by 40 ms: set TCP_NODELAY there"
    return conclude(
        model,
        claims_of(group),
        headline=f"{subject(model, begin=True)} waits for its own clients",
        claim=(
            f"{subject(model, begin=True)} waits for its own clients ({peers:,} peer{'s' * (peers != 1)}). Between"
            " requests it is idle; inside a request, the client or the network is slow. This side does not show which."
        ),
        mechanism=Mechanism.OTHERS,
        departs=False,
        best=Confidence.MEDIUM,
        doubts=["port numbers tell which side asked"],
        evidence=[waits(whole, "waits for clients")],
        remedies=[
            fix(f"measure one of the clients: perfdiag latency {'on this host' if local else 'there'} ({names})")
        ],
        alternatives=["idle connections", *([in_pieces] if looks_alike(model, connections, group) else [])],
        verify=measured(model, f"less waiting for clients while they send, now {duration(whole.sum_ns)}"),
    )
