"""FS-FULL: no space, no inodes, room enough, or nothing known."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.rule import Severity
from perfdiag.facts.file_systems import FileSystem, FileSystems
from perfdiag.model.model import Model

from unit.support import Builder
from unit.support.facts import facts
from unit.support.judging import check, finding, findings, knowing, silence

ID = "FS-FULL"
GIB, MIB = 1 << 30, 1 << 20
USER = "Name:\tapp\nUid:\t1000\t1000\t1000\t1000\n"
PLENTY = FileSystem("8:1", 100 * GIB, 40 * GIB, 1_000_000, 900_000, (100,))


def writing(*known: FileSystem) -> Model:
    return knowing(Builder().thread("app", cpu_user="1 s").model(), file_systems=FileSystems(known))


def test_a_full_file_system_that_is_mounted() -> None:
    builder = Builder().thread("app", cpu_user="1 s")
    builder.fact("/proc/self/mountinfo", "25 1 8:16 / /var/log rw - ext4 /dev/sdb rw\n")
    builder.fact("/file_systems/100", "8:16 4096 262144 13000 0 65536 9\n").fact("/proc/100/status", USER)
    found = finding(builder.model(), ID)
    assert found.headline == "The file system /var/log, on which the target writes, has no space left"
    assert "du -xh /var/log" in found.remedies[0].text


@pytest.mark.parametrize(
    ("full", "lacks"),
    [
        (FileSystem("8:2", 100 * GIB, 0, 1_000_000, 9, (100,)), "space"),
        (FileSystem("8:2", 100 * GIB, 40 * MIB, 1_000_000, 9, (100,)), "space"),
        (FileSystem("0:40", 64 * MIB, 4096, 0, 0, (100,)), "space"),
        (FileSystem("8:2", 100 * GIB, 40 * GIB, 1_000_000, 0, (100,)), "inodes"),
    ],
)
def test_a_file_system_without_room(full: FileSystem, lacks: str) -> None:
    found = finding(writing(PLENTY, full), ID)
    assert found.severity is Severity.WARNING and not found.claims and "no failed write was seen" in found.limits[0]
    assert f"has no {lacks} left" in found.claim and full.device in found.evidence[0].text


@pytest.mark.parametrize(
    "room",
    [
        PLENTY,
        FileSystem("8:2", 100 * GIB, 60 * MIB, 0, 0, (100,)),
        FileSystem("0:40", MIB, MIB, 0, 0, (100,)),  # small, and empty
    ],
)
def test_a_file_system_with_room(room: FileSystem) -> None:
    assert not findings(writing(room), ID)
    found = check(writing(PLENTY, room), ID)
    assert found.text.endswith("is free") and found.large is (room.device == "8:2")


def test_nothing_is_known_of_network_file_systems() -> None:
    assert silence(writing(), ID)


def test_the_mount_of_a_container_is_not_that_of_the_host() -> None:
    builder = Builder().thread("app", cpu_user="1 s")
    builder.fact("/proc/self/mountinfo", "25 1 8:16 / / rw - ext4 /dev/sdb rw\n")
    builder.fact("/proc/100/mountinfo", "30 1 0:40 / /dev/shm rw - tmpfs shm rw\n")
    builder.fact("/file_systems/100", "0:40 4096 256 0 0 65536 9\n")
    assert "/proc/100/root/dev/shm" in finding(builder.model(), ID).remedies[0].text


def test_what_is_reserved_for_root_is_roots() -> None:
    line, mounts = "8:1 4096 1000 300 0 64 8\n", {"/proc/self/mountinfo": "25 1 8:1 / / rw - ext4 /dev/sda1 rw\n"}
    for user, blocks in ((USER, 0), (USER.replace("1000", "0"), 300), ("", 300)):
        known = facts({"/file_systems/7": line, "/proc/7/status": user, **mounts}).file_systems
        assert known and known.known == (FileSystem("8:1", 4096 * 1000, 4096 * blocks, 64, 8, (7,), "/"),)


def test_an_overlay_stands_where_the_host_has_it() -> None:
    own = "40 1 0:45 / /var/lib/engine/merged rw - overlay overlay rw\n"
    known = facts(
        {
            "/file_systems/7": "0:45 4096 9 9 9 9 9\n",
            "/proc/self/mountinfo": own,
            "/proc/7/mountinfo": "50 1 0:45 / / rw - overlay overlay rw\n",
        }
    ).file_systems
    assert known and [each.mountpoint for each in known.known] == ["/var/lib/engine/merged"]


def test_a_file_system_that_was_mounted_later() -> None:
    found = finding(writing(FileSystem("0:41", 64 * MIB, 0, 0, 0, (100,))), ID)
    assert "grep ' 0:41 ' /proc/100/mountinfo" in found.remedies[0].text


def test_of_too_many_descriptors_some_were_not_looked_at() -> None:
    model = knowing(Builder().thread("app", cpu_user="1 s").model(), file_systems=FileSystems((PLENTY,), False))
    assert "too many open files" in silence(model, ID).reason


def test_what_the_recorder_tells() -> None:
    line = "8:1 4096 1000 300 250 64 8\n"
    known = facts({"/file_systems/7": line + "8:2 1 2\nx\n"}, {"/file_systems/8": line}).file_systems
    assert known == FileSystems((FileSystem("8:1", 4096 * 1000, 4096 * 300, 64, 8, (7, 8)),))
