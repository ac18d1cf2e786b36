"""From the kernel log's clock to the time of day, as far as that can be known.

The log counts from the boot and stands still while the host is suspended.  Nothing in it is disciplined by NTP.  What
that leaves open is told with every time: the event was at `realtime_ns`, or earlier by at most `early_ns`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from perfdiag.common.units import SECOND_NS
from perfdiag.facts.oom.log_lines import Entry

_SUSPENDS = ("PM: suspend", "PM: hibernation", "PM: Image restored", "Restarting tasks")


@dataclass(frozen=True)
class Moment:
    """A time of day and its doubt."""

    realtime_ns: int
    early_ns: int = 0


@dataclass(frozen=True)
class Clocks:
    """This host's clocks, read together."""

    realtime_ns: int
    monotonic_ns: int
    raw_ns: int  # CLOCK_MONOTONIC_RAW: what no NTP has touched
    boottime_ns: int

    @classmethod
    def now(cls) -> Clocks:
        """Read them."""
        return cls(
            time.clock_gettime_ns(time.CLOCK_REALTIME),
            time.clock_gettime_ns(time.CLOCK_MONOTONIC),
            time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW),
            time.clock_gettime_ns(time.CLOCK_BOOTTIME),
        )

    @property
    def boot_realtime_ns(self) -> int:
        """When the host was booted."""
        return self.realtime_ns - self.boottime_ns

    @property
    def suspended_ns(self) -> int:
        """How long it was suspended since."""
        return max(0, self.boottime_ns - self.monotonic_ns)

    def moment(self, clock_ns: int, last_suspend_ns: int | None) -> Moment:
        """Return when `clock_ns` of the kernel log was; `last_suspend_ns` is its last line about a suspend, if any."""
        slept_ns = self.suspended_ns if last_suspend_ns is not None and clock_ns <= last_suspend_ns else 0
        drift_ns = abs(self.raw_ns - self.monotonic_ns)
        age = (self.monotonic_ns - clock_ns) / self.monotonic_ns if self.monotonic_ns else 0.0
        doubt_ns = slept_ns + round(drift_ns * min(1.0, max(0.0, age)))
        at_ns = self.realtime_ns - (self.monotonic_ns - clock_ns)
        return Moment(at_ns, doubt_ns if doubt_ns >= SECOND_NS else 0)


def is_suspend(entry: Entry) -> bool:
    """Whether a line tells of a suspend; all that is logged after the last of them has its exact time."""
    return entry.text.startswith(_SUSPENDS)
