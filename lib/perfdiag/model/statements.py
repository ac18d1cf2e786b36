"""SQL statements of the target's servers, those that took most time in all first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from perfdiag.model.requests.exchanges import Latencies
from perfdiag.recording import schema

_WITHOUT_TEXT = {
    "not_run": "(not run: only prepared, or refused)",
    "prepared": "(prepared statements)",
    "other": "(other commands of the protocol)",
    "unread": "(statements whose text was not in memory)",
    "no_room": "(all other statements)",
}


@dataclass(frozen=True, slots=True)
class Statement:
    """All statements of one digest in one kind of server."""

    server: str
    name: str
    has_text: bool
    latency: Latencies
    accounts: Mapping[str, int]
    over_slo: int
    over_slo_ns: int
    over_slo_accounts: Mapping[str, int]
    longest: schema.Statement  # when and where the longest one ran, and its accounts


def statements(lines: Sequence[schema.Statement]) -> list[Statement]:
    """Return the statements of a recording."""
    return sorted((_statement(line) for line in lines), key=lambda each: -each.latency.sum_ns)


def _statement(line: schema.Statement) -> Statement:
    name = line.name + (" ..." if line.cut else "") if line.kind == "run" else _WITHOUT_TEXT.get(line.kind, line.kind)
    return Statement(
        server=line.server,
        name=name,
        has_text=line.kind == "run",
        latency=Latencies(count=line.count, sum_ns=line.sum_ns, max_ns=line.max_ns, buckets=dict(line.buckets)),
        accounts=_sums(line.accounts),
        over_slo=line.over_slo,
        over_slo_ns=line.over_slo_ns,
        over_slo_accounts=_sums(line.over_slo_accounts),
        longest=line,
    )


def _sums(parts: Sequence[schema.PartSum]) -> dict[str, int]:
    return {part.account: part.sum_ns for part in parts}


__all__ = ["Statement", "statements"]
