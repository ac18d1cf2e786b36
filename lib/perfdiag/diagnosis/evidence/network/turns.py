"""Turns to call a peer whose calls are limited: where requests wait for them, and what keeps them."""

from collections.abc import Mapping
from dataclasses import replace

from perfdiag.common.by_key import sums_by_key
from perfdiag.diagnosis.evidence.locks.wait_paths import by_pair
from perfdiag.diagnosis.evidence.network.concurrency_limits import Limit, limits
from perfdiag.diagnosis.evidence.peers import name_of
from perfdiag.diagnosis.policy import general_policy, locks_policy, requests_policy
from perfdiag.diagnosis.rule import Claim, Finding, Mechanism, Remedy, Severity
from perfdiag.diagnosis.significance import fix, plain
from perfdiag.model.model import Model
from perfdiag.model.requests.request_time import REST, RequestTime
from perfdiag.model.stacks.scripts import is_line, of_others, waits_in
from perfdiag.recording.accounts import PARKED

_MOSTLY = 0.5  # of the time on futexes, from which on its holder is what the limit is, or where it began the place is
_LONGEST_PLACE = 50  # characters


def with_limit(model: Model, finding: Finding, key: str) -> Finding:
    """Return a finding on a slow peer, with the limit of calls to it if requests wait at one.

    If that limit is reached all the time, their time is claimed for the peer.
    """
    limit = limits(model).get(key)
    if limit is None or finding.mechanism not in (Mechanism.SLOW, Mechanism.SLEEP):
        return finding
    path = is_path(model, limit)
    if not path and (limit.is_of_slow_peer or finding.mechanism is Mechanism.SLEEP):
        return finding  # the limit is told by itself
    calls, are = ("calls", "are") if limit.most > 1 else ("call", "is")
    name = name_of(key, limit.call.object)
    waiting = max(1, round(limit.waiting))
    time, claims, is_root = model.request_time, {}, finding.is_root
    if path and finding.severity is not Severity.INFO and time:
        claims, is_root = turn_claims(model, time, limit), True
    more = f"At most {limit.most} {calls} {are} under way to it at a time; {waiting} requests wait for their turn."
    return replace(
        finding,
        claim=f"{finding.claim} {more}",
        claims={**claims, **finding.claims},
        is_root=is_root,
        inside=finding.inside or bool(claims),  # requests wait in the target, too
        headline=f"{finding.headline}; at most {limit.most} {calls} to it at a time",
        remedies=[*finding.remedies[:1], raising(limit, name), *finding.remedies[1:]],
    )


def turn_claims(model: Model, time: RequestTime, limit: Limit) -> dict[Claim, int]:
    """Return where requests wait for their turn: in no account, as in event loops, or on futexes of unknown purpose.
    Nowhere if other accounts explain most of it."""
    wanted_ns = round(limit.part * time.ns)
    rest_ns = min(wanted_ns, time.accounts.get(REST, 0))
    parked_ns = sum(ns for pair, ns in time.rows.items() if pair[0] == PARKED)
    if rest_ns + parked_ns < requests_policy.limit_unexplained_share * wanted_ns:
        return {}
    claims: dict[Claim, int] = {REST: rest_ns} if rest_ns else {}
    return claims | _parked(model, time, wanted_ns - rest_ns)


def _parked(model: Model, time: RequestTime, wanted_ns: int) -> dict[Claim, int]:
    """Return the futexes, the longest first, that make up this much of the requests' time."""
    found: dict[Claim, int] = {}
    rows = [(ns, pair) for pair, ns in time.rows.items() if pair[0] == PARKED and ns]
    for ns, pair in sorted(rows, reverse=True):
        part_ns = min(ns, wanted_ns)
        if part_ns <= 0:
            break
        found[pair] = by_pair(model).get(pair, 0) * part_ns // ns
        wanted_ns -= part_ns
    return found


def is_path(model: Model, limit: Limit) -> bool:
    """Return whether a limit is no more than the way to a slow peer, which leaves room for all if it is faster.

    Where each call makes its own connection, what is limited is something else, which requests keep during the call:
    the peer is what the turn is spent in, but not why there are so few.
    """
    time = model.request_time
    if not limit.is_of_slow_peer or limit.is_of_connections or time is None:
        return limit.is_of_slow_peer
    return not is_kept(model, limit, turn_claims(model, time, limit))


def is_kept(model: Model, limit: Limit, claims: Mapping[Claim, int]) -> bool:
    """Return whether requests' waits on futexes were for threads that waited for that peer. Of a long queue only the
    last few threads are followed, and stand for the others."""
    behind = [chain for chain in model.chains if chain.inside and (chain.account, chain.key) in claims]
    followed_ns = sum(chain.ns for chain in behind if chain.root != PARKED)
    for_peer_ns = sum(chain.ns for chain in behind if chain.root_key == limit.call.line.object)
    parked_ns = sum(ns for claim, ns in claims.items() if not isinstance(claim, str))
    followed = followed_ns >= locks_policy.queue_followed_share * parked_ns
    return parked_ns > 0 and followed and for_peer_ns >= _MOSTLY * followed_ns


def place_of(model: Model, claims: Mapping[Claim, int]) -> str:
    """Return the program's own function in which most requests wait for their turn, "" if that is not known."""
    keys = [claim[1] for claim in claims if not isinstance(claim, str)]
    stacks = [stack for key in keys for stack in model.wait_stacks(PARKED, key=key)]
    if sum(stack.count for stack in stacks) < general_policy.waits_for_path:
        return ""
    weights = sums_by_key((waits_in(stack).partition(", through ")[0], stack.weight_ns) for stack in stacks)
    name = max(weights, key=lambda each: weights[each])
    own = is_line(name) or not of_others(name)
    mostly = name and weights[name] >= _MOSTLY * sum(weights.values())
    return plain(name) if own and mostly and len(name) <= _LONGEST_PLACE else ""


def raising(limit: Limit, name: str) -> Remedy:
    """Return the remedy for a limit."""
    kinds = f"a pool of connections or threads, a maxconn or a semaphore of size {limit.most}"
    if limit.most == 1:
        kinds = "a lock that is held over the call, or a single connection or thread"
    return fix(f"raise the limit, if {name} can take more: look for {kinds}; else make fewer or faster calls")
