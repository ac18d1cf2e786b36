"""Requests parked until another thread comes with the answer of a peer: a client that leaves waiting to a loop."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Severity
from perfdiag.model.model import Model
from perfdiag.model.requests.request_time import PEERS
from perfdiag.recording import schema

from unit.support import Builder
from unit.support.exchanges import exchange, latency, served
from unit.support.judging import findings

S, MS = 1_000_000_000, 1_000_000
FUTEX, PEER, LOOP = "futex:0x7f00", "peer:10.0.0.7:5432", 300


def because(root: str, root_object: str, ns: int, *, inside: bool = True) -> schema.Because:
    return schema.Because(
        pid=100, account="wait.parked", object=FUTEX, steps=["wait.parked"], cut=False, root=root,
        root_object=root_object, root_tid=LOOP, root_tid_ns=ns, sum_ns=ns, count=100, inside=inside,
    )  # fmt: skip


def asking(*seen: schema.Because, answer_ms: int = 190) -> Model:
    """Four threads that are parked for 19 of 20 s in 100 requests, each with a call that takes so long."""
    builder = Builder(comm="server").thread("loop", tid=LOOP, rest="wait.events")
    for tid in range(101, 105):
        builder.thread("serve", tid=tid, cpu_user="250 ms", rest="net.request")
        builder.row("wait.parked", FUTEX, "4750 ms", count=25)
    for line in served(100, 200 * MS, {"wait.parked": 19 * S, "cpu.user": S}):
        builder.line(line)
    builder.line(schema.RequestParked(pid=100, object=FUTEX, over_slo=False, count=100, sum_ns=19 * S))
    builder.line(exchange(100, 100 * answer_ms * MS, object=PEER, name="", direction="connected"))
    builder.line(latency([answer_ms * MS] * 100, object=PEER, name="", direction="connected"))
    for line in seen:
        builder.line(line)
    return builder.model()


def test_who_comes_with_an_answer_was_waited_for_in_its_place() -> None:
    model = asking(because("wait.events", PEER, 18 * S))
    assert model.request_time and model.request_time.accounts[PEERS] == 18 * S
    first = diagnose(model).findings[0]
    assert (first.id, first.severity, first.claims) == ("NET-PEER-SLOW", Severity.WARNING, {PEERS: 18 * S})
    assert all(each.severity is Severity.INFO for each in findings(model, "WAIT-THREAD-IN-REQUEST"))


def test_fast_answers_are_no_fault() -> None:
    model = asking(because("wait.events", PEER, 18 * S), answer_ms=5)
    assert diagnose(model).findings[0].severity is Severity.INFO


@pytest.mark.parametrize(
    "seen",
    [
        because("wait.events", "", 18 * S),  # news: nobody was asked
        because("wait.events", PEER, 18 * S, inside=False),  # of threads that serve nobody
        because("cpu.user", "", 18 * S),
    ],
)
def test_who_comes_with_anything_else_is_no_peer(seen: schema.Because) -> None:
    model = asking(seen)
    assert model.request_time is None or PEERS not in model.request_time.accounts


def test_what_was_not_seen_is_the_futexs() -> None:
    """Of 19 s in the middle of requests 6 s are known, 4 s for a peer and 2 s for news."""
    model = asking(because("wait.events", PEER, 4 * S), because("wait.events", "", 2 * S))
    assert model.request_time and model.request_time.accounts[PEERS] == 4 * S
    assert model.request_time.accounts["wait.parked"] == 15 * S


def test_more_than_the_requests_were_parked_is_divided_as_it_was_seen() -> None:
    """A thread is parked there outside of what counts, too."""
    model = asking(because("wait.events", PEER, 30 * S), because("cpu.user", "", 8 * S))
    assert model.request_time and model.request_time.accounts[PEERS] == 15 * S


def test_a_recording_that_lost_what_was_waited_for_blames_no_peer() -> None:
    model = asking()
    assert model.request_time and PEERS not in model.request_time.accounts
    assert not [each for each in findings(model, "NET-PEER-SLOW") if each.severity is not Severity.INFO]
