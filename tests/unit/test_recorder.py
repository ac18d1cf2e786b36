"""One recording from beginning to end: launcher, orders, signals, exit statuses.  The recorder is a fake."""

from __future__ import annotations

import json
import os
import pty
import resource
import shutil
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from perfdiag.capture import recorder
from perfdiag.common.errors import PerfdiagError, UsageError

from conftest import ROOT
from unit.support import terminal
from unit.support.house import RECORDING, House
from unit.support.waiting import until


def test_a_report_of_a_pid(house: House, sleeper: subprocess.Popen[bytes]) -> None:
    run = house.run("latency", "--pid", str(sleeper.pid), "--duration", "100ms", "--slo", "250ms", "--stacks")
    assert run.returncode == 0, run.stderr
    assert "TRUST  " in run.stdout
    assert f"recording sleep (pid {sleeper.pid}) with its descendants, for 100 ms" in run.stderr
    assert "\\x1b[31mno" in run.stderr, "the recorder's warnings are passed on, harmless"
    assert "\x1b" not in run.stdout + run.stderr
    assert house.log() == {
        "arguments": ["--engine", "auto", "--scripts", f"{house.root}/build/bin/../.."],
        "orders": [
            f"pid {sleeper.pid}",
            "stacks",
            "duration 100000000",
            "max-cost 330000",
            "slo 250000000",
            f"asked --pid {sleeper.pid}",
            "start",
        ],
        "at_start": None,
        "oom_score": 999,
    }


def test_limits_of_names(house: House, sleeper: subprocess.Popen[bytes]) -> None:
    words = ("--slo", "GET /a=b=1.5s", "--slo", "250ms", "--slo", " syscall:read = 5 ms ")
    house.run("latency", "--pid", str(sleeper.pid), "--duration", "100ms", *words)
    orders = house.log()["orders"]
    assert orders[-5:-2] == ["slo 250000000", "slo 1500000000 GET /a=b", "slo 5000000 syscall:read"]


def test_no_request_names(house: House, sleeper: subprocess.Popen[bytes]) -> None:
    words = ("--duration", "0.1", "--no-request-names")
    house.run("latency", "--pid", str(sleeper.pid), *words, "--slo", "syscall:read=5ms")
    assert "no-request-names" in house.log()["orders"]
    house.run("host", *words)
    assert "no-request-names" in house.log()["orders"]


def test_another_engine(house: House, sleeper: subprocess.Popen[bytes]) -> None:
    """The launcher lets the recorder run a script that lies where perfdiag is; its descendants are left out."""
    words = ("--pid", str(sleeper.pid), "--duration", "0.1")
    run = house.run("latency", *words, "--engine", "bpftrace")
    assert run.returncode == 0, run.stderr
    scripts = ["--scripts", f"{house.root}/build/bin/../.."]
    assert house.log()["arguments"] == ["--engine", "bpftrace", *scripts]
    assert "only" in house.log()["orders"]
    house.run("latency", "--engine=libbpf", "--", "true", "--engine=bpftrace")
    assert house.log()["arguments"] == []


def test_only(house: House, sleeper: subprocess.Popen[bytes]) -> None:
    run = house.run("latency", "--pid", str(sleeper.pid), "--duration", "0.1", "--only")
    assert f"recording sleep (pid {sleeper.pid}), for 100 ms" in run.stderr
    assert "only" in house.log()["orders"]


def test_json_is_one_document(house: House, sleeper: subprocess.Popen[bytes]) -> None:
    run = house.run("latency", "--pid", str(sleeper.pid), "--duration", "0.1", "--json")
    assert json.loads(run.stdout)["target"]["comm"] == "app"


def test_the_exit_code_can_tell(house: House, sleeper: subprocess.Popen[bytes]) -> None:
    arguments = ["latency", "--pid", str(sleeper.pid), "--duration", "0.1"]
    document = json.loads(house.run(*arguments, "--json").stdout)
    assert [finding["severity"] for finding in document["findings"]].count("info") < len(document["findings"])
    assert house.run(*arguments).returncode == 0
    assert house.run(*arguments, "--exit-code").returncode == 10


@pytest.mark.parametrize("plan", ["good", "slow"])  # while it records, and while it starts
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_early_and_reports(
    house: House, sleeper: subprocess.Popen[bytes], number: int, plan: str
) -> None:
    house.plan = plan
    process = house.start("latency", "--pid", str(sleeper.pid), "--duration", "0")
    house.until_told("start")
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 0 and "TRUST  " in out, err


def test_ctrl_c_before_the_window_just_ends(house: House, sleeper: subprocess.Popen[bytes]) -> None:
    house.plan = "silent"
    process = house.start("latency", "--pid", str(sleeper.pid))
    loaded = Path(f"/proc/{process.pid}/maps")
    until(lambda: "/msgspec/_core" in loaded.read_text(), "perfdiag is being imported")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (-signal.SIGINT, "") and "Traceback" not in err


def test_a_recorder_that_is_told_to_end_before_it_records(house: House, sleeper: subprocess.Popen[bytes]) -> None:
    house.plan = "cancelled"
    run = house.run("latency", "--pid", str(sleeper.pid))
    assert (run.returncode, run.stdout) == (1, "")
    assert "error: the recorder was told to end before the window began\nHINT: " in run.stderr


def test_a_recorder_that_is_killed_at_the_start_leaves_the_recording_that_was_there(
    house: House, sleeper: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    house.plan, path = "cancelled", tmp_path / "x.rec"
    path.write_bytes(RECORDING)
    assert house.run("record", "-o", str(path), "--pid", str(sleeper.pid)).returncode == 1
    assert path.read_bytes() == RECORDING


def test_a_target_that_goes_at_the_start(house: House, sleeper: subprocess.Popen[bytes], tmp_path: Path) -> None:
    house.plan = "gone"
    run = house.run("record", "-o", str(tmp_path / "x.rec"), "--pid", str(sleeper.pid))
    assert run.returncode == 4
    assert "error: no thread of pid 1 is there any more\nHINT: " in run.stderr
    assert "perfdiag: recording" not in run.stderr and not (tmp_path / "x.rec").exists()


def test_what_the_recorder_advises_goes_before_what_its_error_number_does(
    house: House, sleeper: subprocess.Popen[bytes]
) -> None:
    """Where the kernel showed no thread of a process, a higher limit of processes was told to help."""
    house.plan = "unseen"
    run = house.run("latency", "--pid", str(sleeper.pid))
    assert run.stderr.endswith("error: the kernel showed none of its threads\nHINT: start it again\n")


def test_a_recorder_that_is_killed_while_it_loads(house: House, sleeper: subprocess.Popen[bytes]) -> None:
    house.plan = "early"
    run = house.run("latency", "--pid", str(sleeper.pid))
    assert run.returncode == 1 and not run.stdout
    said = "error: the recorder was killed before the window began\nHINT: if it was the OOM killer"
    assert run.stderr.startswith(said)


def test_a_recorder_that_used_up_its_cpu_time(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["prlimit", "--cpu=1:1", sys.executable, "-c", "while True: pass"]
    control, other = socket.socketpair()
    other.close()
    with control, subprocess.Popen(words) as spinning:
        os.waitid(os.P_PID, spinning.pid, os.WEXITED | os.WNOWAIT)
        monkeypatch.setattr(resource, "getrlimit", lambda _: (1, 1))
        with pytest.raises(PerfdiagError) as raised:
            recorder.Recorder(control, -1, -1, spinning.pid).wait_loaded()
    assert raised.value.hint == "it used up the 1 s of CPU time that it may (ulimit -t): raise the limit"


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["record", "-o", "/no/such/directory/x.rec", "--", "true"], 1),
        (["latency", "--pid", "4194303"], 4),
        (["latency", "--", "/no/such/command"], 2),
    ],
    ids=["file", "pid", "command"],
)
def test_what_is_asked_for_wrongly_is_refused_before_anything_is_loaded(
    house: House, words: list[str], status: int
) -> None:
    house.plan = "silent"
    run = house.run(*words)
    assert run.returncode == status and "attach" not in run.stderr, run.stderr


def test_perfdiag_killed_by_somebody_says_nothing_of_memory(house: House, sleeper: subprocess.Popen[bytes]) -> None:
    """The child that would say it knows how often the OOM killer has struck; it ends with perfdiag."""
    process = house.start("latency", "--pid", str(sleeper.pid), "--duration", "0")
    house.until_told("start")
    process.kill()
    _out, err = process.communicate(timeout=30)  # returns when nobody has its standard error any more
    assert process.returncode == -signal.SIGKILL and "memory is short" not in err


def test_a_recorder_that_is_killed_leaves_a_report(house: House, sleeper: subprocess.Popen[bytes]) -> None:
    house.plan = "killed"
    run = house.run("latency", "--pid", str(sleeper.pid), "--duration", "5")
    assert run.returncode == 1 and "CUT SHORT" in run.stdout
    assert (
        "error: the recording is cut short: the recorder was ended by SIGKILL\nHINT: the report covers only"
        in run.stderr
    )


def test_a_recorder_that_is_not_there(house: House, sleeper: subprocess.Popen[bytes], tmp_path: Path) -> None:
    other = House.build(tmp_path / "other")
    (other.root / "build/bin/perfdiag-recorder").unlink()
    run = other.run("latency", "--pid", str(sleeper.pid))
    assert run.returncode == 1
    assert run.stderr.startswith("error: cannot run ") and "perfdiag-recorder: No such file" in run.stderr


def test_a_recorder_that_may_not_be_run(sleeper: subprocess.Popen[bytes], tmp_path: Path) -> None:
    other = House.build(tmp_path / "other")
    recorder = other.root / "build/bin/perfdiag-recorder"
    recorder.unlink()
    recorder.touch(0o644)  # so does every file of a file system that is mounted noexec look to it
    run = other.run("latency", "--pid", str(sleeper.pid))
    first, second = run.stderr.splitlines()
    assert run.returncode == 3
    assert first.endswith("perfdiag-recorder: Permission denied") and "noexec" in second and "CAP_BPF" not in second


@pytest.mark.skipif(os.geteuid() != 0, reason="only root changes its root directory")
def test_without_proc_the_remedy_is_to_mount_it(tmp_path: Path) -> None:
    shutil.copy(ROOT / "build/bin/perfdiag", tmp_path)
    (tmp_path / "dev").mkdir()
    os.mknod(tmp_path / "dev/null", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    run = subprocess.run(["chroot", tmp_path, "/perfdiag", "report", "x"], capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (1, "error: /proc is not mounted here\nHINT: mount -t proc proc /proc\n")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")
def test_an_installation_that_others_may_not_read(open_folder: Path) -> None:
    main = open_folder / "lib/perfdiag/python/perfdiag/__main__.py"
    main.parent.mkdir(parents=True)
    main.touch()
    main.parent.chmod(0o700)
    (open_folder / "bin").mkdir()
    shutil.copy(ROOT / "build/bin/perfdiag", open_folder / "bin")
    command = [open_folder / "bin/perfdiag", "report", "x"]
    run = subprocess.run(command, capture_output=True, text=True, user=65534, group=65534, extra_groups=[])
    first, second = run.stderr.splitlines()
    assert first.endswith("__main__.py: Permission denied")
    assert second.startswith("HINT: chmod -R a+rX ") and second.endswith("/lib/perfdiag")


@pytest.mark.parametrize(
    ("command", "limit", "size", "option"),
    [
        ("--help", resource.RLIMIT_NOFILE, 4, "n"),
        ("--help", resource.RLIMIT_AS, 12 << 20, "v"),
        ("--help", resource.RLIMIT_DATA, 4 << 20, "d"),
        ("--help", resource.RLIMIT_STACK, 32 << 10, "s"),
        ("check", resource.RLIMIT_AS, 33 << 20, "v"),
        ("check", resource.RLIMIT_DATA, 20 << 20, "d"),
        ("check", resource.RLIMIT_FSIZE, 4096, "f"),
    ],
)
def test_limits_under_which_it_cannot_start(house: House, command: str, limit: int, size: int, option: str) -> None:
    run = house.run(command, preexec_fn=lambda: resource.setrlimit(limit, (size, size)))
    first, second = run.stderr.splitlines()
    assert (run.returncode, run.stdout) == (1, "")
    assert first.startswith("error: ") and second.startswith("HINT: raise the limit") and f"ulimit -{option} " in second


def test_without_cpu_time_memory_is_not_said_to_be_short(house: House) -> None:
    """The kernel ends it at a tick of the clock, if it lives that long."""
    run = house.run("check", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (0, 0)))
    assert run.returncode == -signal.SIGKILL or (run.returncode, "ulimit -t " in run.stderr) == (1, True), run.stderr


def test_a_terminal_sees_a_bar(house: House, sleeper: subprocess.Popen[bytes]) -> None:
    master, slave = pty.openpty()
    house.environment = {"TERM": "xterm"}
    process = house.start("latency", "--pid", str(sleeper.pid), "--duration", "1", stderr=slave)
    os.close(slave)
    seen = terminal.shown(master)
    out = process.communicate(timeout=30)[0]
    assert "TRUST  " in out and b"of 1 s" in seen and b"Ctrl-C ends early" in seen
    assert seen.rstrip().endswith(b"no\\x1b[0m"), "the bar is gone at the end; the warnings come after it"


def test_help_and_other_commands_start_no_recorder(house: House) -> None:
    house.plan = "silent"
    for arguments in (["latency", "--help"], ["record", "--help"], ["explain", "CPU-BOUND"], ["--version"]):
        assert house.run(*arguments).returncode == 0, arguments
    assert not (house.root / "log").exists()


def test_check_says_what_is_missing_and_why(house: House) -> None:
    header = json.loads(RECORDING.splitlines()[0])
    probes = header["probes"]
    probes[-1] |= {"attached": False, "reason": "this kernel has no tracepoint \x1b[2Jevil"}
    (house.root / "recording").write_text(json.dumps(header) + "\n")
    try:
        run = house.run("check")
    finally:
        (house.root / "recording").write_bytes(RECORDING)
    assert run.returncode == 0, run.stderr
    assert "why   this kernel has no tracepoint \\x1b[2Jevil" in run.stdout and "fix" in run.stdout
    assert max(map(len, run.stdout.splitlines())) <= 80
    measured = len({probe["feature"] for probe in probes}) - 1
    assert run.stdout.split("TIME, MEASURED")[1].count("  yes  ") == measured


def test_check_without_privilege(house: House) -> None:
    house.plan = "refused"
    run = house.run("check")
    assert run.returncode == 3 and "FACTS OF THE HOST" in run.stdout and "error: the kernel refuses" in run.stderr


def test_without_the_launcher(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CONTROL_FD", "RECORDING_FD", "MESSAGES_FD", "RECORDER_PID"):
        monkeypatch.delenv(f"PERFDIAG_{name}", raising=False)
    with pytest.raises(UsageError, match="not started through its launcher"):
        recorder.Recorder.inherited()
