"""Waits for the rest of an answer that has begun: of a request, or of a call with a connection of its own."""

from __future__ import annotations

import pytest
from perfdiag.model.model import Model

from unit.support import Builder
from unit.support.judging import finding, findings

BACKEND, ID = "peer:10.0.0.9:9150", "NET-PEER-SLOW"
S = 1_000_000_000


def caller(*, served: bool = False, connects: int = 0) -> Model:
    """20 calls that are answered after 1 ms, and 9 s of waits for more at the same peer."""
    builder = Builder().thread("worker", cpu_user="50 ms")
    builder.row("net.receive", BACKEND, durations={"450 ms": 20})
    builder.exchange(BACKEND, "connected", {"1 ms": 20}, connect={"100 us": connects} if connects else {})
    if served:
        builder.exchange("port:80", "accepted", {"450 ms": 20}, accounts={"net.receive": "8.9 s"})
    return builder.socket(BACKEND, rtt_us=100, minimum_rtt_us=100).model()


@pytest.mark.parametrize("how", [{"served": True}, {"connects": 20}])
def test_who_sends_the_rest_late_is_slow(how: dict[str, int]) -> None:
    model = caller(**how)
    assert model.ns("net.receive") == 9 * S
    assert "10.0.0.9:9150" in finding(model, ID).headline


def test_waits_at_a_kept_connection_may_be_for_news() -> None:
    """As of who has subscribed to something: nothing tells that an answer was owed."""
    model = caller()
    assert not model.ns("net.receive") and model.ns("wait.parked") == 9 * S
    assert not findings(model, ID)


def test_requests_that_wait_for_one_peer_do_not_make_another_slow() -> None:
    """Another thread has subscribed to something, and waits for news as long as requests for the database."""
    builder = Builder().thread("worker", tid=101, pid=100, cpu_user="50 ms")
    builder.row("net.receive", "peer:10.0.0.5:5432", durations={"450 ms": 20})
    builder.exchange("peer:10.0.0.5:5432", "connected", {"450 ms": 20})
    builder.exchange("port:80", "accepted", {"460 ms": 20}, accounts={"net.receive": "9 s"})
    builder.thread("listener", tid=102, pid=100, cpu_user="1 ms")
    builder.row("net.receive", BACKEND, durations={"900 ms": 10}).exchange(BACKEND, "connected", {"1 ms": 2})
    model = builder.model()
    assert model.ns("wait.parked") == 9 * S == model.ns("net.receive")
    assert all("10.0.0.9" not in each.headline for each in findings(model, ID))
