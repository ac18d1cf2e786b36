"""Answers whose end the kernel holds back until the client has acknowledged the rest: part of NET-DELAYED-ACK."""

from collections.abc import Sequence

from perfdiag.common.units import plural
from perfdiag.diagnosis.evidence.fix_checks import time_under
from perfdiag.diagnosis.evidence.network.delayed_acks import without_delay
from perfdiag.diagnosis.evidence.network.full_paths import held_ns, holds_back
from perfdiag.diagnosis.evidence.requests.calls import felt, not_followed, severity
from perfdiag.diagnosis.evidence.target import subject
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import network_policy
from perfdiag.diagnosis.rule import Evidence, Finding, Mechanism, Severity
from perfdiag.diagnosis.significance import duration, fix
from perfdiag.model.model import Model
from perfdiag.model.requests.exchanges import Exchange
from perfdiag.model.requests.request_time import HELD


def held_answers(model: Model) -> Finding | None:
    """Return one finding for all names together, or None if clients hardly wait for the ends of answers."""
    time = model.request_time
    # Where the time of requests is not known, a name counts whose answers are mostly held.
    least = network_policy.retransmits_explain_share if time is None else 0
    served = (each for each in model.exchanges if each.served and _ns(each) and not holds_back(model, each))
    held = sorted((each for each in served if _ns(each) >= least * each.line.sum_ns), key=lambda each: -_ns(each))
    of_path_ns = held_ns(model, lost=True) + held_ns(model, lost=False)
    of_requests_ns = time.accounts.get(HELD, 0) - of_path_ns if time else 0
    if not held or (time is not None and not felt(model, 0, of_requests_ns)):
        return None
    how = severity(model, 0, of_requests_ns, loop_ns=sum(map(_ns, held)))
    if time is None and how is Severity.INFO:
        return None
    return conclude(
        model,
        {HELD: of_requests_ns} if of_requests_ns else {},
        headline="The kernel holds answers back until clients acknowledge their first pieces",
        claim=(
            f"Answers leave this host late: {subject(model)} writes them in small pieces, and the kernel holds the last"
            f" piece back until the client has acknowledged the others, {_mean(held)} each."
        ),
        mechanism=Mechanism.SLOW,
        severity=how,
        doubts=[not_followed(model)],
        evidence=[_evidence(each) for each in held[:2]],
        remedies=[
            fix(
                f"set {without_delay(model)} on the accepted connections, or write each answer at once: writev, a"
                " buffer, TCP_CORK (strace -f -T -e trace=write,writev,sendto,sendmsg,sendfile shows the pieces)"
            )
        ],
        alternatives=["segments are lost on the way to the client: see NET-RETRANSMITS"],
        verify=time_under(model, HELD),
    )


def _ns(exchange: Exchange) -> int:
    return exchange.line.held_ns or 0


def _mean(held: Sequence[Exchange]) -> str:
    return duration(sum(map(_ns, held)) // max(1, sum(each.line.count for each in held)))


def _evidence(each: Exchange) -> Evidence:
    line = each.line
    text = f"{duration(_ns(each))} of {duration(line.sum_ns)} in {plural(line.count, 'request')} {each.title}"
    return Evidence(f"{text} after their last byte was written", float(_ns(each)), "ns", "tcp_sock")
