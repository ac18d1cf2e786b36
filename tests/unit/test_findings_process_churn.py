"""PROC-CHILD-SLOW: thousands of short processes, and what their start takes."""

from __future__ import annotations

from dataclasses import replace

from perfdiag.common.units import share as percent
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.evidence.local.process_churn import Churn, churn
from perfdiag.diagnosis.rule import Confidence, Severity
from perfdiag.report.verdict.verdict import decide

from unit.support import Builder
from unit.support.judging import finding

CHILD = "PROC-CHILD-SLOW"


def storm(processes: int = 4_000, wall: str = "4 s", **accounts: str) -> Builder:
    builder = Builder(comm="sh").thread("sh", cpu_user="300 ms", wait_child=("6 s", processes, "3 ms"))
    if not accounts:
        accounts = {"cpu_user": "2 s", "cpu_kernel": "1 s"}
    builder.exited("grep", threads=processes, processes=processes, wall=wall, **accounts)
    builder.stack("cpu", "cpu.kernel", kernel=["clear_page", "bprm_execve", "do_syscall_64"], count=100, pid=7)
    builder.stack("cpu", "cpu.kernel", kernel=["copy_page_range", "copy_process"], count=50, pid=100)
    builder.stack("cpu", "cpu.kernel", kernel=["handle_mm_fault", "exc_page_fault"], count=30, pid=7)
    builder.stack("cpu", user=["do_lookup_x (ld-linux-x86-64.so.2)"], count=20, pid=7)
    builder.stack("cpu", "cpu.kernel", kernel=["handle_mm_fault", "exc_page_fault"], count=30, pid=100)
    return builder.stack("cpu", user=["match (grep)"], count=170, pid=7)


def test_thousands_of_short_processes_are_told_with_what_their_start_takes() -> None:
    model = storm(wall="9 s", cpu_user="5 s", cpu_kernel="3 s").model()
    found = finding(model, CHILD)
    assert found.severity is Severity.INFO and found.confidence is Confidence.MEDIUM
    assert "starts 400 processes a second" in found.claim and "waited 6.00 s for them" in found.claim
    assert "4,000 processes, 400 a second" in found.evidence[0].text and "lived 2.25 ms" in found.evidence[0].text
    assert "at least 3.46 s of CPU time" in found.claim  # 200 of 400 samples: faults of the shell are its own
    ran_ns = model.ns("cpu.user", "cpu.kernel")
    assert found.claims["cpu.user"] == round(20 / 400 * ran_ns)
    assert found.claims["cpu.kernel"] == min(round(180 / 400 * ran_ns), model.ns("cpu.kernel"))
    assert "grep (4,000)" in found.evidence[0].text and found.evidence[1].error


def test_processes_that_do_nothing_but_start_and_end_are_all_that_the_target_does() -> None:
    model = storm(wall="4 s", cpu_user="2 s", cpu_kernel="1 s").model()
    found = finding(model, CHILD)
    assert "1.00 ms of CPU time each" in found.claim and found.confidence is Confidence.MEDIUM
    ended = next(thread for thread in model.threads if thread.exited)
    assert found.claims == {name: ended.accounts[name].ns for name in ("cpu.user", "cpu.kernel")}
    diagnosis = diagnose(model)
    assert [each.id for each in diagnosis.findings][:1] == [CHILD]
    # All of that time is said once: the samples that show it are less, and would contradict it.
    text = decide(model, diagnosis).text
    assert f"({percent(diagnosis.findings[0].share)} of busy time)" in text and text.count(" %") == 1


def test_who_reads_what_short_processes_print_waits_for_those() -> None:
    """Not for the pipe, and not for what a process that lasts does meanwhile, nor for what a short one waits for."""
    builder = storm(wall="9 s", cpu_user="5 s", cpu_kernel="3 s")
    lasting = next(thread.tid for thread in builder.model().threads if thread.tid)
    builder.row("ipc.pipe", "pipe:5", "3 s", count=900)
    builder.because("ipc.pipe", "pipe:5", "cpu.user", "2 s", root_tid=777_777)
    builder.because("ipc.pipe", "pipe:5", "cpu.user", "500 ms", root_tid=lasting)
    builder.because("ipc.pipe", "pipe:5", "wait.timer", "400 ms", root_tid=777_778)
    found = finding(builder.model(), CHILD)
    assert found.claims["ipc.pipe", "pipe:5"] == 2_000_000_000 and "waited 2.00 s for that" in found.claim
    assert found.headline.endswith("starts 400 processes a second: grep (4,000)")


def test_a_few_short_processes_and_many_long_ones_are_no_churn() -> None:
    assert "400" not in finding(storm(processes=150, wall="150 ms", cpu_user="100 ms").model(), CHILD).claim
    assert "waited" in finding(storm(wall="400 s", cpu_user="300 s").model(), CHILD).claim


def test_a_command_that_starts_and_ends_has_no_rate() -> None:
    def of(processes: int, window_ns: int) -> Churn | None:
        model = storm(processes, wall="150 ms", cpu_user="100 ms").model()
        return churn(replace(model, window_ns=window_ns))

    assert of(20, 500_000_000) and not of(19, 500_000_000)
    assert of(20, 100_000_000) and not of(20, 99_000_000)


def test_without_samples_the_cost_of_their_start_is_not_known() -> None:
    model = (
        Builder().thread("sh", cpu_user="1 s").exited("grep", threads=900, processes=900, wall="2 s", cpu_user="2 s")
    )
    found = finding(model.without("stacks").model(), CHILD)
    assert not found.claims and "not sampled" in found.claim and found.limits
