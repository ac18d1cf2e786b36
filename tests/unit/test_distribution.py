"""Quantiles of a log2 histogram: waits of one length come out as that length, others are interpolated."""

from __future__ import annotations

import pytest
from perfdiag.recording.distribution import Distribution


def test_waits_of_one_length_have_that_quantile() -> None:
    same = Distribution(135, 135 * 44_000_000, 48_000_000, {18: 135})
    assert same.quantile_ns(0.5) == same.quantile_ns(0.99) == 44_000_000


def test_short_waits_beside_them_leave_no_doubt() -> None:
    """A local answer of 250 ms that the kernel cut in two: 15 moments and 46 long waits."""
    cut = Distribution(61, 46 * 250_000_000 + 15 * 40_000, 254_000_000, {8: 15, 20: 46})
    assert cut.quantile_ns(0.5) == pytest.approx(250_000_000, rel=0.01)


def test_a_bucket_that_others_leave_in_doubt_is_interpolated() -> None:
    mixed = Distribution(200, 100 * 40_000 + 100 * 250_000_000, 254_000_000, {8: 100, 20: 100})
    assert 32_000 <= (mixed.quantile_ns(0.25) or 0) <= 65_536
    assert Distribution(0, 0, 0).quantile_ns(0.5) is None


@pytest.mark.parametrize("sum_ns", [0, 1, 10**15])
def test_sums_that_do_not_fit_their_buckets_are_not_believed(sum_ns: int) -> None:
    assert 33_554_432 <= (Distribution(10, sum_ns, 60_000_000, {18: 10}).quantile_ns(0.5) or 0) <= 60_000_000
