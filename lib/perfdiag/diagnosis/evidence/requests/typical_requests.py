"""Whether a pool of workers would do if all requests took as long as its typical one does, once it is read.

A pool is full because its workers are in something. If that is what nearly every request takes, the pool is too small
for its work, and more workers give back the time in which requests wait in line. If it is what a few take, far longer
than the typical one, any number of workers may be held by these: what they wait for is the cause, and the pool is only
the way on which others come to wait for it. Known by name: of requests of one name no two are told apart.
"""

from collections.abc import Sequence

from perfdiag.common.units import duration, first_of, plural
from perfdiag.diagnosis.policy import requests_policy
from perfdiag.diagnosis.rule import Evidence
from perfdiag.model.model import Model, once
from perfdiag.model.requests.exchanges import Exchange

SHOWN = 2  # names


@once
def that_hold_workers(model: Model) -> list[Exchange]:
    """Return the few requests, by name, that take far longer than the typical one, and together most of the workers'
    time; none where that is not so."""
    served = sorted((each for each in model.exchanges if each.served and each.line.count), key=_each_ns)
    count, whole_ns = sum(each.line.count for each in served), sum(map(taken_ns, served))
    seen, typical_ns = 0, 0.0
    for each in served:
        seen += each.line.count
        typical_ns = _each_ns(each)
        if 2 * seen >= count:
            break
    long = [each for each in served if _each_ns(each) >= requests_policy.long_factor * typical_ns]
    many = 2 * sum(each.line.count for each in long) >= count
    return [] if many or sum(map(taken_ns, long)) < requests_policy.long_part_share * whole_ns else long


def held_by(few: Sequence[Exchange]) -> list[Evidence]:
    """Return as evidence which requests these are, and how long each takes."""
    if not few:
        return []
    count, ns = sum(each.line.count for each in few), sum(map(taken_ns, few))
    names = first_of([each.title for each in sorted(few, key=taken_ns, reverse=True)], SHOWN)
    text = f"workers are held by {plural(count, 'request')} {names}: once read, {duration(ns / count)} each"
    return [Evidence(text, ns / count, "ns", "sockets")]


def taken_ns(exchange: Exchange) -> int:
    """Return how long requests of a name took once they were read."""
    return max(0, exchange.line.sum_ns - exchange.line.read_delay_ns)


def _each_ns(exchange: Exchange) -> float:
    return taken_ns(exchange) / exchange.line.count
