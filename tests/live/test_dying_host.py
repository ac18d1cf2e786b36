"""perfdiag on a host in trouble: the server of a file system is dead, memory is gone.  Nothing here is simulated."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from perfdiag.capture import listening_sockets, output_file, processes
from perfdiag.common.errors import TargetGone
from perfdiag.recording import schema

from live.support.dying import (
    PROGRAM,
    Ran,
    Remote,
    assert_in_time,
    assert_session_ends,
    hangs,
    run_perfdiag,
    wait_for_stuck_child,
)
from live.support.fixtures import Attach, Cleanup, Start
from live.support.host import MEBIBYTE, cgroup, enter
from live.support.recording import Recording
from live.support.workload import WORKLOADS, Workload

KILLED = "error: perfdiag was killed: memory is short, and the kernel's OOM killer took it first"
LIMIT_MEBIBYTES = 128  # of the control group that perfdiag and its target share

Mounted = Callable[[str], Remote]


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Mounted]:
    """Mount a directory with an executable of tests/workloads; afterwards nothing of it is left."""
    remotes: list[Remote] = []

    def mounted(program: str) -> Remote:
        remotes.append(Remote(tmp_path / "remote", program))
        return remotes[-1]

    yield mounted
    for remote in remotes:
        remote.end()
        assert str(remote.directory) not in Path("/proc/self/mountinfo").read_text()


def die_under(remote: Remote, cleanup: Cleanup, *workloads: Workload) -> None:
    """The server dies, and then the workloads start; a clean-up ends it first: nothing else would end them."""
    cleanup.callback(remote.end)
    remote.die()
    for workload in workloads:
        workload.start()


def within(ran: Ran, seconds: float) -> dict[str, Any]:
    """Return the report, which came in time."""
    assert ran.status == 0, ran.stderr
    assert_in_time(ran.took_s, seconds)
    report: dict[str, Any] = json.loads(ran.stdout)
    return report


FUSE = pytest.mark.may_skip("FUSE in the kernel")


@FUSE
@pytest.mark.parametrize("mode", ["direct", "buffered"])
def test_a_dead_server_is_named(mounted: Mounted, cleanup: Cleanup, start: Start, mode: str) -> None:
    """Program, working directory and open file of the target are on the dead server, and perfdiag is started there."""
    remote = mounted("read")
    options = ("--file", remote.directory / "data", "--mode", mode)
    reader = start(remote.directory / "program", *options, directory=remote.directory)
    die_under(remote, cleanup, reader)
    report = within(run_perfdiag("--json", "--pid", reader.pid, seconds=1, cwd=remote.directory), 1)
    assert sum(row["ns"] for row in report["accounts"] if row["account"] == "remote.fs") > 0.9e9, report["accounts"]
    (finding,) = [finding for finding in report["findings"] if finding["id"] == "FS-REMOTE-SLOW"]
    assert finding["severity"] == "critical" and str(remote.directory) in finding["claim"], finding
    assert remote.unanswered() == 1, "perfdiag asked the dead server for something: any such question hangs"


@FUSE
def test_names_on_a_dead_server(tmp_path: Path, mounted: Mounted, cleanup: Cleanup, start: Start) -> None:
    """Naming the functions of a program needs its file: asked for by a helper, which hangs and is left behind."""
    remote = mounted("spin")
    spin = start(remote.directory / "program", "--duration-ms", 60_000)
    die_under(remote, cleanup, spin)
    path = tmp_path / "names.rec"
    options = ("--json", "--stacks", "--pid", spin.pid, "--record", path)
    ran = run_perfdiag(*options, seconds=1, left_behind=2)
    within(ran, 1)
    assert any(stack.user for stack in Recording(path).of(schema.Stack)), "nothing was there to be named"
    assert remote.unanswered() > 0, "nothing of the program was asked for: nothing was tested"
    assert_session_ends(ran.session)


@pytest.fixture
def stuck(mounted: Mounted, cleanup: Cleanup, start: Start) -> Workload:
    """A process whose memory lock never comes free, and a child of it that waits for that in its exec."""
    remote = mounted("read")
    workload = start("stuck_memory", "--file", remote.directory / "data")
    die_under(remote, cleanup, workload)
    return workload


@FUSE
def test_a_stuck_memory_lock(stuck: Workload) -> None:
    """cmdline and maps of the target hang: they are left alone, and names come from a helper or not at all."""
    wait_for_stuck_child(stuck.pid)
    assert hangs(f"/proc/{stuck.pid}/cmdline") and hangs(f"/proc/{stuck.pid}/maps"), "nothing was tested"
    report = within(run_perfdiag("--json", "--stacks", "--pid", stuck.pid, seconds=1), 1)
    assert {thread["comm"] for thread in report["threads"]} == {"stuck_memory"}


@FUSE
def test_facts_that_hang(stuck: Workload, attach: Attach) -> None:
    """io of a process that is stuck in its exec hangs, on newer kernels stat and wchan too: each is said."""
    child = wait_for_stuck_child(stuck.pid)
    begin = time.monotonic()
    recorder = attach(stuck, child, stacks=True, duration_ns=1_000_000_000)
    recording = recorder.wait()
    took_s = time.monotonic() - begin
    print(f"recorder with two stuck targets: {took_s:.2f} s")
    unread = {(fact.path, fact.phase) for fact in recording.of(schema.Fact) if fact.error == "timeout"}
    assert {(f"/proc/{child}/io", phase) for phase in ("begin", "end")} <= unread, unread
    assert all(path.startswith((f"/proc/{child}/", "/proc/[0-9]*/ns")) for path, _phase in unread), unread
    assert "warning: host facts are missing in the recording, the first is /proc/" in recorder.said()
    assert_in_time(took_s, 1 + 1)  # nothing makes it hurry here, as the launcher does


@FUSE
@pytest.mark.parametrize("selector", ["pid", "name", "port"])
def test_a_target_is_found_beside_a_stuck_process(
    tmp_path: Path, stuck: Workload, start: Start, cleanup: Cleanup, selector: str
) -> None:
    """Whoever looks for a target meets all processes; --pid asks for the stuck one itself."""
    child = wait_for_stuck_child(stuck.pid)
    assert hangs(f"/proc/{child}/io"), "nothing was tested"
    words: dict[str, Callable[[], object]] = {
        "pid": lambda: child,
        "name": lambda: f"^{running_copy(tmp_path, start)}$",
        "port": lambda: cleanup.enter_context(listening()),
    }
    ran = run_perfdiag("--json", f"--{selector}", words[selector](), seconds=1, left_behind=2)
    report = within(ran, 1)
    unread = [item for item in report["not_measured"] if "not read in time" in item["reason"]]
    if selector == "pid":
        assert report["target"]["pid"] == child and len(unread) == 1, report["not_measured"]
    else:
        assert report["target"]["pid"] not in (child, stuck.pid) and not unread, report["not_measured"]


def running_copy(directory: Path, start: Start) -> str:
    """Start a program of a name that no other has, and return that."""
    name = f"alone{os.getpid()}"
    shutil.copy(WORKLOADS / "spin", directory / name)
    start(directory / name, "--duration-ms", 60_000).start()
    return name


@contextmanager
def listening() -> Iterator[int]:
    """A process that listens on a port of its own."""
    script = "import socket, time; s = socket.create_server(('', 0)); print(s.getsockname()[1], flush=True)"
    with subprocess.Popen([sys.executable, "-Ic", f"{script}; time.sleep(60)"], stdout=subprocess.PIPE) as process:
        assert process.stdout
        yield int(process.stdout.readline())
        process.kill()


@FUSE
def test_a_port_only_stuck_processes_could_listen_on(stuck: Workload) -> None:
    """A socket that nobody who answers holds: the process that is not asked again is named."""
    child = wait_for_stuck_child(stuck.pid)
    with socket.create_server(("", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(TargetGone, match="did not show its descriptors") as caught:
            listening_sockets.listeners(port, [process for process in processes.everyone() if process.pid == child])
    assert caught.value.hint and f"--pid {child}" in caught.value.hint


@FUSE
@pytest.mark.parametrize("command", ["latency", "record"])
def test_a_recording_file_on_a_dead_server(mounted: Mounted, start: Start, cleanup: Cleanup, command: str) -> None:
    """It is not waited for longer than OPEN_DEADLINE_S, and nothing is recorded then."""
    remote = mounted("spin")
    spin = start("spin", "--duration-ms", 60_000)
    die_under(remote, cleanup, spin)
    option = {"latency": "--record", "record": "-o"}[command]
    ran = run_perfdiag("--pid", spin.pid, option, remote.directory / "x.rec", command=command, seconds=1, left_behind=1)
    assert ran.status == 1 and not ran.stdout
    error, hint = ran.stderr.splitlines()
    assert error.startswith("error: cannot write ") and error.endswith("has not answered for 5 s"), error
    assert hint.startswith("HINT: give another file")
    assert_in_time(ran.took_s, output_file.OPEN_DEADLINE_S)
    assert remote.unanswered() > 0, "nothing was asked for: nothing was tested"
    assert_session_ends(ran.session)


@FUSE
@pytest.mark.parametrize("command", ["latency", "record"])
def test_a_recording_file_whose_server_dies_in_the_window(
    mounted: Mounted, start: Start, cleanup: Cleanup, command: str
) -> None:
    """Who writes the file hangs and is left behind: the report comes in time, one line tells, and the status does."""
    remote = mounted("spin")
    cleanup.callback(remote.end)
    spin = start("spin", "--duration-ms", 60_000)
    spin.start()
    file = remote.directory / "data"
    option = {"latency": "--record", "record": "-o"}[command]
    words = [str(PROGRAM), command, option, str(file), "--pid", str(spin.pid), "--duration", "0"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(words, **pipes, text=True, start_new_session=True) as process:
        assert process.stderr and "recording" in process.stderr.readline()
        remote.await_written()
        remote.die()
        began = time.monotonic()
        process.terminate()
        stdout, stderr = process.communicate(timeout=60)
        took_s = time.monotonic() - began
    assert process.returncode == 1 and ("TRUST  " in stdout) == (command == "latency"), stderr
    errors = [line for line in stderr.splitlines() if line.startswith("error: ")]
    said = "bytes written, its file system has not answered for 5 s"
    unknown = rf"error: it is unknown whether {file} is complete: [0-9,]+ {said}"
    assert len(errors) == 1 and re.fullmatch(unknown, errors[0]), stderr
    (writer,) = re.findall(r"^HINT: process (\d+) continues", stderr, re.MULTILINE)
    assert Path(f"/proc/{writer}").exists(), "who writes it was ended"
    assert_in_time(took_s, output_file.CLOSE_DEADLINE_S)
    assert_session_ends(process.pid, 1)
    assert remote.unanswered() > 0, "nothing was asked for: nothing was tested"
    assert_session_ends(process.pid)


def in_a_full_group(tmp_path: Path, cleanup: Cleanup, start: Start, room_mebibytes: int) -> tuple[Workload, Ran]:
    """Run perfdiag in a control group where its target leaves it so much room, and walks through all of that."""
    group = cleanup.enter_context(cgroup("memory", "dying", limit_in_bytes=LIMIT_MEBIBYTES * MEBIBYTE))
    data = tmp_path / "walked"
    with data.open("wb") as file:
        file.truncate(LIMIT_MEBIBYTES * MEBIBYTE)
    held = LIMIT_MEBIBYTES - room_mebibytes
    target = start("tight_memory", "--mebibytes", held, "--file", data, prepare=enter(group))
    target.start()
    failures = group / "memory.failcnt"
    while int(failures.read_text()) < 1000:
        assert target.process.poll() is None, "the target itself does not fit"
        time.sleep(0.01)
    ran = run_perfdiag("--json", "--pid", target.pid, seconds=1, preexec_fn=enter(group))
    print(f"room {room_mebibytes} MiB: {(group / 'memory.oom_control').read_text().split()[-1]} OOM kills")
    assert (group / "cgroup.procs").read_text().split() in ([], [str(target.pid)])
    return target, ran


MEMORY = pytest.mark.may_skip("a memory controller of cgroup version 1")


@MEMORY
@pytest.mark.parametrize("room_mebibytes", [80, 64])
def test_the_last_memory(tmp_path: Path, cleanup: Cleanup, start: Start, room_mebibytes: int) -> None:
    """Every page is fought for: perfdiag needs some 60 MiB, gets them, and says what the target waits for."""
    target, ran = in_a_full_group(tmp_path, cleanup, start, room_mebibytes)
    report = within(ran, 1)
    assert any(row["account"] == "memory.cgroup" and row["ns"] for row in report["accounts"]), report["accounts"]
    assert target.process.poll() is None


def test_perfdiag_stays_in_memory_in_its_window() -> None:
    """The command it started does not."""
    words = [str(PROGRAM), "latency", "--", "sh", "-c", "grep VmLck /proc/$PPID/status /proc/$$/status >&2"]
    ran = subprocess.run(words, capture_output=True, text=True, timeout=60)
    kept = [int(line.split()[1]) for line in ran.stderr.splitlines() if "VmLck:" in line]
    assert ran.returncode == 0 and len(kept) == 2 and kept[0] > 10_000 and kept[1] == 0, ran.stderr


@MEMORY
def test_others_get_the_memory_of_perfdiag(tmp_path: Path, cleanup: Cleanup, start: Start) -> None:
    """When memory runs out in the window, perfdiag goes and says so, and neither its target nor who wanted more."""
    group = cleanup.enter_context(cgroup("memory", "others", limit_in_bytes=LIMIT_MEBIBYTES * MEBIBYTE))
    data = tmp_path / "walked"
    data.write_bytes(bytes(MEBIBYTE))

    def hold(mebibytes: int) -> Workload:
        """Start a process that has so much when this returns."""
        workload = start("tight_memory", "--mebibytes", mebibytes, "--file", data, prepare=enter(group))
        workload.start()
        return workload

    target = hold(44)  # leaves the room that perfdiag asks for
    words = [str(PROGRAM), "latency", "--duration", "0", "--pid", str(target.pid)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(words, **pipes, text=True, preexec_fn=enter(group), start_new_session=True) as process:
        assert process.stderr and "recording" in process.stderr.readline()
        other = hold(64)
        out, err = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL and not out, (process.returncode, err)
    assert err.splitlines()[-2] == KILLED and err.splitlines()[-1].startswith("HINT: "), err
    assert_session_ends(process.pid)
    assert target.process.poll() is None and other.process.poll() is None


@MEMORY
def test_too_little_memory(tmp_path: Path, cleanup: Cleanup, start: Start) -> None:
    """What cannot be had ends perfdiag before it begins, and never the target."""
    target, ran = in_a_full_group(tmp_path, cleanup, start, 12)
    assert ran.status == 1 and not ran.stdout
    assert_in_time(ran.took_s, 1)
    assert ran.stderr.startswith("error: memory is short: ") and "\nHINT: make room" in ran.stderr, ran.stderr
    assert target.process.poll() is None, "the target went for the sake of perfdiag"
