"""CPU-KERNEL-HEAVY, and how its time is told from that of the target's own code."""

from __future__ import annotations

from dataclasses import replace

import pytest
from perfdiag.diagnosis.evidence.cpu.stack_samples import CpuSamples
from perfdiag.diagnosis.evidence.cpu.time_split import split_error
from perfdiag.diagnosis.rule import Confidence, Severity
from perfdiag.model.model import Model

from unit.support import Builder
from unit.support.judging import check, finding, silence
from unit.test_findings_cpu import computing


def in_kernel(
    kernel: str = "6 s", user: str = "2 s", functions: tuple[str, ...] = ("vfs_read", "ksys_read"), count: int = 400
) -> Builder:
    builder = Builder().thread("worker", cpu_user=user, cpu_kernel=kernel)
    return builder.stack("cpu", "cpu.kernel", kernel=list(functions), count=count) if count else builder


def test_a_busy_kernel_is_profile_and_says_what_for() -> None:
    found = finding(in_kernel().model(), "CPU-KERNEL-HEAVY")
    assert found.severity is Severity.INFO
    assert "75 %" in found.claim
    assert "100 %" in found.evidence[1].text and "1 %" in found.evidence[1].text
    assert dict(found.claims) == {"cpu.kernel": 6_000_000_000}


def test_work_of_several_kinds_is_told_with_their_parts() -> None:
    """ "looking up file names (70 %)" stood for 44 % of them: the rest was the log that each line opened."""
    builder = in_kernel(functions=("do_sys_openat2",), count=180).stack(
        "cpu", "cpu.kernel", kernel=["vfs_write"], count=140
    )
    found = finding(
        builder.stack("cpu", "cpu.kernel", kernel=["__x64_sys_close"], count=80).model(), "CPU-KERNEL-HEAVY"
    )
    parts = "looking up file names 45 %, files 35 %, closing descriptors 20 %"
    assert found.headline.endswith(f"is busy in the kernel: {parts}")


def test_a_tracer_is_no_profile_of_the_target() -> None:
    """A probe was left on a hot function: 94 % in the kernel were "no problem"."""
    found = finding(in_kernel(functions=("irqentry_exit_to_user_mode", "asm_exc_int3")).model(), "CPU-KERNEL-HEAVY")
    assert found.severity is Severity.WARNING and "breakpoints of a tracer" in found.headline
    assert "bpftool perf list" in found.remedies[0].text


def test_programs_that_others_attached_are_no_profile_of_the_target() -> None:
    """bpftrace counted each system call by its stacks: 67 % in the kernel were "looking up file names"."""
    functions = ("bpf_get_stackid", "bpf_prog_f6d241c5909de9d9_sys_enter", "trace_call_bpf", "path_openat")
    found = finding(in_kernel(functions=functions).model(), "CPU-KERNEL-HEAVY")
    assert found.severity is Severity.WARNING and "BPF programs of another tracer" in found.headline


@pytest.mark.parametrize(
    "functions",
    [
        ("skb_copy", "tcp_sendmsg_locked", "tcp_sendmsg", "bpf_trampoline_6442536467"),
        ("bpf_prog_6deef7357e7b4530_sd_fw_egress", "__cgroup_bpf_run_filter_skb", "ip_finish_output"),
    ],
)
def test_what_a_program_stands_around_or_in_the_way_of_is_no_tracing(functions: tuple[str, ...]) -> None:
    """A function that somebody traces at its end runs below a trampoline; filters of packets are of use."""
    found = finding(in_kernel(functions=functions).model(), "CPU-KERNEL-HEAVY")
    assert found.severity is Severity.INFO and "tracer" not in found.headline


def test_our_own_programs_are_no_work_of_the_target() -> None:
    own = ("perfdiag:sock_recv_length", "bpf_trace_run3", "tcp_recvmsg")
    samples = CpuSamples(in_kernel(functions=own).model())
    assert samples.recording.share == 1.0 and not samples.stacks


def test_work_of_no_known_kind_is_named_by_its_system_call() -> None:
    model = in_kernel(functions=("chacha_permute", "get_random_bytes_user", "__x64_sys_getrandom")).model()
    assert "getrandom()" in finding(model, "CPU-KERNEL-HEAVY").claim


def test_own_code_dominates_below_two_fifths() -> None:
    assert check(in_kernel("3 s", "5 s").model(), "CPU-KERNEL-HEAVY").number == pytest.approx(3 / 8)


@pytest.mark.parametrize(("waits", "large"), [("1 s", True), ("9 s", False)])
def test_most_of_next_to_no_cpu_time_is_not_large(waits: str, large: bool) -> None:
    """60 ms of 1.06 s are worth a line, of 9.06 s they are not."""
    assert check(in_kernel("60 ms", "0 ns").thread("b", disk_read=waits).model(), "CPU-KERNEL-HEAVY").large is large


def test_waiting_for_each_other_in_kernel_locks_is_a_fault() -> None:
    model = (
        in_kernel("4 s", "5 s", ("native_queued_spin_lock_slowpath", "_raw_spin_lock", "futex_wake"), 120)
        .stack("cpu", user=["work (app)"], count=280)
        .model()
    )
    found = finding(model, "CPU-KERNEL-HEAVY")
    assert found.severity is Severity.WARNING
    assert found.claims["cpu.kernel"] == pytest.approx(0.3 * 9e9)
    assert found.evidence[0].error


def test_the_two_ends_of_a_pipe_that_take_turns_are_no_contention() -> None:
    """tar wrote 900 MiB/s for wc: "use fewer threads on the same file", a report said, as the mutex of the pipe is held
    while either end copies."""
    spins = ("mutex_spin_on_owner", "__mutex_lock", "anon_pipe_read", "vfs_read")
    found = finding(in_kernel("4 s", "5 s", spins, 120).model(), "CPU-KERNEL-HEAVY")
    assert found.severity is Severity.INFO and "pipes and local sockets" in found.headline


def test_a_little_spinning_in_kernel_locks_is_none() -> None:
    model = (
        in_kernel("1 s", "8 s", ("native_queued_spin_lock_slowpath",), 40)
        .stack("cpu", user=["work (app)"], count=360)
        .model()
    )
    assert check(model, "CPU-KERNEL-HEAVY").number < 0.4


def unsplit(model: Model, error: float | None) -> Model:
    return replace(model, threads=[replace(thread, cpu_split_error=error) for thread in model.threads])


def test_too_few_ticks_cannot_tell_user_from_kernel() -> None:
    model = unsplit(in_kernel("2500 ms", "5 s", count=0).model(), 0.3)
    assert "too few ticks" in silence(model, "CPU-KERNEL-HEAVY").reason
    sure = unsplit(in_kernel("2500 ms", "5 s", count=0).model(), 0.02)
    assert check(sure, "CPU-KERNEL-HEAVY").number == pytest.approx(1 / 3)


def test_threads_without_ticks_know_nothing_of_the_split() -> None:
    assert split_error(unsplit(computing().model(), None)) == 0.5
    found = finding(unsplit(in_kernel().model(), None), "CPU-KERNEL-HEAVY")
    assert found.confidence is not Confidence.HIGH


def test_time_that_no_tick_divides_is_not_said_to_be_own_code() -> None:
    little = Builder().thread("a", cpu_user="17 ms", disk_read="3 s").model()
    assert check(unsplit(little, 0.3), "CPU-BOUND").text == "own code 17.0 ms, 1 % of busy time"
    for error in (0.6, 1.0):
        model = unsplit(little, error)
        assert "17.0 ms" in check(model, "CPU-BOUND").text and "1 %" in check(model, "CPU-BOUND").text
        assert "17.0 ms" in check(model, "CPU-KERNEL-HEAVY").text
    assert finding(computing().model(), "CPU-BOUND")
    assert finding(unsplit(computing().model(), 0.9), "CPU-BOUND")
