"""What the target sent by UDP and what came back: a peer that answers nothing, or to whom news is sent."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from perfdiag.common.units import plural
from perfdiag.diagnosis.evidence.network.peers import name_of
from perfdiag.diagnosis.rule import Evidence
from perfdiag.model.model import Model

# Of so many datagrams sent, less than one in two had anything come back: they need not be questions.
ANSWERED = 0.5


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
        """Return whether most of `waits` ended by their own timeout, and most of what was sent had no answer: who
        publishes and listens for a heartbeat in between does that, and who asks a peer that loses most questions."""
        return 0 < self.received < min(ANSWERED * self.sent, ANSWERED * waits)

    @property
    def evidence(self) -> list[Evidence]:
        """Return how many there were; nothing without any."""
        text = f"{plural(self.sent, 'datagram')} sent, {self.received:,} came back"
        return [Evidence(text, float(self.sent), "count", "sockets")] if self.sent else []


def datagrams(model: Model, keys: Iterable[str]) -> Datagrams:
    """Return what was sent to the peers `keys`, and what they sent."""
    wanted = set(keys)
    lines = [each.line for each in model.exchanges if each.line.direction == "datagram" and each.line.object in wanted]
    return Datagrams(sum(line.unawaited for line in lines), sum(line.untimed for line in lines))


def unanswered(model: Model) -> dict[str, int]:
    """Return how many datagrams peers got that sent nothing back though somebody watches for that, by their names, most
    first.  Who feeds others does not look at what comes."""
    found: dict[str, int] = {}
    for each in model.exchanges:
        line = each.line
        if line.direction == "datagram" and line.awaited and not line.untimed:
            found[name_of(line.object, each.object)] = line.unawaited
        if line.direction == "lookup" and line.awaited and not line.count:
            found[name_of(line.object, each.object)] = line.open + line.retries + line.unanswered
    return dict(sorted(found.items(), key=lambda item: -item[1]))


__all__ = ["Datagrams", "datagrams", "unanswered"]
