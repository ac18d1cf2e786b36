"""What is not known does not outvote what is proven: threads that are parked, and requests that were not followed."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.evidence.idle import parked_threads
from perfdiag.diagnosis.other_hands import with_other_hands
from perfdiag.diagnosis.rule import Confidence
from perfdiag.model.model import Model
from perfdiag.recording import schema
from perfdiag.report.contract import Verdict
from perfdiag.report.verdict.sentences import Kind

from unit.support import Builder
from unit.support.exchanges import exchange, latency
from unit.support.reports import finding, made

S, MS = 1_000_000_000, 1_000_000


def flushing(flush_s: int, *, inside_s: int = 0, requests: int = 0) -> Model:
    """Return a thread that flushes for so many of 10 s, and eight that are parked, but not all along; requests in
    progress for so long, of which threads tell nothing, as those of Go."""
    builder = Builder(comm="store").thread("store", disk_flush=f"{flush_s} s")
    for number in range(8):
        builder.thread("store", cpu_user="1 ms").row("wait.parked", f"futex:{number + 1}", "9 s", count=9)
    if requests:
        builder.line(exchange(requests, 60 * S, {}, whole=0, whole_ns=0)).line(latency([60 * S // requests] * requests))
    if inside_s:
        builder.line(schema.RequestsInside(8, [schema.Level(8, inside_s * S)], 0))
    return builder.model()


def verdict(model: Model, flush_s: int, confidence: Confidence = Confidence.HIGH) -> Verdict:
    slow = finding("DISK-FLUSH-SLOW", {"disk.flush": flush_s * S}, "Flushes are slow.", confidence=confidence)
    return made(model, slow).verdict


@pytest.mark.parametrize(("flush_s", "kind"), [(9, Kind.CAUSE), (5, Kind.CAUSE), (4, Kind.CANNOT_TELL)])
def test_one_cause_for_half_of_the_window_leads_whoever_else_is_parked(flush_s: int, kind: Kind) -> None:
    found = verdict(flushing(flush_s), flush_s)
    assert found.kind == kind.value
    assert "72.0 s blocked or idle" in found.text, "that is said all the same"


@pytest.mark.parametrize(("inside_s", "kind"), [(9, Kind.CANNOT_TELL), (6, Kind.CAUSE)])
def test_where_requests_are_counted_it_is_half_of_the_time_with_any(inside_s: int, kind: Kind) -> None:
    assert verdict(flushing(4, inside_s=inside_s), 4).kind == kind.value


def test_requests_that_were_not_followed_are_said_beside_it() -> None:
    """Eight at a time wait for one flush: they take eight times as long as that."""
    for flush_s, kind in ((8, Kind.CAUSE), (3, Kind.CANNOT_TELL)):
        model = flushing(flush_s, inside_s=9, requests=200)
        slow = finding("DISK-FLUSH-SLOW", {"disk.flush": flush_s * S}, headline="Flushes are slow")
        found = made(model, *with_other_hands(model, [slow])).verdict
        assert found.kind == kind.value and found.ids == ["DISK-FLUSH-SLOW"]
        first, second = found.sentences[:2] if kind is Kind.CAUSE else found.sentences[1::-1]
        assert "Flushes are slow" in first and "of request time has no known cause" in second


def test_it_is_less_sure_by_a_step() -> None:
    model = flushing(9)
    assert not verdict(model, 9).text.startswith("Probably")
    assert verdict(model, 9, Confidence.MEDIUM).text.startswith("Probably")
    assert verdict(model, 9, Confidence.LOW).kind == Kind.CANNOT_TELL.value


def pool(*, readers: bool = True, each_ms: int = 1, more: Callable[[Builder], object] = id, **fields: int) -> Model:
    """Return four threads of a pool, parked for 9 s each of a window in which 40 requests took so long."""
    builder = Builder(comm="java")
    for number in range(4):
        builder.thread("pool", cpu_user="10 ms").row("wait.parked", f"futex:{number + 1}", "9 s", count=10)
        builder.reads(10 if readers else 0)
    more(builder)
    builder.line(exchange(40, 40 * each_ms * MS, {"cpu.user": 40 * MS}, **fields))
    return builder.line(latency([each_ms * MS] * 40)).model()


def test_who_reads_requests_is_idle_where_nobody_waits() -> None:
    assert parked_threads.parked_ns(pool()) == 40 * MS
    assert parked_threads.parked_ns(pool(each_ms=500)) == 20 * S
    assert parked_threads.parked_ns(pool(each_ms=5000)) == 36 * S


def test_who_may_wait_still_counts() -> None:
    assert parked_threads.parked_ns(pool(open=2, oldest_ns=3 * S)) == 6 * S + 40 * MS
    assert parked_threads.parked_ns(pool(unanswered=1, unanswered_longest_ns=2 * S)) == 2 * S + 40 * MS


@pytest.mark.parametrize(("cpu_user", "unknown"), [("30 ms", 40 * MS), ("50 ms", 9 * S + 40 * MS)])
def test_who_reads_none_is_idle_too_unless_it_works_more_than_those_that_do(cpu_user: str, unknown: int) -> None:
    """The monitor of a stripped runtime wakes and parks again and again; the worker of a batch job does so, too."""
    model = pool(
        more=lambda builder: builder.thread("other", cpu_user=cpu_user).row("wait.parked", "futex:9", "9 s", count=10)
    )
    assert parked_threads.parked_ns(model) == unknown


def test_what_a_runtime_computes_for_itself_is_nobodys_work() -> None:
    """A Java server that answered all it was asked could not be told: its compiler ran longer than its pool."""

    def compiled(builder: Builder) -> None:
        builder.thread("C1 CompilerThre", cpu_user="90 ms", wait_work="9 s")
        builder.thread("idle-timeout-ta", cpu_user="2 ms").row("wait.parked", "futex:9", "9 s", count=10)

    assert parked_threads.parked_ns(pool(more=compiled)) == 40 * MS


def test_others_may_wait_for_anything() -> None:
    assert parked_threads.parked_ns(pool(readers=False)) == 36 * S
    assert parked_threads.parked_ns(pool(declined=1)) == 36 * S


def test_what_was_not_measured_is_not_ruled_out() -> None:
    """A recording that was cut off behind its header: "70 checks passed" of no thread."""
    made = diagnose(Builder().model())
    assert not made.checks and len(made.silences) > 50
    (reason,) = {each.reason for each in made.silences if each.id == "CPU-QUOTA-THROTTLED"}
    assert reason == "no thread was measured"
