"""Answers that are lost on their way to clients and sent again: part of NET-RETRANSMITS."""

from perfdiag.common.units import plural
from perfdiag.diagnosis.evidence.fix_checks import time_under
from perfdiag.diagnosis.evidence.requests.calls import felt, not_followed, severity
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.rule import Evidence, Finding, Mechanism, Severity
from perfdiag.diagnosis.significance import duration, fix, percent, plain
from perfdiag.model.model import Model
from perfdiag.model.requests.exchanges import Exchange
from perfdiag.model.requests.request_time import RESENT

FIND_DROPS = fix(
    "find out where packets are dropped: ip -s link on this host, the switch port, rate limits, the peer; ping with"
    " full-sized packets (ping -M do -s 1472 PEER) shows a wrong MTU"
)


def resent_answers(model: Model) -> Finding | None:
    """Return one finding for all names together, or None if clients hardly wait for what is sent again."""
    resent = sorted((each for each in model.exchanges if each.served and _ns(each)), key=lambda each: -_ns(each))
    lost_ns = sum(map(_ns, resent))
    of_requests_ns = model.request_time.accounts.get(RESENT, 0) if model.request_time else 0
    if not resent or (model.request_time is not None and not felt(model, 0, of_requests_ns)):
        return None
    how = severity(model, 0, of_requests_ns, loop_ns=lost_ns)
    if model.request_time is None and how is Severity.INFO:
        return None
    answers, lost = sum(each.line.count for each in resent), sum(each.line.resent for each in resent)
    part = percent(lost / max(1, answers))
    return conclude(
        model,
        {RESENT: of_requests_ns} if of_requests_ns else {},
        headline=f"Answers to clients are lost on the way and sent again: {part} of those on {plain(resent[0].object)}",
        claim=(
            f"{lost:,} of {plural(answers, 'answer')} did not reach the client at once: this host sent them again after"
            f" timeouts, which took {duration(lost_ns // max(1, lost))} each or longer."
        ),
        mechanism=Mechanism.FAILED,
        severity=how,
        doubts=[not_followed(model)],
        evidence=[_evidence(each) for each in resent[:2]],
        remedies=[FIND_DROPS],
        alternatives=["acknowledgements of the clients are lost", "clients vanish without closing their connections"],
        verify=time_under(model, RESENT),
    )


def _ns(exchange: Exchange) -> int:
    return exchange.line.resent_ns or 0


def _evidence(each: Exchange) -> Evidence:
    text = f"{duration(_ns(each))} of timeouts after the last byte of {each.line.resent:,} answers {each.title}"
    return Evidence(text, float(_ns(each)), "ns", "tcp_retransmit_skb")
