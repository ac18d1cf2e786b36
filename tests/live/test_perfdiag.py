"""perfdiag as people run it: launcher, recorder, Python and report together, on processes this test started."""

from __future__ import annotations

import json
import os
import pty
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from perfdiag.capture import processes, session
from perfdiag.capture import recorder as record
from perfdiag.common.deadline import is_stopped
from perfdiag.common.errors import PerfdiagError

from conftest import ROOT
from live.support.workload import WORKLOADS
from unit.support.nobody import run_as_nobody
from unit.support.waiting import until

PROGRAM = ROOT / "build/bin/perfdiag"


def perfdiag(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    words = [str(word) for word in (PROGRAM, *arguments)]
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=False, **options)


def accounts(document: dict[str, Any]) -> dict[str, int]:
    found: dict[str, int] = {}
    for row in document["accounts"]:
        found[row["account"]] = found.get(row["account"], 0) + row["ns"]
    return found


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "120"]) as process:
        try:
            yield process
        finally:
            process.kill()


def test_it_has_its_own_name_while_it_runs(sleeper: subprocess.Popen[bytes]) -> None:
    """Who waits for a CPU behind Python waits behind perfdiag, and is told so."""
    words = [PROGRAM, "latency", "--pid", str(sleeper.pid), "--duration", "30", "--quiet"]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL) as process:
        try:
            comm = Path(f"/proc/{process.pid}/comm")
            until(lambda: comm.read_text() == "perfdiag\n" and is_python(process.pid), "Python with that name")
        finally:
            process.terminate()


def is_python(pid: int) -> bool:
    return "python" in os.path.basename(os.readlink(f"/proc/{pid}/exe"))


def test_a_directory_as_standard_input_is_none() -> None:
    """Python itself does not start with that."""
    directory = os.open("/", os.O_DIRECTORY)
    try:
        run = perfdiag("--version", stdin=directory)
    finally:
        os.close(directory)
    assert run.returncode == 0 and run.stdout.startswith("perfdiag") and not run.stderr, run


def test_a_report_within_a_second_of_its_window(sleeper: subprocess.Popen[bytes]) -> None:
    """The aim is 1 s (make bench measures it); here the promise to a host in trouble: 3 s.

    The host may be in more trouble than that, for a moment and by other work: the quickest of three runs counts.
    """
    for _ in range(3):
        began = time.monotonic()
        run = perfdiag("latency", "--pid", sleeper.pid, "--duration", 1)
        took_s = time.monotonic() - began
        if took_s < 1 + 3:
            break
    assert took_s < 1 + 3
    assert run.returncode == 0 and run.stdout.startswith(f"sleep ({sleeper.pid}) "), run.stderr
    lines = run.stdout.splitlines()
    assert len(lines) <= 45 and max(map(len, lines)) <= 80


def test_a_command_from_its_first_instruction() -> None:
    run = perfdiag("latency", "--json", "--", "sh", "-c", "sleep 0.3; echo said; exit 23")
    document = json.loads(run.stdout)
    assert run.returncode == 23 and "said\n" in run.stderr
    assert document["target"]["comm"] == "sh"
    assert {thread["comm"] for thread in document["threads"]} == {"sh", "sleep"}
    booked = accounts(document)
    assert 0.3e9 <= booked["wait.timer"] < 0.4e9
    # Its child also starts and ends, which takes longer where others compute; and it may sleep before it is waited for.
    around_ns = sum(ns for account, ns in booked.items() if account.startswith(("cpu.", "runq.")))
    assert 0.3e9 - around_ns <= booked["wait.child"] < 0.4e9 + around_ns
    assert document["window"]["ended"] == "command ended", "it ends with the command"


def test_a_recording_is_headed_as_it_was_made(tmp_path: Path) -> None:
    program = shutil.copy(shutil.which("sleep") or "", tmp_path / "slept-by-test")
    words = ("--name", "^slept-by-test$", "--duration", "100ms", "--slo", "2s")
    with subprocess.Popen([program, "60"]) as process:
        try:
            assert perfdiag("record", "-o", tmp_path / "a.rec", *words).returncode == 0
        finally:
            process.kill()
    heading = " ".join(perfdiag("report", "--full", tmp_path / "a.rec").stdout.splitlines()[:2])
    assert heading.startswith("slept-by-test ("), heading
    assert heading.endswith(" perfdiag latency --name '^slept-by-test$' --slo 2s"), heading


def test_a_command_over_at_once() -> None:
    run = perfdiag("latency", "--json", "--", "true")
    assert run.returncode == 0, run.stderr
    document = json.loads(run.stdout)
    assert [thread["comm"] for thread in document["threads"]] == ["true"]
    assert document["window"]["ended"] == "command ended" and not any("GONE" in note for note in document["notes"])


def test_only_leaves_descendants_out() -> None:
    for options, names in (([], {"sh", "sleep"}), (["--only"], {"sh"})):
        run = perfdiag("latency", "--json", *options, "--", "sh", "-c", "sleep 0.2; true")
        assert {thread["comm"] for thread in json.loads(run.stdout)["threads"]} == names, options


def test_operations_only_when_asked_for() -> None:
    script = "i=0; while [ $i -lt 7 ]; do sleep 0.3 | cat; i=$((i+1)); done"  # time enough for cat to start
    plain = json.loads(perfdiag("latency", "--json", "--", "sh", "-c", script).stdout)
    timed = json.loads(perfdiag("latency", "--json", "--slo", "50ms", "--", "sh", "-c", script).stdout)
    assert plain["operations"] == []
    by_name = {operation["name"]: operation for operation in timed["operations"]}
    read = by_name["syscall:read"]
    assert read["count"] >= read["over_slo"] == 7, read  # a read in which cat was preempted as it started counts, too
    assert read["slowest"]["ipc.pipe"] > 7 * 50e6, read


@pytest.mark.parametrize(("limit", "over"), [("5ms", 3), ("1h", 0)])
def test_an_objective_for_one_system_call(limit: str, over: int) -> None:
    script = "for i in 1 2 3; do sleep 0.2 | cat; done"
    words = ("--slo", f"syscall:read={limit}", "--slo", "GET /upload=1s", "--slo", "GET /9=1s")
    report = json.loads(perfdiag("latency", "--json", *words, "--", "sh", "-c", script).stdout)
    by_name = {operation["name"]: operation for operation in report["operations"]}
    read = by_name.pop("syscall:read")
    assert (read["count"], read["over_slo"]) == (3, over), read
    assert all(each["over_slo"] is each["limit_ns"] is None for each in by_name.values()), by_name
    assert "NOTHING MATCHED --slo GET /upload, GET /#: no request came" in report["notes"]


@pytest.mark.parametrize(
    ("names", "said"),
    [(("GET /1", "GET /2?a"), "--slo names 'GET /#' twice"), (("syscall:reed",), "there is no system call 'reed'")],
)
def test_objectives_that_only_the_recorder_knows_to_be_none(
    sleeper: subprocess.Popen[bytes], names: tuple[str, ...], said: str
) -> None:
    run = perfdiag("latency", "--pid", sleeper.pid, *(f"--slo={name}=1s" for name in names))
    assert run.returncode == 2 and said in run.stderr and "HINT: " in run.stderr, run.stderr


def test_record_here_report_there(sleeper: subprocess.Popen[bytes], tmp_path: Path) -> None:
    path = tmp_path / "x.rec"
    tmp_path.chmod(0o755)
    made = perfdiag("record", "-o", path, "--pid", sleeper.pid, "--duration", 0.5)
    assert made.returncode == 0 and path.stat().st_mode & 0o777 == 0o600, made.stderr
    read = perfdiag("report", "--json", path)
    assert json.loads(read.stdout)["target"]["pid"] == sleeper.pid


def test_ctrl_c_in_a_terminal_ends_early(sleeper: subprocess.Popen[bytes]) -> None:
    pid, terminal = pty.fork()
    if not pid:
        os.execve(
            PROGRAM,
            [str(PROGRAM), "latency", "--pid", str(sleeper.pid), "--duration", "0"],
            {**os.environ, "TERM": "xterm"},
        )
    seen, pressed, end = b"", False, time.monotonic() + 30
    try:
        while time.monotonic() < end:
            seen += os.read(terminal, 65536)
            if not pressed and b"recording \x1b" in seen and b"2 s" in seen:
                os.write(terminal, b"\x03")  # to perfdiag and to its recorder, as a terminal does
                pressed = True
    except OSError:  # the end of a pseudo terminal
        pass
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, seen
    assert pressed and b"TRUST" in seen and b"Traceback" not in seen


def test_a_target_that_ends_in_the_window() -> None:
    with subprocess.Popen(["sleep", "7"]) as process:
        run = perfdiag("latency", "--json", "--pid", process.pid, "--duration", 50)
    assert run.returncode == 0 and json.loads(run.stdout)["window"]["ended"] == "targets gone"


def test_two_at_once(sleeper: subprocess.Popen[bytes]) -> None:
    words = [str(PROGRAM), "latency", "--pid", str(sleeper.pid), "--duration", "1", "--json"]
    both = [subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    for process in both:
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        document = json.loads(out)
        assert document["window"]["duration_ns"] > 0.95e9
        assert accounts(document)["wait.timer"] > 0.95 * document["window"]["duration_ns"]


def test_nothing_is_left_when_perfdiag_is_killed(sleeper: subprocess.Popen[bytes]) -> None:
    words = [str(PROGRAM), "latency", "--pid", str(sleeper.pid), "--duration", "0"]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        process.stderr.readline()
        time.sleep(1)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        assert len(children) == 2, "the recorder, and who says it when the OOM killer takes perfdiag"
        process.send_signal(signal.SIGKILL)
    until(lambda: all(has_ended(int(child)) for child in children), "the recorder ends when the socket closes")


@pytest.mark.parametrize("behind", [{}, {"SUDO_UID": "65534", "SUDO_GID": "65534"}], ids=["root", "sudo"])
@pytest.mark.parametrize("after_s", [0.05, 2.0], ids=["loading", "window"])
def test_a_stopped_recorder_ends_with_perfdiag(
    sleeper: subprocess.Popen[bytes], after_s: float, behind: dict[str, str]
) -> None:
    """It does not see then that its socket closes."""
    words = [str(PROGRAM), "latency", "--pid", str(sleeper.pid), "--duration", "0"]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=os.environ | behind) as process:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")

        def recorder() -> int | None:
            named = [int(child) for child in children.read_text().split()]
            return next((pid for pid in named if (found := processes.read(pid)) and found.comm == "perfdiag-record"), 0)

        until(recorder, "the recorder has been started")
        pid = recorder()
        assert pid
        time.sleep(after_s)
        os.kill(pid, signal.SIGSTOP)
        process.send_signal(signal.SIGKILL)
    try:
        until(lambda: has_ended(pid), "the recorder ends when perfdiag has gone")
    finally:
        if not has_ended(pid):
            os.kill(pid, signal.SIGKILL)


def test_a_stopped_recorder_is_told(sleeper: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    with subprocess.Popen(["sleep", "9"]) as stopped:
        stopped.send_signal(signal.SIGSTOP)
        until(lambda: is_stopped(stopped.pid), "it is stopped")
        control, _other = socket.socketpair()
        recorder = record.Recorder(control, -1, -1, stopped.pid)
        monkeypatch.setattr(record, "SLOW_S", 0.1)
        with pytest.raises(PerfdiagError, match="was stopped"):
            recorder.wait_loaded()
        assert session._why_cut_short(recorder, record.DIED) == record.STOPPED
        stopped.kill()


def recorder_of(pid: int) -> int | None:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    found = [processes.read(int(child)) for child in children]
    return next((each.pid for each in found if each and each.comm == "perfdiag-record"), None)


def test_a_pid_that_is_another_s_by_then(sleeper: subprocess.Popen[bytes], tmp_path: Path) -> None:
    """The programs load for seconds on a busy host, between the choice of a target and the window."""
    words = [PROGRAM, "record", "-o", tmp_path / "a.rec", "--pid", str(sleeper.pid), "--duration", "100ms"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as run:
        recorder = until(lambda: recorder_of(run.pid), "the recorder loads its programs")
        assert recorder
        os.kill(recorder, signal.SIGSTOP)
        until((tmp_path / "a.rec").exists, "the target is chosen")
        sleeper.kill()
        sleeper.wait()
        again = [WORKLOADS / "clone_into", str(sleeper.pid), shutil.which("sleep") or "", "9"]
        with subprocess.Popen(again) as parent:
            until(
                lambda: (found := processes.read(sleeper.pid)) and found.parent == parent.pid, "the pid is used again"
            )
            os.kill(recorder, signal.SIGCONT)
            _, said = run.communicate(timeout=60)
            os.kill(sleeper.pid, signal.SIGKILL)
    assert run.returncode == 4 and f"error: pid {sleeper.pid} ended before anything was measured" in said, said
    assert not (tmp_path / "a.rec").exists()


def has_ended(pid: int) -> bool:
    """Whether a process of others has ended; who adopts it may leave it a zombie."""
    found = processes.read(pid)
    return found is None or found.state == "Z"


def test_a_user_without_privilege_is_told_the_command(sleeper: subprocess.Popen[bytes]) -> None:
    run = run_as_nobody(PROGRAM, "latency", "--pid", sleeper.pid)
    assert run.returncode == 3, run.stderr
    assert f"HINT: sudo {PROGRAM} latency --pid {sleeper.pid}\n" in run.stderr


@pytest.mark.parametrize("arguments", ["latency --pid 1", "latency -- true", "record -o x.rec -- true", "check"])
def test_a_container_with_pids_of_its_own_is_told_so(tmp_path: Path, arguments: str) -> None:
    """Nothing of a process with a pid that the kernel's programs do not know would be measured."""
    words = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", PROGRAM, *arguments.split()]
    run = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path)
    assert run.returncode == 1, run.stderr
    assert run.stderr.startswith("error: perfdiag runs in its own pid namespace") and "--pid=host" in run.stderr
    assert ("FACTS OF THE HOST" in run.stdout) == (arguments == "check") and "TIME, MEASURED" not in run.stdout
    assert not list(tmp_path.iterdir())


def test_what_runs_in_a_container_is_measured_from_the_host() -> None:
    words = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", "sleep", "60"]
    with subprocess.Popen(words) as process:
        try:
            document = json.loads(perfdiag("latency", "--json", "--duration", 0.5, "--pid", process.pid).stdout)
        finally:
            process.kill()
    assert {thread["comm"] for thread in document["threads"]} == {"unshare", "sleep"}
    assert accounts(document)["wait.timer"] > 0.4e9


def test_a_command_that_cannot_run_leaves_the_recording_that_was_there(tmp_path: Path) -> None:
    path, broken = tmp_path / "x.rec", tmp_path / "broken"
    path.write_text("old")
    broken.write_text("#!/no/such/interpreter\n")
    broken.chmod(0o755)
    assert perfdiag("record", "-o", path, "--", broken).returncode == 1
    assert path.read_text() == "old"


def test_check_of_this_host() -> None:
    run = perfdiag("check")
    assert run.returncode == 0, run.stderr
    assert "yes  where the threads' time went" in run.stdout


@pytest.mark.parametrize(
    ("without", "error", "hint"),
    [
        (["unshare", "-m", "sh", "-c", 'mount -t tmpfs none /dev; exec "$@"', "sh"], "open /dev/null", "mknod"),
        (["unshare", "-m", "sh", "-c", 'mount -t tmpfs none /sys; exec "$@"', "sh"], "/sys is not mounted", "mount"),
        (["setpriv", "--bounding-set", "-setuid"], "give up root", "give it CAP_SETUID"),
    ],
)
def test_what_a_poor_container_lacks_is_named(
    without: list[str], error: str, hint: str, sleeper: subprocess.Popen[bytes]
) -> None:
    words = [*without, str(PROGRAM), "latency", "--pid", str(sleeper.pid), "--duration", "300ms"]
    run = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 1 and run.stdout == "", run
    said = run.stderr.splitlines()
    assert error in said[-2] and said[-1].startswith(f"HINT: {hint}"), run.stderr


def test_a_full_disk_is_told_once_and_by_its_name(sleeper: subprocess.Popen[bytes]) -> None:
    with open("/dev/full", "w") as full:
        run = subprocess.run(
            [PROGRAM, "record", "-o", "-", "--pid", str(sleeper.pid), "--duration", "0.2"],
            stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False,
        )  # fmt: skip
    assert run.returncode == 1
    said = [line for line in run.stderr.splitlines() if not line.startswith("perfdiag: recording ")]
    assert [line.partition(":")[0] for line in said] == ["error", "HINT"], run.stderr
    assert said[0] == "error: the recording is cut short: No space left on device"


@pytest.mark.parametrize("after_ms", [5, 15, 25, 40, 80, 200])
def test_an_interrupt_at_any_moment_shows_no_insides(sleeper: subprocess.Popen[bytes], after_ms: int) -> None:
    with subprocess.Popen(
        [PROGRAM, "latency", "--pid", str(sleeper.pid), "--duration", "1"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        time.sleep(after_ms / 1000)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert "Traceback" not in said and "KeyboardInterrupt" not in said, said
