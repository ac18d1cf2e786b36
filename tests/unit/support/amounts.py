"""Amounts in tests: times as texts, accounts as keywords, histograms."""

from __future__ import annotations

from perfdiag.recording.accounts import ACCOUNTS
from perfdiag.recording.distribution import SMALLEST_BUCKET_NS

Time = int | str
Sum = Time | tuple[Time, int] | tuple[Time, int, Time]

_ACCOUNT_OF = {account.name.replace(".", "_"): account.name for account in ACCOUNTS}
_UNITS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000, "min": 60_000_000_000}


def nanoseconds(time: Time) -> int:
    """Return an int as it is, a text like "9.8 ms" in nanoseconds."""
    if isinstance(time, int):
        return time
    value, unit = time.split()
    return round(float(value) * _UNITS[unit])


def bucket_of(ns: int) -> int:
    """Return the index of the log2 bucket of a duration."""
    return min(31, (ns // SMALLEST_BUCKET_NS).bit_length())


def account_name(keyword: str) -> str:
    """Return "disk.flush" for "disk_flush"; KeyError for what is no account."""
    return keyword if keyword in _ACCOUNT_OF.values() else _ACCOUNT_OF[keyword]


def spread(sum_ns: int, count: int, max_ns: int) -> list[tuple[int, int]]:
    """Return buckets of `count` waits: one as long as the longest, all others as long as their mean."""
    if not count:
        return []
    if count == 1:
        return [(bucket_of(max_ns), 1)]
    mean = max(0, sum_ns - max_ns) // (count - 1)
    buckets = {bucket_of(max_ns): 1}
    buckets[bucket_of(mean)] = buckets.get(bucket_of(mean), 0) + count - 1
    return sorted(buckets.items())


def sum_of(value: Sum) -> tuple[int, int, int]:
    """Return nanoseconds, count and longest of a time, (time, count) or (time, count, longest)."""
    if not isinstance(value, tuple):
        value = (value, 1)
    ns, count = nanoseconds(value[0]), value[1]
    return ns, count, nanoseconds(value[2]) if len(value) == 3 else ns // max(1, count)


__all__ = ["Sum", "Time", "account_name", "bucket_of", "nanoseconds", "spread", "sum_of"]
