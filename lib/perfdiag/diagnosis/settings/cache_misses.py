"""Look-ups in a cache that find nothing: what they look for is made anew, which the cache was to save.

A cache that misses is fast, and no time is spent there.  What it costs is the difference between requests that have
looked up something that was not there, and those that have found all.
"""

from collections.abc import Collection, Iterator

from perfdiag.common.by_key import groups_by_key
from perfdiag.common.units import plural
from perfdiag.diagnosis.evidence.peers import name_of
from perfdiag.diagnosis.policy import requests_policy
from perfdiag.diagnosis.settings.unusual import CPU, Unusual
from perfdiag.diagnosis.significance import about, fix
from perfdiag.model.model import Model
from perfdiag.model.requests.request_time import PEERS
from perfdiag.recording import schema

# Commands of Redis and memcached that read what is under a key.  Others, too, are answered with nothing: who takes an
# element from an empty queue, or a lock that another holds (SET NX), is told no more than that he has to wait.
READS = frozenset({"GET", "GETEX", "GETS", "GAT", "GATS", "HGET", "MG"})
# What is made anew is put there by one of these.
WRITES = frozenset({"SET", "SETEX", "PSETEX", "ADD", "CAS", "MS", "HSET"})


def cache_misses(model: Model) -> Iterator[Unusual]:
    """Yield the caches in which most look-ups of requests find nothing."""
    calls = groups_by_key((line.object, line) for line in model.named_calls)
    all_missed = sum(line.missed for line in model.named_calls)
    for peer, lines in calls.items():
        names = {line.request for line in lines if line.missed}
        served = [each.line for each in model.exchanges if each.served and each.line.name in names]
        if served and _misses(lines, all_missed):
            yield from _of_cache(model, peer, lines, served)


def _misses(calls: Collection[schema.NamedCall], all_missed: int) -> bool:
    """Return whether most look-ups at a peer find nothing, and hardly anything else does, there or elsewhere: which of
    them a request has missed, and what it did because of that, is not told apart."""
    reads = [line for line in calls if line.name in READS]
    missed, count = sum(line.missed for line in reads), sum(line.count for line in reads)
    enough = max(requests_policy.cache_misses, requests_policy.cache_miss_share * count)
    return missed >= enough and all_missed - missed <= requests_policy.other_misses_share * missed


def _of_cache(
    model: Model, peer: str, calls: Collection[schema.NamedCall], served: Collection[schema.Exchange]
) -> Iterator[Unusual]:
    """Yield the cache, unless nothing tells that requests do something else where it lacks what they look for."""
    reads = [line for line in calls if line.name in READS]
    missed = sum(line.missed for line in reads)
    filled = sum(line.count for line in calls if line.name in WRITES) >= requests_policy.cache_filled_share * missed
    names = ", ".join(sorted({line.name for line in reads if line.missed}))
    name, lookups = name_of(peer, "a unix socket"), plural(sum(line.count for line in reads), "look-up")
    if not filled and not any(map(_other_ns, served)):
        return
    yield Unusual(
        f"{missed:,} of {lookups} ({names}) in the cache {name} find nothing",
        _effect(served),
        "answers of Redis and memcached",
        sum(map(_more_ns, served)),
        (*CPU, PEERS, "net.receive"),
        fix(
            f"see why {name} lacks what is asked for: too little memory (evictions), too short an expiry, or keys that"
            " differ each time"
        ),
        explains=CPU,
        loses_nothing=True,
    )


def _more_ns(line: schema.Exchange) -> int:
    """Return how much longer requests took that missed something than those of the same name that did not."""
    return max(0, line.missed_ns - int(line.missed * _other_ns(line)))


def _other_ns(line: schema.Exchange) -> float:
    """Return how long a request of these takes on average that finds all; 0: there are too few to tell."""
    others = line.count - line.missed
    return (line.sum_ns - line.missed_ns) / others if others >= requests_policy.cache_hits else 0.0


def _effect(lines: Collection[schema.Exchange]) -> str:
    """Return what a miss means for requests of the name that loses most by it."""
    most = max(lines, key=_more_ns)
    took = f"{plural(most.missed, 'request')} that missed something took {about(most.missed_ns / most.missed)} each"
    found = f", those that found all {about(_other_ns(most))}" if _other_ns(most) else ""
    return f"{took}{found}"
