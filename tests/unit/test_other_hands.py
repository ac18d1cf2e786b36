"""Requests that go from thread to thread: faults of the target's threads are the proven part of their time."""

from __future__ import annotations

from typing import Any

import pytest
from perfdiag.diagnosis.claims import settle
from perfdiag.diagnosis.other_hands import with_other_hands
from perfdiag.diagnosis.rule import Claims, Finding, Severity
from perfdiag.model.model import Model
from perfdiag.model.requests.request_time import REST

from unit.support import Builder
from unit.support.exchanges import exchange, latency
from unit.support.reports import finding

S, MS = 1_000_000_000, 1_000_000
FLUSH = "DISK-FLUSH-SLOW"


def server(*, whole_ns: int = 10 * S, inside_s: int = 1, flushed: str = "8 s") -> Model:
    """Return 100 requests of 60 s: of those of `whole_ns` one thread each was seen, which flushed for so long."""
    builder = Builder(comm="store").thread("store", disk_flush=flushed)
    builder.thread("reader", cpu_user="1 s", rest="net.receive")
    builder.thread("cleaner", tid=900, memory_swap_in="4 s", rest="wait.timer")
    builder.line(exchange(100, 60 * S, {"cpu.user": S, "disk.flush": inside_s * S}, whole_ns=whole_ns))
    return builder.line(latency([600 * MS] * 100)).model()


def claimed(model: Model, claims: Claims, **more: Any) -> Finding:
    return next(iter(with_other_hands(model, [finding(FLUSH, claims, **more)])))


def test_threads_had_the_requests_that_were_not_followed() -> None:
    found = claimed(server(), {"disk.flush": 8 * S})
    assert found.claims == {"disk.flush": 8 * S, REST: 7 * S}, "one second is inside of requests"
    settled = settle(server(), [found])
    assert settled.findings[0].claimed_ns == 8 * S and settled.findings[0].share == pytest.approx(8 / 60)
    assert settled.unclaimed_ns == 52 * S, "seven other requests may have waited for the same flush: who knows"


def test_never_more_than_was_in_other_hands() -> None:
    found = claimed(server(whole_ns=57 * S), {"disk.flush": 8 * S})
    assert found.claims[REST] == 3 * S


@pytest.mark.parametrize(
    ("model", "claims", "severity"),
    [
        (server(), {"disk.flush": 8 * S}, Severity.INFO),
        (server(whole_ns=60 * S), {"disk.flush": 8 * S}, Severity.WARNING),
        (server(inside_s=8), {"disk.flush": 8 * S}, Severity.WARNING),
        (server(), {"memory.swap_in": 4 * S}, Severity.WARNING),
        (server(), {"wait.timer": 6 * S}, Severity.WARNING),
    ],
    ids=["no-fault", "one-thread-each", "inside", "background", "idle"],
)
def test_nothing_else_had_them(model: Model, claims: Claims, severity: Severity) -> None:
    assert REST not in claimed(model, claims, severity=severity).claims
