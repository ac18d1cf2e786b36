"""Calls of event loops to peers that are a long way off: the round trip, and the peer's receive window."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.rule import Severity
from perfdiag.model.model import Model
from perfdiag.model.requests.request_time import PEERS

from unit.support import Builder
from unit.support.judging import finding, findings

WINDOW, SLOW = "NET-RECEIVER-WINDOW", "NET-PEER-SLOW"
STORE = "peer:10.0.0.9:9000"
CALLS = 60


def uploads(each: str, kilobytes: int, window: int, *, rtt_us: int = 20_000) -> Model:
    """Requests that wait for one call each, which sends so much through such a window."""
    window_s = CALLS * int(each.partition(" ")[0]) // 1000 + 1
    builder = Builder(window=f"{window_s} s").thread("loop", cpu_user="500 ms", rest="wait.events")
    builder.socket(STORE, rtt_us=rtt_us, minimum_rtt_us=rtt_us, send_window_bytes=window)
    total = f"{CALLS * int(each.partition(' ')[0])} ms"
    builder.exchange("port:80", "accepted", {each: CALLS}, peers_ns=total, accounts={"wait.events": total})
    return builder.exchange(STORE, "connected", {each: CALLS}, bytes_out=CALLS * kilobytes * 1024).model()


def test_a_window_too_small_for_the_distance() -> None:
    model = uploads("460 ms", 200, 8688)
    found = finding(model, WINDOW)
    assert found.severity is Severity.WARNING and found.claims[PEERS] == pytest.approx(CALLS * 460_000_000, rel=0.05)


@pytest.mark.parametrize(
    ("each", "kilobytes", "window"),
    [
        ("460 ms", 8, 8688),  # it fits
        ("460 ms", 200, 65_536),  # three round trips: the peer takes the rest
        ("60 ms", 200, 8688),  # it must have grown since
    ],
)
def test_other_windows_are_not_what_calls_wait_for(each: str, kilobytes: int, window: int) -> None:
    assert not findings(uploads(each, kilobytes, window), WINDOW)


@pytest.mark.parametrize(("rtt_us", "severity"), [(20_000, Severity.INFO), (100, Severity.WARNING)])
def test_an_answer_after_two_round_trips_is_not_slow(rtt_us: int, severity: Severity) -> None:
    found = finding(uploads("45 ms", 1, 65_536, rtt_us=rtt_us), SLOW)
    assert found.severity is severity and not found.limits
