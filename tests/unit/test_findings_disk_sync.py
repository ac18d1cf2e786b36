"""Waits in sync(), which flushes all disks: the slowest of them is named, whoever has written there."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.rule import Finding, Severity

from unit.support import Builder
from unit.support.judging import finding

ID = "DISK-FLUSH-SLOW"


def flushing(call: str) -> Finding:
    """Return what is found of waits for flushes of no device, in that call, beside a slow disk of somebody else."""
    builder = Builder().thread("perl", cpu_user="100 ms").row("disk.flush", "", durations={"24 ms": 80})
    builder.stack("wait", "disk.flush", object="", kernel=["schedule", "ext4_sync_fs", call], weight="1 s")
    builder.device("254:0", "write", count=400, service="200 us")
    builder.device("7:0", "flush", count=100, service="13 ms").device("7:0", "write", count=300, service="11 ms")
    return finding(builder.model(), ID)


def test_sync_waits_for_the_slowest_disk_of_the_host() -> None:
    found = flushing("ksys_sync")
    assert found.severity is Severity.WARNING and "7:0 and all other disks (sync)" in found.headline
    assert "syncfs" in found.remedies[0].text


@pytest.mark.parametrize("call", ["do_fsync", "__x64_sys_msync"])
def test_of_other_calls_the_device_is_unknown(call: str) -> None:
    found = flushing(call)
    assert "an unknown device" in found.headline and "sync" not in found.remedies[0].text.replace("fsync", "")
