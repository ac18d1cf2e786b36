"""What is asked of the peer that a finding falls on: calls whose text shows it, of HTTP/1, Redis and memcached.

Somebody on call knows what a service offers, not at which address and port it does.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from perfdiag.common.by_key import groups_by_key, sums_by_key
from perfdiag.common.units import plural
from perfdiag.diagnosis.evidence.requests.calls import by_peer
from perfdiag.diagnosis.evidence.requests.error_statuses import name_of as status_name
from perfdiag.diagnosis.evidence.target import subject
from perfdiag.diagnosis.policy import network_policy
from perfdiag.diagnosis.rule import Claim, Evidence, Finding, Mechanism
from perfdiag.diagnosis.significance import about, fix, plain, with_room
from perfdiag.model.model import Model
from perfdiag.model.requests.exchanges import Exchange
from perfdiag.model.requests.named_calls import NamedCall, named_calls
from perfdiag.model.requests.request_time import PEERS
from perfdiag.model.waits.calls_for_work import FROM_PEERS, WAITING_COMMANDS
from perfdiag.recording import schema

_STATUSES = 3  # of one name
_REPLICAS = (
    "see whether it has as many replicas as WAIT asks for, and why they confirm so late: redis-cli INFO replication"
)
_FEWEST_TIMES = 0.05  # a request, below which that says nothing: most requests make no such call


def with_calls(model: Model, findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings; one whose time is mostly waiting for one peer says what takes most of that peer's time."""
    asked = _most_asked(model) if model.named_calls else {}
    return [_on_one(model, finding, asked) for finding in findings] if asked else list(findings)


@dataclass(frozen=True)
class _Asked:
    """What takes most of the time of the calls to one peer."""

    name: str
    count: int
    ns: int
    times: float  # so often a request asks for it that may; 0: no such request is known
    peer: Exchange  # all calls there
    for_work: Sequence[NamedCall]  # of these, those in which nobody waits for an answer
    errors: Sequence[schema.Answer]  # of these, those answered with errors

    @property
    def part(self) -> float:
        """Its part of all that is waited for there; of an answer that never came nothing tells what was asked."""
        if self.count >= self._answered + self.peer.line.unanswered:
            return 1.0
        whole_ns = max(self.peer.waited_ns, self.peer.lasted_ns) - sum(each.line.sum_ns for each in self.for_work)
        return min(1.0, self.ns / whole_ns) if whole_ns > 0 else 0.0

    @property
    def _answered(self) -> int:
        return self.peer.line.count - sum(each.line.count for each in self.for_work)

    @property
    def text(self) -> str:
        often = f", {self.times:.1f} a request" if self.times >= _FEWEST_TIMES else ""
        calls = plural(max(self.count, self._answered), "call")
        return f"{self.count:,} of {calls} there{often}, {about(self.ns / self.count)} each: {self.name}{self._errors}"

    @property
    def title(self) -> str:
        """Return what is asked, and the error that most of that time is waited for: "GET /cart, with 504"."""
        most = max(self.errors, key=lambda each: each.sum_ns, default=None)
        of_most = most and 2 * most.sum_ns >= self.ns
        return f"{self.name}, with {plain(status_name(most.status))}" if most and of_most else self.name

    @property
    def _errors(self) -> str:
        told = sorted(self.errors, key=lambda each: -each.sum_ns)[:_STATUSES]
        return "".join(
            f"; {each.count:,} answered with {plain(status_name(each.status))}, {about(each.sum_ns / each.count)} each"
            for each in told
            if each.count
        )


def _most_asked(model: Model) -> dict[str, _Asked]:
    """Return by peer what takes at least half of the time of all calls to it.

    Where no requests are served, those that ask it for work are told as idle time.
    """
    calls = [each for each in named_calls(model.named_calls, model.exchanges) if each.line.has_name and each.line.count]
    idle = WAITING_COMMANDS if model.request_time is None else frozenset()
    for_work = groups_by_key((each.line.object, each) for each in calls if each.line.name in idle)
    named = groups_by_key((each.line.object, each) for each in calls if each.line.name not in idle)
    peers = by_peer(model, "connected")
    errors = groups_by_key(((each.object, each.name), each) for each in model.answers if each.direction == "connected")
    found = {key: _most(peers[key], each, errors, for_work.get(key, ())) for key, each in named.items() if key in peers}
    return {key: asked for key, asked in found.items() if asked.part >= network_policy.one_call_share}


def _most(
    peer: Exchange,
    calls: Sequence[NamedCall],
    errors: Mapping[tuple[str, str], Sequence[schema.Answer]],
    for_work: Sequence[NamedCall],
) -> _Asked:
    names = groups_by_key((each.line.name, each) for each in calls)
    same = max(names.values(), key=lambda group: sum(each.line.sum_ns for each in group))
    owned, requests = sum(each.line.owned for each in same), sum(each.requests for each in same)
    return _Asked(
        plain(same[0].line.name),
        sum(each.line.count for each in same),
        sum(each.line.sum_ns for each in same),
        owned / requests if requests else 0.0,
        peer,
        for_work,
        errors.get((peer.line.object, same[0].line.name), ()),
    )


def _on_one(model: Model, finding: Finding, asked: Mapping[str, _Asked]) -> Finding:
    waits = sums_by_key((_peer_of(finding, claim), ns) for claim, ns in finding.claims.items())
    key = max(waits, key=lambda name: waits[name], default="")
    if key not in asked or 2 * waits[key] < sum(waits.values()):
        return finding
    most = asked[key]
    if most.name in WAITING_COMMANDS:
        return _waits_as_asked(model, finding, most)
    headline = f"{finding.headline}: {most.title}"
    return replace(
        finding,
        headline=with_room(headline, finding.headline),
        evidence=[*finding.evidence, Evidence(most.text, float(most.count), "count", "sockets")],
    )


def _waits_as_asked(model: Model, finding: Finding, most: _Asked) -> Finding:
    """Return the finding on commands that the peer was asked to answer late: no fault of its own."""
    what, remedy = "what another client puts there", "see who puts there what it waits for, and why so late"
    if most.name.startswith("WAIT"):
        what, remedy = "its replicas", _REPLICAS
    said = f"{subject(model, begin=True)} waits in {most.name} at {plain(most.peer.object)} for {what}"
    return replace(
        finding,
        headline=said,
        claim=f"{said}: that command is answered when it is there, or its time is up.",
        mechanism=Mechanism.UNDETERMINED,
        evidence=[*finding.evidence, Evidence(most.text, float(most.count), "count", "sockets")],
        remedies=[fix(remedy)],
        others=(),
    )


def _peer_of(finding: Finding, claim: Claim) -> str:
    """Return the key of the peer whose answers that part of a finding's time is waiting for; "": it is none."""
    if isinstance(claim, str):
        return finding.peer if claim == PEERS else ""
    account, key = claim
    return key if account in FROM_PEERS else ""
