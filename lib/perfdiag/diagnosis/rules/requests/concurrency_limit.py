"""CONCURRENCY-LIMIT: a pool, maxconn, a semaphore or a lock limits the calls to a peer, and requests wait for their
turn.

POOL-SATURATED is another mechanism: nobody has read the requests there; here they were read, and wait to call.
The limit stands first where the peer answers fast, or would have answered more at once: it is reached in bursts. If it
is reached all the time and the peer is slow, NET-PEER-SLOW stands first with the number: a faster peer leaves room. But
where each call makes a connection of its own, the limit is one of something else, which requests keep during the call:
as a pool of connections to a database.
"""

from collections.abc import Iterable
from dataclasses import replace

from perfdiag.diagnosis.evidence.fix_checks import measured
from perfdiag.diagnosis.evidence.network.concurrency_limits import Limit, limits
from perfdiag.diagnosis.evidence.network.turns import is_kept, is_path, place_of, raising, turn_claims
from perfdiag.diagnosis.evidence.peers import name_of
from perfdiag.diagnosis.evidence.requests.calls import not_followed, without_time
from perfdiag.diagnosis.evidence.target import subject
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import general_policy
from perfdiag.diagnosis.rule import Check, Claim, Evidence, Finding, Mechanism, Outcome, Remedy, Severity, Silence, rule
from perfdiag.diagnosis.significance import about, brief, fix, percent
from perfdiag.model.model import Model
from perfdiag.model.requests.request_time import REST
from perfdiag.recording.accounts import PARKED

ID = "CONCURRENCY-LIMIT"


@rule(
    ID,
    title="Requests wait for their turn to call a peer",
    accounts=(REST, PARKED),
    meaning="The target has a limited number of calls to a peer under way; other requests wait until one of them is"
    " answered. A pool of connections or threads, maxconn of HAProxy or nginx, a semaphore, and a lock held"
    " over a call all do that.",
    measured="How long how many calls to a peer were outstanding, and how many requests in progress (read, but not"
    " answered at all). The largest number of calls is a limit if it was held for more than half of the"
    " time with more requests in progress, at least 20 answers came meanwhile, 90 % of those with more"
    " requests in progress while one had no call under way, and requests took longer than their calls, or more of"
    " them have no answer yet than have one, and wait for longer than that. Claimed is waiting without a call that no"
    " other account explains. From 32 calls on several numbers count together, and from 128 on no limit is reported.",
    alternatives="Several calls share one connection (HTTP/2, pipelines): the number is then that of connections,"
    " and requests wait in the peer. No limit is reported if calls wait for their answers for less"
    " than half of their time, if frames of HTTP/2 were seen on the way to the peer, or if one call in a hundred"
    " was sent behind another. One thread does the work of all requests between their calls.",
    remedies="Raise the limit, if the peer can take more; else make fewer or faster calls. If the peer is slow"
    " (NET-PEER-SLOW), fix that first: the limit may protect it. If the limit is one of something else, as of"
    " connections to a database, give that back before the call.",
    verify="More calls are outstanding at once, and requests take as long as their calls.",
    beats=(
        *("CPU-OVERSUBSCRIBED", "LOCK-CONTENTION", "NET-CONNECT-SLOW", "NET-PEER-SLOW"),
        *("WAIT-THREAD-IN-REQUEST", "WAIT-TIMER-IN-REQUEST"),
    ),
    whole=True,
)
def concurrency_limit(model: Model) -> Iterable[Outcome]:
    """Yield one finding for each peer in front of which requests wait."""
    if not model.measured("requests"):
        yield without_time(model, ID, "no requests were served")
        return
    if model.requests_inside is None:
        yield Silence(ID, "the number of outstanding calls was not recorded", "record again with this perfdiag")
        return
    if lost := not_followed(model):
        yield Silence(ID, lost, "record for a shorter time, or fewer processes")
        return
    found = [made for limit in limits(model).values() if (made := _finding(model, limit))]
    yield from found
    if not found:
        most = max((each.line.most or 0 for each in model.exchanges), default=0)
        text = f"at most {most} calls to one peer outstanding, {model.requests_inside.most} requests in progress"
        yield Check(ID, f"{text}: no limit visible", float(most), "count")


def _finding(model: Model, limit: Limit) -> Finding | None:
    name = name_of(limit.call.line.object, limit.call.object)
    time = model.request_time
    claims = turn_claims(model, time, limit) if time else {}
    if time and not claims:
        return None
    waiting = max(1, round(limit.waiting))
    unexact = "" if limit.is_exact else "from 32 on, several levels share a bucket"
    several = (
        "" if len(limits(model)) == 1 else "calls to several peers have a limit, and requests may wait for any of them"
    )
    either = f"connections to {name} failed" if limit.refused else ""
    what, run = ("calls", "run") if limit.most > 1 else ("call", "runs")
    headline, own, remedies = _headline(model, limit, claims, name)
    made = conclude(
        model,
        claims,
        headline=headline,
        claim=(
            f"At most {limit.most} {what} to {name} {run} at a time; on average {waiting} requests wait for their"
            f" turn, up to {limit.waiting_most}. {own}."
        ),
        mechanism=Mechanism.LIMIT,
        severity=Severity.WARNING if limit.part >= general_policy.fault_share else Severity.INFO,
        doubts=[unexact, several, either],
        evidence=[_evidence(limit)],
        remedies=remedies,
        alternatives=["several calls at once on one connection (HTTP/2, pipelines), which count as one"],
        verify=measured(
            model, f"more than {limit.most} {what} to {name} at a time, and fewer than {waiting} requests wait"
        ),
    )
    # Who waits for a turn is woken by an answer to another request: that is the way to the limit, not the root.
    return replace(made, is_root=not is_path(model, limit))


def _headline(model: Model, limit: Limit, claims: dict[Claim, int], name: str) -> tuple[str, str, list[Remedy]]:
    """Return the headline, whose the limit is, and what to do."""
    what, run = ("calls", "run") if limit.most > 1 else ("call", "runs")
    place, kept = place_of(model, claims), is_kept(model, limit, claims)
    where = f"in {place}" if place else "for their turn"
    own = f"The limit is in {subject(model)}, which sends no more"
    if limit.refused:
        own = f"{limit.refused:,} connections to it failed: the limit may be its own"
    headline = f"Requests wait {where}: at most {limit.most} {what} to {brief(name)} {run} at a time"
    remedies = [raising(limit, name)]
    if kept and limit.most == 1:
        headline = f"Requests wait for a lock that is held over each call to {brief(name)}"
        own = "The thread that has the lock waits for the answer"
        remedies = [
            fix("make the call without the lock (hand it to a thread of its own by a queue), or make it shorter")
        ]
    elif kept and not limit.is_of_connections:
        headline += f", {about(limit.call.whole.typical_ns())} each" if limit.is_of_slow_peer else ""
        own += ": whoever has what the others wait for keeps it during the call"
        gives = f"what {place} gives" if place else "what others wait for"
        back = f"do not keep {gives} during calls to {brief(name)}: give it back before, or have more of it"
        remedies = [fix(back), *remedies]
    return headline, own, remedies


def _evidence(limit: Limit) -> Evidence:
    text = (
        f"never more than {limit.most} {'calls' if limit.most > 1 else 'call'} at a time, and as many for"
        f" {percent(limit.held)} of the time in which more requests were in progress"
    )
    return Evidence(text, limit.held, "share", "sockets")
