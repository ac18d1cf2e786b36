"""flushlat.bt: every flush is counted, under its file, and takes as long as its caller has waited."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from live.support.fixtures import Cleanup, Start, Trace
from live.support.host import slow_disk

FLUSH_US = 20_000


def test_flushes_of_a_slow_disk(tmp_path: Path, cleanup: Cleanup, start: Start, trace: Trace) -> None:
    disk = cleanup.enter_context(slow_disk(tmp_path, "ext4", flush_us=FLUSH_US))
    flush = start("flush", "--mode", "fsync", "--count", 23, "--file", disk.mountpoint / "journal.db")
    script = trace("flushlat", flush)
    truth = flush.run()
    seen = script.stop(example=True)
    flushes = seen.stats("@flushes", "journal.db")
    assert flushes.count == 23 == sum(seen.histogram("@flush_ns", "journal.db").values())
    assert flushes.total == pytest.approx(truth["flush_ns"], rel=0.05)
    assert 0.95 * truth["worst_ns"] <= seen.number("@longest_ns", "journal.db") <= truth["worst_ns"]
    assert truth["flush_ns"] > 23 * FLUSH_US * 1000, "the disk was not slow: nothing was tested"
    assert "@failed" not in seen.maps and seen.unseen == 0


@pytest.mark.parametrize(("mode", "file"), [("fdatasync", "data"), ("sync_file_range", "data"), ("msync", "(msync)")])
def test_other_ways_to_flush(mode: str, file: str, tmp_path: Path, start: Start, trace: Trace) -> None:
    flush = start("flush", "--mode", mode, "--count", 23, "--file", tmp_path / "data")
    script = trace("flushlat", flush)
    truth = flush.run()
    flushes = script.stop().stats("@flushes", file)
    assert flushes.count == 23
    assert flushes.total <= truth["flush_ns"]


def test_a_flush_that_fails(trace: Trace) -> None:
    """A pipe cannot be flushed: its file has no name, the error is EINVAL."""
    script = trace("flushlat", os.getpid())
    reader, writer = os.pipe()
    with pytest.raises(OSError):
        os.fsync(writer)
    os.close(reader)
    os.close(writer)
    with pytest.raises(OSError):
        os.fsync(writer)  # it is closed: a flush of nothing
    seen = script.stop()
    assert seen.sums("@failed") == {"": 1}
    assert seen.number("@failed", "", "22") == 1


def test_others_are_not_traced(tmp_path: Path, start: Start, trace: Trace) -> None:
    flush = start("flush", "--count", 23, "--file", tmp_path / "data")
    script = trace("flushlat", os.getpid())
    flush.run()
    assert set(script.stop().maps) <= {"@unseen"}
