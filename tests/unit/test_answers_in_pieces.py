"""Waits for the rest of an answer that has begun: of a request, or of a call with a connection of its own."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.rule import Severity
from perfdiag.model.model import Model

from unit.support import Builder
from unit.support.exchanges import served
from unit.support.judging import finding, findings

BACKEND, ID = "peer:10.0.0.9:9150", "NET-PEER-SLOW"
S = 1_000_000_000


def caller(*, rest_ns: int = 0, connects: int = 0, calls: int = 20) -> Model:
    """Calls that are answered after 1 ms, and 9 s of waits for more at the same peer."""
    builder = Builder().thread("worker", cpu_user="50 ms")
    builder.row("net.receive", BACKEND, durations={"450 ms": 20})
    connect = {"100 us": connects} if connects else {}
    builder.exchange(BACKEND, "connected", {"1 ms": calls}, connect=connect, rest_ns=rest_ns)
    return builder.socket(BACKEND, rtt_us=100, minimum_rtt_us=100).model()


@pytest.mark.parametrize("how", [{"rest_ns": 9 * S}, {"connects": 20}, {"connects": 3, "calls": 3}])
def test_who_sends_the_rest_late_is_slow(how: dict[str, int]) -> None:
    model = caller(**how)
    assert model.ns("net.receive") == 9 * S
    assert "10.0.0.9:9150" in finding(model, ID).headline


@pytest.mark.parametrize("how", [{}, {"connects": 2, "calls": 2}])
def test_waits_at_a_kept_connection_may_be_for_news(how: dict[str, int]) -> None:
    """As of who has subscribed to something, and again after its connection broke: nothing tells that an answer was
    owed."""
    model = caller(**how)
    assert not model.ns("net.receive") and model.ns("wait.parked") == 9 * S
    assert not findings(model, ID)


def loop(rest_ns: int, bytes_in: int = 20_000) -> Model:
    """An event loop that makes one call for each of 20 requests of 450 ms."""
    builder = Builder().thread("loop", wait_events="9 s", cpu_user="50 ms")
    for line in served(20, 450_000_000, {"wait.events": 9 * S - 50_000_000}, peers_ns=20_000_000 + rest_ns):
        builder.line(line)
    builder.exchange(BACKEND, "connected", {"1 ms": 20}, rest_ns=rest_ns, bytes_in=bytes_in)
    return builder.socket(BACKEND, rtt_us=100, minimum_rtt_us=100).model()


def test_requests_of_a_loop_wait_for_the_rest() -> None:
    found = finding(loop(8_800_000_000), ID)
    assert found.severity is Severity.WARNING
    assert found.headline == "10.0.0.9:9150 begins its answers after 1 ms, and takes 440 ms more to send them"
    assert "20 answers, 8.80 s until the rest had come" in found.evidence[0].text


def test_a_rest_that_comes_soon_is_none() -> None:
    assert all("begins" not in each.headline for each in findings(loop(100_000_000), ID))
    long = loop(1_000_000_000, bytes_in=100 << 20)  # 5 MiB in 50 ms: a line of 1 Gbit/s carries no more
    assert all("begins" not in each.headline for each in findings(long, ID))
