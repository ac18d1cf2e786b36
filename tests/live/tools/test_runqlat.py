"""runqlat.bt: threads that share a CPU wait for it just as long as they do not run."""

from __future__ import annotations

import os

import pytest

from live.support.fixtures import Start, Trace

SHARED_CPU = max(os.sched_getaffinity(0))


def test_two_threads_share_a_cpu(start: Start, trace: Trace) -> None:
    """Each of them can run all the time: what it does not run it waits."""
    spin = start("spin", "--threads", 2, "--cpu", SHARED_CPU, "--duration-ms", 2000)
    script = trace("runqlat", spin)
    truth = spin.run()
    seen = script.stop(example=True)
    waits = seen.stats("@waits")
    waited_ns = truth["wall_ns"] - truth["cpu_ns"]
    assert waits.total == pytest.approx(waited_ns, rel=0.05)
    assert waits.count == sum(seen.histogram("@wait_ns").values()) > 100
    assert waits.total / waits.count < seen.number("@longest_ns") < waited_ns
    assert sum(seen.sums("@behind_ns").values()) == waits.total
    assert seen.unseen <= 0.05 * waits.count  # the kernel skips a probe while another tracer reads a map on this CPU


def test_others_are_not_traced(start: Start, trace: Trace) -> None:
    script = trace("runqlat", start("sleeper"))
    start("spin", "--threads", 2, "--cpu", SHARED_CPU, "--duration-ms", 300).run()
    assert set(script.stop().maps) <= {"@unseen"}
