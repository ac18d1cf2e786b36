"""How long requests took, and what their time consists of: right to 3 %, and to the nanosecond."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfdiag.diagnosis.engine import diagnose
from perfdiag.model.requests.exchanges import Latencies, fine_edges_ns
from perfdiag.model.requests.parked_time import Parked
from perfdiag.model.requests.request_time import ARRIVING, PEERS, QUEUED, REST, RequestTime, request_time
from perfdiag.model.requests.serving_threads import Servers
from perfdiag.model.requests.unread_requests import Met
from perfdiag.recording import schema

from conftest import ROOT
from unit.support import Builder
from unit.support.exchanges import exchange, fine_bucket, joined, latency, served

S = 1_000_000_000
MS = 1_000_000
WORKERS = Servers((), 1.0, Met())
LOOPS = Builder().thread("loop", cpu_user="1 s").model().threads
TIMES = st.lists(st.integers(0, 1800 * S), min_size=1, max_size=200)


def latencies(times: list[int]) -> Latencies:
    line = latency(times)
    return Latencies(line.count, line.sum_ns, line.max_ns, dict(line.buckets))


def timed(*lines: schema.Line, by: Servers = WORKERS, **options: object) -> RequestTime | None:
    given = {"lost": {}, "finer": {}, "parked": Parked(), "busy_ns": 1, "window_ns": 10 * S, **options}
    return request_time(joined(lines), by=by, **given)  # type: ignore[arg-type]


# How long they took.


@given(TIMES, st.sampled_from([0.01, 0.5, 0.9, 0.99, 1.0]))
def test_quantiles_are_right_to_three_percent(times: list[int], q: float) -> None:
    exact = sorted(times)[max(math.ceil(q * len(times)), 1) - 1]
    found = latencies(times).quantile_ns(q)
    assert found is not None and abs(found - exact) <= exact / 32 + 512


@given(TIMES, TIMES)
def test_two_distributions_together(some: list[int], more: list[int]) -> None:
    assert latencies(some).merged(latencies(more)) == latencies(some + more)


def test_buckets_leave_no_gap() -> None:
    edges = [fine_edges_ns(index) for index in range(schema.LATENCY_BUCKETS)]
    assert edges[0][0] == 0
    assert all(high == low for (_, high), (low, _) in itertools.pairwise(edges))
    assert [fine_bucket(low) for low, _ in edges] == [fine_bucket(high - 1) for _, high in edges] == list(range(448))


def test_nothing_has_no_quantile() -> None:
    assert Latencies().quantile_ns(0.5) is None


def test_constants_are_those_of_the_kernel_side() -> None:
    header = (ROOT / "bpf/core/records/requests.h").read_text()
    assert f"#define LATENCY_UNIT_SHIFT {schema.LATENCY_UNIT_NS.bit_length() - 1}\n" in header
    doublings = (schema.LATENCY_BUCKETS - schema.LATENCY_STEPS) // schema.LATENCY_STEPS
    assert f"#define LATENCY_DOUBLINGS {doublings} " in header


# What their time consists of.


def test_a_thread_for_each_request() -> None:
    time = timed(exchange(100, 10 * S, {"disk.flush": 9 * S, "cpu.user": S // 2}, read_delay_ns=S // 4))
    assert time and (time.count, time.ns) == (100, 10 * S)
    assert time.accounts == {"disk.flush": 9 * S, "cpu.user": S // 2, QUEUED: S // 4, REST: S // 4}
    assert time.uncertain_ns == S // 2, "what is not followed, and what lay unread while nothing shows their readers"


def test_an_event_loop_waits_for_peers_in_the_place_of_its_requests() -> None:
    time = timed(exchange(100, 10 * S, {"wait.events": 4 * S, "cpu.user": S}, peers_ns=8 * S))
    assert time and time.accounts == {PEERS: 8 * S, "cpu.user": S, REST: S}


def test_what_the_thread_waited_for_itself_is_not_its_peers_once_more() -> None:
    time = timed(exchange(100, 10 * S, {"net.receive": 8 * S, "cpu.user": 2 * S}, peers_ns=8 * S))
    assert time and time.accounts == {"net.receive": 8 * S, "cpu.user": 2 * S}


def test_calls_of_requests_that_go_from_thread_to_thread() -> None:
    time = timed(exchange(100, 10 * S, {"cpu.user": S}, whole_ns=S, peers_ns=9 * S))
    assert time and time.accounts == {"cpu.user": S, PEERS: 9 * S}


def test_a_slow_client_is_no_peer_that_was_asked() -> None:
    time = timed(exchange(100, 10 * S, {"net.receive": 9 * S}, arriving_ns=9 * S))
    assert time and time.accounts == {ARRIVING: 9 * S, REST: S}


def test_a_loop_keeps_requests_waiting_while_it_is_busy() -> None:
    by = Servers(LOOPS, 0.5, Met({"runq.busy": 0.25}))
    time = timed(exchange(100, 10 * S, {"cpu.user": 2 * S}), by=by)
    assert time and time.accounts == {"cpu.user": 2 * S, QUEUED: 3 * S, "runq.busy": S, REST: 4 * S}
    assert time.by is by, "looked for once"


def test_an_account_that_evidence_divides_afterwards() -> None:
    finer = {"cpu.user": {"cpu.user": 3, "cpu.kernel": 1}}
    time = timed(exchange(100, 8 * S, {"cpu.user": 8 * S}), finer=finer)
    assert time and time.accounts == {"cpu.user": 6 * S, "cpu.kernel": 2 * S}


def test_interrupts_that_a_request_had_until_it_was_answered_stand_in_its_cpu_time() -> None:
    """Only where the thread was switched inside of the request they were told apart."""
    finer = {"cpu.user": {"cpu.user": 3, "cpu.kernel": 1, "cpu.irq": 4}}
    time = timed(exchange(100, 8 * S, {"cpu.user": 7 * S, "cpu.irq": S}), finer=finer)
    assert time and time.accounts == {"cpu.user": 3 * S, "cpu.kernel": S, "cpu.irq": 4 * S}


def test_those_over_the_objective_by_what_they_took_beyond_the_median() -> None:
    line = exchange(
        100, 2 * S, {"cpu.user": S, "disk.flush": S}, over_slo=10, over_slo_ns=11 * S // 10, over_slo_whole_ns=S,
        over_slo_accounts=[schema.PartSum("cpu.user", S // 10), schema.PartSum("disk.flush", S)],
    )  # fmt: skip
    time = timed(line, latency([10 * MS] * 90 + [110 * MS] * 10))
    assert time and time.excess and time.count == 10
    assert time.ns == pytest.approx(S, rel=0.005)
    assert time.accounts == {"disk.flush": time.ns}, "the others compute for as long, and that is no cause of the tail"


MUTEX, QUEUE, IDLE = (
    ("lock.futex", "futex:0x10"),
    ("wait.parked", "futex:0x20"),
    ("wait.work", "runtime:go"),
)


def test_what_is_parked_inside_is_what_its_futexes_are() -> None:
    parked = Parked({MUTEX: 4 * S, QUEUE: 3 * S, IDLE: S})
    time = timed(exchange(100, 10 * S, {"cpu.user": S, "wait.parked": 8 * S}), parked=parked)
    assert time and time.accounts == {"cpu.user": S, "lock.futex": 4 * S, "wait.parked": 3 * S, REST: 2 * S}
    assert time.rows == {MUTEX: 4 * S, QUEUE: 3 * S}
    assert time.uncertain_ns == 2 * S, "a scheduler without work says only that the request is in other hands"


def test_parked_for_longer_than_its_futexes_tell_is_not_followed() -> None:
    time = timed(exchange(100, 10 * S, {"wait.parked": 10 * S}), parked=Parked({MUTEX: 6 * S}))
    assert time and time.accounts == {"lock.futex": 6 * S, REST: 4 * S}


def test_a_runtime_without_work_waits_for_what_the_request_has_asked() -> None:
    """Of Go's scheduler: no thread waits for the peer."""
    parked = Parked({IDLE: 9 * S})
    time = timed(exchange(100, 10 * S, {"cpu.user": S, "wait.parked": 9 * S}, peers_ns=8 * S), parked=parked)
    assert time and time.accounts == {"cpu.user": S, PEERS: 8 * S, REST: S}


def test_of_slow_requests_their_own_futexes_count() -> None:
    line = exchange(
        100, 2 * S, {"cpu.user": S, "wait.parked": S}, over_slo=10, over_slo_ns=S, over_slo_whole_ns=S,
        over_slo_accounts=[schema.PartSum("wait.parked", 9 * S // 10), schema.PartSum("cpu.user", S // 10)],
    )  # fmt: skip
    parked = Parked({MUTEX: 9 * S // 10, QUEUE: S // 10}, {MUTEX: 9 * S // 10})
    time = timed(line, latency([S // 90] * 90 + [100 * MS] * 10), parked=parked)
    assert time and time.excess and {pair for pair in time.rows} == {MUTEX}
    assert time.accounts["lock.futex"] == pytest.approx(0.9 * S, rel=0.02) == time.rows[MUTEX]


def test_the_median_is_parked_where_requests_are_that_keep_the_limit() -> None:
    """What slow requests wait for a lock that the others never wait for is all beyond the median."""
    slow = [schema.PartSum("wait.parked", 9 * S // 10), schema.PartSum("cpu.user", S // 10)]
    line = exchange(
        100, 2 * S, {"cpu.user": S // 5, "wait.parked": 9 * S // 5}, over_slo=10, over_slo_ns=S, over_slo_whole_ns=S,
        over_slo_accounts=slow,
    )  # fmt: skip
    parked = Parked({MUTEX: S // 2, QUEUE: 13 * S // 10}, {MUTEX: S // 2, QUEUE: 4 * S // 10})
    time = timed(line, latency([S // 90] * 90 + [100 * MS] * 10), parked=parked)
    assert time and time.accounts["lock.futex"] == pytest.approx(S // 2, rel=0.01) == time.rows[MUTEX]


NUMBERS = st.integers(0, 100 * S)
NAMES = st.sampled_from(["cpu.user", "wait.events", "net.receive", "wait.parked", "disk.flush", "unexplained"])


@given(
    st.lists(st.tuples(NUMBERS, st.dictionaries(NAMES, NUMBERS), NUMBERS, NUMBERS, NUMBERS), min_size=1, max_size=4),
    st.booleans(),
    st.floats(0, 1),
    st.dictionaries(st.sampled_from(["runq.busy", "cpu.stolen"]), st.floats(0, 0.5)),
    st.dictionaries(NAMES, st.dictionaries(NAMES, NUMBERS, min_size=1), max_size=2),
    st.dictionaries(st.sampled_from([MUTEX, QUEUE, IDLE]), NUMBERS),
)
def test_parts_add_up_whatever_the_numbers(
    of: list[tuple[int, dict[str, int], int, int, int]],
    loop: bool,
    busy: float,
    runq: dict[str, float],
    finer: dict[str, dict[str, int]],
    parked: dict[tuple[str, str], int],
) -> None:
    lines = [
        exchange(20, ns, accounts, read_delay_ns=read, arriving_ns=arriving, peers_ns=peers, name=str(number))
        for number, (ns, accounts, read, arriving, peers) in enumerate(of)
    ]
    time = timed(
        *lines, by=Servers(LOOPS if loop else (), busy, Met(runq)), finer=finer, parked=Parked(parked), busy_ns=0
    )
    if time is None:
        return  # no time at all
    assert time.ns == sum(time.accounts.values()) and all(ns > 0 for ns in time.accounts.values())
    spent = sum(sum(line[1].values()) + min(line[2], line[0]) for line in of)
    assert (
        sum(line[0] for line in of) <= time.ns <= max(sum(line[0] for line in of), spent) + sum(line[2] for line in of)
    )


# Where it is not known.

GOOD = exchange(100, 10 * S, {"disk.flush": 9 * S})


def changed(**fields: object) -> schema.Exchange:
    return exchange(100, 10 * S, {"disk.flush": 9 * S}, **fields)


@pytest.mark.parametrize(
    ("lines", "lost", "untold"),
    [
        ([changed(early=30)], {}, 0.3),
        ([GOOD, changed(name="other", declined=50)], {}, 0.2),
        ([GOOD], {"connections_full": 25}, 0.2),
        ([GOOD], {"exchanges_full": 300}, 0.75),
        ([GOOD], {"detail_full": 300}, 0.0),
    ],
    ids=["pipelined", "frames", "connections-lost", "sums-lost", "other-losses"],
)
def test_what_nobody_tells_apart_is_unknown(lines: list[schema.Exchange], lost: dict[str, int], untold: float) -> None:
    """The others' time ranks all the same."""
    time = timed(*lines, lost=lost)
    assert time and time.untold == pytest.approx(untold)
    assert time.uncertain_ns == pytest.approx(max(untold, 0.1) * time.ns), "a tenth was not followed"


def test_time_in_other_hands_is_unknown() -> None:
    time = timed(exchange(100, 10 * S, {"disk.flush": 3 * S}, whole_ns=4 * S))
    assert time and time.accounts == {"disk.flush": 3 * S, REST: 7 * S}
    assert (time.handed_ns, time.uncertain_ns) == (6 * S, 7 * S), "one second was in the hands of one thread"


def test_calls_for_it_are_known_whoever_has_it() -> None:
    time = timed(exchange(100, 10 * S, {"net.receive": S}, whole_ns=S, peers_ns=8 * S))
    assert time and time.accounts[PEERS] == 7 * S
    assert time.handed_ns == time.uncertain_ns == 2 * S


@pytest.mark.parametrize(("unheard", "unknown_ns"), [(0.4, 6 * S), (1.0, 0)])
def test_unread_requests_of_unknown_readers_are_unknown(unheard: float, unknown_ns: int) -> None:
    by = Servers((), 1.0, Met(unheard=unheard))
    time = timed(exchange(100, 10 * S, {}, read_delay_ns=10 * S), by=by)
    assert time and time.accounts == {QUEUED: 10 * S} and time.uncertain_ns == unknown_ns


@pytest.mark.parametrize(
    ("lines", "options"),
    [
        ([], {}),
        ([exchange(9, 2 * S, {"disk.flush": 2 * S})], {}),
        ([changed(direction="connected")], {}),
        ([exchange(100, S, {"disk.flush": S})], {"busy_ns": 3 * S}),
        ([exchange(100, 10 * S, {"wait.parked": 9 * S})], {"parked": Parked({QUEUE: 9 * S}, outside_ns=6 * S)}),
    ],
    ids=[
        "none",
        "few",
        "calls",
        "a-side-job",
        "news",
    ],
)
def test_requests_whose_time_is_not_known(lines: list[schema.Exchange], options: dict[str, object]) -> None:
    assert timed(*lines, **options) is None


@pytest.mark.parametrize(
    ("lines", "options"),
    [
        ([GOOD], {"lost": {"detail_full": 1}}),
        ([exchange(10, 2 * S, {"disk.flush": 2 * S})], {}),
        ([exchange(5, 3 * S, {"disk.flush": 3 * S})], {}),
        ([exchange(100, 3 * S, {"disk.flush": 3 * S})], {"busy_ns": 9 * S}),
        ([exchange(100, S, {"disk.flush": S})], {"busy_ns": 2 * S}),
        ([exchange(100, 5 * S, {"disk.flush": S})], {"busy_ns": 30 * S}),
        ([exchange(100, 10 * S, {"wait.parked": 9 * S})], {"parked": Parked({QUEUE: 9 * S}, outside_ns=5 * S)}),
    ],
    ids=[
        "other-losses",
        "ten",
        "five-that-last",
        "a-third-of-the-window",
        "half-of-its-time",
        "half-of-the-window",
        "half-news",
    ],
)
def test_nearly_unknown_is_known(lines: list[schema.Exchange], options: dict[str, object]) -> None:
    assert timed(*lines, **options) is not None


def test_requests_that_are_asked_to_wait_are_no_delay() -> None:
    """Workers at a queue in Redis: 99 % of request time had no known cause, and each BLPOP broke the objective."""
    builder = Builder(comm="redis-server", slo="50 ms").thread("redis-server", cpu_user="20 ms", rest="wait.events")
    builder.reads(148)
    for line in [*served(8, S, name="BLPOP", over_slo=8), *served(140, MS // 10, {"cpu.user": 14 * MS}, name="GET")]:
        builder.line(line)
    model = builder.model()
    assert model.request_time is None or model.request_time.ns == 14 * MS
    assert model.limit_ns("GET") == 50 * MS and model.limit_ns("BLPOP") is None
    assert not [each.id for each in diagnose(model).findings if each.id == "SLO-BREACH"]
