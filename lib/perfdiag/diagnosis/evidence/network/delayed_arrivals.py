"""Requests that clients write in pieces, the rest of which waits until this kernel acknowledges the first piece."""

from collections.abc import Sequence

from perfdiag.diagnosis.evidence.fix_checks import time_under
from perfdiag.diagnosis.evidence.network.delayed_acks import DELAY_NS, counted, evidence_of
from perfdiag.diagnosis.evidence.requests.calls import severity
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.rule import Confidence, Evidence, Finding, Mechanism
from perfdiag.diagnosis.significance import duration, fix
from perfdiag.model.model import Model, once
from perfdiag.model.requests.exchanges import Exchange, own_calls
from perfdiag.model.requests.request_time import ARRIVING


@once
def delayed_arrivals(model: Model) -> Sequence[Exchange]:
    """Return the requests that arrive as late as an acknowledgement does which this kernel delays, where it delayed one
    for at least every other of them; nothing where the time of requests is not known."""
    late = [each for each in model.exchanges if each.served and DELAY_NS[0] <= arriving_each_ns(each) < DELAY_NS[1]]
    seen = counted(model)
    if model.request_time is None or seen is None or 2 * seen < sum(each.line.count for each in late):
        return []
    return late


def arriving_each_ns(exchange: Exchange) -> int:
    """Return how long requests took on average from their first byte read to their last."""
    return exchange.line.arriving_ns // max(1, exchange.line.count)


def arrivals_finding(model: Model) -> Finding | None:
    """Return the finding on such requests; None where there are none."""
    late = delayed_arrivals(model)
    if not late:
        return None
    whole_ns = sum(each.line.arriving_ns for each in model.exchanges if each.served)
    late_ns, count = sum(each.line.arriving_ns for each in late), sum(each.line.count for each in late)
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


def _held_by_target(model: Model, late_ns: int) -> bool:
    """Return whether the client is the target, of whose calls this kernel kept the last piece back for most of that."""
    return 2 * sum(call.line.held_ns or 0 for call in own_calls(model.exchanges)[0]) >= late_ns
