"""DISK-FLUSH-SLOW of threads that wait for a commit of the journal without a flush of their own."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.rule import Mechanism, Severity

from unit.support import Builder
from unit.support.judging import finding, findings

ID = "DISK-FLUSH-SLOW"
CREATES = ["__wait_on_bit", "do_get_write_access", "jbd2_journal_get_write_access", "__ext4_new_inode", "ext4_create"]
FSYNCS = ["jbd2_log_wait_commit", "jbd2_complete_transaction", "ext4_fsync_journal", "ext4_sync_file", "do_fsync"]


def waiting(kernel: list[str], device: str = "device:254:0", wait: str = "60 ms") -> Builder:
    builder = Builder().thread("php", cpu_user="1 s").row("disk.flush", device, durations={wait: 50})
    return builder.stack("wait", "disk.flush", object=device, kernel=["schedule", *kernel], weight="3 s")


@pytest.mark.parametrize("device", ["device:254:0", ""])
def test_who_only_makes_a_file_waits_for_others(device: str) -> None:
    """A neighbour's fsync() commits the journal: the remedy "flush less often" was for who flushes nothing."""
    found = finding(waiting(CREATES, device).model(), ID)
    assert found.headline == "Changes of files wait for a commit of the journal that others began"
    assert found.severity is Severity.WARNING and found.mechanism is Mechanism.BUSY
    assert "who flushes on the same file system" in found.remedies[0].text and len(found.remedies) == 1


def test_who_flushes_waits_for_its_own_commit() -> None:
    found = finding(waiting(FSYNCS).model(), ID)
    assert "journal" not in found.headline and "flush less often" in found.remedies[0].text


def test_short_waits_for_the_journal_are_no_fault() -> None:
    assert not findings(waiting(CREATES, wait="1 ms").model(), ID)


def test_a_journal_without_room_is_too_small() -> None:
    """A journal of 1 MB: "others began" the commits, a report said, although nobody else wrote."""
    full = ["io_schedule", "jbd2_log_do_checkpoint", "__jbd2_log_wait_for_space", "add_transaction_credits"]
    found = finding(waiting(full).model(), ID)
    assert found.headline == "Changes of files wait for room in the journal, which is full"
    assert "larger journal" in found.remedies[0].text
