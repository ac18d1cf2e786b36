"""Commands that are given a pipe: nobody writes into it yet, or it is one that only root may open."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from perfdiag.capture import progress
from perfdiag.commands import host, input_files, report
from perfdiag.common.errors import PerfdiagError

from unit.support.waiting import until


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a report told people while it waited, which it does not do for long."""
    lines: list[str] = []
    monkeypatch.setattr(report, "PATIENCE_S", 0.05)
    monkeypatch.setattr(progress, "say", lambda *told: lines.extend(told))
    return lines


def test_a_report_of_a_pipe_says_that_it_waits(tmp_path: Path, said: list[str]) -> None:
    """Said once, and what is written then is read to its end."""
    path = tmp_path / "pipe"
    os.mkfifo(path)

    def write() -> None:
        until(lambda: said, "it says that it waits")
        path.write_bytes(b"a line\n")

    threading.Thread(target=write).start()
    with report._opened(str(path)) as stream:
        assert os.get_blocking(stream.fileno()) and stream.read() == b"a line\n"
    (line,) = said
    assert f"{path} has no data yet" in line


def test_whatever_has_nothing_to_read_is_said_to_be_waited_for(said: list[str]) -> None:
    """A terminal, as trace_pipe of the kernel: neither is a pipe."""
    master, slave = os.openpty()

    def write() -> None:
        until(lambda: said, "it says that it waits")
        os.write(master, b"a line\n")

    threading.Thread(target=write).start()
    with report._opened(os.ttyname(slave)) as stream:
        assert stream.readline() == b"a line\n"
    os.close(master)
    os.close(slave)


def test_what_has_something_to_say_is_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"")
    with input_files.opened(str(path), 0, lambda: pytest.fail("a file is no pipe")) as stream:
        assert stream.read() == b""
    with pytest.raises(IsADirectoryError):
        input_files.opened(str(tmp_path), 0, lambda: None)


@pytest.mark.parametrize(
    ("path", "hint"), [("/dev/fd/63", "COMMAND | perfdiag host --since TIME --log -"), ("/srv/log", "--log - < FILE")]
)
def test_who_may_not_read_a_log_is_told_how(path: str, hint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe that a shell made for root belongs to root, and perfdiag is nobody by then."""

    def refused(*_: object, **__: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refused)
    monkeypatch.setattr(host.privileges, "drop", lambda: None)
    with pytest.raises(PerfdiagError, match=f"cannot read {path}: Permission denied") as told:
        host._look_back(0, 1, path, host.Clocks.now())
    assert told.value.hint and told.value.hint.endswith(hint)
