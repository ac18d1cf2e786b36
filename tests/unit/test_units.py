"""Numbers as people read them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfdiag.common import units


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0 ns"),
        (999, "999 ns"),
        (1_000, "1.00 us"),
        (9_995, "10.0 us"),
        (999_400, "999 us"),
        (999_600, "1.00 ms"),
        (12_300_000, "12.3 ms"),
        (999_600_000, "1.00 s"),
        (79_700_000_000, "79.7 s"),
        (600_000_000_000, "10 min"),
        (7_500_000_000_000, "2.08 h"),
        (-1_500_000, "-1.50 ms"),
    ],
)
def test_durations(ns: int, text: str) -> None:
    assert units.duration(ns) == text


@pytest.mark.parametrize(
    ("per_second", "text"),
    [(0.0, "0/s"), (2.345, "2.35/s"), (99.9, "99.9/s"), (99.96, "100/s"), (62_403.4, "62,403/s")],
)
def test_rates(per_second: float, text: str) -> None:
    assert units.rate(per_second) == text


@pytest.mark.parametrize(("number", "text"), [(1, "1 process"), (2, "2 processes"), (1000, "1,000 processes")])
def test_plurals_of_nouns_that_end_in_s(number: int, text: str) -> None:
    assert units.plural(number, "process") == text


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0 ns"),
        (996, "1 us"),
        (1_370_000, "1.4 ms"),
        (126_000, "130 us"),
        (999_600_000, "1 s"),
        (47_300_000_000, "47 s"),
        (610_000_000_000, "10 min"),
        (7_500_000_000_000, "2.1 h"),
    ],
)
def test_what_a_bucket_tells_has_two_digits(ns: int, text: str) -> None:
    assert units.about(ns) == text


@given(st.integers(1, 10**15))
def test_no_duration_is_rounded_to_nothing(ns: int) -> None:
    text = units.duration(ns)
    assert float(text.split()[0]) > 0 and len(text) <= 9


@pytest.mark.parametrize(
    ("part", "text", "fine"),
    [
        (0, "0 %", "0.0 %"),
        (1e-9, "<1 %", "<0.1 %"),
        (0.004, "<1 %", "0.4 %"),
        (0.005, "1 %", "0.5 %"),
        (0.545, "55 %", "54.5 %"),
        (0.996, ">99 %", "99.6 %"),
        (0.9999, ">99 %", ">99.9 %"),
        (1, "100 %", "100.0 %"),
    ],
)
def test_shares_are_never_zero_or_whole_by_rounding(part: float, text: str, fine: str) -> None:
    assert units.share(part) == text
    assert units.fine_share(part) == fine


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1023.7, "1.00 KiB"), (11 << 20, "11.0 MiB"), (1 << 60, "1024 PiB")],
)
def test_sizes(number: float, text: str) -> None:
    assert units.size(number) == text


def test_counts() -> None:
    assert units.count(61_204) == "61,204"
    assert units.plural(1, "thread") == "1 thread"
    assert units.plural(0, "thread") == "0 threads"
    assert units.counted(1, "short waits for flushes") == "1 short wait for flushes"
    assert units.counted(1, "wake-ups from C2") == "1 wake-up from C2"
    assert units.counted(2_000, "reads") == "2,000 reads"


@pytest.mark.parametrize(
    ("ns", "longest_ns", "text"),
    [
        (206_000_000, 206_100_000, "206 ms"),
        (204_000_000, 206_000_000, "200 ms"),
        (1_400_000, 9_000_000, "1.4 ms"),
        (1_400_000, 0, "1.4 ms"),
    ],
)
def test_a_percentile_is_not_shown_above_the_longest(ns: int, longest_ns: int, text: str) -> None:
    assert units.about_at_most(ns, longest_ns) == text
