"""Host facts of real targets: recorded by the recorder, understood by `perfdiag.facts`."""

from __future__ import annotations

import contextlib
import math
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from perfdiag.facts.cgroup import Reader
from perfdiag.facts.host_facts import Facts
from perfdiag.facts.memory import page_bytes
from perfdiag.recording import schema

from live.support.fixtures import Attach, Record, Start
from live.support.host import cgroup, enter
from live.support.recording import Recording
from unit.support.waiting import until


def facts_of(recording: Recording) -> Facts:
    return Facts.parse(recording.of(schema.Fact))


def test_the_quota_of_a_version_1_group_and_its_ancestors(start: Start, record: Record) -> None:
    with cgroup("cpu", "facts", cfs_period_us=50_000, cfs_quota_us=10_000) as outer:
        inner = outer / "inner"
        inner.mkdir()
        try:
            recording, truth = record(start("spin", "--duration-ms", 1300, prepare=enter(inner)))
            (outer / "cgroup.procs").read_text()
        finally:
            inner.rmdir()
        inode = outer.stat().st_ino
    groups = facts_of(recording).cpu_groups
    assert [group.path for group in groups[:2]] == [str(inner), str(outer)]
    assert [group.quota_cpus for group in groups[:2]] == [math.inf, 0.2]
    limited = groups[1]
    assert limited.period_ns == 50_000_000 and limited.pids == (truth["pid"],) and limited.version == 1
    assert limited.throttled_periods and limited.throttled_ns and limited.periods
    assert limited.throttled_periods <= limited.periods <= 1300 // 50 + 20
    assert facts_of(recording).cgroup_of(inode) == limited


@contextlib.contextmanager
def unified_group(name: str) -> Iterator[Path]:
    """A cgroup of version 2 wherever that is mounted."""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        if " - cgroup2 " in line and line.split()[3] == "/":
            group = Path(line.split()[4]) / f"perfdiag-test-{name}-{os.getpid()}"
            break
    else:
        pytest.skip("no cgroup version 2 hierarchy is mounted here")
    group.mkdir()
    try:
        yield group
    finally:
        group.rmdir()


@pytest.mark.may_skip("cgroup version 2 mounted")
def test_the_directory_of_a_version_2_group(start: Start, record: Record) -> None:
    with unified_group("facts") as group:
        recording, truth = record(start("spin", "--duration-ms", 700, prepare=enter(group)))
    facts = facts_of(recording)
    (used,) = [line for line in recording.of(schema.Fact) if line.path == f"{group}/cpu.stat" and line.phase == "end"]
    assert used.text, "read after the target had ended"
    assert int(used.text.split()[1]) * 1000 > 0.9 * truth["cpu_ns"], used.text
    (directory,) = [entry for entry in Reader(facts.texts, facts.mounts).directories if entry.path == str(group)]
    assert directory.controller is None and directory.depth == 1 and directory.pids == [truth["pid"]]


def test_descriptors_grow(start: Start, attach: Attach) -> None:
    leak = start("fd_leak", "--limit", 700, "--stop-at", 523, "--attempts", 100_000, "--pause-us", 1000)
    recorder = attach(leak)
    leak.start()
    time.sleep(1.5)  # long enough for samples in between
    until(lambda: len(os.listdir(f"/proc/{leak.pid}/fd")) >= 523, "so many are open")
    found = facts_of(recorder.stop()).descriptors[leak.pid]
    assert found.soft_limit == 700
    assert [count for _, count in found.used] == sorted(count for _, count in found.used)
    assert found.latest is not None and 523 <= found.latest <= 523 + 8, found  # and the standard ones
    assert found.growth_per_second and found.growth_per_second > 100


BOUND_THREAD = """
import os, sys, threading
def bound():
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    print(threading.get_native_id(), flush=True)
    sys.stdin.read()
threading.Thread(target=bound).start()
"""


@pytest.mark.may_skip("a second CPU")
def test_threads_that_may_use_other_cpus_than_the_first(attach: Attach) -> None:
    cpus = os.sched_getaffinity(0)
    if len(cpus) < 2:
        pytest.skip("needs two CPUs: with one no thread can be bound to fewer")
    words = [sys.executable, "-c", BOUND_THREAD]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin and process.stdout
        tid = int(process.stdout.readline())
        found = facts_of(attach(process.pid).stop()).processes[process.pid]
        process.stdin.close()
    assert found.thread_cpus == {tid: str(min(cpus))} and found.cpus_allowed != str(min(cpus))


def test_this_host(start: Start, record: Record) -> None:
    """What every Linux host has is known, and agrees with what sysconf(3) and stat(2) say."""
    recording, truth = record(start("spin", "--duration-ms", 700))
    facts = facts_of(recording)
    assert facts.processor and facts.processor.model
    assert facts.clocksource and facts.clocksource.current in facts.clocksource.available
    assert facts.meminfo("MemTotal") == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert page_bytes(facts.texts) == os.sysconf("SC_PAGE_SIZE")
    assert facts.cpu_times_ns["user"] + facts.cpu_times_ns["nice"] > 0.8 * truth["cpu_ns"]
    assert facts.processes[truth["pid"]].comm == "spin"
    assert facts.system_descriptors and facts.system_descriptors.latest
    root = os.stat("/").st_dev
    mount = facts.mount_of(f"{os.major(root)}:{os.minor(root)}")
    assert mount and mount.mountpoint == "/"
    assert facts.kernel_log is not None and all(line.in_window is not None for line in facts.kernel_log.lines)
    assert facts.reason("frequency_policies") if not facts.frequency_policies else True


def test_how_late_a_guest_wakes_up_is_timed_at_both_ends(start: Start, record: Record) -> None:
    recording, _ = record(start("spin", "--duration-ms", 300))
    machine = facts_of(recording).hypervisor
    timed = recording.of(schema.Calibration)
    if machine is None or machine.name == "none":
        assert timed == [], "nobody else's machine: nothing to price"
        return
    assert len(timed) == 2, "at the begin and at the end"
    for each in timed:
        assert 1 <= each.sleeps <= 10 and each.late_shortest_ns is not None and each.late_median_ns is not None
        # No timer is early, and none is exact; half a second late would be a host that stands still.
        assert 0 < each.late_shortest_ns <= each.late_median_ns < 500_000_000
