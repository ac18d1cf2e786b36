"""Threads that compute: who gets the CPU, who waits for it behind whom, and who may not have it."""

from __future__ import annotations

import os
import subprocess
import time
from collections import Counter

import pytest
from perfdiag.diagnosis.evidence.cpu.kernel_work import work
from perfdiag.diagnosis.evidence.cpu.stack_samples import CpuSamples
from perfdiag.facts.host_facts import Facts
from perfdiag.recording import schema

from live.support import laws
from live.support.fixtures import Attach, Cleanup, Record, Start
from live.support.host import cgroup, enter
from live.support.model import model_of
from live.support.recording import ns_of, table
from live.support.snippets import recorded_snippet

MILLISECOND = 1_000_000
SHARED_CPU = max(os.sched_getaffinity(0))


def test_a_spinner_is_on_the_cpu(start: Start, record: Record) -> None:
    recording, truth = record(start("spin", "--duration-ms", 1500))
    (spinner,) = [row for row in recording.of_process(truth["pid"]) if row.tid != truth["pid"]]
    cpu_ns = ns_of(spinner, "cpu.")
    assert abs(cpu_ns - truth["cpu_ns"]) < 0.05 * truth["cpu_ns"], table(spinner)
    accounts = model_of(recording).accounts
    assert accounts["cpu.user"].ns > 0.9 * truth["cpu_ns"], accounts


def test_a_spinner_in_system_calls_is_kernel_time(start: Start, record: Record) -> None:
    recording, truth = record(start("spin", "--duration-ms", 1500, "--kernel", 1))
    accounts = model_of(recording).accounts
    assert accounts["cpu.kernel"].ns > 0.8 * truth["cpu_ns"], accounts


# Makes system calls behind eight filters of 4,000 comparisons each.
FILTERED = """
import ctypes, os, struct, sys, time
program = [(0x20, 0, 0, 16)] + [(0x15, 0, 0, 0x5EAD0000 + each) for each in range(4000)] + [(0x06, 0, 0, 0x7FFF0000)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *each) for each in program))
filters = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(program), ctypes.addressof(code)))
libc = ctypes.CDLL(None)
assert not libc.prctl(38, 1, 0, 0, 0) and not any(libc.prctl(22, 2, filters, 0, 0) for _ in range(8))
print("ready", flush=True)
sys.stdin.readline()
end = time.monotonic() + 1.5
while time.monotonic() < end:
    os.getppid()
"""


def test_filters_of_system_calls_are_kernel_time(attach: Attach, cleanup: Cleanup) -> None:
    """The kernel compiles them to code without a symbol, from which it walks no stack."""
    recording, _ = recorded_snippet(attach, cleanup, FILTERED)
    filters = next(iter(work(CpuSamples(model_of(recording)))))
    assert filters.name == "filtering system calls" and filters.part.share > 0.8, filters


@pytest.mark.parametrize("ends", [False, True])
def test_cpu_samples_name_the_hot_function(ends: bool, start: Start, attach: Attach) -> None:
    """Also when the process takes its names with it: they were asked for while it lived."""
    target = start("spin", "--duration-ms", 2000 if ends else 30_000)
    recorder = attach(target, stacks=True)
    target.start()
    if ends:
        target.truth()
    else:
        time.sleep(1.5)
    recording = recorder.wait("targets gone") if ends else recorder.stop()
    laws.check(recording)
    stacks = [row for row in recording.of(schema.Stack) if row.kind == "cpu"]
    total_ns = sum(row.weight_ns for row in stacks)
    hot_ns = sum(row.weight_ns for row in stacks if any(name.startswith("burn_cpu ") for name in row.user[:1]))
    assert total_ns > 0.1e9
    assert hot_ns > 0.9 * total_ns, [(row.user[:2], row.kernel[:2], row.weight_ns) for row in stacks]


def test_who_calls_the_c_library_without_frame_pointers(start: Start, record: Record) -> None:
    """Four fifths of the samples are one caller's; the other has a fifth."""
    recording, _ = record(start("frameless", "--count", 20_000))
    samples = CpuSamples(model_of(recording))
    hottest = samples.hottest(1)[0]
    assert "strlen" in hottest.name and hottest.part.share > 0.9, hottest
    assert samples.callers() == ["read_numbers (frameless)", "main (frameless)"]
    named = sum(
        row.count for row in samples.stacks if any(name.startswith(("read_numbers", "find_end")) for name in row.scan)
    )
    assert named > 0.9 * samples.count, [(row.user, row.scan, row.count) for row in samples.stacks]


def test_four_spinners_share_one_cpu(start: Start, record: Record) -> None:
    recording, truth = record(start("spin", "--threads", 4, "--cpu", SHARED_CPU, "--duration-ms", 2000))
    spinners = [row for row in recording.of_process(truth["pid"]) if row.tid != truth["pid"]]
    assert len(spinners) == 4
    cpu_ns = sum(ns_of(row, "cpu.") for row in spinners)
    # What the clock of a thread leaves out, where the kernel knows of it.
    others_ns = sum(ns_of(row, "cpu.irq", "cpu.stolen") for row in spinners)
    assert cpu_ns - others_ns - 0.05 * cpu_ns < truth["cpu_ns"] < 1.05 * cpu_ns
    for row in spinners:
        assert abs(ns_of(row, "cpu.", "runq.") - row.wall_ns) < 0.05 * row.wall_ns, table(row)
        assert ns_of(row, "runq.busy") > 0.65 * row.wall_ns, table(row)
    # Not always the most: on a busy host others may compute there too, and who ran before the last 64 has no name.
    named: Counter[str] = Counter()
    for row in recording.details("runq.busy"):  # of living threads and of those that ended
        named[row.object] += row.sum_ns
    assert named[f"own:{truth['pid']}:spin"] > 0.2 * named.total(), named
    assert named[""] < 0.3 * named.total(), named


def test_neighbours_are_named(start: Start, record: Record) -> None:
    neighbours = start("spin", "--threads", 4, "--cpu", SHARED_CPU, "--duration-ms", 30_000)
    target = start("spin", "--cpu", SHARED_CPU, "--duration-ms", 2000)
    neighbours.start()
    neighbours.await_threads(5)
    recording, truth = record(target)
    (spinner,) = [row for row in recording.of_process(truth["pid"]) if row.tid != truth["pid"]]
    busy_ns = ns_of(spinner, "runq.busy")
    assert busy_ns > 0.4 * spinner.wall_ns, table(spinner)
    # Not always the first: on a busy host somebody else may compute there too.
    named: Counter[str] = Counter()
    for row in recording.details("runq.busy"):
        named[row.object] += row.sum_ns
    assert named[f"task:{neighbours.pid}:spin"] > 0.2 * named.total(), named
    seen = Facts.parse(recording.of(schema.Fact)).competitors[neighbours.pid]
    assert not seen.ended and (seen.policy, seen.nice) == (0, os.getpriority(os.PRIO_PROCESS, neighbours.pid)), seen


def test_a_quota_of_20_percent(start: Start, record: Record) -> None:
    with cgroup("cpu", "quota", cfs_period_us=100_000, cfs_quota_us=20_000) as group:
        recording, truth = record(start("spin", "--duration-ms", 2000, prepare=enter(group)))
        statistics = dict(line.split() for line in (group / "cpu.stat").read_text().splitlines())
        inode = group.stat().st_ino
    (spinner,) = [row for row in recording.of_process(truth["pid"]) if row.tid != truth["pid"]]
    throttled_ns = ns_of(spinner, "runq.throttled")
    assert abs(ns_of(spinner, "cpu.") - truth["cpu_ns"]) < 0.05 * truth["cpu_ns"], table(spinner)
    # The kernel's own count is the witness; it runs to the end of the throttling, past the end of the thread.  A slow
    # CPU has used up some quotas before the spinner begins: those took from the thread that makes it.
    witness_ns, slack_ns = int(statistics["throttled_time"]), 0.05 * throttled_ns + 100 * MILLISECOND
    all_ns = sum(ns_of(row, "runq.throttled") for row in recording.of_process(truth["pid"]))
    assert throttled_ns - slack_ns < witness_ns < all_ns + slack_ns, (statistics, all_ns, table(spinner))
    assert ns_of(spinner, "runq.throttled", "runq.busy") > 0.7 * spinner.wall_ns, table(spinner)
    # On a busy host others take some of what the quota would have left unused, and less of it is throttled.
    assert throttled_ns > 150 * MILLISECOND, table(spinner)
    assert {row.object for row in recording.details("runq.throttled")} == {f"cgroup:{inode}"}


def test_an_alive_thread_is_closed_too(start: Start, attach: Attach) -> None:
    target = start("spin", "--threads", 3, "--duration-ms", 60_000)
    recorder = attach(target)
    target.start()
    target.await_threads(4)
    time.sleep(1.2)
    recording = recorder.stop()
    laws.check(recording)
    assert recording.footer.reason == "signal"
    spinners = [row for row in recording.of_process(target.pid) if row.tid != target.pid]
    assert len(spinners) == 3
    assert all(row.state == "alive" for row in recording.threads)
    waiting = recording.thread(target.pid)
    assert waiting.open is not None and waiting.open.account == "wait.parked", waiting


def test_a_reservation_of_10_percent(start: Start, attach: Attach) -> None:
    """A thread of SCHED_DEADLINE that has used up its runtime waits for its next period, and for nobody else."""
    target = start("spin", "--duration-ms", 30_000)
    target.start()
    target.await_threads(2)
    (tid,) = [int(name) for name in os.listdir(f"/proc/{target.pid}/task") if int(name) != target.pid]
    times = [f"--sched-{name}={ns}" for name, ns in (("runtime", 5_000_000), ("deadline", 50_000_000))]
    reserve = ["chrt", "--deadline", *times, "--sched-period=50000000", "--pid", "0", str(tid)]
    if subprocess.run(reserve, capture_output=True).returncode:
        pytest.skip("no thread may reserve runtime here")
    recorder = attach(target)
    time.sleep(1.5)
    recording = recorder.stop()
    laws.check(recording)
    (spinner,) = [row for row in recording.of_process(target.pid) if row.tid == tid]
    assert ns_of(spinner, "runq.throttled") > 0.7 * spinner.wall_ns, table(spinner)
    # As long as the window began in the middle of such a wait; a busy host has nothing to do with it.
    assert ns_of(spinner, "runq.busy", "runq.waking") < 0.1 * spinner.wall_ns, table(spinner)
    assert {row.object for row in recording.details("runq.throttled")} == {"deadline"}
