"""Peers that answer nothing by UDP, and feeds that nobody has to answer."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Mechanism, Severity
from perfdiag.report.verdict.sentences import Kind
from perfdiag.report.verdict.verdict import decide

from unit.support import Builder
from unit.support.exchanges import exchange
from unit.support.judging import finding, findings

PEER, ID = "peer:10.0.0.7:1812", "NET-PEER-SLOW"
S = 1_000_000_000


def asking(sent: int, received: int, count: int = 0, each_ns: int = S) -> Builder:
    """A thread that waits nine seconds of ten for a peer."""
    builder = Builder().thread("asks").row("net.receive", PEER, durations={"1 s": 9})
    open_calls = {"open": 1, "oldest_ns": 9 * S, "awaited": 1} if not received else {}
    line = exchange(
        count, count * each_ns, object=PEER, direction="datagram", unawaited=sent, untimed=received, **open_calls
    )
    return builder.line(line)


def test_who_answers_nothing_is_named_with_what_he_got() -> None:
    model = asking(30, 0).model()
    found = finding(model, ID)
    assert found.severity is Severity.WARNING and dict(found.claims) == {("net.receive", PEER): 9 * S}
    assert "10.0.0.7:1812 has answered none of 30 datagrams; threads wait there for 9.00 s." in found.claim
    verdict = decide(model, diagnose(model))
    assert verdict.kind == Kind.CAUSE.value and "not the slow part" not in verdict.text


def test_who_answers_slowly_is_told_as_others_are() -> None:
    found = finding(asking(9, 9, count=9).model(), ID)
    assert "answers slowly" in found.claim
    assert any("9 datagrams sent, 9 came back" in each.text for each in found.evidence)


def test_who_waits_for_news_between_its_keep_alives_blames_nobody() -> None:
    """It is fed: what it waits for is not what it sent."""
    model = asking(3, 90, count=3, each_ns=1_000_000).model()
    assert not any(each.severity is not Severity.INFO for each in findings(model, ID))


@pytest.mark.parametrize(
    ("sent", "received", "severity"),
    [(62, 3, Severity.INFO), (62, 30, Severity.INFO), (62, 31, Severity.WARNING), (6, 4, Severity.WARNING)],
)
def test_who_publishes_and_gets_a_heartbeat_may_have_asked_for_nothing(
    sent: int, received: int, severity: Severity
) -> None:
    """A receive with a timeout of 50 ms, and a datagram sent at each: the peer was told to answer slowly."""
    builder = Builder().thread("feeds").row("net.receive", PEER, durations={"50 ms": 62})
    outstanding = {"busy_ns": 3 * S, "open": 1, "oldest_ns": 2 * S, "awaited": 1, "retries": 58}
    line = exchange(1, S, object=PEER, direction="datagram", unawaited=sent, untimed=received, **outstanding)
    found = finding(builder.line(line).model(), ID)
    assert found.severity is severity and dict(found.claims) == {("net.receive", PEER): 62 * 50_000_000}
    assert (found.mechanism is Mechanism.UNDETERMINED) is (severity is Severity.INFO)


def test_a_feed_is_not_waited_for() -> None:
    builder = Builder().thread("feeds", cpu_user="5 ms").exchange("port:80", "accepted", {"100 us": 5})
    feed = {"object": PEER, "direction": "datagram", "unawaited": 900, "open": 1, "oldest_ns": 9 * S}
    model = builder.line(exchange(0, 0, **feed)).model()
    assert not findings(model, ID) and decide(model, diagnose(model)).kind == Kind.ELSEWHERE.value
    watched = builder.line(exchange(0, 0, **{**feed, "object": "peer:10.0.0.8:1812", "awaited": 1})).model()
    verdict = decide(watched, diagnose(watched))
    assert verdict.kind == Kind.CANNOT_TELL.value
    assert "900 datagrams to 10.0.0.8:1812 got no answer; perhaps they need none." in verdict.text
