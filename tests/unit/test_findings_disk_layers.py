"""Waits above a disk that is fast: the layer, the work or the function they stand in."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.rule import Finding
from perfdiag.facts.storage import Mount

from unit.support import Builder
from unit.support.disks import disk, disks
from unit.support.judging import finding, knowing
from unit.support.known import blank

WRITE, UUID = "DISK-WRITE-SLOW", "/sys/block/dm-0/dm/uuid"
VOLUME = disk("253:0", "dm-0", kind="stacked", members=("8:0",))


def slow_above(device: str = "253:0", kernel: tuple[str, ...] = (), *, works: str = "", kinds: int = 200) -> Builder:
    builder = (
        Builder()
        .thread("db", cpu_user="1 s", cpu_kernel="1 s")
        .row("disk.write", f"device:{device}", durations={"60 ms": 80})
    )
    builder.device("8:0", "write", count=400, service="1 ms")
    if kernel:
        builder.stack("wait", "disk.write", object=f"device:{device}", kernel=kernel, count=60, weight="4 s")
    if works:
        builder.stack("cpu", "cpu.kernel", kernel=["memset", works, "do_syscall_64"], count=kinds)
        builder.stack("cpu", "cpu.kernel", kernel=["vfs_write", "do_syscall_64"], count=400 - kinds)
    return builder


def told(builder: Builder, **known: object) -> Finding:
    return finding(knowing(builder.model(), **{"disks": disks(VOLUME, disk("8:0", "sda"))} | known), WRITE)


def encrypted(uuid: str | None, writer: str = "") -> Finding:
    builder = slow_above().disk_user("8:0", "db", written=1 << 20)
    if writer:
        builder.disk_user("8:0", writer, written=1 << 20, pid=90, kernel=True)
    if uuid is not None:
        builder.fact(UUID, uuid)
    model = builder.model()
    return told(builder, texts=model.facts.texts, mounts=[])


@pytest.mark.parametrize(
    ("uuid", "writer"), [("CRYPT-LUKS2-7f-data\n", ""), (None, "dmcrypt_write/2"), ("", "dmcrypt_write")]
)
def test_an_encrypted_volume_is_named(uuid: str | None, writer: str) -> None:
    found = encrypted(uuid, writer)
    assert found.headline == "Writes on dm-0 (253:0) wait in the kernel: dm-crypt encrypts it"
    assert "cryptsetup benchmark" in found.remedies[0].text and any("not measured" in each for each in found.limits)


@pytest.mark.parametrize(("uuid", "writer"), [("LVM-7f\n", "dmcrypt_write/2"), (None, "jbd2/dm-0-8")])
def test_what_is_encrypted_beside_it_is_not(uuid: str | None, writer: str) -> None:
    assert "dm-crypt" not in encrypted(uuid, writer).headline


@pytest.mark.parametrize(
    ("kernel", "where"),
    [
        (("schedule", "jbd2_log_wait_commit", "ext4_sync_file"), ", in jbd2_log_wait_commit; the disk is fast"),
        (("schedule", "io_schedule", "folio_wait_bit_common", "do_get_write_access"), ", in do_get_write_access"),
        (("schedule", "__reserve_bytes", "btrfs_reserve_metadata_bytes"), ", until btrfs has room for metadata"),
        (("schedule", "io_schedule", "folio_wait_bit_common"), "; the disk is fast"),
    ],
)
def test_the_function_that_most_waits_stand_in_is_named(kernel: tuple[str, ...], where: str) -> None:
    found = told(slow_above(kernel=kernel))
    assert found.headline.startswith(f"Writes on dm-0 (253:0) wait in the kernel{where}")


@pytest.mark.parametrize(
    ("fstype", "kinds", "named"), [("btrfs", 200, True), ("btrfs", 40, False), ("xfs", 200, False)]
)
def test_quotas_that_the_kernel_accounts_are_what_writers_wait_for(fstype: str, kinds: int, named: bool) -> None:
    mount = blank(
        Mount, device="8:0", fstype=fstype, mountpoint="/srv", root="/", source="/dev/sda", options=frozenset()
    )
    found = told(slow_above("8:0", works="btrfs_qgroup_account_extents", kinds=kinds), mounts=[mount])
    assert ("btrfs quotas (qgroups) takes 50 % of kernel time" in found.headline) is named
    assert ("btrfs quota disable" in found.remedies[0].text) is named
