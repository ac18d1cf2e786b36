"""What slow requests took beyond the median of their name, and in which accounts."""

from collections.abc import Mapping


def beyond_median(
    slow: Mapping[str, int], slow_ns: int, count: int, others: Mapping[str, int], median_ns: int
) -> dict[str, int]:
    """Return the accounts of what `count` slow requests took beyond as many that take the median.

    Parts are positive and add up to `slow_ns` less the medians.

    No sum tells the accounts of the median request itself.  Those of `others`, which kept the limit, stand for it, made
    as long as the median: one that nearly missed the limit weighs in their mean, and there it would hide a part of the
    excess.  What it did, say wait for a disk, is then taken for a part of the median, so that an account can be wrong
    by the medians at most, which are short beside what is slow.  Where slow requests spent less in an account than the
    median would, nothing went beyond it: what the other accounts have too much by that is taken off all alike.
    """
    excess_ns = slow_ns - count * median_ns
    if excess_ns <= 0:
        return {}
    whole = sum(others.values())
    usual = {name: ns * count * median_ns / whole for name, ns in others.items()} if whole else {}
    return _scaled({name: max(0.0, ns - usual.get(name, 0.0)) for name, ns in slow.items()}, excess_ns)


def _scaled(parts: Mapping[str, float], ns: int) -> dict[str, int]:
    """Return parts as large beside each other that add up to `ns`; what rounding leaves is the largest one's."""
    whole = sum(parts.values())
    if not whole:
        return {}
    scaled = {name: int(ns * (part / whole)) for name, part in parts.items()}
    largest = max(scaled, key=lambda name: scaled[name])
    scaled[largest] += ns - sum(scaled.values())
    return {name: part for name, part in scaled.items() if part > 0}
