"""CONCURRENCY-LIMIT: calls stand at one number while requests wait for their turn, as in front of a pool."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from perfdiag.diagnosis.claims import settle
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.evidence.network.concurrency_limits import limits
from perfdiag.diagnosis.rule import Confidence, Mechanism, Severity, is_elsewhere
from perfdiag.model.requests.request_time import REST
from perfdiag.recording import schema

from unit.support import Builder
from unit.support.exchanges import exchange, latency
from unit.support.judging import check, finding, findings, silence
from unit.support.reports import made

ID, PEER, LOCK = "CONCURRENCY-LIMIT", "NET-PEER-SLOW", "LOCK-CONTENTION"
UPSTREAM = "peer:10.0.0.7:80"
S, MS = 1_000_000_000, 1_000_000
# Of a window of 10 s.  By level: ms, answers, answers while a request had no call under way.
POOL_OF_3 = {1: (100, 10, 10), 2: (400, 100, 100), 3: (9300, 4000, 3990)}
TWELVE = {11: 500, 12: 9400}


def proxy(
    calls: Mapping[int, tuple[int, int, int]] = POOL_OF_3,
    inside: Mapping[int, int] | None = None,
    *,
    call_ms: int = 7,
    request_ms: int = 28,
    name: str = "",
    unseen: int = 0,
    **fields: Any,
) -> Builder:
    """Return an event loop whose requests wait for so many milliseconds, in no account of a thread."""
    builder = Builder(comm="haproxy", window="10 s").thread("haproxy", cpu_user="300 ms", wait_events="9.7 s")
    count = sum(answers for _, answers, _ in calls.values())
    builder.line(exchange(count, count * request_ms * MS, {"cpu.user": 100 * MS}, name=name))
    builder.line(latency([request_ms * MS] * count, name=name))
    levels = [schema.CallLevel(level, ms * MS, *counts) for level, (ms, *counts) in calls.items()]
    of = {"object": UPSTREAM, "direction": "connected", "whole": 0, "whole_ns": 0, "most": max(calls), "levels": levels}
    builder.line(exchange(count, count * call_ms * MS, None, **{**of, **fields}))
    builder.line(latency([call_ms * MS] * count, object=UPSTREAM, direction="connected"))
    progress = [schema.Level(level, ms * MS) for level, ms in (inside or TWELVE).items()]
    return builder.line(schema.RequestsInside(max(inside or TWELVE), progress, unseen))


def test_calls_that_share_a_connection_wait_for_no_turn() -> None:
    """Questions go out for most of the time: on one connection, before those before them are answered."""
    one = {1: (9400, 4000, 4000)}
    assert limits(proxy(one, call_ms=2).model())
    model = proxy(one, call_ms=1).model()
    assert not limits(model) and check(model, ID).number == 1


def test_a_recording_without_a_window() -> None:
    assert limits(replace(proxy().model(), window_ns=0))[UPSTREAM].most == 3


def test_a_pool_of_three_in_front_of_a_fast_peer() -> None:
    model = proxy().model()
    found = finding(model, ID)
    assert found.severity is Severity.WARNING and found.confidence is Confidence.HIGH
    assert found.mechanism is Mechanism.LIMIT
    limit = limits(model)[UPSTREAM]
    assert (limit.most, limit.waiting_most, limit.answers) == (3, 9, 4000)
    assert limit.held == pytest.approx(0.94, abs=0.01) and limit.waiting == pytest.approx(8.95, abs=0.05)
    assert model.request_time and found.claims[REST] == pytest.approx(0.75 * model.request_time.ns, rel=0.01)
    assert diagnose(model).findings[0].id == ID


def test_who_is_alone_waits_for_no_turn() -> None:
    """Requests take 128 ms each, one at a time but for 2 %, and call for 5 ms of that: they wait for something else."""
    model = proxy({1: (350, 64, 63)}, {1: 7800, 2: 130}, call_ms=5, request_ms=128).model()
    assert all(
        found.severity is Severity.INFO and found.claimed_ns < 0.05 * 64 * 128 * MS for found in findings(model, ID)
    )


def test_who_waits_for_a_turn_waits_for_the_limit_and_not_for_the_answer_to_others() -> None:
    """An answer to another request ends the wait, so that chains lead to the slow peer."""
    model = proxy().model()
    assert model.request_time
    limit = finding(model, ID)
    peer = replace(limit, id=PEER, claims={REST: model.request_time.ns}, is_root=True)
    first, second = settle(model, [peer, limit]).findings
    assert (first.id, second.id) == (ID, PEER)
    assert first.claimed_ns == limit.claims[REST]


def test_the_target_is_not_acquitted() -> None:
    """A peer that answers slowly is the cause that stands first; that requests wait here all the same is said."""
    model = proxy({3: (9800, 500, 500)}, call_ms=58, request_ms=230, peers_ns=0).model()
    assert finding(model, ID).severity is Severity.WARNING
    assert made(model).verdict.kind != "elsewhere"


@pytest.mark.parametrize(("full_ms", "first"), [(9800, PEER), (5000, ID)])
def test_a_limit_that_is_always_reached_in_front_of_a_slow_peer_is_its_path(full_ms: int, first: str) -> None:
    """With a faster peer the limit would do; in bursts the peer would have answered more at once."""
    inside = {3: 9800 - full_ms, 12: full_ms} if full_ms < 9800 else {12: 9800}
    builder = proxy({3: (full_ms, 500, 500)}, inside, call_ms=58, request_ms=230, peers_ns=500 * 58 * MS)
    builder.thread("caller").row("net.receive", UPSTREAM, durations={"58 ms": 160})
    found = diagnose(builder.model()).findings[0]
    assert found.id == first and "at most 3 calls" in found.headline
    assert not is_elsewhere(found)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"inside": {1: 500, 2: 3000, 3: 6300}}, "demand never exceeds what calls are under way"),
        ({"calls": {1: (4000, 900, 900), 2: (4000, 1500, 1500), 3: (1500, 700, 700)}}, "reached, but not held"),
        ({"calls": {3: (9800, 4000, 300)}}, "no request is without a call while so many are outstanding"),
        ({"calls": {3: (9800, 19, 19)}, "request_ms": 5000, "call_ms": 1500}, "reached too seldom"),
        ({"request_ms": 8}, "who calls takes as long as the call: others are in progress beside it"),
        ({"unseen": 9}, "as many sockets were closed in the middle as requests seem to wait"),
        ({"calls": {1: (100, 9, 9), 128: (9700, 4000, 4000)}, "most": 200}, "levels from 128 on are not told apart"),
    ],
)
def test_what_looks_like_a_limit(fields: dict[str, Any], why: str) -> None:
    if "most" in fields:
        fields = {**fields, "calls": {1: (100, 4100, 4100)}}
    model = proxy(**fields).model()
    assert limits(model) == {}, why
    assert "no limit visible" in check(model, ID).text


@pytest.mark.parametrize(("waited", "limited"), [(162, True), (140, False)])
def test_the_last_request_of_a_burst_leaves_none_that_waits(waited: int, limited: bool) -> None:
    """Eight come at once, and go out one by one: of eight answers seven come while another request waits."""
    bursts = {level: 360 for level in range(1, 9)}
    model = proxy({1: (2880, 190, waited)}, bursts, call_ms=15, request_ms=64, peers_ns=0).model()
    assert bool(limits(model)) is limited


@pytest.mark.parametrize(("waited", "limited"), [(84, True), (70, False)])
def test_the_last_requests_of_a_burst_call_together(waited: int, limited: bool) -> None:
    """Of 36 at once six call at a time, and the answers come together: the last six leave none that waits."""
    bursts = {6: 244, 12: 248, 18: 248, 24: 245, 30: 250, 36: 249, 35: 396}
    calls = {1: (15, 38, 38), 2: (30, 52, 52), 3: (53, 105, 102), 4: (45, 146, 140), 5: (36, 135, 135)}
    model = proxy({**calls, 6: (1398, 100, waited)}, bursts, call_ms=15, request_ms=59, peers_ns=0).model()
    assert bool(limits(model)) is limited


def test_requests_that_call_another_peer_do_not_wait() -> None:
    """Three calls here, nine there, and twelve requests: each has its own."""
    builder = proxy()
    levels = [schema.CallLevel(9, 9900 * MS, 4000, 0)]
    of = {"object": "peer:10.0.0.8:80", "direction": "connected", "whole": 0, "whole_ns": 0}
    builder.line(exchange(4000, 4000 * 20 * MS, None, most=9, levels=levels, **of))
    builder.line(latency([20 * MS] * 4000, object="peer:10.0.0.8:80", direction="connected"))
    assert limits(builder.model()) == {}


def test_threads_wait_on_futexes_for_a_turn() -> None:
    """A semaphore: of twelve threads nine are parked. Requests are in no account that says what else they wait for."""
    builder = Builder(comm="app", window="10 s")
    for number in range(12):
        builder.thread(f"worker{number}", net_receive="2.3 s")
        builder.row("wait.parked", f"futex:{number}", "7.5 s", count=330)
        builder.line(schema.RequestParked(100, f"futex:{number}", False, 330, 7500 * MS))
    builder.line(exchange(4000, 120 * S, {"wait.parked": 90 * S, "net.receive": 28 * S}, peers_ns=28 * S))
    builder.line(latency([30 * MS] * 4000))
    levels = [schema.CallLevel(3, 9800 * MS, 4000, 4000)]
    of = {"object": UPSTREAM, "direction": "connected", "whole": 0, "whole_ns": 0}
    builder.line(exchange(4000, 28 * S, None, most=3, levels=levels, **of))
    builder.line(latency([7 * MS] * 4000, object=UPSTREAM, direction="connected"))
    builder.line(schema.RequestsInside(12, [schema.Level(12, 9900 * MS)], 0))
    model = builder.model()
    found = finding(model, ID)
    assert found.severity is Severity.WARNING and ("wait.parked", "futex:0") in found.claims
    first = diagnose(model).findings[0]
    assert first.id == ID and first.share == pytest.approx(0.75, abs=0.03)


@pytest.mark.parametrize(("behind_ns", "held"), [(80 * S, True), (20 * S, False)])
def test_a_lock_that_is_held_over_each_call(behind_ns: int, held: bool) -> None:
    """Who waits on its futex waits for a thread that waits for the peer; without that it is any limit of one."""
    builder = Builder(comm="app", window="10 s")
    for number in range(12):
        builder.thread(f"worker{number}", net_receive="800 ms")
        builder.row("wait.parked", "futex:1", "7.5 s", count=108)
    builder.line(schema.RequestParked(100, "futex:1", False, 1300, 90 * S))
    builder.line(exchange(1300, 100 * S, {"wait.parked": 90 * S, "net.receive": 9 * S}, peers_ns=9 * S))
    builder.line(latency([77 * MS] * 1300))
    levels = [schema.CallLevel(1, 9800 * MS, 1300, 1300)]
    of = {"object": UPSTREAM, "direction": "connected", "whole": 0, "whole_ns": 0}
    builder.line(exchange(1300, 9 * S, None, most=1, levels=levels, **of))
    builder.line(latency([7 * MS] * 1300, object=UPSTREAM, direction="connected"))
    builder.line(schema.RequestsInside(12, [schema.Level(12, 9900 * MS)], 0))
    builder.line(
        schema.Because(
            pid=100, account="wait.parked", object="futex:1", steps=[], cut=False, root="net.receive",
            root_object=UPSTREAM, root_tid=0, root_tid_ns=0, sum_ns=behind_ns, count=1300, inside=True,
        )
    )  # fmt: skip
    found = finding(builder.model(), ID)
    assert ("a lock that is held over each call" in found.headline) == held, found
    assert ("without the lock" in found.remedies[0].text) == held


def test_requests_that_sleep_wait_for_no_turn() -> None:
    """Three clients call without a pause, nine requests sleep meanwhile: it looks like a pool, but for what they do."""
    builder = Builder(comm="app", window="10 s").thread("worker", net_receive="9 s")
    builder.line(exchange(4000, 120 * S, {"wait.timer": 85 * S, "net.receive": 28 * S}))
    builder.line(latency([7 * MS] * 1600 + [45 * MS] * 2400))
    levels = [schema.CallLevel(3, 9800 * MS, 1600, 1600)]
    of = {"object": UPSTREAM, "direction": "connected", "whole": 0, "whole_ns": 0}
    builder.line(exchange(1600, 11 * S, None, most=3, levels=levels, **of))
    builder.line(latency([7 * MS] * 1600, object=UPSTREAM, direction="connected"))
    builder.line(schema.RequestsInside(12, [schema.Level(12, 9900 * MS)], 0))
    assert findings(builder.model(), ID) == []


def test_a_peer_that_takes_no_more_connections_may_be_the_limit() -> None:
    found = finding(proxy(connects_failed=7).model(), ID)
    assert found.confidence is Confidence.MEDIUM and "7 connections to it failed" in found.claim


def test_a_number_above_31_is_right_to_two() -> None:
    inside = {100: 9900}
    model = proxy({38: (9800, 4000, 4000)}, inside, most=39, call_ms=93, request_ms=240).model()
    found = finding(model, ID)
    assert limits(model)[UPSTREAM].most == 39 and found.confidence is Confidence.MEDIUM


@pytest.mark.parametrize("shared", [{"declined": 1}, {"behind": 50, "behind_ns": S}])
def test_several_calls_on_one_connection_count_as_one(shared: dict[str, int]) -> None:
    """Of HTTP/2, ten of whose streams were open: "at most 1 call" on a healthy server."""
    assert limits(proxy().model())
    assert not limits(proxy(**shared).model())


@pytest.mark.parametrize(("left", "limited"), [(300, True), (5, False)])
def test_requests_that_nobody_answers_wait_for_their_turn(left: int, limited: bool) -> None:
    """Whoever came before there was a queue is answered, and took as long as its call."""
    builder = proxy({40: (9800, 280, 280)}, {120: 9900}, most=40, call_ms=1000, request_ms=1050)
    builder.line(exchange(0, 0, name="GET /", open=left, oldest_ns=8 * S))
    builder.line(exchange(280, 280 * 1050 * MS, name="GET /", object="port:81", open=left, oldest_ns=8 * S))
    builder.line(latency([1050 * MS] * 280, name="GET /", object="port:81"))
    assert bool(limits(builder.model())) is limited


def test_a_slow_peer_is_told_with_the_limit_in_front_of_it() -> None:
    builder = proxy({3: (9900, 500, 500)}, call_ms=58, request_ms=230)
    for _ in range(3):
        builder.thread("worker", cpu_user="10 ms").row("net.receive", UPSTREAM, durations={"58 ms": 166})
    found = [each for each in findings(builder.model(), PEER) if each.mechanism is Mechanism.SLOW]
    assert len(found) == 1 and "At most 3 calls are under way to it at a time; 9 requests wait" in found[0].claim
    assert "of size 3" in found[0].remedies[1].text


def test_what_was_not_recorded_is_not_concluded() -> None:
    earlier = Builder().thread("app", cpu_user="1 s").exchange("port:80", "accepted", {"1 ms": 50})
    earlier.exchange(UPSTREAM, "connected", {"1 ms": 50})
    assert "was not recorded" in silence(earlier.model(), ID).reason
    assert findings(proxy().lost(exchanges_full=3).model(), ID) == []
