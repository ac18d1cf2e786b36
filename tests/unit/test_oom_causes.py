"""Why memory ran out and why the victim was chosen: real reports, and near misses made from them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from perfdiag.diagnosis.evidence.memory.oom_causes import (
    Cause,
    Holder,
    cause_of,
    fragmented,
    group_holdings,
    holdings,
)
from perfdiag.diagnosis.evidence.memory.oom_explanation import explain
from perfdiag.diagnosis.evidence.memory.oom_victims import Why, choice_of, growth_of
from perfdiag.diagnosis.rule import Confidence, RemedyKind
from perfdiag.facts.oom.oom_report import GroupMemory, HostMemory, Report, Task, Victim, Zone

from unit.support.oom import KERNELS, explained, log, only, reports

MIB = 1 << 20

# What devour was told to do in the lab: what must be said of it, and the megabytes it took.
TRUTH = {
    "cgroup": (Cause.CGROUP, Holder.ANONYMOUS, 32),
    "cgroup_shared": (Cause.CGROUP, Holder.SHARED, 32),
    "cgroup_whole": (Cause.CGROUP, Holder.ANONYMOUS, 32),
    "host": (Cause.HOST, Holder.ANONYMOUS, 1850),
    "shared": (Cause.CACHE, Holder.SHARED, 1790),
    "locked": (Cause.CACHE, Holder.LOCKED_FILE, 1700),
    "dirty": (Cause.HOST, Holder.ANONYMOUS, 1400),
    "fragmented": (Cause.FRAGMENTATION, Holder.OTHER, 750),
    "cpuset": (Cause.NUMA, Holder.ANONYMOUS, 900),
}


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", TRUTH)
def test_the_cause_is_what_was_done(kernel: str, name: str) -> None:
    cause, holder, mebibytes = TRUTH[name]
    found = explained(f"{kernel}/{name}")
    report = found.report
    assert found.cause is cause and f"Cause: {cause.value}." in found.claim
    held = group_holdings(report.group) if report.group else holdings(report.host) if report.host else []
    size = next(each.bytes for each in held if each.holder is holder)
    assert 0.9 * mebibytes * MIB < size < 1.1 * mebibytes * MIB, (holder, size / MIB)
    largest = max((each for each in held if each.holder is not Holder.FREE), key=lambda each: each.bytes)
    assert largest.holder is holder
    assert found.confidence is Confidence.HIGH and not found.limits
    assert found.remedies and all(remedy.kind is RemedyKind.FIX for remedy in found.remedies)
    assert found.verify and found.evidence


@pytest.mark.parametrize("kernel", KERNELS)
def test_nothing_is_counted_twice(kernel: str) -> None:
    for name in ("host", "shared", "locked", "dirty", "fragmented"):
        host = reports(log(f"{kernel}/{name}"))[0].host
        assert host and host.usable_bytes
        assert sum(each.bytes for each in holdings(host)) == pytest.approx(host.usable_bytes, rel=0.01)


@pytest.mark.parametrize("kernel", KERNELS)
def test_cached_memory_is_taken_apart(kernel: str) -> None:
    (text,) = [each.text for each in explained(f"{kernel}/shared").evidence if each.unit == "share"]
    assert "shared memory 1.7" in text
    (text,) = [each.text for each in explained(f"{kernel}/dirty").evidence if each.unit == "share"]
    assert "dirty" in text and "writeback" in text
    assert "1000 MiB" in explained("7.2/cpuset").claim


# Near misses of a class


def host(**pages: int) -> HostMemory:
    counts = {"active_anon": 0, "inactive_anon": 0, "active_file": 0, "inactive_file": 0, "free": 100, **pages}
    return HostMemory(counts, cache_pages=0, total_pages=10_000, reserved_pages=0)


def report(memory: HostMemory | None, **changes: object) -> Report:
    base = Report(1, None, True, "x", 7, 0, "GFP_KERNEL", "CONSTRAINT_NONE", host=memory)
    return replace(base, **changes)  # type: ignore[arg-type]  # fields by name


def test_cache_in_the_way_must_be_more_than_all_else() -> None:
    assert cause_of(report(host(inactive_anon=9_000, shmem=4_000))) is Cause.HOST
    assert cause_of(report(host(inactive_anon=9_000, shmem=5_000))) is Cause.CACHE
    # Shared memory and pages to be written each hold less than processes, together more.
    both = host(inactive_anon=6_000, shmem=2_500, inactive_file=2_000, dirty=1_500)
    assert cause_of(report(both)) is Cause.CACHE


def test_clean_cache_is_never_in_the_way() -> None:
    assert cause_of(report(replace(host(inactive_anon=900, inactive_file=8_000), cache_pages=8_000))) is Cause.HOST


def zone(free: int, blocks: dict[int, int], reserved: int = 0) -> Zone:
    return Zone(0, "Normal", free, 10 * MIB, reserved, blocks)


def test_fragmentation_wants_enough_memory_to_be_free() -> None:
    pages = {4096: 50_000, 16384: 0}
    assert fragmented(replace(host(), zones=[zone(200 * MIB, pages)]), order=2)
    assert not fragmented(replace(host(), zones=[zone(200 * MIB, pages)]), order=0)
    assert not fragmented(replace(host(), zones=[zone(9 * MIB, pages)]), order=2)  # below its watermark
    assert not fragmented(replace(host(), zones=[zone(200 * MIB, {4096: 50_000, 32768: 9})]), order=2)
    assert not fragmented(replace(host(), zones=[zone(200 * MIB, pages, reserved=60_000)]), order=2)  # kept back
    assert not fragmented(replace(host(), zones=[zone(200 * MIB, {})]), order=2)  # blocks not told


def test_what_the_log_does_not_say_is_unknown() -> None:
    nothing = explain(report(None))
    assert nothing.cause is Cause.UNKNOWN and nothing.confidence is Confidence.LOW and nothing.limits
    assert cause_of(report(host(inactive_anon=9_000), mixed=True)) is Cause.UNKNOWN
    assert cause_of(report(None, order=-1)) is Cause.BY_HAND


def test_swap_that_was_free_is_a_doubt() -> None:
    swap = replace(host(inactive_anon=9_000), swap_total_bytes=1000 * MIB, swap_free_bytes=900 * MIB)
    assert explain(report(swap)).confidence is Confidence.MEDIUM
    full = replace(swap, swap_free_bytes=0)
    assert explain(report(full)).confidence is Confidence.HIGH


def test_a_group_of_version_1_has_its_own_words() -> None:
    stat = {"cache": 4096, "rss": 69 * MIB, "shmem": 4096, "active_file": 0, "inactive_file": 0}
    group = GroupMemory("/web", limit_bytes=70 * MIB, stat=stat)
    report = replace(only("6.1/cgroup"), group=group)
    found = explain(report)
    assert "mostly with process memory" in found.claim and "memory.limit_in_bytes" in " ".join(
        each.text for each in found.remedies
    )
    assert "/sys/fs/cgroup/memory/web/memory.oom_control" in found.verify
    without = explain(replace(report, group=replace(group, stat={**stat, "rss": 0})))
    assert "mostly" not in without.claim and "tmpfs" not in " ".join(each.text for each in without.remedies)


# The victim


def chosen(*tasks: Task, victim: int = 1, **changes: object) -> Why:
    found = report(host(inactive_anon=9_000), victims=(Victim(victim, "x"),), chosen_pid=victim, tasks=tasks, **changes)
    return choice_of(found).why


def task(pid: int, mebibytes: int, adjustment: int = 0) -> Task:
    return Task(pid, f"task{pid}", mebibytes * MIB, 0, 0, adjustment)


def test_why_it_was_the_victim() -> None:
    assert chosen(task(1, 30), task(2, 20)) is Why.LARGEST
    assert chosen(task(1, 10, 500), task(2, 20)) is Why.ADJUSTED
    assert chosen(task(1, 10, 100), task(2, 20)) is Why.NOT_TOLD  # 3.9 MiB more: not enough
    assert chosen(task(1, 10), task(2, 20, -1000)) is Why.LARGEST  # nobody may kill the other
    assert chosen(task(1, 10), task(2, 20, -900)) is Why.SPARED
    assert chosen(task(2, 20)) is Why.NOT_TOLD
    assert chosen(task(1, 10), task(2, 20), allocating=True) is Why.ALLOCATING


def test_one_table_cannot_tell_who_grew_but_two_can() -> None:
    first, second = reports(log("6.1/shared"))
    assert growth_of(first, []) is None
    earlier = replace(second, at_ns=0, tasks=[replace(each, resident_bytes=0) for each in second.tasks])
    growth = growth_of(replace(second, at_ns=5_000_000_000), [earlier])
    assert growth and growth.since_ns == 5_000_000_000 and growth.bytes > 0
    assert any("grew most" in each.text for each in explain(second, [earlier]).evidence)


def test_tables_of_other_groups_tell_nothing() -> None:
    one = only("6.1/cgroup")
    assert growth_of(one, [replace(one, group=GroupMemory("/other"))]) is None
    assert growth_of(one, reports(log("6.1/host"))) is None


@pytest.mark.parametrize(
    ("pages", "offered"),
    [
        ({"inactive_file": 8_000, "dirty": 7_000}, True),
        ({"shmem": 8_000, "inactive_file": 900, "dirty": 500}, False),
        ({"shmem": 8_000}, False),
    ],
)
def test_a_slow_disk_is_offered_only_where_pages_wait_for_one(pages: dict[str, int], offered: bool) -> None:
    found = explain(report(host(**pages)))
    assert found.cause is Cause.CACHE
