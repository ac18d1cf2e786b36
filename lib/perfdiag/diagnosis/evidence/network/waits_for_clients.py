"""Waiting for own clients: idle, or a client or the network is slow; nothing on this side tells which."""

from __future__ import annotations

from perfdiag.diagnosis.evidence.network.delayed_acks import looks_alike
from perfdiag.diagnosis.evidence.network.peers import Connections, peer_of
from perfdiag.diagnosis.evidence.target import subject
from perfdiag.diagnosis.rule import Confidence, Finding, Mechanism, Severity
from perfdiag.diagnosis.significance import claims_of, fix, judged, plain, together, waits
from perfdiag.model.model import Model, Row


def clients_finding(model: Model, connections: Connections, group: list[Row]) -> Finding:
    """Waiting for one's own clients departs from no norm: whether they are slow or silent cannot be seen from here."""
    whole = together(group)
    found = [peer for peer in map(peer_of, dict.fromkeys(row.key for row in group)) if peer]
    peers, local = len({row.key for row in group}), bool(found) and all(peer.local for peer in found)
    names = (
        f"ss -tnp shows who has {plain(str(found[0]))}" if found and not found[0].unconnected else "ss -tnp shows them"
    )
    confidence, limits = judged(model, Confidence.MEDIUM, ["which side asked is told by port numbers"])
    in_pieces = (
        "clients that write in small pieces, which wait for acknowledgements delayed by 40 ms: TCP_NODELAY there"
    )
    return Finding(
        "NET-PEER-SLOW",
        Severity.INFO,
        confidence,
        f"{subject(model, begin=True)} waits for its own clients ({peers:,} peer{'s' * (peers != 1)}): between"
        " requests that is idle, inside one the client or the network is slow; nothing here tells which.",
        claims_of(group),
        [waits(whole, "waits for clients")],
        [fix(f"measure one of the clients: perfdiag latency {'on this host' if local else 'there'} ({names})")],
        alternatives=["idle connections", *([in_pieces] if looks_alike(model, connections, group) else [])],
        limits=limits,
        verify=f"perfdiag latency on a client, while it talks to {subject(model)}",
        headline=f"{subject(model, begin=True)} waits for its own clients",
        mechanism=Mechanism.OTHERS,
    )


__all__ = ["clients_finding"]
