"""Requests and calls of a recording in the making:

Builder().exchange("port:80", "accepted", {"10 ms": 100}, peers_ns="800 ms")
Builder().exchange("peer:10.0.0.5:5432", "connected", {"1 ms": 900}, connect={"1.02 s": 3}, retries=3)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from perfdiag.recording import schema

from unit.support.amounts import Sum, Time, account_name, nanoseconds, sum_of
from unit.support.exchanges import exchange, latency


class Exchanging:
    """The part of a builder that adds requests and calls; every method returns the builder."""

    def line(self, line: schema.Line) -> Self:
        """Add a line as it is."""
        raise NotImplementedError

    def exchange(
        self,
        object: str,
        direction: str,
        durations: Mapping[str, int],
        *,
        name: str = "",
        connect: Mapping[str, int] | None = None,
        accounts: Mapping[str, Sum] | None = None,
        **fields: Time,
    ) -> Self:
        """Add requests, calls or look-ups with the durations they had; of requests all were served by one thread."""
        of = {"object": object, "name": name, "direction": direction}
        counts: dict[str, Any] = {key: nanoseconds(value) for key, value in fields.items()}
        if direction != "accepted":
            counts |= {"whole": 0, "whole_ns": 0}
        times, connects = _each(durations), _each(connect or {})
        counts["connects"] = len(connects) - counts.get("connects_failed", 0) - counts.get("connecting", 0)
        parts = {account_name(key): sum_of(value)[0] for key, value in (accounts or {}).items()}
        self.line(exchange(len(times), sum(times), parts, **of, **counts))
        for measure, given in (("whole", times), ("connect", connects)):
            if given:
                self.line(latency(given, measure, **of))
        return self


def _each(durations: Mapping[str, int]) -> list[int]:
    return [nanoseconds(text) for text, number in durations.items() for _ in range(number)]


__all__ = ["Exchanging"]
