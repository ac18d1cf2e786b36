"""Verdicts on targets whose runtime parks threads: idle, computing, or waiting where no thread shows it."""

from __future__ import annotations

from typing import Any

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.evidence.idle.sleeps import sleep
from perfdiag.model.model import Model
from perfdiag.recording.accounts import PARKED
from perfdiag.report.verdict.sentences import Kind
from perfdiag.report.verdict.verdict import decide

from unit.support import Builder
from unit.support.exchanges import served
from unit.support.reports import made

GO = ["runtime.futex.abi0 (app)", "runtime.notesleep (app)", "runtime.stopm (app)", "runtime.findRunnable (app)"]
SYSMON = ["runtime.usleep.abi0 (app)", "runtime.sysmon (app)", "runtime.mstart1 (app)"]
POOL = ["pthread_cond_wait (libc.so.6)", "uv_cond_wait (node)", "worker (node)"]
WORKER = ["pthread_cond_wait (libc.so.6)", "_ZN6Parker4parkEbl (libjvm.so)", "Unsafe_Park (libjvm.so)"]
JOIN = ["__pthread_clockjoin_ex (libc.so.6)", "main (app)"]
ACQUITTED = "not the slow part"


def parked(builder: Builder, comm: str, stack: list[str], futex: int) -> Builder:
    """Add a thread that stays parked on a word of its own."""
    key = f"futex:{futex:#x}"
    builder.thread(comm, tid=futex, open=(PARKED, key, "10 s")).row(PARKED, key, durations={"10 s": 1})
    return builder.stack("wait", PARKED, tid=futex, object=key, user=stack, weight="10 s")


def verdict(model: Model) -> tuple[str, str]:
    decided = decide(model, diagnose(model))
    return decided.kind, decided.text


def test_an_idle_server_with_a_pool_is_acquitted() -> None:
    builder = parked(parked(Builder().thread("node"), "node", POOL, 500), "node", POOL, 501)
    kind, text = verdict(builder.exchange("port:8080", "accepted", {"100 us": 3}).model())
    assert kind == Kind.ELSEWHERE.value and ACQUITTED in text
    assert "Otherwise it waited 20.0 s for work (wait.work), 10.0 s for events (wait.events)" in text


def test_a_pool_alone_shows_nobody_who_should_send_work() -> None:
    kind, text = verdict(parked(Builder(), "node", POOL, 500).model())
    assert kind == Kind.PROFILE.value and ACQUITTED not in text and "for work (wait.work)" in text


def test_goroutines_may_wait_for_each_other() -> None:
    """Idle or stuck, neither is said: what waits in a scheduler has no thread."""
    kind, text = verdict(parked(Builder().thread("app"), "app", GO, 500).model())
    assert kind == Kind.PROFILE.value and ACQUITTED not in text
    assert (
        text.startswith("None of its goroutines could run: no work came, or they sleep, or wait for each")
        and "pprof" in text
    )
    kind, text = verdict(parked(Builder().thread("app", cpu_user="3 s"), "app", GO, 500).model())
    assert kind == Kind.PROFILE.value and "Threads do not show what its goroutines wait for: " in text


def go_server(*, count: int = 100, slo: str | None = None, **fields: Any) -> Builder:
    """Goroutines answer in 400 ms each, on whatever thread; threads of theirs run for little, and wait for a CPU."""
    builder = parked(Builder(slo=slo).thread("app", cpu_user="200 ms"), "app", GO, 500)
    return builder.exchange("port:80", "accepted", {"400 ms": count}, whole=0, whole_ns=0, **fields)


def test_what_threads_suffer_is_no_cause_of_requests_that_could_not_be_followed() -> None:
    contended = {"tid": 101, "cpu_user": "100 ms"}
    for count, kind in ((100, Kind.CANNOT_TELL), (6, Kind.CAUSE)):
        builder = go_server(count=count).thread("app", **contended)
        builder.row("runq.busy", "task:7:backup", durations={"3 ms": 100})
        told, text = verdict(builder.model())
        assert told == kind.value and ("backup" in text) is (count == 6), text
        assert ("100 % of request time has no known cause" in text) is (count == 100)
        assert ("Threads do not show what its goroutines wait for: net/http/pprof" in text) is (count == 100)


def test_goroutines_that_had_requests_were_not_without_work() -> None:
    """Forty milliseconds under a mutex each: all threads look idle, and requests take 400 ms."""
    kind, text = verdict(go_server().model())
    assert kind == Kind.CANNOT_TELL.value and "no work came" not in text
    assert text.startswith(
        "Cannot tell: 100 % of request time has no known cause. Threads do not show what its goroutines wait for"
    )
    fast = parked(Builder().thread("app"), "app", GO, 500).exchange("port:80", "accepted", {"2 ms": 9}, whole=0)
    assert verdict(fast.model())[1].startswith("None of its goroutines could run")


@pytest.mark.parametrize(
    ("answer", "busy", "told"), [("290 ms", "5.8 s", True), ("290 ms", "2 s", False), ("2 ms", "5.8 s", False)]
)
def test_goroutines_may_wait_for_a_call_that_is_outstanding(answer: str, busy: str, told: bool) -> None:
    """Who made it is not known: a reporter that holds a lock meanwhile, say."""
    builder = go_server().exchange("peer:10.0.0.7:80", "connected", {answer: 20}, busy_ns=busy)
    text = verdict(builder.model())[1]
    assert text.startswith("Cannot tell: 100 % of request time has no known cause.")
    assert ("calls to 10.0.0.7:80" in text and "58 % of the window" in text) is told


def test_an_objective_does_not_hide_where_to_look() -> None:
    slow = {"over_slo": 100, "over_slo_ns": "40 s"}
    text = verdict(go_server(slo="100 ms", **slow).model())[1]
    assert "100 of 100 requests on port 80 took over 100 ms" in text and "net/http/pprof" in text


def test_of_goroutines_that_compute_all_along_nothing_is_hidden() -> None:
    text = verdict(parked(Builder().thread("app", cpu_user="9 s"), "app", GO, 500).model())[1]
    assert "goroutine" not in text


@pytest.mark.parametrize("own", [[], ["nanosleep (libc.so.6)", "retry (app)"]])
def test_the_clock_of_a_runtime_sleeps_by_nobodys_choice(own: list[str]) -> None:
    builder = parked(Builder().thread("app", cpu_user="3 s"), "app", GO, 500)
    builder.thread("app", tid=600, rest="wait.timer").stack("wait", "wait.timer", tid=600, user=SYSMON, weight="9 s")
    if own:
        builder.thread("app", tid=601, rest="wait.timer").stack("wait", "wait.timer", tid=601, user=own, weight="9 s")
    slept = sleep(builder.model())
    assert (slept is not None and slept.headline.startswith("Thread app (601) sleeps")) is bool(own)
    assert (slept is None) is not own


def test_threads_that_may_be_stuck_are_named_and_those_that_join_are_none_of_them() -> None:
    builder = parked(parked(Builder().thread("http"), "pool-1-thread-1", WORKER, 500), "pool-1-thread-2", WORKER, 501)
    text = verdict(parked(builder, "main", JOIN, 502).model())[1]
    assert "2 threads (pool-N-thread-N) stayed blocked or idle all the time" in text
    served = Builder().thread("http").exchange("port:8080", "accepted", {"100 us": 3})
    assert ACQUITTED in verdict(parked(served, "main", JOIN, 502).model())[1]


@pytest.mark.parametrize(("waits", "longest", "stayed"), [(1, 10, True), (300, 1, False), (2, 10, True)])
def test_who_was_woken_now_and_then_did_not_stay_parked(waits: int, longest: int, stayed: bool) -> None:
    """Eight threads took a lock in turn, 40 ms each, and were called an idle pool."""
    sums = (9_990_000_000, waits, longest * 999_000_000)
    model = Builder().thread("loop", rest="net.accept").thread("w", wait_parked=sums, rest="runq.busy").model()
    kind, text = verdict(model)
    assert kind == Kind.CANNOT_TELL.value
    assert ("stayed blocked or idle all the time" in text) is stayed
    assert ("9.99 s blocked or idle (unknown)" in text) is not stayed


def test_what_tells_where_parked_threads_are_has_a_place_of_its_own() -> None:
    """So that a page that lacks room for the sleepers keeps it."""
    builder = (
        Builder().thread("a", wait_parked="6 s", rest="wait.timer").thread("a", wait_parked="6 s", rest="wait.timer")
    )
    verdict = made(builder.model()).verdict
    assert [part.split()[0] for part in verdict.sentences] == ["Cannot", "2"], verdict
    assert len(verdict.tells) == 1 and verdict.tells[0].startswith("gdb -p ")


@pytest.mark.parametrize(("cpu", "said"), [("6 s", True), ("2 s", False)])
def test_threads_that_compute_while_requests_wait_for_events_are_told(cpu: str, said: bool) -> None:
    """A loop that starts a thread for each request waits for it in epoll, where no wait shows that."""
    builder = Builder().thread("node", wait_events="9 s", cpu_user="100 ms", requests=(40, 40))
    builder.thread("node", tid=200, wall="7 s", cpu_user=cpu, rest="wait.work", exited=True)
    for line in served(40, 200_000_000, {"wait.events": 7_900_000_000, "cpu.user": 100_000_000}):
        builder.line(line)
    kind, text = verdict(builder.model())
    assert kind == Kind.CANNOT_TELL.value and "requests wait for events" in text, text
    assert ("Meanwhile 1 other thread (node) computed for 6.00 s" in text) is said, text
