"""Requests that are meant to wait for news are told from those that others keep waiting."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Severity
from perfdiag.model.model import Model
from perfdiag.model.requests.news import is_meant_to_wait, without_news
from perfdiag.model.requests.parked_time import Parked
from perfdiag.recording import schema
from perfdiag.report.verdict.sentences import Kind

from unit.support import Builder
from unit.support.exchanges import exchange, joined, latency
from unit.support.judging import finding
from unit.support.reports import made

S, MS, US = 1_000_000_000, 1_000_000, 1_000
FUTEX, SESSION, HOLDER = "futex:0x7f00", 101, 300
POLLS, FEW = [400 * MS] * 50, [500 * US] * 350 + [400 * MS] * 50
ID = "WAIT-THREAD-IN-REQUEST"


def lines(name: str, times_ns: list[int], parked_ns: int) -> list[schema.Line]:
    given = exchange(len(times_ns), sum(times_ns), {"wait.parked": parked_ns}, name=name)
    return [given, latency(times_ns, name=name)]


@pytest.mark.parametrize(("times_ns", "meant"), [(POLLS, True), (FEW, False), ([40 * MS] * 350 + POLLS, True)])
def test_where_most_are_answered_at_once_the_others_are_kept_waiting(times_ns: list[int], meant: bool) -> None:
    (each,) = joined(lines("", times_ns, sum(times_ns)))
    assert is_meant_to_wait(each) is meant


def test_only_names_that_wait_for_news_are_left_out() -> None:
    polls, few, pages = (
        lines("GET /poll", POLLS, 20 * S),
        lines("", FEW, 20 * S),
        lines("GET /page", [20 * MS] * 100, 0),
    )
    given = joined([*polls, *few, *pages])
    parked = Parked({("wait.parked", FUTEX): 40 * S}, outside_ns=40 * S)
    assert {each.line.name for each in without_news(given, parked)} == {"GET /page", ""}
    assert without_news(given, Parked(parked.ns, outside_ns=4 * S)) == given, "most of that is for other things"


def database(times_ns: list[int], root: str = "net.request") -> Model:
    """Four sessions are parked until another one, which waits for its client, goes on."""
    builder = Builder(comm="database").thread("session", tid=HOLDER, cpu_user="1 ms", rest=root)
    for tid in range(SESSION, SESSION + 4):
        builder.thread("session", tid=tid, cpu_user="1 ms", rest="net.request")
        builder.row("wait.parked", FUTEX, "5 s", count=12, waker_tid=HOLDER, waker_count=12)
    for line in lines("", times_ns, 20 * S):
        builder.line(line)
    builder.line(schema.RequestParked(pid=100, object=FUTEX, over_slo=False, count=50, sum_ns=20 * S))
    builder.because("wait.parked", FUTEX, root, "19 s", root_tid=HOLDER, inside=True)
    return builder.model()


def test_a_session_that_waits_for_its_client_keeps_the_others_waiting() -> None:
    model = database(FEW)
    found = finding(model, ID)
    assert found.severity is Severity.WARNING and sum(found.claims.values()) == 20 * S
    verdict = made(model, *diagnose(model).findings).verdict
    assert verdict.kind == Kind.CAUSE.value and verdict.ids == [ID]


def test_a_long_poll_waits_by_its_own_choice() -> None:
    assert database(POLLS).request_time is None
    assert finding(database(FEW, root="wait.events"), ID).severity is Severity.INFO, "whose news that is nobody knows"
