"""STORAGE-LOOP: file systems in a file of another one, cached twice and written twice."""

from __future__ import annotations

from typing import Any

from perfdiag.diagnosis.rule import Confidence, RemedyKind, Severity
from perfdiag.model.model import Model

from unit.support import Builder
from unit.support.disks import disk, disks
from unit.support.judging import check, finding, findings, knowing

ID, LOOP, MAPPER = "STORAGE-LOOP", "7:0", "253:0"
FILE = "/var/lib/docker/devicemapper/data"


def waited(loop: str = "12 ms", below: str | None = "4 ms", *, wait: str = "12 ms", device: str = MAPPER) -> Builder:
    builder = Builder().thread(cpu_user="2 s").row("disk.flush", f"device:{device}", durations={wait: 200})
    builder.device(LOOP, "flush", count=200, queue="0 us", service=loop)
    builder.fact("/sys/block/loop0/loop/dio", "0\n")
    if below:
        builder.device("8:0", "flush", count=200, queue="0 us", service=below)
    return builder


ROOT = "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"


def seen(builder: Builder, mounted: str = ROOT, **known: Any) -> Model:
    model = builder.fact("/proc/self/mountinfo", mounted).model()
    kinds = {"kind": "loop", "label": FILE} | known
    found = disks(
        disk(LOOP, "loop0", **kinds),
        disk(MAPPER, "dm-0", kind="stacked", members=(LOOP,), label="docker"),
        disk("8:0", "sda", kind="physical", rotational=False),
        disk("8:1", "sda1", whole="sda", kind="physical"),
    )
    mounts = model.facts.mounts
    text = model.facts.texts
    model = knowing(model, disks=found, mounts=mounts)
    model.facts.texts = text
    return model


def test_what_the_second_file_system_takes_is_claimed() -> None:
    found = finding(seen(waited()), ID)
    assert found.severity is Severity.WARNING and found.confidence is Confidence.HIGH
    (claimed,) = found.claims.values()
    assert abs(claimed - 200 * 8_000_000) < 50_000_000
    assert f"the file {FILE} on / (ext4)" in found.claim
    assert found.remedies[0].kind is RemedyKind.TRY
    assert found.remedies[0].undo == "losetup --direct-io=off /dev/loop0"
    assert any("cached twice" in evidence.text for evidence in found.evidence)


def test_a_loop_device_as_fast_as_the_disk_below_is_profile() -> None:
    found = finding(seen(waited("4 ms", wait="4 ms")), ID)
    assert found.severity is Severity.INFO and not found.claims


def test_without_requests_of_the_disk_below_nothing_is_claimed() -> None:
    found = finding(seen(waited(below=None)), ID)
    assert found.severity is Severity.INFO and found.confidence is Confidence.MEDIUM
    assert not found.claims


def test_what_is_lost_above_the_loop_device_is_not_its() -> None:
    assert findings(seen(waited("1 ms", wait="32 ms")), ID) == []  # dm-delay


def test_a_file_that_is_itself_a_mount_is_not_on_the_disk_of_its_directory() -> None:
    mounted = f"22 1 8:1 / / rw - ext4 /dev/sda1 rw\n23 22 0:46 / {FILE} rw - fuse.remote remote rw\n"
    found = finding(seen(waited(), mounted), ID)
    assert found.severity is Severity.INFO and not found.claims and f"on {FILE} (fuse.remote)" in found.claim


def test_a_disk_is_no_loop_device() -> None:
    assert "1 loop devices in use" in check(seen(waited(device="8:0")), ID).text


def test_a_loop_device_with_direct_io_needs_no_trial() -> None:
    builder = Builder().thread(cpu_user="2 s").row("disk.flush", f"device:{LOOP}", durations={"12 ms": 200})
    builder.device(LOOP, "flush", count=200, service="12 ms").fact("/sys/block/loop0/loop/dio", "1\n")
    found = finding(seen(builder.device("8:0", "flush", count=200, service="4 ms")), ID)
    assert [remedy.kind for remedy in found.remedies] == [RemedyKind.FIX]


def test_lost_records_lower_the_confidence() -> None:
    assert finding(seen(waited().lost(ring_buffer=20)), ID).confidence is Confidence.MEDIUM
