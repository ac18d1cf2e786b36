"""The last lines of a report: what was measured and lost, what it cost, and what is said of it when nobody knows."""

from __future__ import annotations

import re

import msgspec
import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.evidence.cpu.own_probes import IN_PROGRAMS
from perfdiag.render import json_document as document
from perfdiag.render import lost_records as losses
from perfdiag.render.last import last
from perfdiag.render.layout import Page
from perfdiag.report import assembly as report
from perfdiag.report.contract import NotMeasured
from perfdiag.report.status import CANNOT_TELL

from conftest import ROOT
from unit.support import Builder
from unit.support.recording import COUNTERS
from unit.support.reports import RUNBOOKS, diagnosis
from unit.support.shown import folded, plain


def trust(builder: Builder, *, full: bool = False) -> str:
    """Return the lines on trust, wherever they stand."""
    made = report.make(builder.model(), diagnosis(builder.model()), RUNBOOKS)
    return folded(plain(made, full=full).partition("\nTRUST ")[2].partition("\n\n")[0].partition("\nCOST")[0])


def where_trust_stands(builder: Builder) -> str:
    """Return "above" or "below" the problem."""
    text = plain(report.make(builder.model(), diagnosis(builder.model()), RUNBOOKS))
    problem = re.search(r"^(NO )?(PROBLEM|CANNOT TELL) ", text, re.MULTILINE)
    assert problem
    return "above" if text.index("\nTRUST ") < problem.start() else "below"


def test_what_nobody_could_look_for_is_told_in_words() -> None:
    """ "CONCURRENCY-LIMIT, CPU-SPINNING" tells nothing to somebody who reads his first report."""
    model = Builder().thread("a", disk_read="9 s").model()
    silent = [
        NotMeasured(what=id, reason="nobody looked", fix="", ids=[id], matters=True)
        for id in ("CONCURRENCY-LIMIT", "CPU-SPINNING")
    ]
    whole = msgspec.structs.replace(report.make(model, diagnosis(model), RUNBOOKS), not_measured=silent)
    lines = last(whole, Page(80)).fold([0, 1])
    told = folded("\n".join(line.plain for line in lines))
    assert told == "NOT MEASURED whether requests wait for their turn to call a peer and 1 more: --full"
    together = NotMeasured(
        what="both", reason="nobody asked", fix="", ids=[each.ids[0] for each in silent], matters=True
    )
    whole = msgspec.structs.replace(whole, not_measured=[*silent, together])
    told = folded("\n".join(line.plain for line in last(whole, Page(80)).fold([0, 1, 2])))
    assert told.endswith(" and 3 more: --full"), "counted once"


def test_trust_is_a_line_at_the_end_unless_there_is_something_wrong() -> None:
    good = Builder().thread("a", disk_read="9 s").stack("wait", "disk.read", kernel=["io_schedule"], weight="1 s")
    assert where_trust_stands(good) == "below"
    assert trust(good).startswith("100.0 % of thread time measured, nothing lost")
    assert where_trust_stands(Builder().thread("a", disk_read="9 s").lost(ring_buffer=1)) == "above"
    assert where_trust_stands(Builder().thread("a", disk_read=("9 s", 900)).lost(ring_buffer=1)) == "below"
    assert where_trust_stands(Builder().thread("a", disk_read="9 s").cut()) == "above"
    assert where_trust_stands(Builder().thread("a", disk_read="8 s", unexplained="1 s")) == "above"


def test_time_accounted_for_is_never_rounded_up_to_all() -> None:
    builder = Builder().thread("a", disk_read="9 s", unexplained="1 ms")
    assert ">99.9 % of thread time measured" in trust(builder, full=True)


def test_what_is_lost_is_told_by_its_number() -> None:
    builder = Builder().thread("a", disk_read="9 s", cpu_user="500 ms")
    builder.stack("wait", "disk.read", kernel=["tcp_recvmsg"], weight="1 s")
    builder.lost(ring_buffer=123456, storage_failed=1234, output_lines=12, wakeups_missing=3)
    assert "lost (123,456 events that found the ring full" in trust(builder)
    assert "stack says net.receive" in trust(builder, full=True)


def test_time_that_is_counted_twice_is_said() -> None:
    builder = Builder().thread("a", disk_read="9 s", open_books=True)
    builder.stack("wait", "disk.read", kernel=["tcp_recvmsg"], weight="1 s")
    assert "10.0 % of time is counted twice or not at all (worst thread 10.0 %)" in trust(builder)
    assert "agree for 0.0 % of their time (most: disk.read, stack says net.receive)" in trust(builder)


def test_the_time_of_one_thread_that_does_not_add_up_is_told_beside_those_that_do() -> None:
    builder = Builder().thread("a", disk_read="9 s", open_books=True)
    for name in "bcdefghijklmnopqrstuvwxyz":
        builder.thread(name, disk_read="9 s")
    assert "For the worst thread, 10.0 % of time is counted twice or not at all" in trust(builder)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("0 ns", "stack samples agree"),
        ("1 ns", "agree for >99.9 % of their time (most: disk.read, stack says net.receive)"),
        ("10 s", "agree for 50.0 % of their time (most: disk.read, stack says net.receive)"),
    ],
)
def test_nothing_agrees_for_all_time_beside_what_does_not(wrong: str, told: str) -> None:
    builder = Builder().thread("a", disk_read="9 s").stack("wait", "disk.read", kernel=["io_schedule"], weight="10 s")
    builder.stack("wait", "disk.read", kernel=["tcp_recvmsg"], weight=wrong)
    assert told in trust(builder, full=True)


def test_the_cost_of_a_short_window_is_a_time() -> None:
    def cost(window: str) -> str:
        model = Builder(window=window).thread("a", cpu_user="50 ms").cost("400 ms").model()
        return plain(report.make(model, diagnosis(model), RUNBOOKS), full=True).partition("COST ")[2]

    assert "recorder 400 ms of CPU time, to begin and end" in cost("100 ms") and "of one CPU" not in cost("100 ms")
    assert "recorder 40.0 % of one CPU" in cost("1 s")


@pytest.mark.parametrize(
    ("programs", "told"),
    [
        ({}, "BPF programs not measured;"),
        ({"a": (1, 2_000_000), "b": (3, 5_000_000)}, "BPF programs 0.1 %;"),
        ({"a": (1, 7_000_000), "b": (None, None)}, "BPF programs 0.1 % (1 of 2 not measured);"),
        ({"a": (None, None), "b": (None, None)}, "BPF programs not measured;"),
    ],
)
def test_a_cost_that_was_not_measured_is_not_none(
    programs: dict[str, tuple[int | None, int | None]], told: str
) -> None:
    model = Builder().thread("a", cpu_user="1 s").cost("40 ms", programs=programs).model()
    made = report.make(model, diagnosis(model), RUNBOOKS)
    assert told in " ".join(plain(made, full=True).split())
    assert all((ns is None) == bool(re.search(rf"^  {name} +not measured$", plain(made, full=True), re.MULTILINE))
               for name, (_runs, ns) in programs.items())  # fmt: skip


def test_memory_that_was_not_measured_is_not_none() -> None:
    model = Builder().thread("a", cpu_user="1 s").cost("40 ms", resident_bytes=None).model()
    made = report.make(model, diagnosis(model), RUNBOOKS)
    assert "memory not measured" in folded(plain(made, full=True))
    assert msgspec.json.decode(document.render(made))["cost"]["rss_bytes"] is None


def slowed(programs: dict[str, tuple[int | None, int | None]], tracer: int = 0) -> Builder:
    """A program whose calls trap into the kernel for a probe, nine samples of ten."""
    builder = Builder().thread("app", cpu_user="1 s", cpu_kernel="9 s").cost("40 ms", programs=programs)
    builder.fact("/proc/100/status", f"Name:\tapp\nState:\tR (running)\nTracerPid:\t{tracer}\n")
    traps = ["irqentry_exit_to_user_mode", "exc_debug_user", "asm_exc_debug"]
    builder.stack("cpu", "cpu.kernel", kernel=traps, user=["run (app)"], count=900)
    return builder.stack("cpu", "cpu.user", user=["run (app)"], count=100)


@pytest.mark.parametrize("program", sorted(IN_PROGRAMS))
def test_the_time_inside_own_probes_is_the_cost_of_recording(program: str) -> None:
    model = slowed({program: (1000, 5_000_000)}).model()
    made = report.make(model, diagnose(model), RUNBOOKS)
    assert made.cost and made.cost.of_target == 0.9
    assert "its probes take 90.0 % of the target's CPU time" in folded(plain(made, full=True))
    told = "SLOWED by perfdiag: its probes take 90 % of CPU time (without them: perfdiag latency"
    assert told in folded(plain(made))
    assert made.verdict.status == CANNOT_TELL and "perfdiag's own probes take 90 %" in made.verdict.text
    assert not {each.id for each in made.findings} & {"CPU-KERNEL-HEAVY", "CPU-SINGLE-THREAD"}


@pytest.mark.parametrize(
    "builder", [slowed({"postgres_run": (0, 0)}), slowed({"sched_switch": (9, 9)}), slowed({"postgres_run": (9, 9)}, 7)]
)
def test_traps_of_others_are_not_of_recording(builder: Builder) -> None:
    model = builder.model()
    made = report.make(model, diagnose(model), RUNBOOKS)
    assert made.cost and made.cost.of_target == 0
    assert "SLOWED" not in plain(made) and "CPU-KERNEL-HEAVY" in {each.id for each in made.findings}


def test_samples_in_own_programs_of_the_kernel_are_of_recording() -> None:
    builder = Builder().thread("app", cpu_kernel="10 s").cost("40 ms", programs={"sched_switch": (9, 9)})
    for name, count in (("sched_switch", 30), ("falcon_switch", 70)):
        builder.stack(
            "cpu", "cpu.kernel", kernel=["copy", f"bpf_prog_0123456789abcdef_{name}", "__schedule"], count=count
        )
    model = builder.model()
    made = report.make(model, diagnose(model), RUNBOOKS)
    assert made.cost and made.cost.of_target == 0.3


def test_the_programs_inside_targets_are_those_of_bpf() -> None:
    source = (ROOT / "bpf/sql/statement.bpf.c").read_text()
    assert set(re.findall(r'SEC\("u(?:ret)?probe"\)\nint (\w+)\(', source)) == IN_PROGRAMS


@pytest.mark.parametrize("counter", [*COUNTERS, "bad_lines"])
def test_every_loss_is_told_in_words(counter: str) -> None:
    assert losses.told(counter, 5).startswith("5 ") and "_" not in losses.told(counter, 5)
    assert losses.told("novel", 5) == "novel 5", "of a newer recorder"
