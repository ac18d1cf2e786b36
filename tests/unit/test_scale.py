"""Reports of large targets: the work grows as the target does, not as its square."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from perfdiag import report
from perfdiag.config import Config
from perfdiag.findings import diagnose
from perfdiag.model import Model

from unit.support import Builder


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


def calls(model: Model) -> int:
    """Return how many functions a report of this model calls."""
    number = 0

    def count(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal number
        number += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        report.make(model, diagnose(model), Config())
    finally:
        sys.setprofile(before)
    return number


@pytest.mark.parametrize("build", [lasting, ending, crowding])
def test_twice_the_target_takes_twice_the_work(build: Any) -> None:
    """What compares all with all would take four times; n log n takes a little more than two."""
    calls(build(2))  # what is done once only
    small, large = calls(build(200)), calls(build(400))
    assert large < 2.4 * small, f"{small:,} calls for 200 threads, {large:,} for 400"
