"""CPU-QUOTA-THROTTLED and CPU-STOLEN: CPU time the target was refused."""

from __future__ import annotations

import math
from typing import Any

import pytest
from perfdiag.diagnosis.rule import Confidence, Finding, RemedyKind, Severity, Silence
from perfdiag.facts.host_facts import CpuGroup, Hypervisor
from perfdiag.facts.texts import Texts
from perfdiag.model.model import Model

from unit.support import Builder
from unit.support.judging import check, finding, findings, knowing, outcomes, silence
from unit.support.known import blank

QUOTA, STOLEN = "CPU-QUOTA-THROTTLED", "CPU-STOLEN"


def group(**fields: Any) -> CpuGroup:
    known: dict[str, Any] = dict(
        path="/sys/fs/cgroup/job",
        version=2,
        pids=(100,),
        inode=42,
        depth=1,
        quota_cpus=0.2,
        period_ns=100_000_000,
        weight=100,
        periods=100,
        throttled_periods=98,
        throttled_ns=7_900_000_000,
        usage_ns=2_000_000_000,
    )
    return blank(CpuGroup, **(known | fields))


def limited(time: str = "7 s", **facts: Any) -> Model:
    model = Builder().thread("job", cpu_user="2 s").row("runq.throttled", "cgroup:42", time, count=98).model()
    return knowing(model, **({"cpu_groups": [group()]} | facts))


def test_a_quota_that_was_hit_names_group_and_value() -> None:
    found = finding(limited(), QUOTA)
    assert found.severity is Severity.WARNING and found.confidence is Confidence.HIGH
    assert "0.2 CPUs (/sys/fs/cgroup/job)" in found.claim and found.claims["runq.throttled"] == 7_000_000_000
    first = found.remedies[0]
    assert first.kind is RemedyKind.TRY
    assert first.text == "echo '90000 100000' > /sys/fs/cgroup/job/cpu.max"
    assert first.undo == "echo '20000 100000' > /sys/fs/cgroup/job/cpu.max" and "20000" in first.present_value
    assert any("98 of 100 periods" in evidence.text for evidence in found.evidence)
    assert not any("7.9" in evidence.text for evidence in found.evidence), "one throttling has one time: 7 s"


def test_version_1_has_its_own_file() -> None:
    first = finding(limited(cpu_groups=[group(version=1, path="/sys/fs/cgroup/cpu/job")]), QUOTA).remedies[0]
    assert (first.text, first.undo) == (
        "echo 90000 > /sys/fs/cgroup/cpu/job/cpu.cfs_quota_us",
        "echo 20000 > /sys/fs/cgroup/cpu/job/cpu.cfs_quota_us",
    )


def test_the_group_that_waited_is_named_not_the_tightest() -> None:
    other = group(path="/sys/fs/cgroup/other", inode=7, quota_cpus=0.1, throttled_ns=9_000_000_000)
    assert "/sys/fs/cgroup/job" in finding(limited(cpu_groups=[other, group()]), QUOTA).claim


def test_a_quota_that_was_not_hit_is_fine() -> None:
    calm = group(quota_cpus=2.0, throttled_periods=0, throttled_ns=0)
    assert "smallest quota 2 CPUs" in check(limited("5 ms", cpu_groups=[calm]), QUOTA).text
    assert "no quota" in check(limited("5 ms", cpu_groups=[group(quota_cpus=math.inf)]), QUOTA).text


def test_an_unread_quota_is_no_absent_one() -> None:
    assert "quotas not read" in check(limited("5 ms", cpu_groups=[]), QUOTA).text
    found = finding(limited(cpu_groups=[]), QUOTA)
    assert found.confidence is Confidence.MEDIUM and all(r.kind is RemedyKind.FIX for r in found.remedies)


def test_who_used_up_its_own_reservation_blames_nobody_else() -> None:
    """SCHED_DEADLINE, 5 of each 50 ms: it was said to wait for a CPU used by other processes."""
    builder = Builder().thread("job", tid=104, cpu_user="2 s").row("runq.throttled", "deadline", "5 s", count=150)
    found = finding(builder.model(), QUOTA)
    assert found.claims[("runq.throttled", "deadline")] == 5_000_000_000 and found.confidence is Confidence.HIGH
    assert "SCHED_DEADLINE" in found.headline and "chrt -p 104 " in found.remedies[0].text
    both = builder.row("runq.throttled", "cgroup:42", "3 s", count=30).model()
    reserved, quota = findings(knowing(both, cpu_groups=[group()]), QUOTA)
    assert reserved.claims != quota.claims and quota.claims["runq.throttled"] == 3_000_000_000
    assert "/sys/fs/cgroup/job" in quota.claim
    assert "104" not in reserved.remedies[0].text, "that time may be of the quota"


def test_of_threads_the_one_that_reserved_is_named() -> None:
    builder = Builder().thread("other", pid=7, tid=7).row("runq.throttled", "cgroup:42", "8 s", count=30)
    builder.thread("job", pid=9, tid=10, cpu_user="2 s").row("runq.throttled", "deadline", "5 s", count=150)
    assert "thread job (10)" in findings(builder.model(), QUOTA)[0].remedies[0].text
    fold = Builder().thread("job", pid=9, tid=0, cpu_user="2 s").row("runq.throttled", "deadline", "5 s", count=150)
    assert "chrt -p TID" in finding(fold.model(), QUOTA).remedies[0].text


def test_real_time_threads_are_stopped_by_the_kernels_limit_for_them() -> None:
    """200 ms of each second, a CPU idle for the rest: it was said to wait for a CPU used by other processes."""
    builder = Builder().thread("mixer", tid=104, cpu_user="2 s").row("runq.throttled", "realtime", "5 s", count=9)
    limit = {"/proc/sys/kernel/sched_rt_runtime_us": "200000\n", "/proc/sys/kernel/sched_rt_period_us": "1000000\n"}
    for path, text in limit.items():
        builder.fact(path, text)
    found = finding(builder.model(), QUOTA)
    assert found.claims == {("runq.throttled", "realtime"): 5_000_000_000} and found.confidence is Confidence.HIGH
    assert "200 of each 1000 ms" in found.headline
    raised, ordinary, *_ = found.remedies
    assert (raised.text, raised.undo) == tuple(f"sysctl -w kernel.sched_rt_runtime_us={us}" for us in (950000, 200000))
    assert "chrt -o -p 0 104" in ordinary.text


@pytest.mark.parametrize("runtime_us", ["950000", "-1", "9" * 5000, ""])
def test_the_default_limit_of_real_time_threads_is_not_raised(runtime_us: str) -> None:
    builder = Builder().thread("mixer", tid=104, cpu_user="2 s").row("runq.throttled", "realtime", "5 s", count=9)
    builder.fact("/proc/sys/kernel/sched_rt_period_us", "1000000\n")
    if runtime_us:
        builder.fact("/proc/sys/kernel/sched_rt_runtime_us", runtime_us)
    found = finding(builder.model(), QUOTA)
    assert "chrt -o -p 0 104" in found.remedies[0].text


def test_a_reservation_is_no_cost_of_a_quota() -> None:
    builder = Builder().thread("job", cpu_user="2 s").row("runq.throttled", "deadline", "5 ms", count=3)
    assert check(builder.model(), QUOTA).number == 0
    model = builder.row("runq.throttled", "deadline", "5 s", count=150).without("throttle").model()
    found, silent = outcomes(model, QUOTA)
    assert isinstance(found, Finding) and "SCHED_DEADLINE" in found.headline
    assert isinstance(silent, Silence) and "not measured" in silent.reason


def test_a_throttled_group_of_which_the_target_shows_nothing_is_a_riddle() -> None:
    model = knowing(Builder().thread("job", cpu_user="2 s").model(), cpu_groups=[group()])
    assert silence(model, QUOTA)


def unmeasured(**facts: Any) -> Model:
    return knowing(Builder().thread("job", cpu_user="2 s").without("throttle").model(), **facts)


def test_without_the_throttled_clock_the_groups_counters_still_speak() -> None:
    found = finding(unmeasured(cpu_groups=[group()]), QUOTA)
    assert "98 of 100 periods" in found.claim and not found.claims and found.confidence is Confidence.MEDIUM
    assert check(unmeasured(cpu_groups=[group(throttled_periods=0)]), QUOTA).number == 0
    assert "no CPU quota" in check(unmeasured(cpu_groups=[group(quota_cpus=math.inf)]), QUOTA).text


def test_with_neither_it_cannot_tell() -> None:
    assert "not measured" in silence(unmeasured(), QUOTA).reason
    assert "not measured" in silence(unmeasured(cpu_groups=[group(quota_cpus=None)]), QUOTA).reason


# CPU-STOLEN


def guest(stolen: str = "2 s", name: str = "kvm", **facts: Any) -> Model:
    model = Builder().thread("job", cpu_user="4 s", cpu_stolen=(stolen, 50)).model()
    return knowing(model, **({"hypervisor": Hypervisor(name, "a test")} | facts))


def test_stolen_time_names_the_hypervisor() -> None:
    found = finding(guest(cpu_times_ns={"user": 60, "idle": 10, "steal": 30}), STOLEN)
    assert found.severity is Severity.WARNING and "(kvm)" in found.claim
    assert found.claims["cpu.stolen"] == 2_000_000_000
    assert any("30 %" in evidence.text for evidence in found.evidence)


def test_a_little_steal_is_listed_with_its_number() -> None:
    assert check(guest("8 ms"), STOLEN).number == pytest.approx(0.002, rel=0.01)


def calm(name: str, **facts: Any) -> Model:
    model = Builder().thread("job", cpu_user="4 s").model()
    return knowing(model, hypervisor=Hypervisor(name, "a test"), **facts)


def test_bare_metal_has_no_steal() -> None:
    assert "bare metal" in check(calm("none"), STOLEN).text


def test_a_counter_that_never_moved_is_no_proof() -> None:
    """VMware and others report no steal unless told to."""
    model = calm("vmware", cpu_times_ns={"user": 10, "idle": 5, "steal": 0})
    assert "never moved" in silence(model, STOLEN).reason


def test_a_counter_that_moved_before_the_window_is_trusted() -> None:
    model = calm("kvm", cpu_times_ns={"user": 10, "steal": 0})
    model.facts.__dict__["texts"] = Texts(
        Builder().fact("/proc/stat", "cpu  5 0 5 90 0 0 0 77 0 0\ncpu0 1 2 3\n").recording().facts
    )
    assert check(model, STOLEN).number == 0


def test_no_steal_clock_is_said_with_what_the_host_counts() -> None:
    model = knowing(
        Builder().thread("job", cpu_user="4 s").without("steal").model(),
        hypervisor=Hypervisor("kvm", "a test"),
        cpu_times_ns={"user": 50, "steal": 50},
    )
    assert "/proc/stat" in silence(model, STOLEN).reason and "50 %" in silence(model, STOLEN).reason
