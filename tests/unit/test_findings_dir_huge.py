"""DIR-HUGE: kernel time in directory functions, reads inside getdents."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Confidence, Severity

from unit.support import Builder
from unit.support.exchanges import exchange, latency
from unit.support.judging import check, finding, silence

ID = "DIR-HUGE"


def sampled(walking: int = 0, looking: int = 0, other: int = 0) -> Builder:
    builder = Builder().thread(cpu_user="1 s", cpu_kernel="3 s")
    for count, functions in (
        (walking, ["filldir64", "ext4_readdir", "iterate_dir", "__x64_sys_getdents64"]),
        (looking, ["__d_lookup_rcu", "lookup_fast", "walk_component", "path_openat"]),
        (other, ["copy_page", "vfs_read"]),
    ):
        if count:
            builder.stack("cpu", "cpu.kernel", kernel=functions, count=count)
    return builder


def test_walking_directories_is_named_with_its_sampling_error() -> None:
    model = sampled(walking=300, other=100).model()
    found = finding(model, ID)
    assert found.severity is Severity.WARNING and found.confidence is Confidence.MEDIUM
    assert found.claims["cpu.kernel"] == 3_000_000_000  # three quarters of 4 s of CPU time
    assert found.evidence[0].error and 0.1e9 < found.evidence[0].error < 0.25e9
    assert "Walking directories" in found.claim and "300 samples list entries, 0 open" in found.claim


def test_the_look_ups_of_any_program_that_opens_files_are_no_finding() -> None:
    assert "CPU samples" in check(sampled(looking=30, other=370).model(), ID).text


def test_look_ups_that_take_a_tenth_are() -> None:
    found = finding(sampled(looking=200, other=200).model(), ID)
    assert found.severity is Severity.INFO


def test_a_scan_of_many_small_directories_is_profile() -> None:
    """find: it opens each directory that it lists, and there is no larger cause than its own work."""
    found = finding(sampled(walking=260, looking=40, other=80).model(), ID)
    assert found.severity is Severity.INFO and "a scan" in found.claim
    assert any("scan" in other for other in found.alternatives)


def looking_at_files(listing: int, opening: int, stats: int, *, serves: bool = True) -> Builder:
    builder = sampled(walking=listing, looking=opening, other=10)
    if serves:
        builder.reads(100).line(exchange(100, 4_000_000_000, {"cpu.user": 4_000_000_000}))
        builder.line(latency([40_000_000] * 100))
    kernel = ["security_inode_getattr", "path_lookupat", "vfs_statx"]
    return builder.stack("cpu", "cpu.kernel", kernel=kernel, count=stats)


def test_looking_at_each_file_of_a_huge_directory_is_part_of_its_cost() -> None:
    """stat() of 150,000 files takes five times what their listing does, and hides how little is opened."""
    model = looking_at_files(listing=376, opening=2, stats=1800).model()
    found = finding(model, ID)
    assert model.request_time is not None
    assert found.severity is Severity.WARNING and found.confidence is Confidence.MEDIUM
    assert found.claims["cpu.kernel"] == 3_000_000_000  # all of it
    assert any(each.value == pytest.approx(1800 / 2188) for each in found.evidence)


@pytest.mark.parametrize(("opening", "serves"), [(80, True), (2, False)])
def test_looking_at_each_file_of_many_directories_is_profile(opening: int, serves: bool) -> None:
    """As find does: directories of 300 files are opened as rarely as huge ones, by the few samples there are."""
    found = finding(looking_at_files(listing=376, opening=opening, stats=1800, serves=serves).model(), ID)
    assert found.severity is Severity.INFO
    assert found.claims["cpu.kernel"] < 900_000_000  # of 4 s of CPU time: 456 of 2,266 samples


def test_walking_entries_at_every_look_up_may_be_a_small_directory_that_is_searched_often() -> None:
    """Renames in a directory of 150 files, 27,000 a second, stand in the same functions as a few in a huge one."""
    builder = sampled(looking=20, other=100)
    builder.stack("cpu", "cpu.kernel", kernel=["ext4_search_dir", "ext4_lookup", "path_openat"], count=200)
    found = finding(builder.model(), ID)
    assert found.severity is Severity.INFO and "200" in found.claim and "220" in found.claim
    assert "too large" not in found.headline + found.claim and "very often" in found.claim


def test_creations_in_a_directory_with_an_index_are_no_fault() -> None:
    builder = sampled(other=100)
    builder.stack("cpu", "cpu.kernel", kernel=["ext4_dx_find_entry", "ext4_lookup", "path_openat"], count=60)
    builder.stack("cpu", "cpu.kernel", kernel=["ext4_mark_inode_dirty", "ext4_create", "path_openat"], count=140)
    assert finding(builder.model(), ID).severity is Severity.INFO


def test_too_few_samples_name_nothing() -> None:
    assert check(sampled(walking=10, other=2).model(), ID).number > 0.5


def test_waiting_for_directory_blocks_counts_exactly() -> None:
    model = (
        Builder()
        .thread(cpu_user="1 s")
        .row("disk.read", "device:254:0", durations={"5 ms": 400})
        .operation("syscall:getdents64", durations={"5 ms": 400}, disk_read="2 s")
        .model()
    )
    found = finding(model, ID)
    assert dict(found.claims) == {"disk.read": 2_000_000_000}


def test_without_samples_it_cannot_tell() -> None:
    assert "no CPU stack" in silence(Builder().thread(cpu_kernel="3 s").without("stacks").model(), ID).reason


def test_the_command_that_shows_the_directory_has_the_pid() -> None:
    def remedy(stacks: str) -> str:
        builder = Builder(stacks=stacks).thread(cpu_user="1 s", cpu_kernel="3 s")
        builder.stack("cpu", "cpu.kernel", kernel=["filldir64", "ext4_readdir", "iterate_dir"], count=300)
        return " ".join(remedy.text for remedy in finding(builder.model(), ID).remedies)

    for stacks in ("all", "sampled"):
        assert "--stacks" not in remedy(stacks) and "strace -f -y" in remedy(stacks) and "-p 100" in remedy(stacks)


def test_look_ups_in_many_layers_are_the_overlays() -> None:
    """The advice was to scan fewer directories."""
    builder = Builder().thread(cpu_user="1 s", cpu_kernel="7 s")
    builder.stack("cpu", "cpu.kernel", kernel=["d_lookup", "ovl_lookup_single", "ovl_lookup", "path_openat"], count=100)
    assert "layers of an overlay" in check(builder.model(), ID).text
    assert diagnose(builder.model()).findings[0].id == "CPU-KERNEL-HEAVY"
