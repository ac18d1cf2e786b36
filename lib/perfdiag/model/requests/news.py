"""Requests that are meant to wait for news, as in long polling: their waiting is no cause."""

from collections.abc import Sequence

from perfdiag.model.requests.exchanges import Exchange
from perfdiag.model.requests.parked_time import Parked
from perfdiag.recording.accounts import PARKED

# Of requests that are meant to wait most do: the one in the middle takes at least this part of what long ones take.
MEANT = 0.1
# Requests, and those of a name, wait for news if they do for this part of their time.
MOSTLY = 0.5


def without_news(exchanges: Sequence[Exchange], parked: Parked) -> list[Exchange]:
    """Return the requests and calls without requests of names that mostly wait for news: they
    would hide what all others wait for."""
    whole_ns = sum(each.line.sum_ns for each in exchanges if each.served)
    if parked.outside_ns <= MOSTLY * whole_ns:
        return list(exchanges)
    return [each for each in exchanges if not (each.served and _parked(each) and is_meant_to_wait(each))]


def is_meant_to_wait(exchange: Exchange) -> bool:
    """Return whether most requests of a name take as long as those that take most of their time: where a few wait for
    what others got at once, it is kept from them."""
    median_ns = exchange.median_ns
    return median_ns is None or median_ns >= MEANT * exchange.whole.typical_ns()


def _parked(exchange: Exchange) -> bool:
    ns = sum(part.sum_ns for part in exchange.line.accounts if part.account == PARKED)
    return ns > MOSTLY * exchange.line.sum_ns
