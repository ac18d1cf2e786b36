"""Requests that clients write in pieces, the rest of which waits until this kernel acknowledges the first piece."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from perfdiag.common.by_key import sums_by_key
from perfdiag.diagnosis.evidence.fix_checks import time_under
from perfdiag.diagnosis.evidence.network.delayed_acks import DELAY_NS, RECEIVE, counted, evidence_of, looks_alike
from perfdiag.diagnosis.evidence.peers import connections_of, local_port
from perfdiag.diagnosis.evidence.requests.calls import severity
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import network_policy
from perfdiag.diagnosis.rule import Confidence, Evidence, Finding, Mechanism
from perfdiag.diagnosis.significance import duration, fix, together, total_ns
from perfdiag.model.model import Model, Row, once
from perfdiag.model.requests.exchanges import Exchange, own_calls
from perfdiag.model.requests.request_time import ARRIVING


@once
def delayed_arrivals(model: Model) -> Sequence[Exchange]:
    """Return the requests that arrive as late as an acknowledgement does which this kernel delays, where it delayed one
    for at least every other of them; nothing where the time of requests is not known."""
    if model.request_time is None:
        return []
    served = [each for each in model.exchanges if each.served]
    late = [each for each in served if DELAY_NS[0] <= arriving_each_ns(each) < DELAY_NS[1]]
    seen = counted(model)
    if seen is None or 2 * seen < sum(each.line.count for each in late):
        return []
    return late or [each for each in served if each.line.object in _waited_for(model)]


@once
def _waited_for(model: Model) -> Mapping[str, int]:
    """Return, by port, how often threads waited so long for the rest of a request: of two messages of a conversation
    one can come in pieces, and the mean of both is half of that."""
    connections = connections_of(model)
    ports = defaultdict[str, list[Row]](list)
    for row in model.rows_of(RECEIVE):
        if not connections.asked(row.key) and (socket := connections.sockets.get(row.key)) is not None:
            ports[f"port:{local_port(socket)}"].append(row)
    arriving = sums_by_key((each.line.object, each.line.arriving_ns) for each in model.exchanges if each.served)
    least = network_policy.delayed_ack_cluster_share
    return {
        port: together(rows).count
        for port, rows in ports.items()
        if least * arriving.get(port, 0) <= total_ns(rows) <= arriving.get(port, 0) / least
        and looks_alike(model, connections, rows)
    }


def arriving_each_ns(exchange: Exchange) -> int:
    """Return how long requests took on average from their first byte read to their last."""
    return exchange.line.arriving_ns // max(1, exchange.line.count)


def arrivals_finding(model: Model) -> Finding | None:
    """Return the finding on such requests; None where there are none."""
    late = delayed_arrivals(model)
    if not late:
        return None
    whole_ns = sum(each.line.arriving_ns for each in model.exchanges if each.served)
    late_ns, count = sum(each.line.arriving_ns for each in late), _count(model, late)
    ns = model.request_time.accounts.get(ARRIVING, 0) * late_ns // whole_ns if model.request_time else 0
    held = _held_by_target(model, late_ns)
    return conclude(
        model,
        {ARRIVING: ns},
        headline="Requests come in pieces, and their rest waits for a delayed acknowledgement",
        claim=(
            f"{count:,} requests take {duration(late_ns // count)} each to arrive: the client writes a request in small"
            " pieces, and its kernel holds the last one back until this kernel acknowledges the others, which it delays"
            " by 40 ms."
        ),
        mechanism=Mechanism.SLOW,
        severity=severity(model, 0, ns),
        best=Confidence.HIGH if held else Confidence.MEDIUM,
        doubts=["" if held else "the clients' writes were not seen"],
        evidence=[
            Evidence(
                f"{duration(late_ns)} from first byte to last in {count:,} requests", float(late_ns), "ns", "sockets"
            ),
            *evidence_of(model),
        ],
        remedies=[
            fix(
                "set TCP_NODELAY in the client, or let it write each request at once (writev, a buffer); strace -f -T"
                " -e trace=write,sendto,sendmsg there shows the pieces"
            )
        ],
        alternatives=[] if held else ["clients that themselves pause for 40 ms"],
        verify=time_under(model, ARRIVING),
    )


def _count(model: Model, late: Sequence[Exchange]) -> int:
    """Return how many of them come in pieces: as many as waits, where their mean is not as long."""
    if any(arriving_each_ns(each) >= DELAY_NS[0] for each in late):
        return sum(each.line.count for each in late)
    return sum(_waited_for(model)[port] for port in {each.line.object for each in late})


def _held_by_target(model: Model, late_ns: int) -> bool:
    """Return whether the client is the target, of whose calls this kernel kept the last piece back for most of that."""
    return 2 * sum(call.line.held_ns or 0 for call in own_calls(model.exchanges)[0]) >= late_ns
