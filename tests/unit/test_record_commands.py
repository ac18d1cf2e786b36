"""A command that perfdiag starts: held back until the recorder is there, its streams, its status, its end."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from importlib import import_module
from pathlib import Path

import click
import pytest

from conftest import ROOT
from unit.support.house import RECORDING, House
from unit.support.waiting import until


def test_a_command_is_held_back_and_passes_its_status_on(house: House) -> None:
    run = house.run("latency", "--", "sh", "-c", "read line; echo out $line; exit 7", stdin=subprocess.DEVNULL)
    assert run.returncode == 7
    assert "out" in run.stderr and "out \n" not in run.stdout, "standard output is the report's"
    assert "TRUST  " in run.stdout
    told = house.log()
    assert told["orders"][1:] == ["duration 0", "max-cost 330000", "asked -- sh ...", "start"] and told["orders"][
        0
    ].startswith("exec ")
    assert told["at_start"] == ["sh", "python"], "named as what it will be, and not yet run: the recorder comes first"


def test_the_launcher_knows_which_options_take_a_value() -> None:
    source = (ROOT / "lib/recorder/launcher/command_words.c").read_text()
    known = re.search(r"is_flag.*?\{([^}]*)\};", source, re.DOTALL)
    assert known
    commands = [import_module(f"perfdiag.commands.{name}").command for name in ("check", "host", "latency", "record")]
    options = [option for command in commands for option in command.params if isinstance(option, click.Option)]
    assert set(re.findall(r'"(.*?)"', known[1])) == {name for each in options if each.is_flag for name in each.opts}
    short = re.search(r'strchr\("(\w+)", word\[1 \+ flags\]\)', source)
    taking = {name for each in options for name in each.opts if not each.is_flag and not name.startswith("--")}
    assert short and {f"-{letter}" for letter in short[1]} == taking


def test_a_file_can_be_called_like_an_option(house: House, sleeper: subprocess.Popen[bytes]) -> None:
    words = ["--pid", str(sleeper.pid), "--duration", "0.1"]
    for name in ("--help", "--since", "--"):
        run = house.run("record", "-o", name, *words, cwd=house.root)
        assert run.returncode == 0 and (house.root / name).exists(), run.stderr
        assert run.stderr.endswith(f"to read them: perfdiag report ./{name}\n"), "as it can be typed"
        assert house.run("report", f"./{name}", cwd=house.root).returncode == 0
    run = house.run("host", "--record", "--since", "--duration", "0.1", cwd=house.root)
    assert run.returncode == 0, run.stderr


def test_a_command_keeps_its_input_and_its_environment(house: House) -> None:
    house.environment = {"MARK": "23", "PYTHONPATH": "/a=b", "PYTHONEXECUTABLE": "", "__PYVENV_LAUNCHER__": "c"}
    house.environment |= {"LD_LIBRARY_PATH": "/d", "GLIBC_TUNABLES": "glibc.malloc.perturb=1"}
    forged = {"PERFDIAG_KEPT_FORGED": "1"}
    words = ("record", "-o", str(house.root / "c.rec"), "--", "sh", "-c", "read line; echo $line; env")
    given, house.environment = house.environment, house.environment | forged
    out, err = house.start(*words).communicate("hello\n", timeout=30)
    assert "FORGED" not in out
    assert out.startswith("hello\n") and "PERFDIAG_" not in out, err
    assert {f"{name}={value}" for name, value in given.items()} <= set(out.splitlines())


def test_perfdiag_goes_before_its_target_when_memory_is_short(house: House) -> None:
    """The OOM killer is offered perfdiag, the recorder after it; a command has the score that perfdiag was given."""
    show = "cat /proc/self/oom_score_adj /proc/$PPID/oom_score_adj"
    run = house.run(
        "latency", "--", "sh", "-c", show, preexec_fn=lambda: Path("/proc/self/oom_score_adj").write_text("7")
    )
    assert run.returncode == 0 and "\n7\n1000\n" in run.stderr, run.stderr
    assert house.log()["oom_score"] == 999


@pytest.mark.parametrize("stop", [signal.SIGSTOP, signal.SIGTSTP])
def test_a_watcher_that_was_stopped_does_not_stay_behind(house: House, stop: signal.Signals) -> None:
    with house.start("latency", "--", "sh", "-c", "read line") as process:
        watcher = until(lambda: _watcher_of(process.pid), "it is there")
        os.kill(watcher, stop)
        process.kill()
        until(lambda: _has_ended(watcher), "it has ended")


def _watcher_of(pid: int) -> int:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    names = {int(child): Path(f"/proc/{child}/comm").read_text() for child in children}
    return next((child for child, name in names.items() if name == "perfdiag-watch\n"), 0)


def _has_ended(pid: int) -> bool:
    try:
        return ") Z " in Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return True


def test_a_command_that_is_ended_by_a_signal(house: House) -> None:
    assert house.run("latency", "--", "sh", "-c", "kill -9 $$").returncode == 137


def test_a_command_outlives_its_window(house: House) -> None:
    process = house.start("latency", "--duration", "0.1", "--", "sh", "-c", "read line; exit 5")
    assert process.stderr
    assert any("is still running" in line for line in process.stderr)
    process.communicate("end\n", timeout=30)
    assert process.returncode == 5


def test_a_command_that_is_killed_while_it_is_held_back(house: House, tmp_path: Path) -> None:
    house.plan = "murder"
    (tmp_path / "x.rec").write_text("old")
    run = house.run("latency", "--record", str(tmp_path / "x.rec"), "--", "sleep", "60")
    assert (run.returncode, run.stdout) == (4, ""), run.stderr
    assert "error: sleep ended before it was measured\nHINT: " in run.stderr, run.stderr
    assert (tmp_path / "x.rec").read_text() == "old"


@pytest.mark.parametrize("arguments", [["latency"], ["record", "-o", "-"]], ids=["latency", "record"])
def test_a_reader_that_goes_away_does_not_change_the_commands_status(house: House, arguments: list[str]) -> None:
    process = house.start(*arguments, "--duration", "0.1", "--", "sh", "-c", "read line; exit 7")
    assert process.stdout and process.stdin and process.stderr
    process.stdout.close()
    assert any("is still running" in line for line in process.stderr), "it is waited for"
    process.stdin.close()
    assert process.wait(30) == 7


def test_a_report_that_finds_no_room_does_not_change_the_commands_status(house: House) -> None:
    with open("/dev/full", "w") as full:
        run = house.run("latency", "--", "sh", "-c", "exit 7", stdout=full)
    assert run.returncode == 7 and "error: No space left on device\nHINT: make room" in run.stderr


def test_a_report_that_finds_no_room_is_told_before_the_command_ends(house: House) -> None:
    with open("/dev/full", "w") as full:
        process = house.start("latency", "--duration", "0.1", "--", "sh", "-c", "read line; exit 7", stdout=full)
    assert process.stderr
    said = []
    for line in process.stderr:
        said.append(line)
        if "is still running" in line:
            break
    assert any(line.startswith("warning: No space left on device") for line in said), said
    err = process.communicate("end\n", timeout=30)[1]
    assert process.returncode == 7 and "error: No space left on device" in err


def test_a_recording_cut_short_does_not_change_the_commands_status(house: House, tmp_path: Path) -> None:
    house.plan = "full"
    path = tmp_path / "x.rec"
    for arguments in (["latency", "--record", str(path)], ["record", "-o", str(path)]):
        run = house.run(*arguments, "--", "sh", "-c", "exit 7")
        assert run.returncode == 7 and f"error: {path} is cut short after " in run.stderr, run.stderr


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("no-such-command-23", "no-such-command-23: no such command"),
        ("", "the COMMAND is empty"),
        ("/proc/self", "/proc/self is a directory"),
        ("/proc/version", "/proc/version is not executable"),
    ],
)
def test_a_command_that_is_not_there(house: House, command: str, said: str) -> None:
    run = house.run("latency", "--", command)
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith(f"error: {said}\nHINT: ")


def test_a_command_that_cannot_run(house: House, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_text("#!/no/such/interpreter\n")
    broken.chmod(0o755)
    made, there = tmp_path / "made.rec", tmp_path / "there.rec"
    there.write_bytes(RECORDING)
    for path in (made, there):
        run = house.run("latency", "--record", str(path), "--", str(broken))
        assert run.returncode == 1 and f"cannot run {broken}: No such file" in run.stderr
    assert not made.exists() and there.read_bytes() == RECORDING, "no recording came about"


def test_ctrl_c_of_a_command_reports(house: House) -> None:
    process = house.start("latency", "--", "sleep", "60", start_new_session=True)
    wait_until_it_runs(process.pid, "sleep")
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130 and "TRUST  " in out, err


def test_sigterm_leaves_a_command_behind(house: House, tmp_path: Path) -> None:
    with open(tmp_path / "stderr", "w") as stderr:
        process = house.start("latency", "--", "sleep", "60", stderr=stderr)
    wait_until_it_runs(process.pid, "sleep")
    process.terminate()
    assert process.communicate(timeout=30)[0].startswith("app (100) ")
    err = (tmp_path / "stderr").read_text()
    left = int(err.split("sleep (pid ")[1].split(")")[0])
    os.kill(left, signal.SIGKILL)
    assert process.returncode == 0 and "is still running" in err


def wait_until_it_runs(pid: int, program: str) -> None:
    """Wait until a command below perfdiag is no longer held back: told by its executable."""

    def runs() -> bool:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        try:
            return any(os.path.basename(os.readlink(f"/proc/{child}/exe")) == program for child in children)
        except OSError:  # some children live for a moment only
            return False

    until(runs, f"{program} runs below {pid}")
