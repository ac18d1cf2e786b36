"""DISK-WRITE-SLOW of threads that wait for the discard of what they delete (mount option discard)."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.rule import Mechanism, Severity
from perfdiag.model.model import Model

from unit.support import Builder
from unit.support.judging import finding, findings

ID = "DISK-WRITE-SLOW"
FREES = ["io_schedule_timeout", "submit_bio_wait", "blkdev_issue_discard", "ext4_free_blocks", "ext4_truncate"]
TRIMS = ["io_schedule_timeout", "submit_bio_wait", "blkdev_issue_discard", "ext4_trim_extent", "ext4_trim_fs"]
MOUNTED = "43 42 254:0 / /srv rw,relatime - ext4 /dev/vda rw,discard\n"
OTHERS = "43 42 254:0 / /srv rw,relatime - ext4 /dev/vda rw\n"


def waiting(
    kernel: list[str], key: str = "", *, wait: str = "50 ms", count: int = 50, mounts: str = MOUNTED, also: str = ""
) -> Model:
    builder = Builder().thread("convert", cpu_user="1 s").row("disk.write", key, durations={wait: count})
    builder.stack("wait", "disk.write", object=key, kernel=["schedule", *kernel])
    for device in ["254:0", *([also] if also else [])]:
        builder.device(device, "discard", count=count, service=wait, bytes=count * 4096)
    return builder.fact("/proc/self/mountinfo", mounts).model()


@pytest.mark.parametrize("key", ["device:254:0", ""])
def test_who_deletes_waits_for_discards_and_writes_nothing(key: str) -> None:
    """A file was made anew 5 times a second: "writes on an unknown device", and advice about O_SYNC."""
    found = finding(waiting(FREES, key), ID)
    assert found.headline == "Deleting or emptying files waits until 254:0 has discarded their blocks"
    assert found.severity is Severity.WARNING and found.mechanism is Mechanism.SLOW
    [remedy] = found.remedies
    assert "mount -o remount,nodiscard /srv" in remedy.text and "fstrim.timer" in remedy.text
    assert any("50 discards, 200 KiB" in each.text for each in found.evidence)


def test_of_two_disks_that_discard_none_is_named() -> None:
    found = finding(waiting(FREES, also="8:0"), ID)
    assert "until an unknown device has discarded" in found.headline and "mount shows which" in found.remedies[0].text


def test_no_command_is_given_for_what_is_mounted_without() -> None:
    assert "mount shows which" in finding(waiting(FREES, mounts=OTHERS), ID).remedies[0].text


def test_who_asks_for_discards_deletes_nothing() -> None:
    assert "Deleting" not in finding(waiting(TRIMS, "device:254:0"), ID).headline


def test_fast_discards_are_no_fault() -> None:
    many = finding(waiting(FREES, wait="1 ms", count=500), ID)
    assert many.severity is Severity.INFO and many.mechanism is Mechanism.MANY
    assert not findings(waiting(FREES, wait="1 ms"), ID)
