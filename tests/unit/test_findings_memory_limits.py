"""MEM-DIRTY-THROTTLE and MEM-CGROUP-LIMIT."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from perfdiag.diagnosis.rule import Check, Confidence, RemedyKind, Severity, Silence
from perfdiag.facts.host_facts import MemoryGroup, WritebackLimits
from perfdiag.model.model import Model
from perfdiag.recording import schema

from unit.support import Builder
from unit.support.judging import check, finding, knowing, outcomes, silence

DIRTY, CGROUP = "MEM-DIRTY-THROTTLE", "MEM-CGROUP-LIMIT"
MIB = 1 << 20


def paused(model: Model, own: int | None, taken: int | None) -> Model:
    activity = None if taken is None else SimpleNamespace(written_bytes=taken)
    disk = SimpleNamespace(name="sdb", label=None, activity=activity)
    return knowing(
        model,
        disks={"8:16": disk},
        processes={100: SimpleNamespace(written_bytes=own)},
        writeback_limits={},
        dirty_limits=SimpleNamespace(dirty_bytes=900 * MIB, threshold_bytes=1000 * MIB),
    )


def writer() -> Model:
    builder = Builder().thread(cpu_user="1 s")
    return builder.row("memory.dirty_throttle", "device:8:16", durations={"100 ms": 30}).model()


def test_a_victim_is_told_from_the_writer() -> None:
    found = finding(paused(writer(), own=10 * MIB, taken=500 * MIB), DIRTY)
    assert found.confidence is Confidence.HIGH and found.severity is Severity.WARNING
    assert dict(found.claims) == {("memory.dirty_throttle", "device:8:16"): 3_000_000_000}
    assert any("/sys/class/bdi/8:16/max_ratio" in remedy.text for remedy in found.remedies)
    itself = finding(paused(writer(), own=500 * MIB, taken=500 * MIB), DIRTY)
    assert not any("max_ratio" in remedy.text for remedy in itself.remedies)  # it would be paused earlier


def test_who_writes_most_is_no_victim() -> None:
    assert finding(paused(writer(), own=450 * MIB, taken=500 * MIB), DIRTY)


def test_without_counters_nobody_is_accused() -> None:
    found = finding(paused(writer(), own=None, taken=None), DIRTY)
    assert found.confidence is Confidence.MEDIUM and "others" not in found.claim


def dirtied(own: int, other: int) -> Builder:
    builder = Builder().thread(cpu_user="1 s").row("memory.dirty_throttle", "device:8:16", durations={"100 ms": 30})
    builder.writeback("8:16", 90 * MIB, written_bytes=40 * MIB, span="10 s")
    builder.dirtier("8:16", "app", own * MIB).dirtier("8:16", "dd", other * MIB, pid=700)
    return builder.dirtier("8:0", "dd", 900 * MIB, pid=700)  # another device is another queue


def test_whose_dirty_pages_is_counted_writer_by_writer() -> None:
    limits = {"8:16": WritebackLimits("8:16", max_ratio=100, strict=False)}
    known = {"writeback_limits": limits, "disks": {}, "mounts": [], "processes": {}}
    found = finding(knowing(dirtied(own=2, other=38).model(), **known), DIRTY)
    assert "95 %" in found.claim and "700" in found.claim and found.confidence is Confidence.HIGH
    assert any("40.0 MiB" in e.text for e in found.evidence)
    assert any("4.00 MiB" in each.text for each in found.evidence)
    assert "dd (700)" in found.remedies[0].text
    trial = found.remedies[1]
    assert trial.kind is RemedyKind.TRY and trial.text == "echo 10 > /sys/class/bdi/8:16/max_ratio"
    assert trial.undo == "echo 100 > /sys/class/bdi/8:16/max_ratio"
    itself = finding(knowing(dirtied(own=38, other=2).model(), **known), DIRTY)
    assert all(each.kind is RemedyKind.FIX for each in itself.remedies)


def test_of_many_processes_the_one_that_dirties_most_is_named() -> None:
    """A whole host as the target: culprit and victims are both of it."""
    builder = dirtied(own=2, other=38).target(700, "dd")
    found = finding(knowing(builder.model(), disks={}, mounts=[], processes={}, writeback_limits={}), DIRTY)
    assert "700" in found.claim and "95 %" in found.claim
    assert any("(dd (700) 38.0 MiB, app (100) 2.00 MiB)" in each.text for each in found.evidence)


def test_a_small_part_of_the_limit_can_be_made_larger() -> None:
    limits = {"8:16": WritebackLimits("8:16", max_ratio=1, strict=True)}
    model = knowing(dirtied(own=38, other=2).model(), writeback_limits=limits, disks={}, mounts=[], processes={})
    assert finding(model, DIRTY).remedies[0].text == "echo 2 > /sys/class/bdi/8:16/max_ratio"


@pytest.mark.parametrize(("mebibytes", "named"), [(900, True), (270, True), (180, False)])  # the own one has 90
def test_another_device_that_fills_the_limit_is_named(mebibytes: int, named: bool) -> None:
    builder = dirtied(own=38, other=2).writeback("0:45", mebibytes * MIB, written_bytes=10 * MIB, span="10 s")
    found = finding(knowing(builder.model(), disks={}, mounts=[], processes={}, writeback_limits={}), DIRTY)
    assert any("another slow mount" in each for each in found.alternatives) is not named


def test_writers_that_were_not_all_counted_accuse_nobody() -> None:
    model = dirtied(own=2, other=38).lost(dirtiers_full=5).model()
    found = finding(knowing(model, disks={}, mounts=[], processes={}, writeback_limits={}), DIRTY)
    assert "dd" not in found.claim and found.confidence is Confidence.MEDIUM


def test_a_short_pause_is_fine() -> None:
    model = Builder().thread(cpu_user="5 s").row("memory.dirty_throttle", "device:8:16", "20 ms", count=2).model()
    assert check(model, DIRTY).number < 0.01


def test_pauses_not_measured_are_not_fine() -> None:
    assert "not measured" in silence(Builder().thread(cpu_user="1 s").without("dirty_throttle").model(), DIRTY).reason


def group(
    depth: int = 2,
    version: int = 2,
    limit: float = 512 * MIB,
    soft: float = math.inf,
    changes: dict[str, int] | None = None,
    **events: int,
) -> MemoryGroup:
    return MemoryGroup(
        path="/sys/fs/cgroup/my app.slice",
        version=version,
        pids=(100,),
        inode=77,
        depth=depth,
        limit_bytes=limit,
        high_bytes=soft,
        usage_bytes=500 * MIB,
        swap_limit_bytes=None,
        events=events,
        stat={},
        changes=changes or {},
    )


def limited(*groups: MemoryGroup, host: int = 0, refaults: int = 0, read: int = 0, **accounts: Any) -> Model:
    model = Builder().thread(cpu_user="1 s", **accounts).model()
    counters = {"allocstall": host, "pgscan_kswapd": host, "workingset_refault_file": refaults}
    return knowing(model, memory_groups=groups, vmstat=counters, processes={100: SimpleNamespace(read_bytes=read)})


def test_the_limit_is_named_with_its_events_and_no_trial_that_could_kill() -> None:
    found = finding(limited(group(max=900), memory_cgroup=("3 s", 900)), CGROUP)
    assert "512 MiB" in found.claim and "my app.slice" in found.claim
    assert dict(found.claims) == {"memory.cgroup": 3_000_000_000}
    assert "at the limit 900 times" in found.evidence[-1].text
    assert all(remedy.kind is RemedyKind.FIX for remedy in found.remedies)
    assert "'/sys/fs/cgroup/my app.slice/memory.events'" in found.verify


def test_the_use_that_fills_the_limit_is_named() -> None:
    stat = {"anon": 100 * MIB, "file": 390 * MIB, "shmem": 380 * MIB, "kernel": MIB}
    found = finding(limited(replace(group(max=900), stat=stat), memory_cgroup="3 s"), CGROUP)
    assert found.headline.startswith("Tmpfs and shared memory take 380 MiB of the memory limit of 512 MiB of ")
    assert "df -t tmpfs" in found.remedies[0].text
    slowed = finding(
        limited(replace(group(soft=400 * MIB, high=9), stat=stat), memory_cgroup="3 s"), "MEM-HIGH-THROTTLE"
    )
    assert "df -t tmpfs" in slowed.remedies[0].text and any("500 MiB in use" in each.text for each in slowed.evidence)


def test_swap_and_faults_follow_from_the_limit_only_if_the_host_had_memory() -> None:
    accounts = {"memory_cgroup": "1 s", "memory_swap_in": "2 s", "memory_major_fault": "500 ms"}
    evicted = {"refaults": 800_000, "read": 3_000_000_000}
    alone = finding(limited(group(max=900), **evicted, **accounts), CGROUP)
    assert sum(alone.claims.values()) == 3_500_000_000
    short = finding(limited(group(max=900), host=5, **evicted, **accounts), CGROUP)
    assert dict(short.claims) == {"memory.cgroup": 1_000_000_000}


def test_reads_of_evicted_pages_follow_from_the_limit() -> None:
    accounts = {"memory_cgroup": "100 ms", "disk_read": "6 s"}
    for refaults, claimed in ((800_000, 6_000_000_000), (500_000, 4_096_000_000), (50_000, None)):
        model = limited(group(max=900), refaults=refaults, read=3_000_000_000, **accounts)
        assert finding(model, CGROUP).claims.get("disk.read") == claimed
    host_short = limited(group(max=900), host=3, refaults=800_000, read=3_000_000_000, **accounts)
    assert "disk.read" not in finding(host_short, CGROUP).claims


def test_what_the_group_counts_itself_stands_before_the_hosts_counter() -> None:
    """A neighbour reads evicted pages again by the thousand, the group none: its reads do not follow from its limit."""
    accounts = {"memory_cgroup": "100 ms", "disk_read": "6 s"}
    own = group(max=900, changes={"workingset_refault_file": 100})
    assert "disk.read" not in finding(limited(own, refaults=800_000, read=3_000_000_000, **accounts), CGROUP).claims
    own = group(max=900, changes={"workingset_refault_file": 800_000})
    found = finding(limited(own, refaults=800_000, read=3_000_000_000, **accounts), CGROUP)
    assert found.claims["disk.read"] == 6_000_000_000 and not any("whole host" in limit for limit in found.limits)


def test_faults_on_pages_touched_once_are_not_the_limits() -> None:
    accounts = {"memory_cgroup": "100 ms", "memory_major_fault": "6 s"}
    for refaults, claimed in ((800_000, 6_000_000_000), (500_000, 4_096_000_000), (50_000, None)):
        found = finding(limited(group(max=900), refaults=refaults, read=3_000_000_000, **accounts), CGROUP)
        assert found.claims.get("memory.major_fault") == claimed
        assert any("evicted" in each.text for each in found.evidence) == (claimed is not None)


def test_version_1_has_no_events_to_look_at() -> None:
    found = finding(limited(group(version=1, max=900), memory_cgroup="3 s"), CGROUP)
    assert "/memory.failcnt'" in found.verify and "memory.events" not in found.verify


def test_time_for_the_soft_limit_alone_is_not_the_hard_limits() -> None:
    model = limited(group(soft=400 * MIB, limit=math.inf, high=70), memory_cgroup="3 s")
    assert check(model, CGROUP).text.endswith("0 % of busy time, hit 0 times")


def test_a_kill_at_the_limit_is_critical_whatever_the_time() -> None:
    found = finding(limited(group(max=3, oom=1, oom_kill=1)), CGROUP)
    assert found.severity is Severity.CRITICAL and "OOM killer ended 1 process " in found.claim


def test_a_kill_for_the_hosts_shortage_is_not_the_groups_limit() -> None:
    assert isinstance(outcomes(limited(group(oom_kill=1)), CGROUP)[0], Check)


def test_a_limit_that_costs_nothing_is_checked() -> None:
    assert "hit 4 times" in check(limited(group(max=4), memory_cgroup="5 ms"), CGROUP).text


def test_waits_without_readable_groups_lower_the_confidence() -> None:
    found = finding(limited(memory_cgroup="3 s"), CGROUP)
    assert found.confidence is Confidence.MEDIUM and any("could not be read" in limit for limit in found.limits)


def test_reclaim_not_measured_is_said() -> None:
    model = knowing(Builder().thread(cpu_user="1 s").without("reclaim").model(), memory_groups=())
    said = outcomes(model, CGROUP)
    assert [type(each) for each in said] == [Silence]


def test_no_device_is_anything_but_two_numbers() -> None:
    line = schema.Writeback(device="8:0", cgroup=0, rounds=1, dirty_bytes=1, written_bytes=1, span_ns=1)
    said = msgspec.json.encode(line)
    assert msgspec.json.decode(said, type=schema.Writeback) == line
    for device in ("8:0; sh", "8:0\n", ":", "8", "-1:0"):
        with pytest.raises(msgspec.ValidationError):
            msgspec.json.decode(said.replace(b'"8:0"', msgspec.json.encode(device)), type=schema.Writeback)


def test_an_object_that_is_no_device_gets_into_no_command() -> None:
    model = Builder().thread(cpu_user="2 s").row("memory.dirty_throttle", "task:9:\x1b[31mx", "1 s", count=9).model()
    found = finding(model, DIRTY)  # judges the texts
    assert "task" not in " ".join(remedy.text for remedy in found.remedies)
