"""Functions of processes that do not live to the end of the window: they were met while they lived."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import time
from pathlib import Path

from perfdiag.model.coverage import unresolved_symbols
from perfdiag.recording import reader, schema

from live.support import laws
from live.support.fixtures import Attach, Cleanup, Start
from live.support.recording import Recording
from live.support.workload import WORKLOADS


def share_named(recording: Recording, pid: int | None = None) -> tuple[float, float]:
    """Return the seconds sampled in the workload's hot loop, and of how many in user space of `pid` (None: all)."""
    stacks = [row for row in recording.of(schema.Stack) if row.kind == "cpu" and not row.kernel]
    stacks = [row for row in stacks if pid in (None, row.pid)]
    hot = [row for row in stacks if row.user and row.user[0] == "burn_cpu (spin)"]
    return sum(row.weight_ns for row in hot) / 1e9, sum(row.weight_ns for row in stacks) / 1e9


def test_a_process_that_lives_300_ms(start: Start, attach: Attach) -> None:
    target = start("spin", "--duration-ms", 300)
    recorder = attach(target, stacks=True)
    target.run()
    recording = recorder.wait("targets gone")
    laws.check(recording)
    hot, total = share_named(recording)
    assert total > 0.05
    assert hot > 0.9 * total, [(row.user, row.weight_ns) for row in recording.of(schema.Stack)]


def test_a_process_that_ends_in_the_middle(start: Start, attach: Attach) -> None:
    """Between two rounds of naming, of which the last is long after its end."""
    ends, stays = start("spin", "--duration-ms", 1200), start("spin", "--duration-ms", 30_000)
    recorder = attach(ends, stays, stacks=True)
    stays.start()
    ends.run()
    time.sleep(1)
    recording = recorder.stop()
    laws.check(recording)
    for workload in (ends, stays):
        hot, total = share_named(recording, workload.pid)
        assert total > 0.05
        assert hot > 0.9 * total, [(row.user, row.weight_ns) for row in recording.of(schema.Stack)]


def test_processes_that_come_and_go(cleanup: Cleanup, attach: Attach) -> None:
    """None of them was there at the beginning, each lives a third of a second."""
    loop = f"read go; for i in 1 2 3 4; do {WORKLOADS / 'spin'} --duration-ms 300; done"
    shell = cleanup.enter_context(
        subprocess.Popen(["sh", "-c", loop], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    )
    recorder = attach(shell.pid, stacks=True)
    shell.communicate(b"go\n")
    recording = recorder.wait("targets gone")
    laws.check(recording)
    hot, total = share_named(recording)
    assert total > 0.05
    assert hot > 0.7 * total, [(row.pid, row.user, row.weight_ns) for row in recording.of(schema.Stack)]


def test_a_file_that_only_others_of_the_target_reach(cleanup: Cleanup, attach: Attach, tmp_path: Path) -> None:
    """In a mount namespace: its path leads nowhere here, but in the root of a process that is still there."""
    script = 'mount -t tmpfs none "$1" && cp "$0" "$1/spin" && echo mounted && read go && "$1/spin" --duration-ms 800'
    command = ["unshare", "--mount", "sh", "-c", f"{script}; read go", WORKLOADS / "spin", tmp_path / "inside"]
    (tmp_path / "inside").mkdir()
    shell = cleanup.enter_context(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
    assert shell.stdin and shell.stdout
    assert shell.stdout.readline() == b"mounted\n"
    assert not (tmp_path / "inside" / "spin").exists()
    recorder = attach(shell.pid, stacks=True)
    shell.stdin.write(b"go\n")
    shell.stdin.flush()
    assert shell.stdout.readline().startswith(b"{"), "the truth of a spinner that has ended"
    time.sleep(0.2)
    recording = recorder.stop()
    shell.communicate()
    laws.check(recording)
    hot, total = share_named(recording)
    assert total > 0.05
    assert hot > 0.7 * total, [(row.pid, row.user, row.weight_ns) for row in recording.of(schema.Stack)]


def test_a_file_whose_table_of_symbols_is_cut_off_is_told(cleanup: Cleanup, attach: Attach, tmp_path: Path) -> None:
    """It runs as well without: what is missed is counted, of how many, and the report says so."""
    program = tmp_path / "damaged"
    shutil.copy(WORKLOADS / "spin", program)
    (sections,) = struct.unpack_from("<Q", program.read_bytes(), 0x28)
    os.truncate(program, sections + 100)
    process = cleanup.enter_context(subprocess.Popen([program, "--duration-ms", "30000"], stdout=subprocess.DEVNULL))
    cleanup.callback(process.kill)
    recorder = attach(process.pid, stacks=True)
    time.sleep(1)
    recording = recorder.stop()
    frames = [frame for row in recording.of(schema.Stack) for frame in row.user]
    without = [frame for frame in frames if frame.startswith("0x") and frame.endswith(" (damaged)")]
    assert without and [(line.file, line.reason, line.addresses) for line in recording.of(schema.Unnamed)] == [
        ("damaged", "damaged", len(without))
    ]
    with recording.path.open("rb") as stream:
        (item,) = unresolved_symbols.not_measured(reader.read(stream))
    assert item.what.startswith(f"names of {len(without):,} of {len(frames):,} sampled addresses (in damaged)")
