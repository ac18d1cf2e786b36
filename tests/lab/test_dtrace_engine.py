"""--engine dtrace: the recorder runs ledger.d in a guest that has DTrace, and passes on what that prints."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.model.builder import build
from perfdiag.recording import reader
from perfdiag.recording.recording import Recording

from lab.support.guest import CPUS, Guest
from lab.support.processes import GuestWorkload, Process
from live.support.fixtures import Cleanup, Start

pytestmark = pytest.mark.dtrace

RECORDER = ("/run/bin/perfdiag-recorder", "--engine", "dtrace", "--scripts", "/lab")


@pytest.fixture
def spinning(start: Start) -> Iterator[GuestWorkload]:
    workload = start("spin", "--threads", 4, "--cpu", CPUS - 1, "--duration-ms", 120_000)
    workload.start()
    yield workload
    workload.close()


@pytest.fixture
def recording(guest: Guest, cleanup: Cleanup) -> Any:
    """Start a recorder, and go on when its window has begun."""
    return lambda pid, seconds: cleanup.enter_context(
        Process(guest, [*RECORDER, "--pid", pid, "--duration", seconds], "", "[ -s out ]")
    )


def read(process: Process) -> Recording:
    return reader.read(io.BytesIO(process.here("cat out").encode() + b"\n"))


def refused(guest: Guest, *words: object) -> tuple[int, str]:
    """Return the status of a recorder that cannot record, and what it says; it prints nothing else."""
    status, said = guest.try_run(f"timeout 100 {' '.join(map(str, words))} 2>&1 >/run/refused")
    assert guest.run("cat /run/refused") == ""
    assert [line for line in said.splitlines() if not line.startswith(("error: ", "HINT: "))] == []
    return status, said


def test_a_window(spinning: GuestWorkload, recording: Any) -> None:
    """The first thread sleeps all along: DTrace does not see it, and the recorder adds it."""
    process = recording(spinning.pid, 4)
    assert process.end() == 0, process.here("cat err")
    found = read(process)
    assert not found.problems and found.header.engine == "dtrace" and found.header.host.cpus_online == CPUS
    assert {fact.phase for fact in found.facts} == {"begin", "end"}
    model = build(found)
    assert model.coverage.closed_error < 0.001 and not model.coverage.contradictions, model.coverage
    accounts = {name: total.ns for name, total in model.accounts.items()}
    assert accounts["runq.busy"] > 0.5 * sum(accounts.values()) and len(model.threads) == 5
    assert "CPU-CONTENTION" in {finding.id for finding in diagnose(model).findings}
    assert any("nfs.commit" in item.what for item in model.not_measured)


def test_ctrl_c(spinning: GuestWorkload, recording: Any) -> None:
    process = recording(spinning.pid, 0)
    process.here("sleep 2; kill -s TERM $(cat pid)")
    assert process.end() == 0, process.here("cat err")
    found = read(process)
    assert found.footer and found.footer.reason == "signal" and not found.problems
    assert 1e9 < found.footer.at_ns - found.header.start_ns < 20e9


def test_its_target_ends(start: Start, recording: Any) -> None:
    workload = start("lock", "--duration-ms", 1200)
    process = recording(workload.pid, 100)
    workload.run()
    assert process.end() == 0, process.here("cat err")
    found = read(process)
    assert not found.problems and {line.state for line in found.threads.values()} == {"exited"}


def test_exec_by_a_thread(start: Start, recording: Any) -> None:
    """The thread that calls exec takes over the leader's tid; both have their own books."""
    workload = start("thread_exec", "--before-ms", 1000, "--after-ms", 1000)
    process = recording(workload.pid, 100)
    truth = workload.run()
    assert process.end() == 0, process.here("cat err")
    found = read(process)
    assert not found.problems, found.problems
    both = [line for line in found.threads.values() if line.tid == workload.pid]
    slept_ns = [sum(each.sum_ns for each in line.accounts if each.account == "wait.timer") for line in both]
    assert len(both) == 2 and max(slept_ns) > 0.9 * truth["slept_ns"] and min(slept_ns) == 0, both


def test_dtrace_is_killed_in_the_window(guest: Guest, spinning: GuestWorkload, recording: Any) -> None:
    """What was written is readable, and says that its end is missing."""
    process = recording(spinning.pid, 100)
    process.here("sleep 1; kill -s KILL $(ps -o pid= --ppid $(cat pid))")
    assert process.end() == 1
    assert process.here("cat err").count("error: dtrace was killed by signal 9") == 1
    found = read(process)
    assert found.footer is None and "has no end" in found.problems[-1]


def test_no_dtrace(guest: Guest, spinning: GuestWorkload) -> None:
    guest.run("mv /usr/sbin/dtrace /usr/sbin/dtrace.away")
    try:
        status, said = refused(guest, *RECORDER, "--pid", spinning.pid, "--duration", 1)
    finally:
        guest.run("mv /usr/sbin/dtrace.away /usr/sbin/dtrace")
    assert status == 1 and said.startswith("error: /usr/sbin/dtrace: No such file"), (status, said)
    assert "HINT: install DTrace for Linux" in said and said.count("\n") == 2


def test_what_dtrace_says_is_told(guest: Guest, spinning: GuestWorkload) -> None:
    guest.run("echo 'sdt:sched::never_there /pid == $1/ { }' >/run/wrong.d")
    status, said = refused(guest, RECORDER[0], "--script", "/run/wrong.d", "--pid", spinning.pid, "--duration", 1)
    assert status == 1 and said.startswith("error: dtrace does not trace: "), (status, said)
    assert "never_there does not match any probes" in said and said.count("\n") == 2


def test_a_script_that_others_can_change_is_not_run(guest: Guest, spinning: GuestWorkload) -> None:
    guest.run("cp /lab/dtrace/ledger.d /run/ledger.d; chmod 666 /run/ledger.d")
    status, said = refused(guest, RECORDER[0], "--script", "/run/ledger.d", "--pid", spinning.pid, "--duration", 1)
    assert status == 3 and "/run/ledger.d is not root's alone" in said


def test_a_process_that_is_not_there(guest: Guest) -> None:
    status, said = refused(guest, *RECORDER, "--pid", 4_000_000, "--duration", 1)
    assert status == 4, said  # no process: the front end says so


def test_without_root(guest: Guest, spinning: GuestWorkload) -> None:
    user = ("setpriv", "--reuid", 65534, "--clear-groups")
    status, said = refused(guest, *user, *RECORDER, "--pid", spinning.pid, "--duration", 1)
    assert status == 1 and said.startswith("error: dtrace does not trace: "), (status, said)
    assert "run as root" in said and said.count("\n") == 2
