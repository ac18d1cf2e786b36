"""Calls that go along with requests: whose time is the peers', though nobody knows for which request each was made."""

from __future__ import annotations

from typing import Any

import pytest
from perfdiag.diagnosis.rule import Confidence, Severity
from perfdiag.model.model import Model
from perfdiag.model.requests.request_time import PEERS, REST
from perfdiag.recording import schema

from unit.support import Builder
from unit.support.judging import finding, findings, outcomes

S = 1_000_000_000
PEER, SLOW, LOST = "peer:10.0.0.9:9000", "NET-PEER-SLOW", "NET-RETRANSMITS"
REQUESTS = 40


def handed_on(
    accompanied: float, alone: float = 0, *, unseen: int = 0, resent: int = 0, each_ms: int = 200, **call: Any
) -> Model:
    """Return a server of goroutines: requests of 8 s in all, nothing of which is followed; calls in so many seconds."""
    builder = Builder(window="10 s").thread("server", cpu_user="100 ms", rest="wait.work")
    builder.exchange("port:80", "accepted", {f"{each_ms} ms": 8000 // each_ms}, whole=0, whole_ns=0)
    builder.exchange(PEER, "connected", **({"durations": {"190 ms": REQUESTS}} | call))
    builder.socket(PEER, retransmits_seen=resent)
    levels = [schema.Level(1, 8 * S)]
    return builder.line(schema.RequestsInside(1, levels, unseen, 3, round(accompanied * S), round(alone * S))).model()


def test_requests_that_calls_accompany_wait_for_the_peer() -> None:
    model = handed_on(7.6)
    time = model.request_time
    assert time and time.accounts[PEERS] == pytest.approx(7.6 * S, rel=0.01)
    assert time.accounts[REST] == pytest.approx(0.4 * S, rel=0.05)
    found = finding(model, SLOW)
    assert found.severity is Severity.WARNING and found.confidence is Confidence.MEDIUM
    assert "only their timing" in found.limits[0]


@pytest.mark.parametrize(
    "model",
    [
        handed_on(7.6, alone=2),  # it polls a queue, or sends what is never answered
        handed_on(7.6, unseen=1),  # what was under way there counted on
        handed_on(0),
        handed_on(7.6, durations={"5 s": 2}),  # a queue that is polled for long, as it happens while requests come
        handed_on(7.6, durations={"190 ms": REQUESTS // 4}),
    ],
)
def test_calls_that_may_have_nothing_to_do_with_requests(model: Model) -> None:
    time = model.request_time
    assert time and not time.accompanied and time.accounts[REST] == pytest.approx(8 * S, rel=0.01)
    assert not findings(model, SLOW)


def test_a_peer_that_does_not_answer_is_waited_for_until_requests_give_up() -> None:
    silent = {"durations": {"2 ms": 10}, "unanswered": 9, "unanswered_ns": 0, "unanswered_lasted_ns": round(7.2 * S)}
    found = finding(handed_on(7.3, each_ms=800, **silent, connect={"1 ms": 9}), SLOW)
    assert "does not answer; requests give up after 800 ms" in found.headline
    lost = handed_on(7.3, each_ms=800, **silent, connect={"1 ms": 9}, resent=60)
    assert "are dead" in finding(lost, SLOW).headline and "idle timeout" in finding(lost, SLOW).remedies[0].text
    assert not outcomes(lost, LOST), "retransmissions are not ruled out beside it"
