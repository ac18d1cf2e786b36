"""Answers whose end the kernel holds back: until the client has acknowledged the rest (part of NET-DELAYED-ACK), or
until the target sends more (part of NET-CORKED)."""

from collections.abc import Sequence
from dataclasses import dataclass

from perfdiag.common.units import plural
from perfdiag.diagnosis.evidence.fix_checks import time_under
from perfdiag.diagnosis.evidence.network.delayed_acks import without_delay
from perfdiag.diagnosis.evidence.network.full_paths import held_ns, holds_back
from perfdiag.diagnosis.evidence.requests.calls import felt, not_followed, severity
from perfdiag.diagnosis.evidence.target import subject
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import network_policy
from perfdiag.diagnosis.rule import LOST_PACKETS, Evidence, Finding, Mechanism, Severity
from perfdiag.diagnosis.significance import duration, fix
from perfdiag.model.model import Model
from perfdiag.model.requests.exchanges import Exchange
from perfdiag.model.requests.request_time import CORKED, HELD

Parts = Sequence[tuple[int, Exchange]]  # for how many ns the last piece of which was kept back


@dataclass(frozen=True)
class Kept:
    """Exchanges of which the last piece was kept back, and of requests how long that was, of all their time."""

    parts: Parts
    of_requests_ns: int = 0
    severity: Severity = Severity.INFO

    def ns(self) -> int:
        """Return for how long, all together."""
        return sum(ns for ns, _ in self.parts)

    def mean(self) -> str:
        """Return for how long each was."""
        return duration(self.ns() // max(1, sum(each.line.count for _, each in self.parts)))

    def evidence(self, noun: str = "request") -> list[Evidence]:
        """Return the names of which most time was kept back."""
        return [_evidence(ns, each, noun) for ns, each in self.parts[:2]]


def _evidence(ns: int, each: Exchange, noun: str) -> Evidence:
    line = each.line
    text = f"{duration(ns)} of {duration(line.sum_ns)} in {plural(line.count, noun)} {each.title}"
    return Evidence(f"{text} after their last byte was written", float(ns), "ns", "tcp_sock")


def held_answers(model: Model) -> Finding | None:
    """Return one finding for all names together, or None if clients hardly wait for the ends of answers."""
    served = (each for each in model.exchanges if each.served and not holds_back(model, each))
    of_path_ns = held_ns(model, lost=True) + held_ns(model, lost=False)
    held = _kept(model, HELD, [(each.line.held_ns or 0, each) for each in served], of_path_ns)
    if held is None:
        return None
    return conclude(
        model,
        {HELD: held.of_requests_ns} if held.of_requests_ns else {},
        headline="The kernel holds answers back until clients acknowledge their first pieces",
        claim=(
            f"Answers leave this host late: {subject(model)} writes them in small pieces, and the kernel holds the last"
            f" piece back until the client has acknowledged the others, {held.mean()} each."
        ),
        mechanism=Mechanism.SLOW,
        severity=held.severity,
        doubts=[not_followed(model)],
        evidence=held.evidence(),
        remedies=[
            fix(
                f"set {without_delay(model)} on the accepted connections, or write each answer at once: writev, a"
                " buffer, TCP_CORK (strace -f -T -e trace=write,writev,sendto,sendmsg,sendfile shows the pieces)"
            )
        ],
        alternatives=[LOST_PACKETS],
        verify=time_under(model, HELD),
    )


def corked_answers(model: Model) -> Kept | None:
    """Return the answers whose last piece waited for more from the target, or None if clients hardly wait for these."""
    return _kept(model, CORKED, [(each.line.corked_ns or 0, each) for each in model.exchanges if each.served])


def _kept(model: Model, account: str, parts: Parts, of_path_ns: int = 0) -> Kept | None:
    """Return those that are kept back, without `of_path_ns` of the requests' time in the account; None if that hardly
    matters."""
    time = model.request_time
    # Where the time of requests is not known, a name counts whose answers are mostly held.
    least = network_policy.retransmits_explain_share if time is None else 0
    found = [(ns, each) for ns, each in parts if ns and ns >= least * each.line.sum_ns]
    kept_ns = sum(ns for ns, _ in found)
    if kept_ns < network_policy.answers_kept_ns:
        return None
    of_requests_ns = time.accounts.get(account, 0) - of_path_ns if time else 0
    if time is not None and not felt(model, 0, of_requests_ns):
        return None
    how = severity(model, 0, of_requests_ns, loop_ns=kept_ns)
    if time is None and how is Severity.INFO:
        return None
    return Kept(sorted(found, key=lambda part: -part[0]), of_requests_ns, how)
