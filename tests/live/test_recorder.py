"""The recorder as a program: signals, ends, refusals, full disks, and what it leaves in the kernel."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from perfdiag.capture import processes
from perfdiag.common.text import LONGEST_TYPED, typed
from perfdiag.recording import reader, schema

from live.support import laws
from live.support.fixtures import Attach, Start
from live.support.host import run
from live.support.recorder import RECORDER, Recorder, run_recorder
from live.support.recording import Recording, ns_of
from live.support.workload import Workload
from unit.support.nobody import run_as_nobody
from unit.support.waiting import until


def in_kernel(kind: str) -> dict[int, str]:
    """Return the BPF programs, maps or links of the kernel by id."""
    return {item["id"]: str(item.get("name", item)) for item in json.loads(run("bpftool", "-j", kind, "show") or "[]")}


def held_by(pid: int) -> dict[str, set[int]]:
    """Return the ids of BPF objects that a process holds: programs, maps and links."""
    found: dict[str, set[int]] = {"prog": set(), "map": set(), "link": set()}
    for entry in Path(f"/proc/{pid}/fdinfo").iterdir():
        try:
            lines = entry.read_text().splitlines()
        except FileNotFoundError:  # a file of /proc it was reading just then
            continue
        for line in lines:
            name, _, value = line.partition(":")
            if name in ("prog_id", "map_id", "link_id"):
                found[name.removesuffix("_id")].add(int(value))
    return found


def intervals_in(output: Path) -> list[bytes]:
    """Return the lines of intervals that have been written so far."""
    return [line for line in output.read_bytes().splitlines() if b'"interval"' in line[:40]]


@pytest.fixture
def spinner(start: Start) -> Iterator[Workload]:
    """A process that computes for a minute."""
    workload = start("spin", "--duration-ms", 60_000)
    workload.start()
    yield workload


def test_killed_it_leaves_a_readable_recording_and_nothing_in_the_kernel(spinner: Workload, attach: Attach) -> None:
    recorder = attach(spinner)
    held = held_by(recorder.process.pid)
    assert held["prog"] and held["map"], held
    assert held["prog"] <= in_kernel("prog").keys()
    until(lambda: len(intervals_in(recorder.output)) > 2, "it has written something")
    recorder.process.kill()
    recorder.process.wait()
    # the kernel frees them after a grace period
    until(lambda: not any(held[kind] & in_kernel(kind).keys() for kind in held), f"nothing is left of {held}")
    with recorder.output.open("rb") as stream:
        recording = reader.read(stream)
    assert recording.footer is None and recording.bad_lines <= 1
    assert recording.intervals, "nothing was written before it was killed"
    assert recording.intervals[-1].wall_ns > 0.3e9


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_with_a_footer(number: signal.Signals, spinner: Workload, tmp_path: Path) -> None:
    output = tmp_path / "recording.jsonl"
    with output.open("wb") as stdout:
        process = subprocess.Popen([RECORDER, "--pid", str(spinner.pid)], stdout=stdout, stderr=subprocess.PIPE)
    assert process.stderr
    assert b"attached" in process.stderr.readline()
    time.sleep(0.4)
    process.send_signal(number)
    assert process.wait(20) == 0
    recording = Recording(output)
    laws.check(recording)
    assert recording.footer.reason == "signal"


def test_the_duration_is_kept(spinner: Workload) -> None:
    done = run_recorder("--pid", spinner.pid, "--duration", "1")
    assert done.returncode == 0, done.stderr
    footer = json.loads(done.stdout.splitlines()[-1])
    header = json.loads(done.stdout.splitlines()[0])
    assert footer["reason"] == "duration"
    assert abs(footer["at_ns"] - header["start_ns"] - 1e9) < 0.2e9


def test_the_end_of_the_control_socket_is_the_end(spinner: Workload, attach: Attach) -> None:
    recorder = attach(spinner)
    time.sleep(0.3)
    recorder.control.shutdown(socket.SHUT_WR)
    laws.check(recorder.wait())


def test_two_recorders_at_once(start: Start, attach: Attach) -> None:
    """Each has its own books of the same threads, and they agree."""
    workload = start("lock", "--duration-ms", 1200)
    first, second = attach(workload), attach(workload)
    workload.run()
    recordings = [first.wait("targets gone"), second.wait("targets gone")]
    for recording in recordings:
        laws.check(recording)
        assert recording.footer.threads_seen == 4
    parked = [sum(ns_of(row, "wait.parked") for row in recording.threads) for recording in recordings]
    assert abs(parked[0] - parked[1]) < 0.01 * parked[0], parked


def test_several_targets(start: Start, attach: Attach) -> None:
    targets = [start("slow_child", "--count", 3, "--child-ms", 100) for _ in range(3)]
    recorder = attach(*targets)
    for target in targets:
        target.run()
    recording = recorder.wait("targets gone")
    laws.check(recording)
    assert {target.pid for target in recording.header.targets} == {target.pid for target in targets}
    assert recording.footer.threads_seen == 12


def test_a_command_is_recorded_from_its_exec(tmp_path: Path) -> None:
    """`exec PID` on the control socket: the books begin when that process becomes the command."""
    child = subprocess.Popen(["sh", "-c", "read go; exec sleep 0.5"], stdin=subprocess.PIPE)
    with child, Recorder([], tmp_path / "exec.jsonl", first=[f"exec {child.pid}"]) as recorder:
        time.sleep(0.5)
        child.communicate(b"go\n", timeout=60)
        recording = recorder.wait("command ended")
    laws.check(recording)
    (row,) = recording.threads
    assert row.comm == "sleep" and row.pid == child.pid
    assert 0.49e9 < ns_of(row, "wait.timer") < 0.6e9, row
    assert row.wall_ns - ns_of(row, "cpu.", "runq.") < 0.7e9, row


def test_the_words_that_chose_the_target_are_kept_whole(start: Start, tmp_path: Path) -> None:
    workload = start("spin", "--duration-ms", 100)
    words = typed(["--name", "\U0001f40c" * (LONGEST_TYPED - len("--name ''"))])
    assert len(words) == LONGEST_TYPED, "as many bytes as there can be"
    with Recorder([workload.pid], tmp_path / "asked.jsonl", first=[f"asked {words}"]) as recorder:
        workload.run()
        recording = recorder.wait("targets gone")
    assert recording.header.options.asked == words


def test_a_pid_that_does_not_exist() -> None:
    done = run_recorder("--pid", 2**22 - 3, "--duration", "1")
    assert done.returncode == 4, done.stderr
    assert_one_clear_line(done.stderr)


def test_a_target_that_ends_at_once(start: Start) -> None:
    workload = start("spin", "--duration-ms", 1)
    workload.run()
    done = run_recorder("--pid", workload.pid, "--duration", "1")
    assert done.returncode == 4, done.stderr
    assert_one_clear_line(done.stderr)


def test_a_recorder_in_a_pid_namespace_does_not_say_that_the_target_is_gone() -> None:
    """Pid 1 there lives: it is the shell, and has another pid in the kernel."""
    words = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", "sh", "-c", '"$@"; exit $?', "sh", RECORDER]
    done = subprocess.run([*words, "--pid", "1", "--duration", "1"], capture_output=True, timeout=60, check=False)
    assert done.returncode == 1 and b"runs in its own pid namespace" in done.stderr, done.stderr
    assert b"any more" not in done.stderr
    assert_one_clear_line(done.stderr)


def test_a_kernel_thread_is_refused() -> None:
    pid = next(process.pid for process in processes.everyone() if process.comm == "kthreadd")
    done = run_recorder("--pid", pid, "--duration", "1")
    assert done.returncode not in (0, 4), done.stdout[:300]
    assert b"kernel thread" in done.stderr
    assert_one_clear_line(done.stderr)


def test_without_privilege() -> None:
    done = run_as_nobody(RECORDER, "--pid", os.getpid(), "--duration", "1")
    assert done.returncode == 3, done.stderr
    assert_one_clear_line(done.stderr.encode())


@pytest.mark.parametrize("limit", [9, 14, 20, 64, 110, 128])
def test_a_limit_of_open_files_is_named(limit: int, spinner: Workload) -> None:
    """Also where all programs load and one cannot be attached: its feature would be missing without a word."""
    done = subprocess.run(
        ["prlimit", f"--nofile={limit}", RECORDER, "--pid", str(spinner.pid), "--duration", "0.1"], capture_output=True
    )
    assert done.returncode == 1 and not done.stdout, done.stderr
    lines = [line for line in done.stderr.decode().splitlines() if line.startswith(("error: ", "HINT: "))]
    assert len(lines) == 2 and f"its limit is {limit}" in lines[0] and "ulimit -n" in lines[1], done.stderr


@pytest.mark.parametrize("arguments", [["--duration", "x"], ["--pid", "abc"], ["--no-such-option"], []])
def test_wrong_usage(arguments: list[str]) -> None:
    done = run_recorder(*arguments)
    assert done.returncode not in (0, 3, 4), done
    assert done.stderr and not done.stdout


def assert_one_clear_line(stderr: bytes) -> None:
    """What failed, and at most a hint below it."""
    lines = stderr.decode().splitlines()
    assert 1 <= len(lines) <= 3, lines
    assert all(line and not line.startswith("libbpf") for line in lines), lines


def test_check_says_what_can_be_measured() -> None:
    done = run_recorder("--check")
    assert done.returncode == 0, done.stderr
    (line,) = done.stdout.splitlines()
    header = json.loads(line)
    probes = {probe["name"]: probe for probe in header["probes"]}
    assert probes["sched_switch"]["attached"] is True
    assert all(probe["attached"] or probe["reason"] for probe in probes.values()), probes


def test_a_full_disk(spinner: Workload, attach: Attach, tmp_path: Path) -> None:
    """The recording on stdout goes on when the file on a full tmpfs cannot: whole lines, and the loss is told."""
    small = tmp_path / "small"
    small.mkdir()
    run("mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", small)
    try:
        file = small / "recording.jsonl"
        with file.open("wb") as into, attach(spinner, interval_ms=20, file=into.fileno()) as recorder:
            time.sleep(1.5)
            recorder.tell("stop")
            assert recorder.process.wait(30) == 1, "one of two recordings is cut off, which is no success"
        assert "No space left" in recorder.said()
        footer = json.loads(recorder.output.read_bytes().splitlines()[-1])
        assert footer["type"] == "footer"
        with file.open("rb") as stream:
            cut = reader.read(stream)
        assert cut.footer is None and cut.bad_lines <= 1
    finally:
        run("umount", small)


def test_a_full_disk_and_nobody_else(spinner: Workload, tmp_path: Path) -> None:
    """When the only place for the recording is full, it says so and fails: no recording, no success."""
    small = tmp_path / "small"
    small.mkdir()
    run("mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", small)
    try:
        with (small / "recording.jsonl").open("wb") as stdout:
            done = subprocess.run(
                [RECORDER, "--pid", str(spinner.pid), "--duration", "1.5", "--interval", "20"],
                stdout=stdout, stderr=subprocess.PIPE, timeout=30, check=False,
            )  # fmt: skip
        assert done.returncode == 1, done.stderr
        assert b"No space left" in done.stderr, done.stderr
    finally:
        run("umount", small)


def test_the_reader_goes_away(spinner: Workload) -> None:
    """A closed pipe ends the recording soon, without a signal death."""
    process = subprocess.Popen(
        [RECORDER, "--pid", str(spinner.pid), "--interval", "50"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout and process.stderr
    assert json.loads(process.stdout.readline())["type"] == "header"
    process.stdout.close()
    assert process.wait(20) == 1
    assert process.stderr.read().endswith(b"error: standard output is cut off: its reader has gone\n")
    process.stderr.close()


@pytest.mark.parametrize("arguments", [("--check",), ("--help",), ("--version",)])
@pytest.mark.parametrize(
    ("into", "said"),
    [(">&-", "error: standard output is closed, or open for reading only\nHINT: "), (">/dev/full", "No space")],
)
def test_what_cannot_be_written_is_a_failure(arguments: tuple[str, ...], into: str, said: str) -> None:
    done = subprocess.run(
        ["sh", "-c", f'exec "$0" "$@" {into}', RECORDER, *arguments], stderr=subprocess.PIPE, text=True, timeout=60
    )
    assert done.returncode == 1 and said in done.stderr, done.stderr


def test_a_file_gets_what_standard_output_gets(spinner: Workload, attach: Attach, tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    with path.open("wb") as into:
        recorder = attach(spinner, file=into.fileno())
    time.sleep(0.3)
    laws.check(recorder.stop())
    assert path.read_bytes() == recorder.output.read_bytes()


def test_a_slow_reader_does_not_stop_it(spinner: Workload) -> None:
    """Nobody reads for a while: the recorder waits no longer than it says, and never loses a line silently."""
    process = subprocess.Popen(
        [RECORDER, "--pid", str(spinner.pid), "--interval", "10", "--duration", "2"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    time.sleep(3)
    assert process.stdout
    lines = process.stdout.read().splitlines()
    assert process.wait(20) == 0
    assert json.loads(lines[-1])["type"] == "footer"
    assert all(json.loads(line) for line in lines)


def test_it_states_its_own_cost(spinner: Workload, attach: Attach) -> None:
    recorder = attach(spinner)
    time.sleep(1.2)
    cost = recorder.stop().footer.cost
    assert 0 < cost.cpu_ns < 1e9 and 1 << 20 < cost.resident_bytes < 32 << 20, cost
    programs = {program.name: program for program in cost.programs}
    assert programs["sched_switch"].runs > 0 and programs["sched_switch"].ns > 0, cost


def test_host_facts_at_both_ends(spinner: Workload, attach: Attach) -> None:
    recorder = attach(spinner)
    time.sleep(0.5)
    recording = recorder.stop()
    phases = {fact.phase for fact in recording.of(schema.Fact)}
    assert {"begin", "end"} <= phases, phases
    assert all(fact.text is not None or fact.error for fact in recording.of(schema.Fact))


def test_no_row_is_later_than_the_end_of_the_window(spinner: Workload, attach: Attach) -> None:
    recorder = attach(spinner)
    time.sleep(0.6)
    recording = recorder.stop()
    rows = [row for kind in (schema.Thread, schema.Exited, schema.Interval, schema.Event) for row in recording.of(kind)]
    assert recording.of(schema.Interval) and recording.of(schema.Thread)
    assert max(row.at_ns for row in rows) <= recording.footer.at_ns


def voluntary_switches(pid: int) -> int:
    """How often a process has gone to sleep."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("\nvoluntary_ctxt_switches:")[2].split()[0])


def test_no_timer_wakes_a_cpu_while_the_target_sleeps(start: Start, attach: Attach) -> None:
    workload = start("spin", "--duration-ms", 60_000)  # waits for its start
    recorder = attach(workload)
    deadline, before = time.monotonic() + 30, -1
    while (now := voluntary_switches(recorder.process.pid)) != before:  # its own statistics come first
        assert time.monotonic() < deadline, "the recorder never goes to sleep"
        before = now
        time.sleep(0.7)
    slept = time.monotonic_ns(), time.monotonic_ns() + 1_500_000_000
    time.sleep(1.5)
    workload.start()
    ran = time.monotonic_ns()
    time.sleep(1.5)
    at = [line.at_ns for line in recorder.stop().of(schema.Interval)]
    assert sum(slept[0] < at_ns < slept[1] for at_ns in at) <= 1, "the host's counters are read every 5 s, no more"
    assert sum(ran < at_ns for at_ns in at) >= 3, "it did not go on when the target did"
