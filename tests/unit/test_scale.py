"""Reports of large targets: the work grows as the target does, not as its square."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from perfdiag import report
from perfdiag.config import Config
from perfdiag.findings import diagnose
from perfdiag.findings.nfs_use import uses
from perfdiag.model import Model

from unit.support import Builder
from unit.support.nfs import rpc
from unit.support.work import function_calls


def lasting(size: int) -> Model:
    """Threads that compete with as many neighbours, each for a lock of its own."""
    builder = Builder()
    for number in range(size):
        builder.thread(f"worker-{number}", cpu_user="100 ms", net_receive="100 ms", rest="wait.timer")
        builder.row("runq.busy", f"task:{5000 + number}:neighbour", "200 ms", count=10)
        builder.row("wait.parked", f"futex:{0x1000 + 8 * number:#x}", "50 ms", count=10)
        builder.stack("wait", "wait.parked", user=["pthread_mutex_lock (libc.so.6)", f"f{number} (app)"],
                      object=f"futex:{0x1000 + 8 * number:#x}", weight="50 ms")  # fmt: skip
    return builder.model()


def ending(size: int) -> Model:
    """Processes that live for moments beside threads that stay."""
    builder = Builder(window="1 s")
    for number in range(size):
        builder.thread(f"worker-{number}", cpu_user="100 ms")
        builder.exited(f"child-{number}", wall="5 ms", cpu_user="3 ms", rest="cpu.kernel")
    return builder.model()


def crowding(size: int) -> Model:
    """Threads that are always on a CPU."""
    builder = Builder()
    for number in range(size):
        builder.thread(f"worker-{number}", cpu_user="9900 ms")
    return builder.model()


def mounting(size: int) -> Model:
    """A thread that flushes to many NFS mounts."""
    builder = Builder().thread(nfs_commit="7 s")
    for number in range(size):
        builder.row("nfs.commit", f"mount:1:{number}", "5 ms", count=1)
        rpc(builder, "COMMIT", {"5 ms": 1}, object=f"mount:1:{number}")
    return builder.model()


class Counted(list[Any]):
    """A list that knows how often it was gone through."""

    times = 0

    def __iter__(self) -> Iterator[Any]:
        self.times += 1
        return super().__iter__()


def test_calls_of_nfs_are_gone_through_once_however_many_mounts_and_rules_there_are() -> None:
    model = mounting(100)
    lines, rows = Counted(model.rpcs), Counted(model.rows)
    diagnose(replace(model, rpcs=lines))
    assert lines.times == 1
    changed = replace(model, rows=rows)
    assert uses(changed) is uses(changed) and rows.times == 1  # computed for it once, and not taken from the other


def calls(model: Model) -> int:
    """Return how many functions a report of this model calls."""
    return function_calls(lambda: report.make(model, diagnose(model), Config()))


@pytest.mark.parametrize("build", [lasting, ending, crowding, mounting])
def test_twice_the_target_takes_twice_the_work(build: Any) -> None:
    """What compares all with all would take four times; n log n takes a little more than two."""
    calls(build(2))  # what is done once only
    small, large = calls(build(200)), calls(build(400))
    assert large < 2.4 * small, f"{small:,} calls for 200 threads, {large:,} for 400"
