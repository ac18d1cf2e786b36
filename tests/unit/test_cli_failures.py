"""What goes wrong is one line and a hint: no recording, no room, no reader, a bug."""

from __future__ import annotations

import errno
import os
import pwd
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import click
import pytest
from perfdiag import cli
from perfdiag.capture import progress
from perfdiag.commands import report as report_command
from perfdiag.common.errors import INSTALL_AGAIN, PerfdiagError, TargetGone, UsageError

from unit.support.command_line import MAIN, recording, run
from unit.support.house import RECORDING


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"", 1),
        (b"hello\n", 1),
        (b"\x00" * 4096, 1),
        (b'{"type":"header"}\n', 1),
        (b"\xff\xfe\n", 1),
        (b'{"type":"header","schema":99}\n', 1),
    ],
)
def test_what_is_no_recording_is_told(tmp_path: Path, content: bytes, status: int) -> None:
    path = tmp_path / "x.rec"
    path.write_bytes(content)
    path.chmod(0o644)
    told = run("report", str(path))
    assert (told.returncode, told.stdout) == (status, "")
    assert told.stderr.startswith("error: ") and "\nHINT: " in told.stderr and "Traceback" not in told.stderr


@pytest.mark.parametrize("path", ["/no/such/file", "/", "/proc/self/mem"])
def test_what_cannot_be_read_is_told(path: str) -> None:
    told = run("report", path)
    first, second = told.stderr.splitlines()
    assert told.returncode == 1 and first.startswith(f"error: cannot read {path}: ") and second.startswith("HINT: ")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a file that somebody else owns")
def test_whose_a_recording_is_that_cannot_be_read(open_folder: Path) -> None:
    """Recordings have mode 0600: the owner is the one who can do something."""
    path = recording(open_folder)
    path.chmod(0o600)
    refused = PermissionError(errno.EACCES, "Permission denied")
    owner = pwd.getpwuid(0).pw_name
    os.chown(path, 0, 0)
    assert f"it belongs to {owner}: report it as that user" in report_command._hint(str(path), refused)
    os.chown(path, 4_000_000, 0)
    assert "it belongs to user 4000000" in report_command._hint(str(path), refused)
    assert "closed to" in report_command._hint(str(open_folder / "gone/x.rec"), refused)
    assert "make a recording" in report_command._hint(str(path), FileNotFoundError())


def test_a_bug_is_one_line(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    def break_down(**_options: object) -> None:
        raise RuntimeError("\x1b[2Jbroken")

    monkeypatch.setattr(cli.cli, "main", break_down)
    assert cli.main() == 1
    first, second = capfd.readouterr().err.splitlines()
    assert first == "error: this is a bug in perfdiag: RuntimeError: \\x1b[2Jbroken"
    assert second.startswith("HINT: PERFDIAG_DEBUG=1")
    monkeypatch.setenv("PERFDIAG_DEBUG", "1")
    with pytest.raises(RuntimeError):
        cli.main()


def said_of(error: Exception, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Return the exit status and what is said where a command raises `error`."""

    def fail(**_options: object) -> None:
        raise error

    monkeypatch.setattr(cli.cli, "main", fail)
    return cli.main(), capfd.readouterr().err


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (PerfdiagError("x", "y"), 1),
        (UsageError("x"), 2),
        (TargetGone("x", "y"), 4),
        (BrokenPipeError(), 1),
        (click.UsageError("x"), 2),
        (OSError(28, "No space left on device", "/a\x1bb"), 1),
        (MemoryError(), 1),
        (SystemError("error return without exception set"), 1),
        (ImportError("x.so: failed to map segment from shared object"), 1),
    ],
)
def test_exit_statuses(
    error: Exception, status: int, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    ended, said = said_of(error, monkeypatch, capfd)
    assert ended == status
    assert (said == "") == (status == 0) and "\x1b" not in said and "bug in perfdiag" not in said


@pytest.mark.parametrize("error", [BrokenPipeError(errno.EPIPE, "Broken pipe"), None], ids=["raised", "by click"])
def test_only_the_pipe_of_standard_output_may_break(
    error: Exception | None, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Any other one is a failure, and click takes all of them for that one."""

    def fail(*_arguments: object, **_options: object) -> None:
        raise error or BrokenPipeError(errno.EPIPE, "Broken pipe")

    if error:
        monkeypatch.setattr(cli.cli, "main", fail)
    else:
        monkeypatch.setattr(cli.cli, "invoke", fail)
        monkeypatch.setattr(sys, "argv", ["perfdiag", "check"])
        monkeypatch.setattr(sys, "stdout", sys.stdout)  # click puts others in their places
        monkeypatch.setattr(sys, "stderr", sys.stderr)
    assert cli.main() == 1
    assert capfd.readouterr().err.startswith("error: Broken pipe, but not on standard output\nHINT: ")


@pytest.mark.parametrize(
    ("number", "hint"),
    [
        (errno.ENOSPC, "make room there"),
        (errno.EFBIG, "ulimit -f"),
        (errno.EMFILE, "ulimit -n"),
        (errno.ENOMEM, "ulimit -v"),
        (errno.ENOMEM, "ulimit -d"),
        (errno.EAGAIN, "ulimit -u"),
        (errno.EIO, "PERFDIAG_DEBUG=1"),
    ],
)
def test_what_the_host_lacks_is_named_with_what_helps(
    number: int, hint: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail(**_options: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(cli.cli, "main", fail)
    assert cli.main() == 1
    first, second = capfd.readouterr().err.splitlines()
    assert first == f"error: {os.strerror(number)}" and second.startswith("HINT: ") and hint in second


def test_a_start_that_fails_before_anything_is_imported_is_one_line() -> None:
    start = f"import sys, runpy; sys.modules['perfdiag.cli'] = None; runpy.run_path({str(MAIN)!r}, run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", start], capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 1
    first, second = done.stderr.splitlines()
    assert first.startswith("error: cannot start: ") and "perfdiag.cli" in first and second.startswith("HINT: ")


@pytest.mark.parametrize(
    ("lost", "hint"),
    [("contextlib", "apt install python3"), ("signal", "apt install python3"), ("click.core", "perfdiag again, with")],
)
def test_a_start_without_a_module_is_one_line(lost: str, hint: str) -> None:
    start = (
        "import sys\n"
        "class Lost:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {lost!r}: raise ModuleNotFoundError(f'No module named {{name!r}}', name=name)\n"
        f"sys.modules.pop({lost!r}, None)\n"
        "sys.meta_path.insert(0, Lost())\n"
        f"exec(compile(open({str(MAIN)!r}).read(), {str(MAIN)!r}, 'exec'), {{'__name__': '__main__', '__package__': '',"
        f" '__file__': {str(MAIN)!r}}})\n"
    )
    done = subprocess.run([sys.executable, "-c", start], capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 1
    first, second = done.stderr.splitlines()
    assert first == f"error: cannot start: No module named {lost!r}" and hint in second


def _no_attribute() -> AttributeError:
    try:
        return ModuleType("msgspec").Meta  # type: ignore[no-any-return]
    except AttributeError as error:
        return error


@pytest.mark.parametrize(
    ("error", "hint"),
    [
        (_no_attribute(), INSTALL_AGAIN),
        (ModuleNotFoundError("No module named 'difflib'", name="difflib"), "apt install python3"),
        (ModuleNotFoundError("No module named 'msgspec._core'", name="msgspec._core"), INSTALL_AGAIN),
        (ImportError("cannot import name 'target' from 'perfdiag.capture'", name="perfdiag.capture"), INSTALL_AGAIN),
        (ImportError("x.so: failed to map segment from shared object"), "noexec"),
    ],
)
def test_half_an_installation_is_named_with_what_helps(
    error: Exception, hint: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    status, said = said_of(error, monkeypatch, capfd)
    assert status == 1
    first, second = said.splitlines()
    assert first.startswith("error: ") and "bug in perfdiag" not in first and hint in second


def test_another_python_than_the_compiled_parts_are_for_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "EXTENSION_SUFFIXES", [".cpython-313-x86_64-linux-musl.so"])
    lost = ModuleNotFoundError("No module named 'msgspec._core'", name="msgspec._core")
    assert "with glibc" in cli._import_hint(lost)


def test_a_report_that_finds_no_room_says_what_to_do(tmp_path: Path) -> None:
    path = recording(tmp_path)
    with open("/dev/full", "w") as full:
        for options in ([], ["--full"], ["--json"]):
            done = subprocess.run(
                [sys.executable, "-IB", MAIN, "report", *options, path],
                stdout=full, stderr=subprocess.PIPE, text=True, timeout=30, check=False,
            )  # fmt: skip
            first, second = done.stderr.splitlines()
            assert (done.returncode, first) == (1, "error: No space left on device")
            assert second.startswith("HINT: make room there")


@pytest.mark.parametrize("arguments", [["--help"], ["explain", "CPU-CONTENTION"], ["completion", "bash"]])
def test_a_reader_that_has_gone_has_seen_enough(arguments: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([sys.executable, "-IB", MAIN, *arguments], stdout=writer, stderr=subprocess.PIPE, timeout=30)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_reader_that_has_gone_does_not_change_the_exit_code(tmp_path: Path) -> None:
    path = tmp_path / "x.rec"
    path.write_bytes(RECORDING)
    reader, writer = os.pipe()
    os.close(reader)
    for option in ([], ["--full"], ["--json"]):
        command = [sys.executable, "-IB", MAIN, "report", "--exit-code", *option, path]
        done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, timeout=30)
        assert (done.returncode, done.stderr) == (10, b""), option
    os.close(writer)


def test_nobody_listening_to_messages_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    with open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stderr", full)
        progress.say("hello")
        monkeypatch.undo()
        with pytest.raises(OSError, match="No space"):
            full.close()
