"""Waits for what a peer says first on a new connection."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.rule import Severity
from perfdiag.model.model import Model

from unit.support import Builder
from unit.support.exchanges import served
from unit.support.judging import finding, findings

RELAY, ID = "peer:10.0.0.9:25", "NET-PEER-SLOW"
S, MS = 1_000_000_000, 1_000_000


def sender(greetings: int, each_ms: int) -> Model:
    """A job whose calls are answered after 500 us, and whose connections are greeted."""
    builder = Builder().thread("mails", cpu_user="50 ms", rest="wait.timer")
    greeted = {f"{each_ms} ms": greetings} if greetings else {}
    builder.row("net.receive", RELAY, durations={"500 us": 100, **greeted})
    builder.exchange(
        RELAY,
        "connected",
        {"500 us": 100},
        connect={"100 us": 20},
        greetings=greetings,
        greeting_ns=f"{greetings * each_ms} ms",
    )
    return builder.socket(RELAY, rtt_us=100, minimum_rtt_us=100).model()


def test_a_relay_that_greets_late_is_named() -> None:
    """ "Blocked or idle, unknown" was said of a job whose relay greets after 150 ms: nothing had been asked by then."""
    model = sender(20, 150)
    found = finding(model, ID)
    assert found.headline == "10.0.0.9:25 greets each new connection late, after 150 ms"
    assert found.severity is Severity.WARNING and model.ns("net.receive") >= 3 * S


@pytest.mark.parametrize(("greetings", "each_ms"), [(0, 0), (20, 2)])
def test_who_greets_soon_does_not(greetings: int, each_ms: int) -> None:
    assert all("greets" not in each.headline for each in findings(sender(greetings, each_ms), ID))


def test_requests_of_a_loop_wait_for_a_greeting() -> None:
    builder = Builder().thread("loop", wait_events="9 s", cpu_user="50 ms")
    for line in served(20, 160 * MS, {"wait.events": 3 * S}, peers_ns=3_010 * MS):
        builder.line(line)
    builder.exchange(RELAY, "connected", {"500 us": 20}, greetings=20, greeting_ns="3 s")
    found = finding(builder.socket(RELAY, rtt_us=100, minimum_rtt_us=100).model(), ID)
    assert found.headline.startswith("10.0.0.9:25 greets") and found.severity is Severity.WARNING
