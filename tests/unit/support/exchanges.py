"""Requests and calls in tests: lines that agree with each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from perfdiag.model.requests.exchanges import Exchange, exchanges_of
from perfdiag.recording import schema

PORT = "port:8080"


def fine_bucket(ns: int) -> int:
    """Return the index of the bucket of a latency, counted up edge by edge."""
    units = ns // schema.LATENCY_UNIT_NS
    if units < schema.LATENCY_STEPS:
        return units
    doublings = units.bit_length() - 5
    return min(16 + 16 * doublings + (units >> doublings) - 16, schema.LATENCY_BUCKETS - 1)


def latency(times_ns: Sequence[int], measure: str = "whole", **of: str) -> schema.Latency:
    """Return the line of so many times."""
    return schema.Latency(
        **{"object": PORT, "name": "", "direction": "accepted", **of},
        measure=measure,
        count=len(times_ns),
        sum_ns=sum(times_ns),
        max_ns=max(times_ns, default=0),
        buckets=sorted(Counter(map(fine_bucket, times_ns)).items()),
    )


def exchange(count: int, sum_ns: int, accounts: dict[str, int] | None = None, **fields: Any) -> schema.Exchange:
    """Return a line of requests that one thread each has served; what is not given is zero."""
    parts = [schema.PartSum(name, ns) for name, ns in (accounts or {}).items()]
    given = {"object": PORT, "name": "", "direction": "accepted", "whole": count, "whole_ns": sum_ns, **fields}
    later = ("over_slo", "held", "untaken", "unanswered_", "unread_", "most", "levels")
    counts = {name: 0 for name in schema.Exchange.__struct_fields__[5:] if not name.startswith(later)}
    return schema.Exchange(**{**counts, "count": count, "sum_ns": sum_ns, "accounts": parts, **given})


def named_call(name: str, count: int, each_ms: int, **fields: Any) -> schema.NamedCall:
    """Return calls of one name that all take as long; the requests that make them are known."""
    ns = each_ms * 1_000_000
    of = {"object": "peer:10.0.0.5:8080", "request": "GET /cart", "owned": count}
    whole = {"count": count, "sum_ns": count * ns, "max_ns": ns, "buckets": [(fine_bucket(ns), count)]}
    return schema.NamedCall(name=name, **{**of, **whole, **fields})


def served(count: int, each_ns: int, accounts: dict[str, int] | None = None, **fields: Any) -> list[schema.Line]:
    """Return the lines of so many requests (or calls), each of the same time, their `accounts` for all of them."""
    line = exchange(count, count * each_ns, accounts, **fields)
    return [line, latency([each_ns] * count, object=line.object, name=line.name, direction=line.direction)]


def unread(
    parts: Mapping[tuple[str, str], int], *, over_slo: bool = False, served: bool = True
) -> list[schema.RequestUnread]:
    """Return in what the readers of requests were, by account and root, while those lay unread."""
    return [schema.RequestUnread(PORT, "", over_slo, *pair, ns, served) for pair, ns in parts.items()]


def joined(lines: Sequence[schema.Line]) -> list[Exchange]:
    """Return what lines mean together."""
    return exchanges_of(
        [line for line in lines if isinstance(line, schema.Exchange)],
        [line for line in lines if isinstance(line, schema.Latency)],
    )


__all__ = ["PORT", "exchange", "fine_bucket", "joined", "latency", "served", "unread"]
