"""PROC-FORK-SLOW: forks of a large process, of a small one, and those that cannot be told."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Confidence, Mechanism, Severity
from perfdiag.model.model import Model

from unit.support import Builder
from unit.support.judging import check, finding, knowing, outcomes, silence

ID = "PROC-FORK-SLOW"
COPYING = ["copy_page_range", "dup_mmap", "copy_process", "kernel_clone", "__do_sys_clone", "do_syscall_64"]
ENDING = ["unmap_vmas", "exit_mmap", "__mmput", "do_exit", "do_group_exit"]
REPLACING = ["unmap_vmas", "exit_mmap", "__mmput", "exec_mmap", "begin_new_exec", "bprm_execve"]
STARTING = ["alloc_pid", "copy_process", "kernel_clone", "__do_sys_clone", "do_syscall_64"]


def forking(children: int = 50, *, copies: int = 100, others: int = 300, only: bool = False) -> Builder:
    """10 ms of CPU time for each sample: 1 s of copies."""
    builder = Builder(descendants=not only).thread("server", cpu_user="1 s", cpu_kernel="3 s", wait_child="2 s")
    builder.stack("cpu", kernel=COPYING, count=copies, pid=100)
    builder.stack("cpu", user=["handle (server)"], count=others, pid=100)
    for tid in range(children):
        builder.thread("server", pid=1000 + tid, wall="20 ms", exited=True)
    return builder


def of_size(builder: Builder, resident_bytes: int | None = 4 << 30) -> Model:
    known = {"nice": 0, "cpus_allowed": None, "status": {}, "thread_cpus": None, "tracer": 0}
    process = SimpleNamespace(resident_bytes=resident_bytes, **known)
    return knowing(builder.model(), processes={100: process})


def test_each_fork_of_a_large_process_copies_its_tables() -> None:
    found = finding(of_size(forking()), ID)
    assert found.severity is Severity.WARNING and found.confidence is Confidence.HIGH
    assert dict(found.claims) == {"cpu.kernel": 1_000_000_000}
    assert "server (100), which uses 4.00 GiB" in found.claim and found.mechanism is Mechanism.MANY
    assert found.claim.endswith("A fork takes about 20.0 ms.")
    assert [each.value for each in found.evidence] == [1e9, 50, 4 << 30] and found.evidence[0].error
    assert "fork the workers before" in found.remedies[0].text, "its children run no other program"


def test_what_giving_the_copies_back_takes_is_part_of_it() -> None:
    builder = forking(others=200).stack("cpu", kernel=ENDING, count=60, pid=1000)
    found = finding(
        of_size(builder.stack("cpu", kernel=REPLACING, count=40, pid=1001).event("exec", "ls", pid=1001)), ID
    )
    assert dict(found.claims) == {"cpu.kernel": 2_000_000_000}
    assert "1.00 s more" in found.evidence[1].text and found.evidence[1].error
    assert "posix_spawn" in found.remedies[0].text


def spawning(wait: str = "20 ms", *, root: str = "cpu.user") -> Builder:
    """Return a process that waits at a pipe for each of 50 children, which gives its copy back and runs a program."""
    builder = forking(others=200).event("exec", "ls", pid=1001)
    builder.stack("cpu", kernel=[each for each in REPLACING if each != "exec_mmap"], count=100, pid=1001)
    builder.thread("server", wall="8 s", rest="wait.work")
    for number in range(50):
        builder.row("ipc.pipe", f"pipe:{number}", wait, count=1)
        builder.because("ipc.pipe", f"pipe:{number}", root, wait, count=1)
    return builder


def test_waits_for_children_to_run_their_program_are_part_of_it() -> None:
    found = finding(of_size(spawning()), ID)
    assert found.claims["cpu.kernel"] == 2_000_000_000, "exec_mmap() is a part of begin_new_exec()"
    assert sum(ns for claim, ns in found.claims.items() if claim != "cpu.kernel") == 1_000_000_000
    assert [each.value for each in found.evidence if "pipes" in each.text] == [1e9]


@pytest.mark.parametrize("other", [spawning("100 ms"), spawning(root="wait.timer")])
def test_pipes_are_waited_at_for_other_things_as_well(other: Builder) -> None:
    """For longer than giving the copies back takes, or for who sleeps."""
    assert dict(finding(of_size(other), ID).claims) == {"cpu.kernel": 2_000_000_000}


def test_what_a_program_had_itself_is_none_of_the_copy() -> None:
    builder = forking(others=200).stack("cpu", kernel=ENDING, count=60, pid=1000).event("exec", "ls", pid=1000)
    builder.stack("cpu", kernel=ENDING, count=40, pid=100)
    assert dict(finding(of_size(builder), ID).claims) == {"cpu.kernel": 1_000_000_000}


def test_it_is_named_instead_of_the_kernel_at_large() -> None:
    ids = [each.id for each in diagnose(of_size(forking(copies=300, others=100))).findings]
    assert ids[0] == ID and "CPU-KERNEL-HEAVY" not in ids


def test_many_forks_of_a_small_process_are_not_its_memory() -> None:
    assert "980 us for each process" in check(of_size(forking(1020)), ID).text
    assert finding(of_size(forking(999)), ID)


def test_threads_copy_nothing() -> None:
    builder = Builder().thread("server", cpu_user="1 s", cpu_kernel="3 s")
    assert not outcomes(of_size(builder.stack("cpu", kernel=STARTING, count=400)), ID)


def test_copies_that_nobody_can_feel_are_fine() -> None:
    assert check(of_size(forking(5, copies=2, others=398)), ID)


@pytest.mark.parametrize(("resident_bytes", "said"), [(4 << 30, True), (1 << 20, False), (None, False)])
def test_children_that_are_not_watched_leave_the_memory(resident_bytes: int | None, said: bool) -> None:
    model = of_size(forking(0, only=True), resident_bytes)
    if said:
        found = finding(model, ID)
        assert found.confidence is Confidence.MEDIUM and "children were not watched" in found.limits[0]
    else:
        assert check(model, ID)


def test_without_samples_a_large_process_with_children_is_not_acquitted() -> None:
    blind = forking(copies=0, others=30)
    assert "50 processes started, but only 30 CPU samples" in silence(of_size(blind), ID).reason
    assert not outcomes(of_size(forking(copies=0, others=30), 1 << 20), ID), "a small one has nothing to copy"
    assert not outcomes(of_size(forking(0, copies=0, others=30)), ID), "nobody came"
