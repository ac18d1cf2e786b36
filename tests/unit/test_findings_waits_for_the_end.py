"""NET-PEER-SLOW: requests that have their answer and wait until the peer closes the connection."""

from __future__ import annotations

from typing import Any

import pytest
from perfdiag.diagnosis.rule import Finding, Severity

from unit.support import Builder
from unit.support.exchanges import served
from unit.support.judging import findings

PEER, S = "peer:10.0.0.9:8080", 1_000_000_000


def fetching(first: str = "1 ms", until_end: int = 8, until_end_ns: int = 8 * S, **calls: Any) -> Builder:
    """A worker fetches something for each of eight requests, which takes a second."""
    builder = Builder().thread("php", cpu_user="100 ms").row("net.receive", PEER, durations={"1 s": 8, first: 8})
    for line in served(8, S, {"net.receive": 8 * S}, object="port:9000"):
        builder.line(line)
    return builder.exchange(PEER, "connected", {first: 8}, until_end=until_end, until_end_ns=until_end_ns, **calls)


def found_in(builder: Builder) -> Finding | None:
    return next((each for each in findings(builder.model(), "NET-PEER-SLOW") if PEER[5:] in each.claim), None)


def test_a_peer_that_has_answered_and_keeps_the_connection_open_is_told_so() -> None:
    """It read "Nothing abnormal was found", of requests that took a second: no call was under way."""
    found = found_in(fetching())
    assert found is not None and found.severity is Severity.WARNING and found.inside
    assert found.headline == "10.0.0.9:8080 answers, but requests wait until it closes, 1.00 s each"
    assert "answers after 1.00 ms" in found.claim and "8 times nothing more came" in found.claim
    assert "Connection: close" in found.remedies[0].text and "Content-Length" in found.remedies[0].text
    assert found.claims == {("net.receive", PEER): 8 * S + 8_000_000}


@pytest.mark.parametrize(
    ("first", "until_end", "until_end_ns"),
    [
        ("1 ms", 0, 0),  # the rest of the answer took that long, or a connection is kept for later
        ("1 ms", 3, 3 * S),  # most waits were for something else
        ("1 s", 8, 40_000_000),  # it answers slowly, and closes soon
    ],
)
def test_where_the_end_is_not_most_of_the_wait_nothing_is_said_of_it(
    first: str, until_end: int, until_end_ns: int
) -> None:
    found = found_in(fetching(first, until_end, until_end_ns))
    assert found is None or "until it closes" not in found.headline


def test_a_slow_peer_that_closes_slowly_too_is_slow() -> None:
    builder = fetching("1 s", 8, 8 * S - 1)
    found = found_in(builder)
    assert found is not None and "answers slowly" in found.headline


def test_who_waited_for_more_and_got_it_waited_for_a_slow_peer() -> None:
    slow = found_in(fetching(until_end=0, until_end_ns=0, rest_ns=8 * S))
    assert slow and slow.headline == "10.0.0.9:8080 answers slowly"
    assert fetching().model().ns("wait.parked") == 0
