"""Waits for servers on a host that is recorded as a whole: part of NET-PEER-SLOW, and no fault."""

from collections.abc import Sequence

from perfdiag.common.units import first_of
from perfdiag.diagnosis.evidence.fix_checks import time_under
from perfdiag.diagnosis.evidence.peers import name_of
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.rule import Finding, Mechanism
from perfdiag.diagnosis.significance import claims_of, duration, fix, together, total_ns, waits
from perfdiag.model.model import Model, Row

SHOWN = 2


def on_this_host(model: Model, rows: Sequence[Row]) -> Finding:
    """Return the finding that clients and their server are both in this report: the findings of the server are the
    cause."""
    servers = {row.key: name_of(row.key, row.object) for row in rows}
    names = first_of(list(dict.fromkeys(servers.values())), SHOWN)
    ports = list(dict.fromkeys(key.rpartition(":")[2] for key in list(servers)[:SHOWN]))
    ways = " and ".join(f"perfdiag latency --port {port}" for port in ports)
    return conclude(
        model,
        claims_of(rows),
        headline=f"Clients on this host wait for {names}, which also runs here",
        claim=(
            f"Clients on this host wait {duration(total_ns(rows))} for {names}, which also runs here: this report shows"
            " what delays the answers."
        ),
        mechanism=Mechanism.OTHERS,
        departs=False,
        doubts=["port numbers tell which process answers"],
        evidence=[waits(together(rows), f"waits for {names}")],
        remedies=[fix(f"see what delays the server: {ways}")],
        verify=time_under(model, *dict.fromkeys(row.account for row in rows)),
    )
