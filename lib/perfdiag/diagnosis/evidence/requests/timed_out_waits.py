"""Waits inside requests, on futexes, that no thread ended: their own timeouts did."""

from collections.abc import Mapping

from perfdiag.common.by_key import sums_by_key
from perfdiag.diagnosis.evidence.requests.pool_size import pool_size
from perfdiag.diagnosis.policy import requests_policy
from perfdiag.diagnosis.significance import thread_of
from perfdiag.model.model import Model, Row
from perfdiag.model.requests.request_time import RequestTime
from perfdiag.recording.accounts import PARKED
from perfdiag.recording.levels import above_ns


def timed_out(model: Model, time: RequestTime) -> dict[str, int]:
    """Return the time of requests, by futex, on futexes where threads ended next to none of it: each wake-up of a
    request tells what the one who woke it did meanwhile, unless that is no thread of the target."""
    chains, rows = [each for each in model.chains if each.account == PARKED], model.rows_of(PARKED)
    ended_ns = sums_by_key((each.key, each.ns) for each in chains if each.inside)
    parked_ns = {key: ns for (account, key), ns in time.rows.items() if account == PARKED}
    each_ns = sum(parked_ns.values()) / time.count
    woken = {each.key for each in chains} | {row.key for row in rows if row.waker_tid}
    perhaps = {row.key for row in rows if row.key in woken and _may_end(model, row, each_ns)}
    return {
        key: ns
        for key, ns in parked_ns.items()
        if key not in perhaps and ended_ns[key] < requests_policy.ended_share * ns
    }


def _may_end(model: Model, row: Row, each_ns: float) -> bool:
    """Return whether those who woke others on a futex may have ended the waits of requests there, which are blocked for
    so long: one ended most waits, or is not of the target, so that no more is known of it; or a request waits there
    many times in a row, and the last time is not told from those that timeouts end (the lock of an interpreter)."""
    waits, waker = row.distribution, row.waker_tid
    one = bool(waker) and (2 * row.waker_count > waits.count or thread_of(model, waker) is None)
    return one or requests_policy.waits_again_factor * waits.sum_ns < each_ns * waits.count


def all_wait_at_once(model: Model, parked_ns: Mapping[str, int]) -> int:
    """Return how many threads of a pool serve requests, if all of them are with one for most of the time in which any
    is; 0 if that is not so, or not known.

    `parked_ns`: for how long requests are parked there, by futex.  The threads of a pool are woken for work where they
    wait; a thread on a futex that nobody ever wakes sleeps for a fixed time, or waits in vain.
    """
    woken = {row.key for row in model.rows_of(PARKED) if row.waker_tid}
    woken_ns = sum(ns for key, ns in parked_ns.items() if key in woken)
    number = pool_size(model) if 2 * woken_ns > sum(parked_ns.values()) else 0
    levels = model.requests_inside.levels if model.requests_inside else ()
    return number if number > 1 and 2 * above_ns(levels, number - 1) > above_ns(levels, 0) else 0
