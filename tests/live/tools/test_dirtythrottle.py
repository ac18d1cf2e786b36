"""dirtythrottle.bt: a writer that is paused for its own pages has slept just as long as the script says."""

from __future__ import annotations

from pathlib import Path

import pytest

from live.support.fixtures import Cleanup, Start, Trace
from live.support.host import MEBIBYTE, slow_file

COUNT = 97


@pytest.mark.may_skip("FUSE in the kernel")
def test_a_writer_is_paused(tmp_path: Path, cleanup: Cleanup, start: Start, trace: Trace) -> None:
    """FUSE has a limit of dirty pages of its own: its writers are paused, and nobody else."""
    with (tmp_path / "backing").open("wb") as file:
        file.truncate(MEBIBYTE)
    slow = cleanup.enter_context(slow_file(tmp_path, tmp_path / "backing", write_us=5000, writeback=True))
    flush = start("flush", "--mode", "none", "--count", COUNT, "--bytes", MEBIBYTE // 8, "--file", slow.file)
    script = trace("dirtythrottle", flush)
    truth = flush.run()
    seen = script.stop(example=True)
    assert truth["write_ns"] > 200_000_000, "nobody was paused: nothing was tested"
    device = slow.settings.name
    pauses = seen.stats("@pauses", device, "flush", str(flush.pid))
    paused_ns = truth["write_ns"] - truth["queued_ns"] - truth["cpu_ns"]  # of neighbours it may wait for a CPU
    assert 0.9 * paused_ns <= pauses.total <= truth["write_ns"]
    assert sum(seen.histogram("@pause_ns", device).values()) == pauses.count <= truth["blocks"]
    assert pauses.total / pauses.count <= seen.number("@longest_ns", device) < 300_000_000
    assert 0 < seen.number("@dirty_pages") < seen.number("@limit_pages"), "it is the device's own limit that is met"
    assert seen.unseen <= 1, "a timer that comes while a program runs on that CPU is left out by the kernel"


def test_others_are_not_traced(tmp_path: Path, cleanup: Cleanup, start: Start, trace: Trace) -> None:
    with (tmp_path / "backing").open("wb") as file:
        file.truncate(MEBIBYTE)
    slow = cleanup.enter_context(slow_file(tmp_path, tmp_path / "backing", write_us=5000, writeback=True))
    script = trace("dirtythrottle", start("sleeper"))
    flush = start("flush", "--mode", "none", "--count", COUNT // 4, "--bytes", MEBIBYTE // 8, "--file", slow.file)
    assert flush.run()["write_ns"] > 50_000_000, "nobody was paused: nothing was tested"
    assert set(script.stop().maps) <= {"@unseen"}
