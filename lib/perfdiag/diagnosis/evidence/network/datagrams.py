"""UDP datagrams sent and received: peers that answer nothing, and one-way feeds."""

from collections.abc import Iterable
from dataclasses import dataclass

from perfdiag.common.units import plural
from perfdiag.diagnosis.evidence.peers import name_of
from perfdiag.diagnosis.policy import network_policy
from perfdiag.diagnosis.rule import Evidence
from perfdiag.model.model import Model


@dataclass(frozen=True)
class Datagrams:
    """Datagrams to some peers, and from them."""

    sent: int
    received: int

    @property
    def unanswered(self) -> bool:
        """Whether nothing came back."""
        return self.sent > 0 and not self.received

    def may_be_news(self, waits: int) -> bool:
        """Return whether most of `waits` timed out and most datagrams had no answer: a publisher that listens for
        heartbeats looks like that, and so does a client whose peer loses most requests."""
        return (
            0
            < self.received
            < min(network_policy.datagrams_answered_share * self.sent, network_policy.datagrams_answered_share * waits)
        )

    @property
    def evidence(self) -> list[Evidence]:
        """Return how many there were; nothing without any."""
        text = f"{plural(self.sent, 'datagram')} sent, {self.received:,} came back"
        return [Evidence(text, float(self.sent), "count", "sockets")] if self.sent else []


def datagrams(model: Model, keys: Iterable[str]) -> Datagrams:
    """Return the datagrams sent to and received from the peers `keys`."""
    wanted = set(keys)
    lines = [each.line for each in model.exchanges if each.line.direction == "datagram" and each.line.object in wanted]
    return Datagrams(sum(line.unawaited for line in lines), sum(line.untimed for line in lines))


def unanswered(model: Model) -> dict[str, int]:
    """Return how many datagrams went to peers that sent nothing back though a thread watches for answers, by peer, most
    first. A sender that never reads does not count."""
    found: dict[str, int] = {}
    for each in model.exchanges:
        line = each.line
        if line.direction == "datagram" and line.awaited and not line.untimed:
            found[name_of(line.object, each.object)] = line.unawaited
        if line.direction == "lookup" and line.awaited and not line.count:
            found[name_of(line.object, each.object)] = line.open + line.retries + line.unanswered
    return dict(sorted(found.items(), key=lambda item: -item[1]))
