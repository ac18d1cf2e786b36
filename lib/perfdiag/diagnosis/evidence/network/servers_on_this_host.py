"""Waits for servers on the host that is recorded as a whole: part of NET-PEER-SLOW, and no fault of its own."""

from __future__ import annotations

from collections.abc import Sequence

from perfdiag.common.units import first_of
from perfdiag.diagnosis.evidence.network.peers import name_of
from perfdiag.diagnosis.evidence.target import again
from perfdiag.diagnosis.rule import Confidence, Finding, Mechanism, Severity
from perfdiag.diagnosis.significance import claims_of, duration, fix, judged, together, total_ns, waits
from perfdiag.model.model import Model, Row

SHOWN = 2


def on_this_host(model: Model, rows: Sequence[Row]) -> Finding:
    """Return that clients and who answers them are both in these books: what those suffer is the cause, not this."""
    servers = {row.key: name_of(row.key, row.object) for row in rows}
    names = first_of(list(dict.fromkeys(servers.values())), SHOWN)
    ports = list(dict.fromkeys(key.rpartition(":")[2] for key in list(servers)[:SHOWN]))
    ways = " and ".join(f"perfdiag latency --port {port}" for port in ports)
    confidence, limits = judged(model, Confidence.HIGH, ["who answers there is told by the number of the port"])
    return Finding(
        "NET-PEER-SLOW",
        Severity.INFO,
        confidence,
        f"Clients on this host wait {duration(total_ns(rows))} for {names}, which is answered on it, too: what"
        " keeps the answers is in this report.",
        claims_of(rows),
        [waits(together(rows), f"waits for {names}")],
        [fix(f"see what who answers suffers: {ways}")],
        limits=limits,
        verify=f"{again(model)}: waits for servers on it",
        headline=f"Clients on this host wait for {names}, which is answered here, too",
        mechanism=Mechanism.OTHERS,
    )


__all__ = ["on_this_host"]
