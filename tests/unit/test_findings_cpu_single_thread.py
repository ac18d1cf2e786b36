"""CPU-SINGLE-THREAD: one thread has no time left while others have."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Severity
from perfdiag.facts.host_facts import Process
from perfdiag.model.model import Model

from unit.support import Builder
from unit.support.judging import check, finding, knowing, outcomes, silence
from unit.support.known import blank
from unit.test_findings_cpu import computing


def one_of_many(hot: str = "9700 ms", second: str = "1 s", cpus: int = 4) -> Builder:
    builder = Builder(cpus=cpus).thread("main", cpu_user=hot)
    builder.stack("cpu", user=["evaluate (app)"], count=500)
    for _ in range(3):
        builder.thread("worker", cpu_user=second)
    return builder


def test_one_full_thread_beside_idle_ones_is_the_limit() -> None:
    found = finding(one_of_many().model(), "CPU-SINGLE-THREAD")
    assert found.severity is Severity.INFO and "main runs 97 %" in found.claim
    assert dict(found.claims) == {"cpu.user": 9_700_000_000}
    assert any("evaluate (app)" in evidence.text for evidence in found.evidence)


def test_a_full_thread_that_is_in_the_kernel_says_so_and_what_for() -> None:
    """It read "this one thread is the limit" of one that was in getrandom() for 96 % of the time."""

    def claim(user: str, kernel: str, samples: int = 400) -> str:
        builder = Builder().thread("main", cpu_user=user, cpu_kernel=kernel)
        frames = ["chacha_permute", "__x64_sys_getrandom", "do_syscall_64"]
        builder.stack("cpu", "cpu.kernel", kernel=frames, count=samples).thread("worker", cpu_user="1 s")
        return finding(builder.model(), "CPU-SINGLE-THREAD").claim

    assert "97 %" in claim("300 ms", "9400 ms") and "getrandom()" in claim("300 ms", "9400 ms")
    assert "97 %" in claim("300 ms", "9400 ms", 20)


def test_the_poller_of_a_ring_limits_nobody() -> None:
    """A server slept 20 ms over each request, and was told that the kernel's poller of its ring was the limit."""

    def found(name: str, user: str) -> bool:
        builder = Builder().thread("app", wait_timer="9 s").thread(name, tid=101, cpu_kernel="9700 ms", cpu_user=user)
        return any(each.id == "CPU-SINGLE-THREAD" for each in diagnose(builder.model()).findings)

    assert not found("iou-sqp-100", "0 ns")
    assert found("iou-sqp-100", "100 ms") and found("worker", "0 ns")


def test_samples_are_those_of_its_process_whichever_thread_was_met_first() -> None:
    builder = Builder().thread("main", tid=100, cpu_user="9700 ms").thread("worker", tid=101, cpu_user="200 ms")
    builder.thread("other", pid=200, cpu_user="200 ms").stack("cpu", user=["other (app)"], count=400)
    builder.stack("cpu", user=["evaluate (app)"], count=500, pid=100, tid=101)
    texts = [evidence.text for evidence in finding(builder.model(), "CPU-SINGLE-THREAD").evidence]
    assert any("100 %" in text and "500" in text for text in texts)


def test_it_is_a_fault_when_others_wait_for_it() -> None:
    builder = Builder().thread("main", tid=100, cpu_user="9700 ms").thread("worker", cpu_user="200 ms")
    builder.row("lock.futex", "futex:0x10", "8 s", count=800, waker_tid=100, waker_count=700)
    found = finding(builder.model(), "CPU-SINGLE-THREAD")
    assert found.severity is Severity.WARNING and "others wait for it" in found.claim


def test_locks_that_somebody_else_released_prove_nothing() -> None:
    builder = Builder().thread("main", tid=100, cpu_user="9700 ms").thread("worker", cpu_user="200 ms")
    builder.row("lock.futex", "futex:0x10", "8 s", count=800, waker_tid=100, waker_count=300)
    assert finding(builder.model(), "CPU-SINGLE-THREAD").severity is Severity.INFO


@pytest.mark.parametrize(
    "model",
    [
        one_of_many("8500 ms").model(),
        one_of_many(second="6 s").model(),
        one_of_many(second="9800 ms").model(),
        one_of_many(cpus=1).model(),
    ],
    ids=["has room", "others work too", "several full", "one CPU"],
)
def test_no_single_thread_is_the_limit(model: Model) -> None:
    check(model, "CPU-SINGLE-THREAD")


def test_a_program_with_one_thread_is_left_to_cpu_bound() -> None:
    model = computing().model()
    assert outcomes(model, "CPU-SINGLE-THREAD") == []
    assert [found.id for found in diagnose(model).findings] == ["CPU-BOUND"]


def test_affinity_to_one_cpu_leaves_no_room_for_more_threads() -> None:
    pinned = blank(Process, pid=100, cpus_allowed="2")
    check(knowing(one_of_many().model(), processes={100: pinned}), "CPU-SINGLE-THREAD")


def test_threads_that_ended_cannot_be_told_apart() -> None:
    model = Builder().thread("main", cpu_user="1 s").exited(threads=40, wall="9 s").model()
    assert "ended" in silence(model, "CPU-SINGLE-THREAD").reason


def test_it_supersedes_cpu_bound() -> None:
    diagnosis = diagnose(one_of_many(second="10 ms").model())
    assert [found.id for found in diagnosis.findings][:1] == ["CPU-SINGLE-THREAD"]
    assert [found.id for found in diagnosis.superseded] == ["CPU-BOUND"]
