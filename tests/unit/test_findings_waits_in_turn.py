"""LOCK-CONTENTION of requests that wait for each other: who is in front of the queue, and an interpreter's own lock."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.rule import Confidence, Finding, Relation

from unit.support import Builder
from unit.support.judging import finding
from unit.test_findings_wait_thread_in_request import FUTEX, WORKER, seen, serving

ID = "LOCK-CONTENTION"
RUBY = "rb_native_cond_wait (libruby-3.1.so.3.1.2)"


def queue(
    root: str = "cpu.user",
    further: str = "5100 ms",
    tid: int = WORKER,
    *,
    code: str = "take (app)",
    runs_ms: int = 9000,
) -> Builder:
    """20 s of waits in requests, of most of which no more was seen than that who is before them waits, too."""
    builder = seen(serving(waker=102, worker_ms=runs_ms), "wait.parked", "11 s", root_tid=102)
    user = ["__futex_abstimed_wait_common (libc.so.6)"]
    scan = ["pthread_cond_wait (libc.so.6)", code]
    builder.stack("wait", "wait.parked", object=FUTEX, user=user, scan=scan, weight="9 s")
    return builder.because("wait.parked", FUTEX, root, further, root_tid=tid, inside=True)


def told(builder: Builder) -> Finding:
    return finding(builder.model(), ID)


def test_who_saw_the_front_of_a_queue_tells_what_all_wait_for() -> None:
    """It read "the awaited thread is blocked or idle (unknown)", while one thread computed all the time."""
    found = told(queue())
    assert "Meanwhile worker (300) mostly runs its own code" in found.claim
    assert "for each other" in found.claim and "worker (300) runs its own code" in found.headline
    assert [(each.pid, each.relation) for each in found.others] == [(100, Relation.HOLDER)]
    assert found.confidence is Confidence.MEDIUM
    assert any("own code on a CPU 100 % (known for 26 %)" in each.text for each in found.evidence)


def test_a_tenth_of_a_queue_is_the_least_that_stands_for_it() -> None:
    assert "worker (300)" in told(queue(further="2100 ms")).claim
    little = told(queue(further="1900 ms"))
    assert "worker (300)" not in little.claim and "blocked or idle (unknown)" in little.claim


def test_what_several_did_in_turn_is_no_ones() -> None:
    builder = queue(further="3 s").because("wait.parked", FUTEX, "cpu.user", "3 s", root_tid=102, inside=True)
    claim = told(builder).claim
    assert "Meanwhile the awaited thread mostly runs its own code" in claim


@pytest.mark.parametrize("code", [RUBY, "rb_native_cond_wait (ruby3.1)", "native_sleep (ruby)"])
def test_who_waits_inside_of_ruby_while_a_thread_of_it_computes_waits_for_its_lock(code: str) -> None:
    """Debian's library has no names of the functions that take the lock, and one word for a lock and for work."""
    found = told(queue(code=code))
    assert found.headline == "Requests wait for Ruby's GVL, and worker (300) runs its own code meanwhile"
    assert "Ruby lets one thread of a process run Ruby code at a time" in found.claim
    assert "rbspy record --pid 100" in found.remedies[0].text and found.confidence is Confidence.MEDIUM
    assert any("no names" in limit for limit in found.limits)


def test_whoever_runs_all_the_time_has_it_however_little_was_seen_of_the_front_of_the_queue() -> None:
    """Waits for the GVL end by a timeout, after which a thread asks for it again."""
    assert "GVL, and worker (300) runs" in told(queue(further="1 ms", code=RUBY)).headline


def test_threads_that_run_in_turn_have_it_in_turn() -> None:
    builder = queue(code=RUBY, runs_ms=4000)
    for tid in (301, 302):
        builder.thread("worker", tid=tid, cpu_user="3 s", rest="net.request")
    found = told(builder)
    assert found.headline == "Requests wait for Ruby's GVL, and one thread after the other runs meanwhile"
    assert not found.others


@pytest.mark.parametrize(
    "other",
    [queue(code="rb_thing (librubyish.so.1)"), queue(code=RUBY, runs_ms=7500)],
    ids=["another library", "nobody has it for a quarter of the time"],
)
def test_what_may_be_another_lock_has_no_name(other: Builder) -> None:
    assert "GVL" not in told(other).headline + told(other).claim
