"""Look-ups in caches that find nothing."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.settings.unusual import Unusual
from perfdiag.diagnosis.settings.unusual_settings import unusual_settings

from unit.support import Builder
from unit.support.exchanges import exchange, latency, named_call

CACHE = "peer:10.0.0.5:8080"
MS = 1_000_000


def told(missed: int, count: int, each_ms: int, found_ms: int, *calls: object, name: str = "GET") -> list[Unusual]:
    """Return what is told of requests that look something up once each: how long each takes that misses, or not."""
    whole_ns = (missed * each_ms + (count - missed) * found_ms) * MS
    builder = Builder(window="10 s").thread("app", cpu_user="8 s")
    builder.line(
        exchange(
            count, whole_ns, {"cpu.user": whole_ns}, name="GET /cart", missed=missed, missed_ns=missed * each_ms * MS
        )
    )
    builder.line(latency([whole_ns // count] * count, name="GET /cart"))
    for call in (named_call(name, count, 1, object=CACHE, missed=missed), *calls):
        builder.line(call)
    return [each for each in unusual_settings(builder.model()) if "look-up" in each.text]


def test_the_difference_is_what_misses_cost() -> None:
    (line,) = told(75, 100, each_ms=50, found_ms=10)
    assert line.text == "75 of 100 look-ups (GET) in the cache 10.0.0.5:8080 find nothing"
    assert line.effect == "75 requests that missed something took 50 ms each, those that found all 10 ms"
    assert line.ns == 75 * 40 * MS and line.explains


def test_requests_that_miss_and_are_as_fast_lose_nothing() -> None:
    assert not told(75, 100, each_ms=10, found_ms=10)


@pytest.mark.parametrize(("missed", "count"), [(19, 20), (49, 100)])
def test_a_cache_misses_some(missed: int, count: int) -> None:
    assert not told(missed, count, each_ms=50, found_ms=1)


def test_what_is_rarely_there_costs_nothing_that_is_known_where_all_miss() -> None:
    assert not told(100, 100, each_ms=50, found_ms=0)


def test_of_two_that_miss_nobody_knows_which_costs_what() -> None:
    other = named_call("GET", 100, 1, object="peer:10.0.0.6:11211", missed=75)
    assert not told(75, 100, 50, 10, other)


def test_who_fills_the_cache_had_to_make_what_it_lacked() -> None:
    (line,) = told(100, 100, 50, 0, named_call("SET", 60, 1, object=CACHE))
    assert line.explains and line.effect == "100 requests that missed something took 50 ms each"


def test_an_empty_queue_is_no_cache() -> None:
    assert not told(100, 100, 50, 0, name="LPOP")
    assert not told(75, 100, 50, 10, named_call("LPOP", 90, 1, object=CACHE, missed=80))
