"""pgcache.bt: the first read of each page of a slow disk is a miss, the next one a hit."""

from __future__ import annotations

import mmap
import os
from pathlib import Path

import pytest

from live.support.fixtures import Cleanup, Start, Trace
from live.support.host import slow_disk

MEBIBYTES = 17
COUNT = 51
READ_US = 5000


def test_a_file_that_is_read_three_times(tmp_path: Path, cleanup: Cleanup, start: Start, trace: Trace) -> None:
    """A page of each MiB: the first round comes from the disk."""
    disk = cleanup.enter_context(slow_disk(tmp_path, "ext4", read_us=READ_US, fill={"data": MEBIBYTES}))
    data = disk.mountpoint / "data"
    read = start("read", "--mode", "buffered", "--count", COUNT, "--file", data)
    script = trace("pgcache", read)
    truth = read.run()
    seen = script.stop(example=True)
    key = ("read", "data", str(data.stat().st_ino))
    hits, misses = seen.stats("@hit_ns", *key), seen.stats("@miss_ns", *key)
    assert (hits.count, misses.count) == (COUNT - MEBIBYTES, MEBIBYTES)
    assert seen.number("@hit_percent", *key) == 100 * (COUNT - MEBIBYTES) // COUNT
    assert seen.number("@read_bytes", *key) == COUNT * 4096
    assert MEBIBYTES * READ_US * 1000 <= misses.total <= truth["read_ns"]
    assert 0.9 * truth["read_ns"] <= hits.total + misses.total <= truth["read_ns"]
    assert seen.unseen <= 1  # the read that it waits in for its start


@pytest.mark.parametrize("mode", ["direct", "sendfile"])
def test_reads_past_the_cache_and_out_of_it(
    mode: str, tmp_path: Path, cleanup: Cleanup, start: Start, trace: Trace
) -> None:
    disk = cleanup.enter_context(slow_disk(tmp_path, "ext4", read_us=500, fill={"data": MEBIBYTES}))
    read = start("read", "--mode", mode, "--count", COUNT, "--file", disk.mountpoint / "data")
    script = trace("pgcache", read)
    read.run()
    seen = script.stop()
    if mode == "sendfile":
        assert seen.stats("@miss_ns", "read", "data").count == MEBIBYTES
        assert seen.stats("@hit_ns", "read", "data").count == COUNT - MEBIBYTES
    else:
        assert not {"@miss_ns", "@hit_ns"} & seen.maps.keys()


def test_a_file_that_is_mapped(tmp_path: Path, cleanup: Cleanup, start: Start, trace: Trace) -> None:
    """Page faults are no reads: what they bring in stands for itself."""
    disk = cleanup.enter_context(slow_disk(tmp_path, "ext4", read_us=500, fill={"data": MEBIBYTES}))
    data = disk.mountpoint / "data"
    fault = start("major_fault", "--count", 13, "--file", data)
    script = trace("pgcache", fault)
    fault.run()
    seen = script.stop()
    number = data.stat()
    device = os.major(number.st_dev) << 20 | os.minor(number.st_dev)
    assert seen.number("@added", "major_fault", str(device), str(number.st_ino)) >= 13
    assert not any(key[1:2] == ("data",) for name in ("@hit_ns", "@miss_ns") for key in seen.maps.get(name, {}))


def test_others_are_not_traced(tmp_path: Path, trace: Trace, start: Start) -> None:
    script = trace("pgcache", start("sleeper"))
    (tmp_path / "data").write_bytes(bytes(mmap.PAGESIZE))
    (tmp_path / "data").read_bytes()
    assert set(script.stop().maps) <= {"@unseen"}
