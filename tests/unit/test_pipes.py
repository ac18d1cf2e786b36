"""Commands that are given a pipe: nobody writes into it yet, or it is one that only root may open."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from perfdiag import pipes, progress
from perfdiag.commands import host, report
from perfdiag.errors import PerfdiagError


def test_a_report_of_a_pipe_says_that_it_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Said once, and what is written then is read to its end."""
    monkeypatch.setattr(report, "PATIENCE_S", 0.05)
    path = tmp_path / "pipe"
    os.mkfifo(path)
    said: list[str] = []

    def say(*lines: str) -> None:
        said.extend(lines)
        threading.Thread(target=path.write_bytes, args=(b"a line\n",)).start()

    monkeypatch.setattr(progress, "say", say)
    with report._opened(str(path)) as stream:
        assert os.get_blocking(stream.fileno()) and stream.read() == b"a line\n"
    (line,) = said
    assert f"{path} is a pipe that nobody has written into yet" in line


def test_what_has_something_to_say_is_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"")
    with pipes.opened(str(path), 0, lambda: pytest.fail("a file is no pipe")) as stream:
        assert stream.read() == b""
    with pytest.raises(IsADirectoryError):
        pipes.opened(str(tmp_path), 0, lambda: None)


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
