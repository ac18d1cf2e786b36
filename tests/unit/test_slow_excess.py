"""What slow requests took beyond the median of their name, by account."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfdiag.model.requests.exchanges import fine_edges_ns
from perfdiag.model.requests.parked_time import Parked
from perfdiag.model.requests.request_time import RequestTime, beyond, request_time
from perfdiag.model.requests.serving_threads import Servers
from perfdiag.model.requests.slow_excess import beyond_median
from perfdiag.model.requests.unread_requests import Met
from perfdiag.recording import schema

from unit.support.exchanges import exchange, fine_bucket, joined, latency

S, MS = 1_000_000_000, 1_000_000


def ranked(times_ms: list[int], limit_ms: int, cpu_ms: int = 0, name: str = "") -> list[schema.Line]:
    """Return requests that compute for `cpu_ms`, or all the time if shorter, and else wait for a disk."""

    def spent(times: list[int]) -> dict[str, int]:
        computed = sum(min(cpu_ms, each) for each in times)
        return {"cpu.user": computed * MS, "disk.flush": (sum(times) - computed) * MS}

    slow = [each for each in times_ms if each >= limit_ms]
    parts = [schema.PartSum(account, ns) for account, ns in spent(slow).items()]
    sum_ns = sum(slow) * MS
    line = exchange(
        len(times_ms), sum(times_ms) * MS, spent(times_ms), name=name,
        over_slo=len(slow), over_slo_ns=sum_ns, over_slo_whole_ns=sum_ns, over_slo_accounts=parts,
    )  # fmt: skip
    return [line, latency([each * MS for each in times_ms], name=name)]


def timed(lines: list[schema.Line]) -> RequestTime | None:
    return request_time(joined(lines), {}, {}, Parked(), Servers((), 1.0, Met()), 1, S)


def test_the_median_counts_where_the_mean_is_another_one() -> None:
    """One request of two seconds keeps a limit of three, and makes the others' mean 40 times their median: excess over
    that mean would be 0.4 s less for each slow request, a tenth of all."""
    times = [10] * 50 + [20_000] * 1 + [30_000] * 5
    time = timed(ranked(times, 25_000, cpu_ms=10))
    assert time and time.excess and time.count == 5 and not time.median_over
    assert time.ns == pytest.approx(5 * 29_990 * MS, rel=0.001)  # over the mean of the others: 5 * 29,598 ms
    assert time.accounts["disk.flush"] == pytest.approx(5 * 29_990 * MS, rel=0.001)


def test_what_stands_in_for_the_median_is_wrong_by_the_median_at_most() -> None:
    """The one that nearly missed the limit waited for a disk, which the median does not."""
    time = timed(ranked([10] * 90 + [900] * 1 + [1000] * 9, 950, cpu_ms=10))
    assert time and abs(time.accounts["disk.flush"] - 9 * 990 * MS) <= 9 * 10 * MS


def test_what_slow_requests_did_less_of_makes_no_other_account_larger() -> None:
    assert beyond_median({"disk.flush": 100 * S}, 100 * S, 10, {"cpu.user": 90 * S}, S) == {"disk.flush": 90 * S}


@pytest.mark.parametrize(
    ("times", "limit", "median_over"), [([10] * 51 + [100] * 49, 50, False), ([10] * 50 + [100] * 50, 50, True)]
)
def test_a_median_that_is_over_the_limit_is_no_measure(times: list[int], limit: int, median_over: bool) -> None:
    time = timed(ranked(times, limit))
    assert time and time.excess and time.median_over is median_over
    assert ("all of it where even the median is over" in beyond(time.median_over)) is median_over
    whole_ns = sum(each for each in times if each >= limit) * MS
    assert time.ns == (whole_ns if median_over else pytest.approx(whole_ns - 49 * 10 * MS, rel=0.01))


def test_each_name_has_a_median_of_its_own() -> None:
    lines = ranked([10] * 90 + [100] * 10, 50, name="GET /a") + ranked([1000] * 90 + [3000] * 10, 2000, name="GET /b")
    time = timed(lines)
    assert time and time.count == 20 and time.ns == pytest.approx(10 * 90 * MS + 10 * 2000 * MS, rel=0.03)


def test_without_a_distribution_there_is_no_median_and_no_guess() -> None:
    line, distribution = ranked([10] * 90 + [100] * 10, 50)
    assert timed([line, distribution]) is not None and timed([line]) is None


def test_nothing_beyond_the_median_is_all_requests() -> None:
    """It is known to 3 %: who is over the limit by less is as long as the median."""
    least = fine_edges_ns(fine_bucket(S))[0] // MS + 1
    time = timed(ranked([least] * 60 + [least + 1] * 40, least + 1))
    assert time and not time.excess and time.ns == (100 * least + 40) * MS


ACCOUNTS = st.dictionaries(
    st.sampled_from(["cpu.user", "disk.flush", "net.receive", "request.rest"]), st.integers(0, S)
)


@given(ACCOUNTS, ACCOUNTS, st.integers(1, 1000), st.integers(0, S // 100), st.integers(0, S))
def test_parts_add_up_to_the_excess(
    slow: dict[str, int], others: dict[str, int], count: int, median_ns: int, unknown_ns: int
) -> None:
    """Accounts of one request can overlap: together they can be more than it took, never less."""
    slow_ns = max(0, sum(slow.values()) - unknown_ns)
    parts = beyond_median(slow, slow_ns, count, others, median_ns)
    assert sum(parts.values()) == max(0, slow_ns - count * median_ns)
    assert all(part > 0 and slow[name] > 0 for name, part in parts.items())


TIMES = st.lists(st.integers(1, 5000), min_size=10, max_size=100)


@given(TIMES, st.integers(1, 5000), st.integers(0, 5000))
def test_parts_of_real_requests_are_never_more_than_slow_ones_took(times: list[int], limit: int, cpu: int) -> None:
    time = timed(ranked(times, limit, cpu))
    assert time and time.ns == sum(time.accounts.values()) and all(ns > 0 for ns in time.accounts.values())
    if time.excess:
        slow = [each for each in times if each >= limit]
        assert time.count == len(slow) and time.ns <= sum(slow) * MS
        computed = sum(min(cpu, each) for each in slow)
        assert time.accounts.get("cpu.user", 0) <= computed * MS + 1
        assert time.accounts.get("disk.flush", 0) <= (sum(slow) - computed) * MS + 1  # rounded
