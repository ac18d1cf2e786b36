"""Where a recording and its report go: files, pipes, full disks, whose they are, readers that go away."""

from __future__ import annotations

import fcntl
import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from perfdiag.capture import output_file, recorder
from perfdiag.common.errors import PerfdiagError

from unit.support.house import RECORDING, House
from unit.support.waiting import until

ROOT_OWNS = os.geteuid() == 0


def test_a_recording_in_a_file(house: House, sleeper: subprocess.Popen[bytes], tmp_path: Path) -> None:
    path = tmp_path / "x.rec"
    run = house.run("record", "-o", str(path), "--pid", str(sleeper.pid), "--duration", "0.1")
    assert (run.returncode, run.stdout) == (0, ""), run.stderr
    assert path.read_bytes() == RECORDING
    assert path.stat().st_mode & 0o777 == 0o600
    assert "TRUST  " in house.run("report", str(path)).stdout
    assert "TRUST  " in house.run("report", "-", stdin=path.open()).stdout
    again = house.run("latency", "--record", str(path), "--pid", str(sleeper.pid), "--duration", "0.1")
    assert again.returncode == 0 and path.read_bytes() == RECORDING, "an own file is written anew"


def test_a_recording_through_a_pipe(house: House, sleeper: subprocess.Popen[bytes]) -> None:
    run = house.run("record", "-o", "-", "--pid", str(sleeper.pid), "--duration", "0.1")
    assert run.stdout.encode() == RECORDING


def test_a_full_disk(house: House, sleeper: subprocess.Popen[bytes], tmp_path: Path) -> None:
    house.plan = "full"
    path = tmp_path / "x.rec"
    run = house.run("record", "-o", str(path), "--pid", str(sleeper.pid), "--duration", "0.1")
    assert run.returncode == 1
    assert re.search(f"error: {path} is cut short after [0-9,]+ bytes: No space left on device\nHINT: ", run.stderr)
    assert "cut off" not in run.stderr and "failed at its end" not in run.stderr, "one line says it"
    run = house.run("latency", "--record", str(path), "--pid", str(sleeper.pid), "--duration", "0.1")
    assert run.returncode == 1 and "TRUST  " in run.stdout, "the report itself does not suffer"


def test_no_room_for_the_recording_in_memory(house: House, sleeper: subprocess.Popen[bytes]) -> None:
    """A limit of file sizes, say: the reason is told, and what was written is used."""
    house.plan = "limited"
    run = house.run("latency", "--pid", str(sleeper.pid), "--duration", "0.1")
    assert (
        "error: the recording is cut short: No space left on device\nHINT: the report covers only what was"
        in run.stderr
    )
    assert run.returncode == 1 and "CUT SHORT" in run.stdout and "failed at its end" not in run.stderr


@pytest.mark.parametrize("what", ["link", "directory", "hard link", "fifo"])
def test_files_that_are_not_overwritten(tmp_path: Path, what: str) -> None:
    path, other = tmp_path / "x.rec", tmp_path / "other"
    other.write_text("precious")
    {
        "link": lambda: path.symlink_to(other),
        "directory": path.mkdir,
        "hard link": lambda: path.hardlink_to(other),
        "fifo": lambda: os.mkfifo(path),
    }[what]()
    with pytest.raises(PerfdiagError) as caught:
        output_file.create(str(path))
    assert caught.value.hint
    assert other.read_text() == "precious"


@pytest.mark.skipif(not ROOT_OWNS, reason="only root can make files of others")
def test_a_file_of_somebody_else_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "x.rec"
    path.write_text("precious")
    os.chown(path, 1234, 1234)
    with pytest.raises(PerfdiagError, match="belongs to another user"):
        output_file.create(str(path))
    assert path.read_text() == "precious"


def test_a_recording_cut_short_on_standard_output_is_told() -> None:
    stream = output_file.OutFile("-", 1, created=False)
    stream.check_stream("duration")
    for reason in (recorder.DIED, "output closed"):  # the recorder was killed; the disk is full, or the reader has gone
        with pytest.raises(PerfdiagError, match="cut short"):
            stream.check_stream(reason)


def test_half_a_recording_is_a_failure_whoever_read_it(house: House, sleeper: subprocess.Popen[bytes]) -> None:
    process = house.start("record", "-o", "-", "--pid", str(sleeper.pid), "--duration", "0.1")
    assert process.stdout
    process.stdout.close()
    assert process.stderr
    said = [line for line in process.stderr if line.startswith(("error: ", "HINT: "))]
    assert process.wait(30) == 1
    assert [line.partition(":")[0] for line in said] == ["error", "HINT"] and "is cut short" in said[0]


@pytest.mark.skipif(not ROOT_OWNS, reason="only root has a sudo user behind it")
def test_under_sudo_the_file_is_the_users(house: House, sleeper: subprocess.Popen[bytes], open_folder: Path) -> None:
    house.environment = {"SUDO_UID": "1234", "SUDO_GID": "4321"}
    os.chown(open_folder, 1234, 4321)
    path = open_folder / "x.rec"
    assert house.run("record", "-o", str(path), "--pid", str(sleeper.pid), "--duration", "0.1").returncode == 0
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 4321)


def test_a_reader_that_goes_away(house: House, sleeper: subprocess.Popen[bytes]) -> None:
    process = house.start("latency", "--pid", str(sleeper.pid), "--duration", "0.3", "--full")
    assert process.stdout and process.stderr
    process.stdout.close()
    said = process.stderr.read()
    assert process.wait(30) == 0
    assert "Traceback" not in said and "error" not in said


def test_a_reader_that_goes_away_is_no_reason_not_to_check_the_recording(
    house: House, sleeper: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    house.plan, path = "full", tmp_path / "x.rec"
    process = house.start("latency", "--record", str(path), "--pid", str(sleeper.pid), "--duration", "0.3")
    assert process.stdout and process.stderr
    process.stdout.close()
    assert f"error: {path} is cut short after " in process.stderr.read()
    assert process.wait(30) == 1


def test_neither_report_nor_recording_finds_room(
    house: House, sleeper: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    house.plan, path = "full", tmp_path / "x.rec"
    with open("/dev/full", "w") as full:
        run = house.run("latency", "--record", str(path), "--pid", str(sleeper.pid), "--duration", "0.1", stdout=full)
    assert run.returncode == 1
    assert f"warning: {path} is cut short after " in run.stderr and "error: No space left on device" in run.stderr


def test_a_reader_that_goes_away_does_not_change_the_exit_code(house: House, sleeper: subprocess.Popen[bytes]) -> None:
    process = house.start("latency", "--exit-code", "--pid", str(sleeper.pid), "--duration", "0.3")
    assert process.stdout
    process.stdout.close()
    assert process.wait(30) == 10


def test_a_full_standard_output(house: House, sleeper: subprocess.Popen[bytes]) -> None:
    with open("/dev/full", "w") as full:
        run = house.run("latency", "--pid", str(sleeper.pid), "--duration", "0.1", stdout=full)
    assert run.returncode == 1
    assert "error: No space left on device" in run.stderr and "Traceback" not in run.stderr


@pytest.mark.parametrize(("command", "status"), [("record -o {path}", 0), ("latency", 1)])
def test_closed_standard_streams(
    house: House, sleeper: subprocess.Popen[bytes], tmp_path: Path, command: str, status: int
) -> None:
    words = command.format(path=tmp_path / "file.jsonl")
    script = f"exec {house.program} {words} --pid {sleeper.pid} --duration 0.1 <&- >&- 2>&-"
    environment = {
        **os.environ,
        "FAKE_PLAN": "good",
        "FAKE_RECORDING": str(house.root / "recording"),
        "FAKE_LOG": str(house.root / "log"),
    }
    assert subprocess.run(["sh", "-c", script], env=environment, timeout=30).returncode == status
    assert (tmp_path / "file.jsonl").exists() == (status == 0)


def test_a_recording_to_a_standard_output_that_is_closed_is_refused(
    house: House, sleeper: subprocess.Popen[bytes]
) -> None:
    closed = ["sh", "-c", 'exec "$0" "$@" >&-', house.program, "record", "-o", "-", "--pid", str(sleeper.pid)]
    environment = {**os.environ, "FAKE_PLAN": "good", "FAKE_RECORDING": str(house.root / "recording")}
    run = subprocess.run(closed, env=environment, stderr=subprocess.PIPE, text=True, timeout=30)
    said = run.stderr.splitlines()
    assert (run.returncode, said[0]) == (1, "error: standard output is closed, or open for reading only")
    assert run.stderr.splitlines()[1].startswith("HINT: ")


@pytest.mark.parametrize("words", ["report -", "host --since 1h --log -"])
def test_a_standard_input_that_is_closed_is_not_empty(house: House, words: str) -> None:
    closed = ["sh", "-c", f'exec "$0" {words} <&-', house.program]
    run = subprocess.run(closed, capture_output=True, text=True, timeout=30)
    assert run.returncode == 1 and not run.stdout
    said, hint = run.stderr.splitlines()
    assert said == "error: cannot read standard input: it is closed, or a directory" and hint.startswith("HINT: ")


def test_a_standard_output_that_does_not_block(house: House, sleeper: subprocess.Popen[bytes]) -> None:
    """Event loops make their pipes so: what does not fit at once is waited for, not lost."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    process = house.start("latency", "--json", "--pid", str(sleeper.pid), "--duration", "0.1", stdout=writer)
    until(lambda: os.get_blocking(writer), "it is made to block, and waits: the pipe is full")
    os.close(writer)
    with open(reader, "rb") as read_end:
        text = read_end.read()
    assert process.wait(30) == 0
    assert len(text) > 4096 and json.loads(text)
