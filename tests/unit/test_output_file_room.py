"""The file of a recording gets no room: its lines are whole, and what it held before is told."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
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
