"""Tests that may never end, each asked of a child process."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from perfdiag.common import deadline


def hangs_or_holds(path: Path) -> bool:
    """A test that does not return for a FIFO, ends its process for "dead", and passes for what has content."""
    if path.name == "dead":
        os.kill(os.getpid(), signal.SIGKILL)
    return bool(path.read_bytes())


def test_those_that_hang_keep_nobody_from_being_asked(tmp_path: Path) -> None:
    names = ("full", "fifo", "empty", "dead", "also full", "another fifo")
    paths = [tmp_path / name for name in names]
    for path in paths:
        if "fifo" in path.name:
            os.mkfifo(path)
        else:
            path.write_text("x" * ("full" in path.name))
    passed, silent = deadline.which(paths, hangs_or_holds, silence_s=0.5, deadline_s=60)
    assert [path.name for path in passed] == ["full", "also full"]
    assert [path.name for path in silent] == ["fifo", "dead", "another fifo"]


def test_all_together_have_a_deadline() -> None:
    begin = time.monotonic()
    passed, silent = deadline.which(range(1000), lambda number: bool(time.sleep(600)), silence_s=0.05, deadline_s=0.2)
    assert passed == [] and silent == list(range(1000)) and time.monotonic() - begin < 30


def test_no_descriptor_of_the_parent_stays_open_in_a_child_that_hangs() -> None:
    reader, writer = os.pipe()
    with deadline.child(lambda answers: (answers.send(b"begun"), time.sleep(600))[1]) as receive:
        assert receive(time.monotonic() + 30)[0] == b"begun"
        os.close(writer)
        assert os.read(reader, 1) == b"", "nobody else has it"
        with pytest.raises(TimeoutError):
            receive(time.monotonic() + 0.1)
    os.close(reader)
