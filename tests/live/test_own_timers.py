"""Requests that wait for a timer of the server: a delay, a time limit for a peer that does not answer, or the timeout
of a wait that nobody ended."""

from __future__ import annotations

import threading

import pytest
from perfdiag.common.config import Config
from perfdiag.diagnosis import engine
from perfdiag.report import assembly
from perfdiag.report.contract import Report

from live.support.fixtures import Attach, Serving
from live.support.model import model_of
from live.support.served_late import BODY_BYTES
from live.support.serving import Server, asked, http, stopped

pytestmark = pytest.mark.quiet

REQUESTS = 20
DELAY_S = 0.05
REQUEST = http("/")


def report_of(server: Server, attach: Attach, clients: int, request: bytes = REQUEST) -> Report:
    """Return the report on that many clients which ask one request after the other."""

    def ask() -> None:
        with server.connect() as connection:
            for _ in range(REQUESTS):
                asked(connection, request)

    recorder = attach(server.pid)
    threads = [threading.Thread(target=ask) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    model = model_of(stopped(recorder))
    assert model.request_time and model.request_time.count == clients * REQUESTS
    return assembly.make(model, engine.diagnose(model), Config())


@pytest.mark.parametrize("clients", [1, 8])
def test_delayed_answers(clients: int, serving: Serving, attach: Attach) -> None:
    report = report_of(serving(f"loop({DELAY_S})"), attach, clients)
    time, first = report.request_time, report.findings[0]
    assert time and time.accounts.get("wait.timer", 0) > 0.9 * time.ns, time
    assert first.id == "WAIT-TIMER-IN-REQUEST" and first.share > 0.9 and first.severity == "warning", first


@pytest.mark.parametrize(("clients", "share"), [(1, 0.8), (8, 0.3)])
def test_calls_that_a_timer_sets_off(clients: int, share: float, serving: Serving, attach: Attach) -> None:
    """As nginx looks for a lock of its cache, or whoever tries again after a while: an answer then ends the wait.

    Where something else woke the loop in time, no timer has.
    """
    upstream = serving("thread_each(listening(), sleeps(0.001))")
    report = report_of(serving(f"hesitant({upstream.port}, {DELAY_S})"), attach, clients)
    time, first = report.request_time, report.findings[0]
    assert time and share * time.ns < time.accounts.get("wait.timer", 0) < time.ns, time
    assert first.id == "WAIT-TIMER-IN-REQUEST" and first.severity == "warning", first


@pytest.mark.parametrize(("clients", "share"), [(1, 0.9), (8, 0.5)])
def test_a_peer_that_never_answers(clients: int, share: float, serving: Serving, attach: Attach) -> None:
    """The loop gives it up after a while and answers: what its requests wait for is the peer, not the time limit.  Of
    requests that a loop reads together the last one counts as the caller: what ends after its answer is not seen."""
    upstream = serving("thread_each(listening(), never)")
    report = report_of(serving(f"impatient({upstream.port}, {DELAY_S})"), attach, clients)
    time, first = report.request_time, report.findings[0]
    assert time and time.accounts.get("request.peers", 0) > share * time.ns, time
    assert first.id == "NET-PEER-SLOW" and first.share > share and first.severity == "warning", first
    assert str(upstream.port) in first.headline, first


@pytest.mark.parametrize(
    ("call", "request_sent"),
    [
        ("handed_over_in_silence", REQUEST),
        ("read_once_for_an_event", http("/", method="POST", body=bytes(BODY_BYTES))),
    ],
)
def test_a_wake_up_that_does_not_come(call: str, request_sent: bytes, serving: Serving, attach: Attach) -> None:
    """Nobody waits meanwhile but the thread that answers, until its own timeout."""
    report = report_of(serving(f"{call}(listening(), {DELAY_S})"), attach, 1, request_sent)
    time, first = report.request_time, report.findings[0]
    assert time and time.accounts.get("wait.timer", 0) > 0.9 * time.ns, time
    assert first.id == "WAIT-TIMER-IN-REQUEST" and first.share > 0.9 and first.severity == "warning", first
