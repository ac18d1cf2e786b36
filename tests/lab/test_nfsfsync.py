"""nfsfsync.bt: flushes of a server with a slow disk, against the workload's clock and the kernel's own counts."""

from __future__ import annotations

import pytest

from lab.support.guest import Guest
from lab.support.nfs import nfs
from live.support.fixtures import Cleanup, Start, Trace

FLUSH_MS = 50
MILLISECOND = 1_000_000
SMALL, LARGE = (64 << 10, 13), (2 << 20, 7)  # bytes, flushes: what is small is one WRITE, stable at once

pytestmark = pytest.mark.timeout(240)


@pytest.mark.parametrize("size", [SMALL, LARGE], ids=["small", "large"])
@pytest.mark.parametrize("version", [3, 4.2])
def test_flushes(
    version: float, size: tuple[int, int], guest: Guest, cleanup: Cleanup, start: Start, trace: Trace
) -> None:
    """What the server takes for each flush of its disk is in a COMMIT, or in the WRITE that is to be stable."""
    mount = cleanup.enter_context(nfs(guest, version=version, flush_ms=FLUSH_MS))
    each, count = size
    options = ("--mode", "fsync", "--count", count, "--bytes", each, "--append", 0)
    flush = start("flush", *options, "--file", mount.mountpoint / "data")
    script = trace("nfsfsync", flush)
    before = mount.calls()
    truth = flush.run()
    after = mount.calls()
    seen = script.stop(example=size == LARGE and version > 4)
    key = tuple(mount.object.removeprefix("mount:").split(":"))
    assert truth["flush_ns"] >= count * FLUSH_MS * MILLISECOND, "the disk was not slow: nothing was tested"
    flushes = seen.stats("@flushes", *key)
    assert flushes.count == count == sum(seen.histogram("@flush_ns", *key).values())
    assert 0.95 * truth["flush_ns"] <= flushes.total <= truth["flush_ns"]
    assert flushes.total / count <= seen.number("@longest_ns", *key) <= truth["worst_ns"]
    slow = {"WRITE": "@write_ns", "COMMIT": "@commit_ns"}
    if size == SMALL:
        del slow["COMMIT"]
        assert "@commit_ns" not in seen.maps
    for procedure, name in slow.items():
        calls, _, wire_ms, _ = (
            late - early for late, early in zip(after[procedure], before.get(procedure, (0, 0, 0, 0)), strict=True)
        )
        found = seen.stats(name, *key)
        assert found.count == calls, (procedure, after)
        assert found.total >= (wire_ms - calls) * MILLISECOND  # the kernel rounds; the queue and the reply come on top
    least = count * FLUSH_MS * MILLISECOND
    assert seen.stats("@write_ns" if size == SMALL else "@commit_ns", *key).total >= least
    assert "@failed" not in seen.maps and seen.unseen == 0


def test_others_are_not_traced(guest: Guest, cleanup: Cleanup, start: Start, trace: Trace) -> None:
    mount = cleanup.enter_context(nfs(guest))
    script = trace("nfsfsync", start("sleeper"))
    start("flush", "--count", 7, "--file", mount.mountpoint / "data").run()
    assert set(script.stop().maps) <= {"@unseen"}
