"""Event loops that wait for a peer in a call that blocks (NET-PEER-SLOW, LOOP-BLOCKED)."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Severity

from unit.support import Builder
from unit.support.exchanges import exchange, latency, unread
from unit.support.judging import finding

MS = 1_000_000
LOOP, PEER = "LOOP-BLOCKED", "NET-PEER-SLOW"
UPSTREAM = "peer:10.0.0.7:5432"
COUNT, DELAY_NS = 128, 60 * MS


def calling(turns: int, peer: float) -> Builder:
    """Return a server that asks a service in a blocking call for each request; that part of the time it lay unread."""
    builder = Builder(comm="python3").thread("python3", cpu_user="400 ms", rest="wait.events")
    builder.row("net.receive", UPSTREAM, durations={"30 ms": COUNT}).socket(UPSTREAM)
    builder.stack("cpu", user=["renderYearlyReport (app.js)"], count=80)
    parts, unread_ns = {"cpu.user": 400 * MS, "net.receive": 3840 * MS}, COUNT * DELAY_NS
    whole_ns = sum(parts.values()) + unread_ns
    builder.reads(COUNT, turns)
    builder.line(exchange(COUNT, whole_ns, parts, turns=turns, read_delay_ns=unread_ns))
    for account, part in (("net.receive", peer), ("cpu.user", 1 - peer)):
        builder.line(*unread({(account, account): int(part * unread_ns)}))
    builder.line(latency([whole_ns // COUNT] * COUNT))
    return builder.line(latency([DELAY_NS] * COUNT, "read_delay"))


@pytest.mark.parametrize("peer", [0.6, 0.9])
def test_an_event_loop_that_calls_and_blocks_holds_up_all_requests(peer: float) -> None:
    first = diagnose(calling(127, peer).model()).findings[0]
    assert first.id == PEER and first.inside and first.severity is Severity.WARNING
    assert first.headline.startswith("The event loop waits for 10.0.0.7:5432 in a blocking call")
    assert "await the call" in first.remedies[0].text and "reads and answers no other request" in first.claim


def test_an_event_loop_held_up_by_waits_that_have_findings_names_these_and_no_code() -> None:
    held = finding(calling(127, 0.6).model(), LOOP)
    assert held.headline == "The event loop is held up: its thread mostly waits for a peer"
    assert "mostly while its own thread waits for a peer" in held.claim and "renderYearly" not in str(held)
    assert held.remedies[0].text.startswith("await what it waits for")


def test_who_is_no_event_loop_or_computes_meanwhile_may_block_in_a_call() -> None:
    for builder in (calling(0, 0.9), calling(127, 0.02)):
        assert "event loop" not in finding(builder.model(), PEER).headline
    computes = finding(calling(127, 0.3).model(), LOOP)
    assert "renderYearlyReport (app.js)" in computes.claim and "waits for a peer" not in computes.claim


def test_other_threads_may_block_in_calls() -> None:
    """An event loop gives its calls to threads: it is not what waits for the peer."""
    builder = calling(127, 0.6)
    builder.thread("worker", rest="wait.parked")
    builder.row("net.receive", UPSTREAM, durations={"30 ms": 233})
    assert "event loop" not in finding(builder.model(), PEER).headline
