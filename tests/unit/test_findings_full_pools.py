"""POOL-SATURATED where a thread is made for each connection: there is no pool, and whoever accepts is named."""

from __future__ import annotations

import pytest
from perfdiag.findings.base import Confidence, Severity

from unit.support import Builder
from unit.support.exchanges import exchange, latency
from unit.support.judging import check, finding

S, MS = 1_000_000_000, 1_000_000
POOL = "POOL-SATURATED"


def accepting(number: int, wall: str, *, delay_ms: int = 50, **acceptor: str) -> Builder:
    """Return a server with so many threads that live for so long, beside the one that accepts; 100 requests."""
    builder = Builder(comm="server").thread("acceptor", **acceptor)
    for tid in range(200, 200 + number):
        builder.thread("handler", tid=tid, wall=wall, cpu_user="1 ms", rest="wait.parked", exited=True)
    whole_ns = 100 * (delay_ms + 60) * MS
    builder.line(exchange(100, whole_ns, {"cpu.user": 6 * S}, read_delay_ns=100 * delay_ms * MS))
    builder.line(latency([whole_ns // 100] * 100))
    return builder.line(latency([delay_ms * MS] * 100, "read_delay"))


def test_who_accepts_late_is_named_and_no_worker() -> None:
    """It read "All workers are taken, mostly with runq.waking": more of them."""
    found = finding(accepting(100, "5 ms", wait_timer="9900 ms", net_accept="50 ms").model(), POOL)
    assert found.severity is Severity.WARNING and found.confidence is Confidence.HIGH
    assert (
        "a thread is made for each connection: acceptor (100), which accepts, is in wait.timer for 99 %" in found.claim
    )
    assert "workers" not in found.claim + str(found.remedies)


def test_which_of_two_accepts_is_not_known_where_none_waits_for_a_connection() -> None:
    one = accepting(100, "5 ms", wait_timer="10 s")
    assert "acceptor (100), which accepts, is in wait.timer for 100 %" in finding(one.model(), POOL).claim
    found = finding(one.thread("spin", tid=150, cpu_user="10 s").model(), POOL)
    assert found.confidence is Confidence.MEDIUM and "not seen" in str(found.limits)
    assert "which accepts" not in found.claim


@pytest.mark.parametrize(("number", "wall"), [(49, "5 ms"), (100, "2 s")])
def test_a_pool_that_is_full_is_one(number: int, wall: str) -> None:
    found = finding(accepting(number, wall, net_accept="50 ms", wait_timer="9900 ms").model(), POOL)
    assert "All workers are taken" in found.claim


def test_threads_that_are_made_in_time_are_no_fault() -> None:
    assert "to be read" in check(accepting(100, "5 ms", delay_ms=1, net_accept="9 s").model(), POOL).text
