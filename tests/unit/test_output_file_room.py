"""The file of a recording gets no room: its lines are whole, and what it held before is told."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import pytest
from perfdiag.capture import output_file
from perfdiag.common.errors import PerfdiagError

from unit.support.house import begun


@contextmanager
def room_for(size_bytes: int) -> Iterator[None]:
    """Files of who is started now get no longer than that."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_half_a_line_is_taken_back(tmp_path: Path) -> None:
    """A file at its limit, a full disk: its lines are whole."""
    path, limit = tmp_path / "x.rec", 10_007
    with room_for(limit):
        file = begun(path)
    line = b"x" * 99 + b"\n"
    os.write(file.fd, line * 101)
    with pytest.raises(PerfdiagError, match="cut short after 10,000 bytes: File too large"):
        file.check()
    assert path.read_bytes() == line * 100


@pytest.mark.parametrize(("old", "gone"), [("", ""), ("my precious notes\n", ", and the 18 bytes it held are gone")])
def test_a_recording_for_which_there_is_no_room(old: str, gone: str, tmp_path: Path) -> None:
    path = tmp_path / "x.rec"
    if old:
        path.write_text(old)
    with room_for(50):
        file = begun(path)
    os.write(file.fd, b"x" * 99 + b"\n")
    with pytest.raises(PerfdiagError, match=f"nothing was written to {path}{gone}: File too large") as caught:
        file.check()
    assert "ulimit -f" in (caught.value.hint or "")
    assert path.exists() == bool(old), "the folder is root's, and whoever writes is not root any more"


@contextmanager
def no_room_in(folder: Path) -> Iterator[None]:
    """A file system of its own there, of which nothing is left but a page for the tables."""
    run = partial(subprocess.run, check=True)
    run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", folder])
    try:
        yield
    finally:
        run(["umount", "-l", folder])  # the writer may not have ended yet


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a full file system")
@pytest.mark.parametrize("left", [0, 8192])
def test_a_report_for_which_there_is_no_room_leaves_the_old_one(left: int, tmp_path: Path) -> None:
    path = tmp_path / "report.txt"
    with no_room_in(tmp_path):
        path.write_text("the old report\n")
        fill = tmp_path / "fill"
        with suppress(OSError):
            fill.write_bytes(bytes(65536))
        os.truncate(fill, fill.stat().st_size - left)
        file = output_file.create(str(path), whole=True)
        file.begin()
        with suppress(BrokenPipeError):
            os.write(file.fd, b"x" * 20_000)
        with pytest.raises(PerfdiagError, match=f"{path} is as it was: No space left on device"):
            file.check_report()
        assert path.read_text() == "the old report\n"
        assert sorted(each.name for each in tmp_path.iterdir()) == ["fill", "report.txt"]


def test_a_report_replaces_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "report.txt"
    path.write_text("the old report, which is longer\n")
    file = output_file.create(str(path), whole=True)
    file.begin()
    os.write(file.fd, b"the new report\n")
    file.check_report()
    assert path.read_text() == "the new report\n" and path.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["report.txt"]
