"""Verdicts on targets that wait: for work, for events, for children, parked."""

from __future__ import annotations

import pytest
from perfdiag.findings.base import Finding, Severity
from perfdiag.model import Model
from perfdiag.report.words import Kind

from unit.support import Builder
from unit.support.reports import finding, made

S = 1_000_000_000


def verdict(model: Model, *findings: Finding) -> tuple[str, str]:
    decided = made(model, *findings).verdict
    return decided.kind, decided.text


@pytest.mark.parametrize("account", ["wait.events", "net.accept", "wait.signal"])
def test_waiting_for_work_acquits(account: str) -> None:
    kind, text = verdict(Builder().thread("a", cpu_user="20 ms", rest=account).model())
    assert kind == Kind.ELSEWHERE.value
    assert text.startswith("This process is not the slow part: no work came. It waited 9.98 s for ")
    assert "look at who should send it" in text and "busy for 20.0 ms of 10.0 s" in text


@pytest.mark.parametrize(("waits", "none_came"), [(1, True), (80, False)])
def test_events_that_came_may_be_of_whoever_it_asks_in_turn(waits: int, none_came: bool) -> None:
    """Its upstream took 300 ms, and the clients were blamed."""
    builder = Builder().thread("master", rest="wait.signal")
    model = builder.thread("a", pid=200, wait_events=("9900 ms", waits), rest="runq.busy").model()
    kind, text = verdict(model)
    assert kind == Kind.ELSEWHERE.value and ("no work came" in text) is none_came
    assert ("ss -tnp | grep pid=200." in text) is not none_came
    assert "for events (wait.events)" in text


def test_who_hardly_works_is_not_told_what_it_computes_first() -> None:
    """It read "the target computes: 60 %", of 6 % of the window."""
    computes = finding("CPU-BOUND", {"cpu.user": S // 2}, "The target computes.", severity=Severity.INFO)
    kind, text = verdict(Builder().thread("node", cpu_user="600 ms", wait_events=("9 s", 90)).model(), computes)
    assert kind == Kind.PROFILE.value
    assert text.startswith("Hardly busy, 600 ms in 10.0 s: it waited 9.40 s for events (wait.events). Events come from")
    busier = Builder().thread("node", cpu_user="1 s", wait_events=("9 s", 90)).model()
    assert verdict(busier, computes)[1].startswith("The target computes")


def test_a_moment_of_another_wait_is_not_worth_a_word() -> None:
    text = verdict(Builder().thread("nginx", net_accept="9 us", rest="wait.events").model())[1]
    assert "for events (wait.events)" in text and "net.accept" not in text


def test_an_event_loop_beside_parked_threads_did_get_work() -> None:
    builder = Builder().thread("a", wait_events=("9990 ms", 80), rest="runq.busy").thread("pool", rest="wait.parked")
    text = verdict(builder.model())[1]
    assert "The others waited 9.99 s for events (wait.events)." in text and "no work came" not in text


def test_waiting_for_children_alone_acquits_nobody() -> None:
    kind, text = verdict(Builder().thread("sh", rest="wait.child").model())
    assert kind == Kind.PROFILE.value and "It waited 10.0 s for child processes." in text


def test_a_shell_whose_child_sleeps() -> None:
    model = Builder().thread("sh", rest="wait.child").thread("sleep", pid=200, rest="wait.timer").model()
    _, text = verdict(model)
    assert text.startswith("Thread sleep (200) sleeps 10.0 s") and "10.0 s for child processes" in text


def test_parked_threads_may_be_stuck_also_where_others_wait_for_work() -> None:
    model = Builder(comm="python3").thread("python3", rest="net.accept").thread("worker", rest="wait.parked").model()
    kind, text = verdict(model)
    assert kind == Kind.CANNOT_TELL.value and "an idle pool, or deadlocked" in text
    assert "no work came to them" in text and "py-spy dump --pid 100" in text


def test_what_is_understood_is_told_beside_what_is_not() -> None:
    """A thread that runs all the time beside a pool that is parked most of it."""
    builder = Builder(comm="node").thread("node", cpu_user="9900 ms")
    for _ in range(4):
        builder.thread("pool", cpu_user="200 ms", rest="wait.parked")
    model = builder.model()
    full = finding("CPU-SINGLE-THREAD", {"cpu.user": 9 * S}, "node runs all the time.", severity=Severity.INFO)
    kind, text = verdict(model, full)
    assert kind == Kind.CANNOT_TELL.value and text.startswith("Cannot tell: 39.2 s parked")
    assert "Of the rest: node runs all the time (84 %)." in text and "gdb -p 100" in text


def test_a_profile_says_what_it_waited_for_otherwise() -> None:
    text = verdict(Builder().thread("a", cpu_user="1 s").model())[1]
    assert text.startswith("Most of its busy time is cpu.user (100 %). No fault found: that departs from no norm. ")
    assert "Otherwise it waited 9.00 s for events (wait.events)." in text
