"""Times of day on the command line: perfdiag host --since."""

from __future__ import annotations

import time
from datetime import datetime, timedelta

import click
from hypothesis import given
from hypothesis import strategies as st
from perfdiag.commands.times_of_day import TimeOfDay
from perfdiag.render.past_oom_kills import when

from unit.support.oom import NOW_NS

SECOND = 1_000_000_000


def converted(text: str) -> float:
    return int(TimeOfDay().convert(text, None, None)) / SECOND


def test_times_of_day() -> None:
    now = time.time()
    assert abs(now - converted("3h") - 3 * 3600) < 5 and abs(now - converted("2d") - 2 * 86_400) < 5
    assert converted("90000d") == converted("999999999d") == 0  # longer ago than times are counted
    assert 0 <= now - converted("02:00") < 86_400 + 3601
    assert datetime.fromtimestamp(converted("02:00")).strftime("%H:%M:%S") == "02:00:00"
    assert converted("2026-11-22T02:00:00Z") == NOW_NS / SECOND == converted("2026-11-22T03:00+01:00")
    assert when(int(converted("2026-11-22 02:00") * SECOND)) == "2026-11-22 02:00:00"
    later = datetime.now() + timedelta(minutes=5)
    assert converted(later.strftime("%H:%M")) < now


@given(st.text(max_size=20))
def test_what_is_no_time_is_refused(text: str) -> None:
    try:
        found = TimeOfDay().convert(text, None, None)
    except click.UsageError:
        return
    assert 0 <= found < 2**63
