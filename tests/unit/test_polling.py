"""Threads that look every now and then, many times a request, whether what it needs is there."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.rule import Confidence, Finding

from unit.support import Builder
from unit.support.exchanges import served
from unit.support.judging import finding

ID, S, MS = "WAIT-TIMER-IN-REQUEST", 1_000_000_000, 1_000_000


def sleeping(times: int, *, computes: str = "0 ms") -> Finding:
    """Return what is found of a server that answers 100 requests of 25 ms, and sleeps so many times in each."""
    builder = Builder(window="5 s").thread("server", tid=100, wait_timer=("2500 ms", 100 * times), rest="net.request")
    builder.reads(100).thread("worker", tid=101, cpu_user=computes)
    for line in served(100, 25 * MS, {"wait.timer": 2500 * MS}):
        builder.line(line)
    return finding(builder.model(), ID)


@pytest.mark.parametrize("times", [1, 9])
def test_who_sleeps_for_a_time_sleeps_a_few_times(times: int) -> None:
    found = sleeping(times, computes="4500 ms")
    assert found.confidence is Confidence.HIGH and found.headline == "Threads sleep while they serve requests"


def test_who_sleeps_many_times_polls_and_who_computes_meanwhile_is_named() -> None:
    found = sleeping(200, computes="4500 ms")
    assert found.confidence is Confidence.LOW and "look every 125 us" in found.headline
    assert "worker (101)" in found.claim and any("90 % of the window" in each.text for each in found.evidence), found
    assert "125 us a request at the most" in found.remedies[0].text


def test_where_nobody_computes_a_thread_may_throttle_itself() -> None:
    assert sleeping(200).headline == "Threads sleep while they serve requests"


def test_who_also_looks_between_requests_may_sleep_once_in_each() -> None:
    """240 ms of sleep in each of ten requests, beside thousands of short ones that no request waits for."""
    builder = Builder(window="9 s").thread("server", tid=100, wait_timer=("7 s", 4000), rest="net.request").reads(10)
    builder.thread("worker", tid=101, cpu_user="8 s")
    for line in served(10, 250 * MS, {"wait.timer": 2400 * MS}):
        builder.line(line)
    assert finding(builder.model(), ID).headline == "Threads sleep while they serve requests"
