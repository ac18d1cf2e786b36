"""throttled.bt: a thread that may compute for a fifth of the time stands still for the rest of it."""

from __future__ import annotations

import pytest

from lab.support.guest import Guest
from lab.support.host import guest_cgroup
from live.support.fixtures import Start, Trace


def test_a_quota_of_20_percent(guest: Guest, start: Start, trace: Trace) -> None:
    with guest_cgroup(guest, "cpu", "quota", cfs_period_us=100_000, cfs_quota_us=20_000) as group:
        workload = start("spin", "--duration-ms", 3000, prepare=f"echo $pid >{group}/cgroup.procs")
        script = trace("throttled", workload)
        truth = workload.run()
        seen = script.stop(example=True)
        witness_ns = int(dict(line.split() for line in (group / "cpu.stat").read_text().splitlines())["throttled_time"])
    throttled = seen.stats("@throttled", group.name)
    assert throttled.total == pytest.approx(witness_ns, rel=0.1, abs=100_000_000), (throttled, witness_ns, truth)
    assert throttled.total <= 1.02 * (truth["wall_ns"] - truth["cpu_ns"]) + 50_000_000
    assert throttled.count == sum(seen.histogram("@throttled_ns").values()) > 5
    assert sum(seen.sums("@groups").values()) >= throttled.count


def test_without_a_quota_nobody_is_throttled(start: Start, trace: Trace) -> None:
    """Waits for a CPU alone do not count."""
    workload = start("spin", "--threads", 2, "--cpu", 1, "--duration-ms", 1000)
    script = trace("throttled", workload)
    workload.run()
    assert not script.stop().maps
