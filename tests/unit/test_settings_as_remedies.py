"""Unusual settings that a finding's time may come from are set back by its second remedy."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.rule import Finding, RemedyKind
from perfdiag.diagnosis.settings.unusual_settings import unusual_settings, with_settings
from perfdiag.model.model import Model

from unit.support import Builder
from unit.support.reports import finding

SLOW = finding("DISK-READ-SLOW", {"disk.read": 8 * 10**9}, "Reads are slow.")
MOUNT = "29 1 8:0 / /srv rw,relatime - ext4 /dev/sda rw,sync\n"


def reading(path: str, text: str) -> Model:
    """A target that reads from a disk for most of its time, where one file has a text."""
    builder = Builder(window="10 s").thread("db", cpu_user="500 ms")
    return builder.row("disk.read", "device:8:0", durations={"10 ms": 800}).fact(path, text).model()


def second(model: Model, found: Finding = SLOW) -> str:
    """Return the second remedy that was not there before, or ""."""
    (made,) = with_settings(model, [found])
    return made.remedies[1].text if len(made.remedies) > len(found.remedies) else ""


def test_a_sysctl_is_set_back_and_the_way_back_is_named() -> None:
    model = reading("/proc/sys/vm/vfs_cache_pressure", "1000\n")
    (made,) = with_settings(model, [SLOW])
    assert made.remedies[0] == SLOW.remedies[0]
    assert made.remedies[1].kind is RemedyKind.TRY and made.remedies[1].undo == "sysctl -w vm.vfs_cache_pressure=1000"
    assert second(model) == "sysctl -w vm.vfs_cache_pressure=100"
    assert with_settings(model, [made]) == [made], "it stands once"


@pytest.mark.parametrize(
    ("account", "claimed_ns"), [("disk.read", 30 * 10**9), ("net.receive", 8 * 10**9)], ids=["most", "others"]
)
def test_what_bears_on_less_than_half_of_a_finding_does_not_mend_it(account: str, claimed_ns: int) -> None:
    found = finding("SLOW", {account: claimed_ns}, "It is slow.")
    assert not second(reading("/proc/sys/vm/vfs_cache_pressure", "1000\n"), found)


def test_what_has_no_usual_value_for_all_hosts_is_not_set_back() -> None:
    assert not second(reading("/proc/sys/fs/aio-nr", "64000\n"))


def test_a_mount_is_made_without_its_option() -> None:
    builder = Builder(window="10 s").thread("db", cpu_user="500 ms")
    builder.row("disk.flush", "device:8:0", durations={"10 ms": 800})
    model = builder.fact("/proc/self/mountinfo", MOUNT).model()
    found = finding("DISK-FLUSH-SLOW", {("disk.flush", "device:8:0"): 8 * 10**9}, "Flushes are slow.")
    assert second(model, found) == "mount /srv without sync"


PAUSED = finding("MEM-DIRTY-THROTTLE", {"memory.dirty_throttle": 8 * 10**9}, "Writers are paused.")


def writing(account: str) -> Model:
    """A target that waits for most of its time where somebody has set a small limit of dirty pages."""
    builder = Builder(window="10 s").thread("db", cpu_user="500 ms")
    builder.row(account, "device:8:0", durations={"10 ms": 800}).fact("/proc/sys/vm/dirty_bytes", "8388608\n")
    return builder.model()


def test_a_setting_that_explains_a_finding_is_part_of_its_headline_and_set_back_first() -> None:
    """Two stories: writers that were too fast, and below that a limit of 8 MiB for them."""
    (made,) = with_settings(writing("memory.dirty_throttle"), [PAUSED])
    assert made.headline == f"{PAUSED.headline}, as vm.dirty_bytes is 8388608 (usually 0: not set)"
    assert made.remedies[0].text == "sysctl -w vm.dirty_bytes=0" and made.remedies[1:] == PAUSED.remedies


def test_a_setting_explains_only_what_it_makes_wait() -> None:
    found = finding("DISK-WRITE-SLOW", {"disk.write": 8 * 10**9}, "Writes are slow.")
    (made,) = with_settings(writing("disk.write"), [found])
    assert made.headline == found.headline and made.remedies[1].text == "sysctl -w vm.dirty_bytes=0"


MOUNTS = "26 1 0:23 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n29 1 8:0 / /srv rw - btrfs /dev/sda rw,compress=zstd:1\n"
FILES = {
    "/proc/self/mountinfo": MOUNTS,
    "/proc/100/cgroup": "0::/db\n",
    "/proc/100/status": "Name:\tdb\n",
    "/sys/block": "x\n",
    "/sys/block/sda": "../devices/pci0000:00/sda\n",
    "/sys/block/sda/dev": "8:0\n",
    "/sys/block/sda/queue/read_ahead_kb": "16\n",
    "/sys/fs/cgroup/db/io.max": "8:0 rbps=1073741824 wbps=max riops=max wiops=max\n",
}


def test_what_somebody_may_have_meant_explains_nothing() -> None:
    """Databases are advised to read little ahead, distributions compress, and a limit that is not used up is none."""
    builder = Builder(window="10 s").thread("db", cpu_user="500 ms")
    builder.row("disk.read", "device:8:0", durations={"10 ms": 800})
    for path, text in FILES.items():
        builder.fact(path, text)
    model = builder.model()
    assert len(unusual_settings(model)) == 3
    (made,) = with_settings(model, [SLOW])
    assert made.headline == SLOW.headline and made.remedies[0] == SLOW.remedies[0]


FLUSH = {("disk.flush", "device:8:0"): 4 * 10**9}


def flushing() -> Model:
    """A target that flushes for most of its time where each write does."""
    builder = Builder(window="10 s").thread("db", cpu_user="500 ms")
    builder.row("disk.flush", "device:8:0", durations={"10 ms": 800})
    return builder.fact("/proc/self/mountinfo", MOUNT).model()


def test_what_loses_data_never_stands_first_and_a_setting_is_named_once() -> None:
    first, second = with_settings(flushing(), [finding("A", FLUSH, "One."), finding("B", FLUSH, "Two.")])
    assert first.headline.endswith(", as /srv (ext4) is mounted with sync") and ", as " not in second.headline
    assert [each.text for each in first.remedies[1:2]] == ["mount /srv without sync"]


@pytest.mark.parametrize(("id", "named"), [("NFS-SYNC-MOUNT", False), ("OTHER", True)])
def test_a_setting_is_not_named_beside_the_finding_about_it(id: str, named: bool) -> None:
    first, _ = with_settings(flushing(), [finding("A", FLUSH, "One."), finding(id, {}, "It is so.")])
    assert ("mounted with sync" in first.headline) is named
