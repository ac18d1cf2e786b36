"""Requests that have arrived and that nobody reads: how long, and whether that is much of their time."""

from __future__ import annotations

from perfdiag.exchanges import Latencies, together
from perfdiag.findings.base import Check, Evidence
from perfdiag.findings.calls import spread
from perfdiag.findings.weigh import duration, percent
from perfdiag.model import Model
from perfdiag.requests import QUEUED, RequestTime

# Less than this is a wake-up: nobody holds up a loop with it.  Half of the delay must lie in longer ones: a loop that
# has all it can do keeps each request waiting for some microseconds, and one of half a million for an accident.
HELD_UP_NS = 20_000_000


def unread_ns(time: RequestTime, part: float | None) -> int:
    """Return for how long requests lay unread, but for what findings of its own have.

    Of that only the `part` counts in which their readers were recorded to be in what is meant; None: recordings of
    earlier versions do not tell, and all of it does.
    """
    queued = time.accounts.get(QUEUED, 0)
    left = 1 - sum(time.met.passed_on.values())
    if part is None:
        return queued
    return round(queued * min(1.0, part / left)) if left > 0 else 0


def delays_of(model: Model) -> Latencies:
    """Return how long requests had arrived until they were read, of all names together."""
    return together(each.read_delay for each in model.exchanges if each.served)


def is_held_up(model: Model) -> bool:
    """Return whether delays are no mere wake-ups: half of their time lies in longer ones, or some are never read."""
    oldest_ns = max((line.oldest_ns for line in model.requests_awaited), default=0)
    return delays_of(model).typical_ns() >= HELD_UP_NS or oldest_ns >= HELD_UP_NS


def hardly_unread(id: str, time: RequestTime) -> Check:
    """Return that of rule `id` nothing was found, with how long requests waited to be read."""
    queued = time.accounts.get(QUEUED, 0)
    text = f"requests wait {duration(queued)} to be read, {percent(queued / time.ns)} of their time"
    return Check(id, text, queued / time.ns, "share")


def read_after(delays: Latencies) -> Evidence:
    """Return the delays as evidence."""
    if not delays.count:
        return Evidence("no request was read", 0.0, "count", "sockets")
    text = f"{delays.count:,} requests read after {spread(delays)}"
    return Evidence(text, float(delays.sum_ns), "ns", "sockets")


__all__ = ["HELD_UP_NS", "delays_of", "hardly_unread", "is_held_up", "read_after", "unread_ns"]
