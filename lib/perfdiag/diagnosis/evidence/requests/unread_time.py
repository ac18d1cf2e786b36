"""Requests that have arrived and that nobody reads: how long, and whether that is much of their time."""

from __future__ import annotations

from perfdiag.common.units import first_of
from perfdiag.diagnosis.evidence.requests.calls import spread
from perfdiag.diagnosis.rule import Check, Evidence, Silence
from perfdiag.diagnosis.significance import FAULT_SHARE, duration, percent
from perfdiag.model.model import Model
from perfdiag.model.requests.exchanges import Latencies, together
from perfdiag.model.requests.request_time import QUEUED, RequestTime
from perfdiag.model.requests.serving_threads import Servers

# Less than this is a wake-up: nobody holds up a loop with it.  Half of the delay must lie in longer ones: a loop that
# has all it can do keeps each request waiting for some microseconds, and one of half a million for an accident.
HELD_UP_NS = 20_000_000
SHOWN = 3  # accounts of readers


def unread_ns(time: RequestTime, part: float) -> int:
    """Return for how long requests lay unread in the `part` that is meant, of all the time in which they did.

    What findings of their own have of it is no longer in it.
    """
    left = 1 - sum(time.met.passed_on.values())
    return round(time.accounts.get(QUEUED, 0) * min(1.0, part / left)) if left > 0 else 0


def queue_claims(time: RequestTime, *, taken: bool) -> dict[str | tuple[str, str], int]:
    """Return the claims on the time in which requests lay unread, by what their readers were in: of those that were
    `taken` by other requests, or of all."""
    found: dict[str | tuple[str, str], int] = {}
    for reader, ns in time.queued.items():
        if (reader.taken or not taken) and ns:
            found[QUEUED, reader.account] = found.get((QUEUED, reader.account), 0) + ns
    return found


def not_followed(id: str, time: RequestTime) -> Check | Silence:
    """Return that rule `id` knows nothing of a recording without the lines of time of who reads."""
    queued = time.accounts.get(QUEUED, 0)
    if queued < FAULT_SHARE * time.ns:
        return hardly_unread(id, time, queued)
    reason = "recorded before requests were followed to who reads them: in what that one was is not known"
    return Silence(id, reason, "perfdiag record, once more")


def delays_of(model: Model) -> Latencies:
    """Return how long requests had arrived until they were read, of all names together."""
    return together(each.read_delay for each in model.exchanges if each.served)


def is_held_up(model: Model) -> bool:
    """Return whether delays are no mere wake-ups: half of their time lies in longer ones, or some are never read."""
    oldest_ns = max((line.oldest_ns for line in model.requests_awaited), default=0)
    return delays_of(model).typical_ns() >= HELD_UP_NS or oldest_ns >= HELD_UP_NS


def hardly_unread(id: str, time: RequestTime, ns: int) -> Check:
    """Return that rule `id` found nothing, with how long requests waited for what it looks at."""
    return Check(
        id, f"requests wait {duration(ns)} to be read, {percent(ns / time.ns)} of their time", ns / time.ns, "share"
    )


def meanwhile(by: Servers) -> Evidence:
    """Return in what those were who then read them, for which part of the time that is not known, and how surely."""
    met = by.met
    names = sorted(met.others, key=lambda name: -met.others[name])
    parts = [f"{percent(met.others[name])} in {name}" for name in names]
    if met.passed_on:
        parts.append(f"{percent(sum(met.passed_on.values()))} in what has findings of its own")
    if met.unheard:
        parts.append(f"{percent(met.unheard)} idle")
    text = f"who read them was meanwhile {first_of(parts, SHOWN)}; {percent(met.taken)} with other requests"
    told = f"{text} (+-{percent(by.error)}); for {percent(met.unknown)} that is not known"
    return Evidence(told, met.taken, "share", "lines of time", by.error + met.unknown)


def read_after(delays: Latencies) -> Evidence:
    """Return the delays as evidence."""
    if not delays.count:
        return Evidence("no request was read", 0.0, "count", "sockets")
    text = f"{delays.count:,} requests read after {spread(delays)}"
    return Evidence(text, float(delays.sum_ns), "ns", "sockets")


__all__ = [
    "HELD_UP_NS",
    "delays_of",
    "hardly_unread",
    "is_held_up",
    "meanwhile",
    "not_followed",
    "queue_claims",
    "read_after",
    "unread_ns",
]
