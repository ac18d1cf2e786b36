"""Waits for an answer that never comes, which the target's own timeouts end (IPC-PEER-SLOW, NET-PEER-SLOW)."""

from __future__ import annotations

from typing import Any

import pytest
from perfdiag.diagnosis.rule import Confidence, Mechanism, Severity

from unit.support import Builder
from unit.support.exchanges import served
from unit.support.judging import finding

S = 1_000_000_000
ENDS = [
    ("ipc.unix", "unix:700:nscd", "IPC-PEER-SLOW", "a unix socket made by nscd (700)"),
    ("net.receive", "peer:10.0.0.9:389", "NET-PEER-SLOW", "10.0.0.9:389"),
]


def waiting(account: str, object: str, **calls: Any) -> Builder:
    """Short children wait 5 s for somebody, twice each; a process beside them works, who might end waits of theirs."""
    builder = Builder().thread("server", tid=400, pid=400, cpu_user="100 ms")
    for pid in range(500, 514):
        builder.thread("id", tid=pid, pid=pid).row(account, object, durations={"5 s": 2})
    return builder.exchange(object, "connected", {}, **{"unanswered": 18, "timed_out": 18, "open": 10, **calls})


def inside(builder: Builder, ns: int, account: str) -> Builder:
    for line in served(4, 10 * S, {account: ns, "cpu.user": 40 * S - ns}, object="port:80"):
        builder.line(line)
    return builder


@pytest.mark.parametrize(("account", "object", "id", "place"), ENDS)
def test_where_timeouts_end_the_waits_nobody_answers(account: str, object: str, id: str, place: str) -> None:
    """It read "several other threads end their waits", and "no problem", of requests that took 10 s."""
    found = finding(inside(waiting(account, object), 39 * S, account).model(), id)
    assert found.headline == f"Nobody answers at {place}; timeouts end the waits, 5 s each"
    assert found.severity is Severity.WARNING and found.mechanism is Mechanism.FAILED
    assert found.confidence is Confidence.HIGH, found.limits
    assert f"Nobody has answered any of 28 calls at {place}" in found.claim
    assert any("18 calls ended without an answer after a timeout" in each.text for each in found.evidence)


@pytest.mark.parametrize(("account", "object", "id", "place"), ENDS)
def test_outside_of_requests_it_is_less_sure(account: str, object: str, id: str, place: str) -> None:
    found = finding(waiting(account, object).model(), id)
    assert found.mechanism is Mechanism.FAILED and found.confidence is Confidence.MEDIUM
    elsewhere = inside(waiting(account, object), S // 2, account).model()
    assert finding(elsewhere, id).confidence is Confidence.MEDIUM


@pytest.mark.parametrize(("account", "object", "id", "place"), ENDS)
@pytest.mark.parametrize(
    "calls",
    [
        {"unanswered": 0, "timed_out": 0},  # all of them wait on: for news, or for work
        {"timed_out": 0},  # the peer has closed the connections
        {"timed_out": 8},  # most of them
        {"unanswered": 0, "timed_out": 0, "unawaited": 18, "unawaited_ns": 90 * S},  # they go on
    ],
)
def test_who_waits_on_or_is_hung_up_on_is_no_such_case(
    calls: dict[str, int], account: str, object: str, id: str, place: str
) -> None:
    assert "Nobody answers" not in finding(waiting(account, object, **calls).model(), id).headline


@pytest.mark.parametrize(("account", "object", "id", "place"), ENDS)
def test_who_answers_at_times_is_slow_or_busy_elsewhere(account: str, object: str, id: str, place: str) -> None:
    answered = waiting(account, object).exchange(object, "connected", {"10 ms": 2})
    assert "Nobody answers" not in finding(answered.model(), id).headline
