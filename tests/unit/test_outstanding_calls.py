"""What clients may wait for, where nobody could follow it."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.engine import diagnose

from unit.support import Builder
from unit.support.exchanges import exchange, served
from unit.support.reports import made

S, MS = 1_000_000_000, 1_000_000
UPSTREAM = "peer:10.0.0.53:53"


def forwarder(answers_ms: int, busy_ns: int, *, clients: bool = True) -> str:
    """The verdict on a thread that forwards what clients ask by UDP, and waits for events."""
    builder = Builder(comm="dnsmasq").thread("dnsmasq", cpu_user="100 ms", rest="wait.events")
    asked = {"object": UPSTREAM, "direction": "datagram", "untimed": 400, "unawaited": 400, "busy_ns": busy_ns}
    for line in served(400, answers_ms * MS, **asked):
        builder.line(line)
    if clients:
        builder.line(exchange(0, 0, object="port:53", direction="datagram_port", untimed=400, unawaited=400))
    model = builder.model()
    return made(model, *diagnose(model).findings).verdict.text


def test_a_forwarder_is_told_with_the_peer_that_it_asks() -> None:
    """Each of 480 names was asked upstream for 21 ms: "hardly busy, it waited for events" was all that was said."""
    said = forwarder(21, 9 * S)
    assert "Its clients may wait for 10.0.0.53:53, which it asks by UDP: answers take 21 ms" in said, said


@pytest.mark.parametrize(
    ("answers_ms", "busy_ns", "clients"), [(1, 9 * S, True), (21, S // 10, True), (21, 9 * S, False)]
)
def test_fast_and_rare_answers_and_a_client_are_not_told(answers_ms: int, busy_ns: int, clients: bool) -> None:
    assert "may wait" not in forwarder(answers_ms, busy_ns, clients=clients)
