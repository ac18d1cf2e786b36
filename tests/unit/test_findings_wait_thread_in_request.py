"""WAIT-THREAD-IN-REQUEST: threads that serve requests and are parked meanwhile, and for whom."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Confidence, Severity
from perfdiag.model.requests.request_time import QUEUED, REST
from perfdiag.report import assembly

from unit.support import Builder
from unit.support.awaited_threads import (
    DEVICE,
    FUTEX,
    ID,
    LOCKS,
    SLEEP,
    WORKER,
    S,
    seen,
    serving,
    told,
)
from unit.support.exchanges import unread
from unit.support.judging import check, finding, findings, silence
from unit.support.queued_requests import requests
from unit.support.reports import RUNBOOKS
from unit.support.shown import plain


def test_who_woke_them_is_named_where_nothing_else_is_known() -> None:
    found = finding(serving().model(), ID)
    assert found.severity is Severity.WARNING and found.confidence is Confidence.LOW
    assert found.claim == "Requests wait 20.0 s for worker (300)."
    assert told(serving()).findings[0].id == ID and told(serving()).findings[0].share == pytest.approx(20 / 20.4)


def test_requests_that_queue_for_one_thread() -> None:
    found = finding(seen(serving(), "cpu.user", "19 s").model(), ID)
    assert found.severity is Severity.WARNING and found.confidence is Confidence.MEDIUM
    assert "for worker (300), which mostly runs its own code" in found.claim


def test_requests_in_progress_and_unread_ones_wait_for_one_thread() -> None:
    """A worker of ZGC held up both: that was told as two findings with one remedy."""
    builder = seen(serving(), "cpu.user", "19 s")
    requests(builder, {"cpu.user": 1000}, count=100, delays=[400] * 50 + [0] * 50, met={"cpu.user": 0.02}, served=False)
    builder.line(unread({("wait.parked", "cpu.user"): 18 * S}, served=False)[0])
    (found,) = findings(builder.model(), ID)
    assert found.headline.startswith("Requests wait for worker (300)") and found.claims[QUEUED] == 18 * S
    assert found.claims["wait.parked", FUTEX] == 20 * S


def test_what_the_awaited_thread_computes_is_named() -> None:
    builder = seen(serving(), "cpu.user", "19 s")
    builder.stack("cpu", user=["pack (app)"], tid=WORKER, count=80).stack(
        "cpu", user=["serve (app)"], tid=101, count=90
    )
    found = finding(builder.model(), ID)
    assert found.headline.endswith("which computes in pack (app)")
    assert [each.text for each in found.evidence][-1].startswith("pack (app) 100 %")


def test_who_did_the_work_is_named_and_not_who_told_of_its_end() -> None:
    """A thread hands on what two others have made: its own part is small."""
    builder = serving().thread("maker", tid=301, cpu_user="9 s").thread("maker", tid=302, cpu_user="8 s")
    for tid, time in {301: "8.5 s", 302: "8 s", WORKER: "1 s"}.items():
        seen(builder, "cpu.user", time, tid, alone=True)
    assert "for maker (301) and 1 more thread, each of which mostly runs" in finding(builder.model(), ID).claim


def test_what_a_worker_computes_for_each_request_departs_from_no_norm() -> None:
    """Four at a time, each in a thread of its own: requests wait as long as it takes."""
    builder = seen(serving(each_ms=2000, worker_ms=8000), "cpu.user", "8 s")
    assert finding(builder.model(), ID).severity is Severity.INFO


def test_a_collector_is_no_work_that_requests_wait_for() -> None:
    """Under ZGC with a full heap, requests waited for "ZWorker#0, which runs its own code", no fault."""
    builder = seen(serving(each_ms=2000, worker_ms=8000), "cpu.user", "8 s")
    builder.stack("cpu", user=["_ZN20G1ParScanThreadState10trim_queueEv (libjvm.so)"], tid=WORKER, count=80)
    found = finding(builder.model(), ID)
    assert found.severity is Severity.WARNING and found.headline.endswith("which collects garbage")
    assert "-Xmx" in found.remedies[0].text


@pytest.mark.parametrize("excess", [False, True])
def test_what_is_parked_in_requests_is_not_said_to_count_for_nothing(excess: bool) -> None:
    model = serving().model()
    assert model.request_time
    model = replace(model, request_time=replace(model.request_time, excess=excess))
    text = plain(assembly.make(model, diagnose(model), RUNBOOKS))
    assert "\nREQUEST TIME " in text and re.search(r"\n  blocked, cause found .* wait\.parked +-> 1\n", text)
    assert "left out of percentages" not in text


def test_who_waits_for_news_waits_for_no_thread() -> None:
    """Long polling: whoever brings the news has it from outside."""
    found = finding(seen(serving(wait_events="9 s"), "wait.events", "10.1 s").model(), ID)
    assert found.severity is Severity.INFO and "from outside (wait.events)" in found.claim


def test_where_nearly_all_wait_for_news_the_threads_rank() -> None:
    """Other requests' causes would be hidden behind them."""
    model = seen(serving(wait_events="9 s"), "wait.events", "20 s").model()
    assert model.request_time is None and not findings(model, ID)


@pytest.mark.parametrize(
    ("root", "does"), [("wait.child", "waits for a child"), ("wait.stopped", "is stopped or frozen")]
)
def test_who_waits_for_a_child_or_is_stopped_has_no_news(root: str, does: str) -> None:
    model = seen(serving(rest=root), root, "20 s").model()
    found = finding(model, ID)
    assert model.request_time and found.severity is Severity.WARNING and f"which mostly {does}" in found.claim


def test_who_came_when_requests_waited_already_brings_news() -> None:
    builder = serving(count=40, waker=500).thread("news", tid=500, wall="100 ms", exited=True)
    found = finding(builder.model(), ID)
    assert found.severity is Severity.INFO and "news (500), which was not there at the beginning" in found.claim


def test_a_root_without_time_is_none() -> None:
    found = finding(seen(serving(), "cpu.user", "0 s").model(), ID)
    assert found.claim == "Requests wait 20.0 s for worker (300)."


def test_who_sleeps_while_requests_wait() -> None:
    found = finding(seen(serving(wait_timer="9 s"), "wait.timer", "20 s").model(), ID)
    assert found.severity is Severity.WARNING and "sleeps on a timer" in found.claim
    assert "shorten that sleep" in found.remedies[0].text


def test_behind_a_fast_flush_nothing_is_at_fault() -> None:
    builder = serving(disk_flush="0 s")
    builder.thread("committer", tid=400, cpu_user="100 ms").row("disk.flush", DEVICE, durations={"400 us": 1800})
    builder.device("254:0", "flush", count=1800, service="300 us")
    found = told(seen(builder, "disk.flush", "19 s", 400, DEVICE))
    assert not [each for each in found.findings if each.severity is not Severity.INFO], found.findings


def test_a_hand_over_is_none() -> None:
    """10,000 requests wait 800 us each."""
    assert finding(serving(each_ms=2000, count=10_000).model(), ID).severity is Severity.INFO


def test_a_timeout_is_nobody() -> None:
    """SELECT SLEEP(), or a condition that is looked at every 100 ms: nobody is waited for, and no request goes on."""
    model = serving(waker=0).model()
    assert "0 % of their time for other threads" in check(model, ID).text
    found = finding(model, SLEEP)
    assert found.severity is Severity.WARNING and found.confidence is Confidence.LOW
    assert "20.0 s of 20.4 s, 20.0 s of it in waits that only their own timeout ended" in found.claim
    assert "requests that are meant to wait for news" in found.alternatives
    first = told(serving(waker=0)).findings[0]
    assert first.id == SLEEP and first.share == pytest.approx(20 / 20.4)
    missed = finding(serving(waker=0).lost(wakeups_missing=300).model(), SLEEP)
    assert any("wake-ups were missed" in each for each in missed.limits) and missed.confidence is Confidence.LOW


def test_requests_that_are_parked_and_nobody_knows_for_whom_are_not_without_a_fault() -> None:
    """Of one wait in twenty it was seen for whom it was: neither a cause nor no fault."""
    builder = seen(serving(waker=0), "cpu.user", "1 s")
    model = builder.model()
    decided = assembly.make(model, diagnose(model), RUNBOOKS).verdict
    assert decided.kind == "cannot tell", decided
    assert "98 %" in decided.text


@pytest.mark.parametrize("waker", [WORKER, 102])
def test_a_futex_that_somebody_was_woken_on_is_no_timeout(waker: int) -> None:
    assert check(serving(waker=waker).model(), SLEEP).number == 0
    assert check(seen(serving(waker=0), "cpu.user", "1 s").model(), SLEEP).number == 0


def test_little_is_checked_and_fine() -> None:
    builder = serving(each_ms=4, worker_ms=100)
    assert "requests wait 4 %" in check(builder.model(), ID).text


def test_a_lock_that_stacks_show_is_no_unknown_thread() -> None:
    builder = serving().stack(
        "wait", "wait.parked", object=FUTEX, user=["__lll_lock_wait", "pthread_mutex_lock"], weight="1 s"
    )
    found = told(builder)
    assert [each.id for each in found.findings if each.severity is Severity.WARNING] == [LOCKS]
    assert found.findings[0].share == pytest.approx(20 / 20.4)


def test_of_a_futex_that_idle_threads_wait_on_too_only_the_requests_time_counts() -> None:
    """A pool that waits for work on words of its threads' own, as Java's does: 200 s idle beside the requests' 20 s."""
    builder = serving(waker=102)
    for tid in range(401, 421):
        builder.thread("serve", tid=tid).row("wait.parked", FUTEX, "10 s", count=10)
    found = told(seen(builder, "cpu.user", "20 s", root_tid=102))
    assert found.findings[0].id == LOCKS and found.findings[0].claimed_ns == 20 * S


def test_idle_threads_are_not_told_of_a_waker_outside_of_requests() -> None:
    """Who hands work to the pool is nobody's holder; what the requests wait for was not seen."""
    builder = serving()
    builder.thread("serve", tid=401, wall="200 s", rest="wait.parked").row("wait.parked", FUTEX, "100 s", count=9)
    assert not findings(builder.model(), ID)


def test_what_no_futex_is_known_of_is_not_followed() -> None:
    model = serving(told_ms=0).model()
    assert model.request_time and model.request_time.accounts[REST] == 20 * S
    assert not findings(model, ID)


def test_without_requests_nothing_is_said() -> None:
    assert "not measured" in silence(Builder().without("requests").thread("worker").model(), ID).reason
    assert "no requests" in check(Builder().thread("worker").model(), ID).text


@given(
    st.integers(0, 20_000),
    st.lists(st.tuples(st.sampled_from(["cpu.user", "disk.flush", "wait.timer", "runq.busy"]), st.integers(1, 9000))),
    st.booleans(),
)
def test_no_time_is_claimed_twice(told_ms: int, roots: list[tuple[str, int]], lock: bool) -> None:
    builder = serving(told_ms=told_ms, wait_timer="2 s")
    builder.thread("committer", tid=400).row("disk.flush", DEVICE, durations={"50 ms": 180})
    builder.device("254:0", "flush", count=180, service="48 ms")
    if lock:
        builder.stack("wait", "wait.parked", object=FUTEX, user=["pthread_mutex_lock"], weight="1 s")
    for root, ms in roots:
        seen(builder, root, f"{ms / 1000} s", 400, DEVICE if root == "disk.flush" else "")
    found = told(builder)
    model = builder.model()
    assert model.request_time
    assert sum(each.claimed_ns for each in found.findings) + found.unclaimed_ns == model.request_time.ns
    assert all(each.claimed_ns >= 0 for each in found.findings) and found.unclaimed_ns >= 0
