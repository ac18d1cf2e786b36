"""MEM-CACHE-MISSES: what was evicted and is read again, against what is read for the first time."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Confidence, Severity
from perfdiag.facts.host_facts import MemoryGroup
from perfdiag.model.model import Model

from unit.support import Builder
from unit.support.judging import check, finding, knowing, silence
from unit.support.known import blank

MISSES = "MEM-CACHE-MISSES"
MIB = 1 << 20
PAGES = 256  # of 4 KiB in one MiB
TABLE = "file:254:0:12:orders.ibd"


def reading() -> Builder:
    return Builder().thread(cpu_user="1 s").row("disk.read", "device:254:0", durations={"4 ms": 1000})


def known(model: Model, *, read: int | None = 400 * MIB, asked: int | None = 1000 * MIB, **facts: Any) -> Model:
    process = SimpleNamespace(read_bytes=read, read_characters=asked, anonymous_bytes=None)
    return knowing(model, **({"processes": {100: process}, "memory_groups": [], "disks": {}} | facts))


def in_group(refaults: int, **events: int) -> list[MemoryGroup]:
    counted = {"workingset_refault_file": refaults, "workingset_activate_file": refaults // 2}
    return [blank(MemoryGroup, path="/sys/fs/cgroup/db", pids=(100,), depth=1, events=events, changes=counted)]


def test_pages_that_come_back_are_the_fault_of_memory() -> None:
    builder = reading().file_read(TABLE, 350 * MIB, size_bytes=200 * MIB, waits=900, waited="3.6 s")
    found = finding(known(builder.model(), memory_groups=in_group(300 * PAGES)), MISSES)
    assert found.severity is Severity.WARNING and found.confidence is Confidence.HIGH
    assert dict(found.claims) == {"disk.read": 3_000_000_000}  # 300 of 400 MiB
    assert "75 %" in found.claim and "orders.ibd" in found.claim
    texts = [each.text for each in found.evidence]
    assert any(each.unit == "share" and round(each.value, 3) == 0.6 for each in found.evidence)
    assert any("350 MiB" in text for text in texts)
    assert any("150 MiB" in text for text in texts)
    assert any("38,400" in text for text in texts)
    assert "memory.low" in found.remedies[0].text


def test_pages_that_come_back_where_nothing_is_reclaimed_are_profile() -> None:
    """They were paged out by request, or by a shortage that has passed."""
    for stolen, severity in ((0, Severity.INFO), (300 * PAGES, Severity.WARNING)):
        (group,) = in_group(300 * PAGES)
        group.changes["pgsteal_kswapd"] = stolen  # type: ignore[index]
        found = finding(known(reading().model(), memory_groups=[group]), MISSES)
        assert found.severity is severity and dict(found.claims) == {"disk.read": 3_000_000_000}


def test_a_group_at_its_limit_is_told_by_its_limit() -> None:
    found = finding(known(reading().model(), memory_groups=in_group(300 * PAGES, high=9)), MISSES)
    assert "raise the memory limit" in found.remedies[0].text


def test_the_limit_that_was_reached_is_the_one_to_raise() -> None:
    """A larger memory.max changes nothing where memory.high is reached."""
    (group,) = in_group(300 * PAGES, high=9)
    limited = replace(group, version=2, high_bytes=100 * MIB, limit_bytes=400 * MIB)
    (first, *_) = finding(known(reading().model(), memory_groups=[limited]), MISSES).remedies
    assert first.text.startswith("raise memory.high of /sys/fs/cgroup/db (now 100 MiB)"), first.text


def test_what_no_list_of_processes_shows_is_named() -> None:
    """Files left in a tmpfs took most of a limit: "use less memory", which the target's own figures did not show."""
    (group,) = in_group(300 * PAGES, max=9)
    stat = {"anon": 2 * MIB, "file": 70 * MIB, "shmem": 52 * MIB, "kernel": 1000}
    full = replace(group, stat=stat, limit_bytes=72 * MIB, usage_bytes=72 * MIB)
    found = finding(known(reading().model(), memory_groups=[full]), MISSES)
    assert found.headline.endswith("from disk again: tmpfs and shared memory take 52.0 MiB of 72.0 MiB")
    assert "df -t tmpfs" in found.remedies[0].text and "raise memory.limit_in_bytes" in found.remedies[1].text
    used = "72.0 MiB in use: tmpfs and shared memory 52.0 MiB, page cache 18.0 MiB"
    assert any(each.text == used for each in found.evidence)
    shared = replace(full, usage_bytes=120 * MIB, limit_bytes=120 * MIB)  # a database's buffers, and its page cache
    assert "tmpfs" not in finding(known(reading().model(), memory_groups=[shared]), MISSES).headline
    heap = replace(full, stat=stat | {"anon": 60 * MIB})
    found = finding(known(reading().model(), memory_groups=[heap]), MISSES)
    assert "tmpfs" not in found.headline and "raise memory.limit_in_bytes" in found.remedies[0].text


def test_a_cache_that_is_dropped_on_request_leaves_no_refaults() -> None:
    """A job wrote 3 to drop_caches every second: "500 reads add up, the disk is fast", nothing abnormal."""
    model = known(reading().model(), vmstat={"drop_pagecache": 17, "workingset_refault_file": 0})
    found = finding(model, MISSES)
    assert found.severity is Severity.WARNING and "dropped on request 17 times" in found.headline
    once = known(reading().model(), vmstat={"drop_pagecache": 1, "workingset_refault_file": 0})
    assert "0 %" in check(once, MISSES).text
    assert found.claims == {"disk.read": 4_000_000_000} and "dmesg names" in found.remedies[0].text


def test_a_first_reader_has_no_cache_to_blame() -> None:
    """A cold start: all is read once, whatever neighbours read again."""
    first = known(reading().model(), memory_groups=in_group(2 * PAGES), vmstat={"workingset_refault_file": 900_000})
    assert "1 %" in check(first, MISSES).text and "400 MiB" in check(first, MISSES).text


def test_a_cache_that_does_its_work_is_checked_with_its_hits() -> None:
    served = known(Builder().thread(cpu_user="5 s").model(), read=2 * MIB)
    assert "99 %" in check(served, MISSES).text


def test_pages_dropped_by_request_were_not_evicted() -> None:
    """Each page was read twice, and the kernel evicted none: the program drops them itself."""
    builder = reading().file_read(TABLE, 400 * MIB, size_bytes=200 * MIB, waits=900, waited="3.6 s")
    assert check(known(builder.model(), memory_groups=in_group(0)), MISSES).number == 0


def test_a_file_of_which_nothing_came_from_disk_is_not_named() -> None:
    """A report said: mostly in /, 0 B of 4.00 KiB read."""
    builder = reading().file_read("file:0:5:2:/", 0, size_bytes=4096, waits=9, waited="3.9 s")
    builder.file_read(TABLE, 350 * MIB, size_bytes=200 * MIB, waits=900, waited="1 s")
    found = finding(known(builder.model(), memory_groups=in_group(300 * PAGES)), MISSES)
    assert not [each.text for each in found.evidence if " 0 B" in each.text]
    assert "mostly in" not in found.claim, "most of the waiting is in none of the files that were read"


def test_refaults_of_the_host_are_the_targets_as_far_as_others_cannot_have_read_them() -> None:
    """The host read 450 MiB, the target 400 of them: of 300 MiB of refaults 250 are its own at least."""
    counted = {"workingset_refault_file": 300 * PAGES, "pgpgin": 450 * 1024}
    found = finding(known(reading().model(), vmstat=counted), MISSES)
    assert found.confidence is Confidence.HIGH and dict(found.claims) == {"disk.read": 2_500_000_000}
    twice = reading().file_read(TABLE, 350 * MIB, size_bytes=200 * MIB, waits=900, waited="3.6 s").model()
    counted = {"workingset_refault_file": 300 * PAGES, "pgpgin": 9_000 * 1024}
    assert dict(finding(known(twice, vmstat=counted), MISSES).claims) == {"disk.read": 1_500_000_000}


def test_a_first_reader_is_not_blamed_for_a_thrashing_neighbour() -> None:
    for counted in ({"pgpgin": 900 * 1024}, {}):
        model = known(reading().model(), vmstat={"workingset_refault_file": 300 * PAGES, **counted})
        assert silence(model, MISSES)


def test_more_refaults_in_its_group_than_it_has_read_are_its_neighbours_there() -> None:
    """A session's processes share a cgroup: 42 MiB came back in it, the target read two, from a disk that is slow."""
    model = known(reading().model(), read=2 * MIB, memory_groups=in_group(42 * PAGES), vmstat={"pgpgin": 90 * 1024})
    assert silence(model, MISSES)
    few = known(reading().model(), memory_groups=in_group(520 * PAGES), vmstat={"pgpgin": 530 * 1024})
    found = finding(few, MISSES)  # at least 390 of 520 MiB: 530 were read, 400 of them by the target
    assert dict(found.claims) == {"disk.read": 3_900_000_000}


def test_a_group_with_more_memory_than_the_target_has_other_members() -> None:
    """A session's processes share a cgroup: 110 MiB came back in it, the target read 100, each page once."""
    (group,) = in_group(110 * PAGES)
    for anonymous, stat, is_known in ((30, {"anon": 40 * MIB}, True), (30, {"total_rss": 3000 * MIB}, False)):
        process = SimpleNamespace(read_bytes=100 * MIB, read_characters=None, anonymous_bytes=anonymous * MIB)
        again = replace(group, stat=stat)
        counted = {"pgpgin": 9_000 * 1024}
        model = knowing(reading().model(), processes={100: process}, memory_groups=[again], disks={}, vmstat=counted)
        assert finding(model, MISSES) if is_known else silence(model, MISSES)


def test_files_that_were_not_watched_are_not_named() -> None:
    model = reading().without("page_cache").model()
    found = finding(known(model, memory_groups=in_group(300 * PAGES)), MISSES)
    assert found.confidence is Confidence.MEDIUM


def test_without_counters_nothing_is_said_of_eviction() -> None:
    assert "neither memory.stat nor /proc/vmstat" in silence(known(reading().model()), MISSES).reason
    ended = known(reading().model(), read=None, asked=None, memory_groups=in_group(300 * PAGES))
    assert silence(ended, MISSES)


def test_of_a_target_that_ended_what_passed_the_cache_is_known() -> None:
    builder = reading().file_read(TABLE, 400 * MIB, size_bytes=200 * MIB, waits=900, waited="3.6 s")
    ended = known(builder.model(), read=None, asked=None, memory_groups=in_group(300 * PAGES))
    assert dict(finding(ended, MISSES).claims) == {"disk.read": 3_000_000_000}


def test_files_that_found_no_room_are_said_and_no_file_is_blamed() -> None:
    builder = reading().file_read(TABLE, 350 * MIB, size_bytes=200 * MIB, waits=900, waited="3.6 s").lost(files_full=7)
    found = finding(known(builder.model(), memory_groups=in_group(300 * PAGES)), MISSES)
    assert found.confidence is Confidence.MEDIUM
    assert "orders.ibd" not in found.claim, "another one may have waited longer"
    assert dict(found.claims) == {"disk.read": 3_000_000_000}, "/proc/PID/io has all of them"
    ended = known(builder.model(), read=None, asked=None, memory_groups=in_group(300 * PAGES))
    assert silence(ended, MISSES)


def test_it_stands_before_the_disk() -> None:
    model = known(reading().model(), memory_groups=in_group(400 * PAGES), mounts=[])
    named = [found.id for found in diagnose(model).findings]
    assert MISSES in named and "DISK-READ-SLOW" not in named
