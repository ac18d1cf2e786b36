"""TARGET-TRACED: strace, or another tracer, stops the target's threads again and again."""

from __future__ import annotations

from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Mechanism, Relation, Severity

from unit.support import Builder
from unit.support.exchanges import served
from unit.support.judging import check, finding, silence

ID = "TARGET-TRACED"
TRACER = 4271


def traced(stops: int, stopped_ms: int, tracer: int = TRACER) -> Builder:
    """Return a thread that was stopped so many times in 4 s, and 8 ms of waiting for the CPU of strace."""
    builder = Builder(comm="app", window="4 s")
    builder.thread("app", cpu_user="400 ms", wait_stopped=(f"{stopped_ms} ms", stops))
    builder.row("runq.busy", f"task:{TRACER}:strace", "8 ms", count=stops)
    return builder.fact("/proc/100/status", f"Name:\tapp\nTracerPid:\t{tracer}\n")


def test_a_tracer_of_calls() -> None:
    found = finding(traced(6000, 900).model(), ID)
    assert (found.severity, found.mechanism) == (Severity.WARNING, Mechanism.STOPPED)
    assert found.claims == {"wait.stopped": 900_000_000}
    (tracer,) = found.others
    assert (tracer.pid, tracer.comm, tracer.relation) == (TRACER, "strace", Relation.TRACER)
    assert found.evidence[0].value == 900_000_000


def test_stops_of_requests_are_told_once() -> None:
    """Who stops them is known: that requests wait for stopped threads, by a signal perhaps, is no second cause."""
    lines = served(100, 20_000_000, {"wait.stopped": 800_000_000, "cpu.user": 400_000_000})
    builder = traced(6000, 900)
    for line in lines:
        builder.line(line)
    found = diagnose(builder.model())
    told = [each for each in found.findings if "wait.stopped" in each.claims]
    assert [each.id for each in told] == [ID] and told[0].share > 0.3, found.findings
    assert "TARGET-STOPPED" in [each.id for each in found.superseded]


def test_a_tracer_that_costs_little() -> None:
    found = finding(traced(6000, 3).model(), ID)
    assert (found.severity, found.evidence[0].value) == (Severity.INFO, 3_000_000)


def test_a_debugger_that_stops_a_thread_once() -> None:
    assert check(traced(1, 900).model(), ID).number == 1


def test_stops_without_a_tracer() -> None:
    assert check(traced(6000, 900, tracer=0).model(), ID).number == 0


def test_nothing_is_known_of_the_process() -> None:
    assert silence(Builder(comm="app").thread("app", cpu_user="1 s").model(), ID).reason


def test_a_window_without_length_and_without_a_tracer() -> None:
    model = Builder(comm="app", window="0 s").fact("/proc/100/status", "Name:\tapp\nTracerPid:\t0\n").model()
    assert model.window_ns == 0
    assert check(model, ID).number == 0


def test_a_tracer_that_is_no_number() -> None:
    builder = Builder(comm="app", window="4 s").thread("app", wait_stopped=("900 ms", 6000))
    assert check(builder.fact("/proc/100/status", "Name:\tapp\nTracerPid:\t\u00b2\n").model(), ID).number == 0
