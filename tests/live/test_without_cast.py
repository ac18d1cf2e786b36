"""Kernels before 6.2 have no bpf_rdonly_cast: with its replacement, checked reads, the same tests give the same.

A recorder that is linked here, of the same objects, loads its programs as if the kernel had none.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from live.support import laws, recorder
from live.support.fixtures import Attach, Start
from live.support.host import run
from live.support.recording import Recording
from live.support.workload import ROOT
from live.test_cpu import test_a_quota_of_20_percent as test_a_quota_of_20_percent
from live.test_lives import test_sleepers_are_shown_and_closed as test_sleepers_are_shown_and_closed
from live.test_locks import *  # noqa: F403 - every test of them runs here once more
from live.test_memory import test_a_mapping_of_a_served_file_is_flushed as test_a_mapping_of_a_served_file_is_flushed
from live.test_memory import test_a_served_file_system_is_remote as test_a_served_file_system_is_remote
from live.test_peers import *  # noqa: F403
from unit.support.c_programs import FLAGS, GENERATED, SOURCES, compile_c


@pytest.fixture(scope="module")
def without_cast(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Link the recorder; from an archive the linker takes what main.o needs, and leaves the launcher."""
    program = tmp_path_factory.mktemp("linked") / "perfdiag-recorder"
    objects, archive = ROOT / "build/recorder", program.with_suffix(".a")
    run("ar", "qcs", archive, *objects.rglob("*.o"))
    words = [
        *FLAGS,
        f"-I{GENERATED}",
        "-static",
        "-pthread",
        "-Wl,--wrap=bpf_object__load_skeleton,--wrap=bpf_prog_load",
        "-o",
        program,
    ]
    words += [SOURCES / "without_cast.c", objects / "main.o", archive, "-lbpf", "-lelf", "-lz", "-llzma", "-lseccomp"]
    compile_c([str(word) for word in words])
    return program


@pytest.fixture(autouse=True)
def _used(without_cast: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "RECORDER", without_cast)


def sums_of(recording: Recording) -> dict[str, int]:
    """Return the time in each account, but what they waited in for their start: one recorder attached earlier."""
    sums: defaultdict[str, int] = defaultdict(int)
    for row in recording.books:
        for total in row.accounts:
            sums[total.account] += total.sum_ns
    del sums["wait.events"], sums["ipc.pipe"]
    return sums


def test_both_ways_agree(tmp_path: Path, start: Start, attach: Attach, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two recorders of the same processes at the same time."""
    workloads = [
        start("lock", "--duration-ms", 1200),
        start("file_lock", "--file", tmp_path / "x"),
        start("slow_child"),
    ]
    replaced = attach(*workloads)
    monkeypatch.undo()
    usual = attach(*workloads)
    for workload in workloads:
        workload.start()
    for workload in workloads:
        workload.truth()
    recordings = [each.wait("targets gone") for each in (replaced, usual)]
    for recording in recordings:
        laws.check(recording)
    one, other = map(sums_of, recordings)
    pairs = {name: (one[name], other[name]) for name in one.keys() | other.keys()}
    assert {name: (a, b) for name, (a, b) in pairs.items() if abs(a - b) > 5_000_000 + 0.01 * a} == {}
    assert {"wait.parked", "lock.file", "wait.child", "wait.timer", "cpu.user", "runq.busy"} <= one.keys(), pairs
