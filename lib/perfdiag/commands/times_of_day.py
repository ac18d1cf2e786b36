"""Times of day on the command line."""

import re
import time
from datetime import datetime, timedelta
from typing import Any

import click

from perfdiag.commands.options import UNITS_NS
from perfdiag.common.text import printable
from perfdiag.common.units import SECOND_NS

DAY = timedelta(days=1)
FORMS = "such as 02:00, 2026-11-22, 2026-11-22 02:00, 2026-11-22T02:00:00Z, or 3h or 2d for that long ago"
_AGO = {**UNITS_NS, "d": 86_400 * SECOND_NS}


class TimeOfDay(click.ParamType):  # type: ignore[type-arg]  # generic only from click 8.4 on
    """A time of day in nanoseconds since 1970, in this host's time zone unless it names one.

    A clock time alone is the most recent one: 02:00 is today's, or, before 2 o'clock, yesterday's. A duration is that
    long ago.
    """

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        readings = (form(value) for form in (_ago, _clock, _date))
        found_ns = next((ns for ns in readings if ns is not None), None)
        if found_ns is None or not 0 <= found_ns < 2**63:
            self.fail(f"{printable(value)!r} is not a time {FORMS}", param, ctx)
        return found_ns


def _ago(text: str) -> int | None:
    match = re.fullmatch(r"([0-9]{1,9}) ?([a-z]{1,3})", text)
    if match is None or match[2] not in _AGO:
        return None
    return max(0, time.time_ns() - int(match[1]) * _AGO[match[2]])


def _clock(text: str) -> int | None:
    match = re.fullmatch(r"([01][0-9]|2[0-3]):([0-5][0-9])(?::([0-5][0-9]))?", text)
    if match is None:
        return None
    now = datetime.now()
    found = now.replace(hour=int(match[1]), minute=int(match[2]), second=int(match[3] or 0), microsecond=0)
    return _since_1970(found if found <= now else found - DAY)


def _date(text: str) -> int | None:
    if not re.match(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        return None
    try:
        return _since_1970(datetime.fromisoformat(text))
    except (ValueError, OverflowError, OSError):
        return None


def _since_1970(found: datetime) -> int:
    return round(found.timestamp() * 1_000_000) * 1000
