"""MEM-MAJOR-FAULTS, MEM-SWAP-IN and MEM-RECLAIM."""

from __future__ import annotations

from dataclasses import replace

import pytest
from perfdiag.diagnosis.rule import Confidence, Mechanism, RemedyKind, Severity
from perfdiag.facts.host_facts import MemoryGroup, Mount, Swap
from perfdiag.model.model import Model

from unit.support import Builder
from unit.support.judging import check, finding, knowing, silence
from unit.support.known import blank

FAULTS, SWAP, RECLAIM = "MEM-MAJOR-FAULTS", "MEM-SWAP-IN", "MEM-RECLAIM"


def faulting(durations: dict[str, int]) -> Builder:
    return Builder().thread(cpu_user="1 s").row("memory.major_fault", "file:254:0:12", durations=durations)


def evicted(own: int, host: int = 20_000, *, reclaimed: dict[str, int] | None = None, **events: int) -> Model:
    """Faults in a cgroup whose own counter says `own`, on a host whose counter says `host`; `reclaimed` there."""
    group = blank(
        MemoryGroup,
        path="/sys/fs/cgroup/db",
        pids=(100,),
        depth=1,
        events=events,
        changes={"workingset_refault_file": own} | (reclaimed or {}),
    )
    model = faulting({"1 ms": 3000}).model()
    return knowing(model, vmstat={"workingset_refault_file": host}, memory_groups=[group], mounts=[], disks={})


def test_pages_of_the_targets_own_cgroup_that_come_back_show_that_memory_is_too_small() -> None:
    found = finding(evicted(own=3_000), FAULTS)
    assert found.severity is Severity.WARNING and "too small" in found.claim and "inode 12" in found.claim
    assert found.confidence is Confidence.HIGH and "memory.low" in found.remedies[0].text
    assert "grep workingset_refault /sys/fs/cgroup/db/memory.stat " in found.verify
    assert "raise the memory limit" in finding(evicted(own=3_000, max=9), FAULTS).remedies[0].text


def test_pages_that_come_back_where_nothing_is_reclaimed_were_paged_out_by_request() -> None:
    """MADV_PAGEOUT and DAMON count as eviction, and not as reclaim."""
    model = evicted(own=3_000, reclaimed={"pgsteal_kswapd": 0, "pgsteal_direct": 90, "pgsteal_proactive": 3_000})
    found = finding(model, FAULTS)
    assert (found.severity, found.mechanism) == (Severity.INFO, Mechanism.OTHERS)
    assert [each.value for each in found.evidence if each.unit == "count"] == [3_000, 90]


def test_pages_that_come_back_while_as_many_are_reclaimed_show_a_shortage() -> None:
    for counter in ("pgsteal_kswapd", "pgsteal_direct", "pgsteal_khugepaged"):
        found = finding(evicted(own=3_000, reclaimed={counter: 3_100}), FAULTS)
        assert (found.severity, found.mechanism) == (Severity.WARNING, Mechanism.LIMIT), counter


def test_what_a_group_of_version_1_reclaims_is_counted_for_the_host() -> None:
    """Its memory.stat does not count it, and pgsteal_direct of the host leaves out what limits of cgroups reclaim."""
    for stolen, severity in ((100, Severity.INFO), (3_100, Severity.WARNING)):
        counters = {"pgsteal_direct": 0, "pgsteal_anon": 0, "pgsteal_file": stolen}
        model = knowing(evicted(own=3_000), vmstat={"workingset_refault_file": 3_000} | counters)
        assert finding(model, FAULTS).severity is severity


def test_a_group_of_version_1_counts_those_below_it_under_another_name() -> None:
    model = evicted(own=0)
    (group,) = model.facts.memory_groups
    below = replace(group, changes={"workingset_refault_file": 0, "total_workingset_refault_file": 3_000})
    assert "too small" in finding(knowing(model, memory_groups=[below]), FAULTS).claim


def test_pages_that_come_back_to_a_neighbour_say_nothing_of_the_target() -> None:
    found = finding(evicted(own=0), FAULTS)
    assert found.severity is Severity.INFO and "had not evicted them" in found.claim


def test_refaults_of_the_host_are_a_fact_of_the_host() -> None:
    model = knowing(
        faulting({"1 ms": 3000}).model(),
        vmstat={"workingset_refault_file": 20_000},
        memory_groups=[],
        mounts=[],
        disks={},
    )
    found = finding(model, FAULTS)
    assert found.severity is Severity.WARNING and "on a host that reads evicted pages again" in found.claim
    assert "too small" not in found.claim and found.confidence is Confidence.MEDIUM


def test_first_reads_of_a_cold_file_are_profile() -> None:
    found = finding(knowing(faulting({"1 ms": 3000}).model(), vmstat={"workingset_refault_file": 100}), FAULTS)
    assert found.severity is Severity.INFO and "were not in memory, and the kernel had not evicted them" in found.claim
    assert found.confidence is Confidence.HIGH


def test_the_file_is_named_by_its_inode_and_the_function_that_touches_it() -> None:
    builder = faulting({"1 ms": 3000})
    builder.stack("wait", "memory.major_fault", user=["scan (db)"], count=20).stack(
        "wait", "memory.major_fault", user=["0x4711 (db)"], count=10
    )
    root = blank(Mount, device="254:0", source="/dev/vda", fstype="ext4", mountpoint="/srv/my data", root="/")
    model = knowing(builder.model(), mounts=[root], disks={}, vmstat={"workingset_refault_file": 0})
    found = finding(model, FAULTS)
    assert "find '/srv/my data' -xdev -inum 12 names the file" in found.remedies[0].text
    assert any("touched in scan (db): 67 % of 30 sampled waits" in each.text for each in found.evidence)


def test_a_file_that_is_not_known_is_no_file_to_read_ahead() -> None:
    """Most of the time without an object: the few faults that have one do not stand for it."""
    builder = Builder().thread(cpu_user="1 s").row("memory.major_fault", "", durations={"1 ms": 3000})
    builder.row("memory.major_fault", "file:254:0:12", durations={"1 ms": 100})
    found = finding(knowing(builder.model(), vmstat={"workingset_refault_file": 0}), FAULTS)
    assert "which file is not known" in found.limits and "inode" not in found.claim
    assert "vmtouch" not in found.remedies[0].text and "perf trace -F maj" in found.remedies[0].text


def test_first_reads_from_a_slow_device_are_a_fault() -> None:
    found = finding(knowing(faulting({"40 ms": 100}).model(), vmstat={"workingset_refault_file": 0}), FAULTS)
    assert found.severity is Severity.WARNING and "slow device" in found.claim


def test_few_major_faults_are_fine() -> None:
    assert check(faulting({"1 ms": 5}).model(), FAULTS).number < 0.01


def test_without_the_refault_counter_nothing_is_said_of_eviction() -> None:
    found = finding(knowing(faulting({"1 ms": 3000}).model()), FAULTS)
    assert found.severity is Severity.INFO and found.confidence is Confidence.MEDIUM
    assert any("had been in memory" in limit for limit in found.limits)


def swapping(stolen: int | None = None, **swap: int | None) -> list[object]:
    model = Builder().thread(cpu_user="1 s").row("memory.swap_in", "", durations={"4 ms": 500}).model()
    known = Swap(
        **(
            {
                "total_bytes": 1 << 30,
                "used_bytes": 1 << 29,
                "pages_in": 500,
                "pages_out": 0,
                "swappiness": 60,
            }
            | swap
        )
    )  # type: ignore[arg-type]
    counters = {} if stolen is None else {"pgsteal_anon": stolen, "pgsteal_file": 0}
    return [finding(knowing(model, swap=known, processes={}, vmstat=counters), SWAP)]


def test_swapping_now_offers_a_trial_with_undo() -> None:
    (found,) = swapping(pages_out=9_000)
    assert "short now" in found.claim and found.severity is Severity.WARNING
    trial = found.remedies[0]  # what can be undone stands first
    assert trial.kind is RemedyKind.TRY
    assert (trial.text, trial.undo) == ("sysctl -w vm.swappiness=10", "sysctl -w vm.swappiness=60")
    assert trial.present_value == "vm.swappiness = 60"


def test_swapping_by_request_is_no_shortage_of_now() -> None:
    (found,) = swapping(pages_out=9_000, stolen=20)
    assert all(remedy.kind is RemedyKind.FIX for remedy in found.remedies)
    (short,) = swapping(pages_out=9_000, stolen=9_000)
    assert short.remedies[0].kind is RemedyKind.TRY


def test_a_shortage_of_the_past_needs_no_trial() -> None:
    (found,) = swapping()
    assert all(remedy.kind is RemedyKind.FIX for remedy in found.remedies)


def test_a_low_swappiness_is_not_lowered() -> None:
    (found,) = swapping(pages_out=9_000, swappiness=1)
    assert all(remedy.kind is RemedyKind.FIX for remedy in found.remedies)


def test_unknown_swap_traffic_lowers_the_confidence() -> None:
    (found,) = swapping(pages_in=None, pages_out=None)
    assert found.confidence is Confidence.MEDIUM and "short now" not in found.claim


def test_hardly_any_swap_is_fine() -> None:
    model = Builder().thread(cpu_user="1 s").row("memory.swap_in", "", "5 ms", count=3).model()
    assert check(model, SWAP).text.endswith("of busy time")


def test_direct_reclaim_is_named_with_the_hosts_stalls() -> None:
    model = Builder().thread(cpu_user="1 s", memory_reclaim=("2 s", 900)).model()
    found = finding(
        knowing(
            model,
            vmstat={"allocstall": 1200},
            meminfo={"MemAvailable": 50 << 20},
            sysctl={"vm/watermark_scale_factor": "10"},
        ),
        RECLAIM,
    )
    assert dict(found.claims) == {"memory.reclaim": 2_000_000_000} and found.severity is Severity.WARNING
    assert [evidence.value for evidence in found.evidence[1:]] == [1200, 50 << 20]
    assert found.remedies[0].undo == "sysctl -w vm.watermark_scale_factor=10"


@pytest.mark.parametrize("scale", ["9" * 5000, "-1", "\u00b2"])
def test_a_watermark_scale_that_is_none_is_not_raised(scale: str) -> None:
    model = Builder().thread(cpu_user="1 s", memory_reclaim=("2 s", 900)).model()
    found = finding(knowing(model, sysctl={"vm/watermark_scale_factor": scale}), RECLAIM)
    assert not any("watermark" in each.text for each in found.remedies)


def test_a_setting_that_was_not_recorded_is_not_offered() -> None:
    model = Builder().thread(cpu_user="1 s", memory_reclaim=("2 s", 900)).model()
    assert all(remedy.kind is RemedyKind.FIX for remedy in finding(knowing(model), RECLAIM).remedies)


def test_what_the_background_freed_stands_beside_what_threads_had_to() -> None:
    model = Builder().thread(cpu_user="1 s", memory_reclaim=("2 s", 900)).model()
    counters = {"pgsteal_kswapd": 7_000, "pgscan_kswapd": 9_000, "pgsteal_direct": 20_000, "pgscan_direct": 50_000}
    found = finding(knowing(model, vmstat=counters), RECLAIM)
    (freed,) = [each for each in found.evidence if "kswapd" in each.text]
    assert "7,000" in freed.text and "9,000" in freed.text and "20,000" in freed.text and "50,000" in freed.text


def test_a_touch_of_reclaim_is_fine() -> None:
    assert check(Builder().thread(cpu_user="5 s", memory_reclaim=("20 ms", 9)).model(), RECLAIM).number < 0.01


def test_reclaim_not_measured_is_not_fine() -> None:
    model = Builder().thread(cpu_user="5 s").without("reclaim").model()
    assert "not measured" in silence(model, RECLAIM).reason
