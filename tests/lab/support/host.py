"""What the live tests ask of their host, done in a guest: folders, slow disks, cgroups."""

from __future__ import annotations

import contextlib
import itertools
import os
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from lab.support.guest import Guest
from lab.support.processes import Process

numbers = itertools.count(1)


@dataclass(frozen=True)
class GuestPath:
    """A path of a guest, as far as the live tests use paths."""

    guest: Guest
    path: str

    def __truediv__(self, name: str) -> GuestPath:
        return GuestPath(self.guest, f"{self.path}/{name}")

    def __str__(self) -> str:
        return self.path

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    def read_text(self) -> str:
        return self.guest.run(f"cat {shlex.quote(self.path)}")

    def write_bytes(self, data: bytes) -> int:
        assert not data.strip(b"\0"), "only zeroes are written from outside"
        self.guest.run(f"truncate -s 0 {self.path}; head -c {len(data)} /dev/zero >{self.path}; sync {self.path}")
        return len(data)

    def mkdir(self) -> None:
        self.guest.run(f"mkdir {shlex.quote(self.path)}")

    def stat(self) -> os.stat_result:
        """Return its inode number and the number of its device; the rest is 0."""
        inode, device = self.guest.run(f"stat -c '%i %d' {shlex.quote(self.path)}").split()
        return os.stat_result([0, int(inode), int(device), 0, 0, 0, 0, 0, 0, 0])


def new_folder(guest: Guest) -> GuestPath:
    """Make a folder on the disk of the guest."""
    path = GuestPath(guest, f"/var/tmp/test-{next(numbers)}")
    path.mkdir()
    return path


@dataclass(frozen=True)
class GuestDisk:
    """A disk that takes its time, as a recording names it, and where its file system is mounted."""

    device: str
    mountpoint: GuestPath


# The image lies in memory: what is slow is only what the workload slow_disk makes slow.
MAKE_IMAGE = """
truncate -s 320M {image}
mkfs.{kind} -q {force} {image}
if [ "{fill}" ]; then
    mkdir {folder}/filling
    mount -o loop {image} {folder}/filling
    for part in {fill}; do head -c ${{part#*:}}M /dev/urandom >{folder}/filling/${{part%:*}}; done
    umount {folder}/filling
fi
touch {folder}/slow
"""
MOUNT = """
stat {folder}/slow >/dev/null # on 6.12 and older a loop device takes the size that is known, not that of the server
loop=$(losetup --find --show {folder}/slow)
mkdir {folder}/{kind}
mount -t {kind} $loop {folder}/{kind}
echo $(cat /sys/class/block/${{loop#/dev/}}/dev) $loop
"""


@contextlib.contextmanager
def slow_disk(
    directory: GuestPath,
    kind: str,
    *,
    read_us: int = 0,
    write_us: int = 0,
    flush_us: int = 0,
    fill: dict[str, int] | None = None,
) -> Iterator[GuestDisk]:
    """A disk of known slowness with a file system on it; `fill` names files of so many MiB made on it."""
    guest, image = directory.guest, f"/dev/shm/{directory.name}.image"
    names = {"folder": directory.path, "kind": kind, "image": image, "force": "-F" if kind == "ext4" else "-f"}
    guest.run(MAKE_IMAGE.format(**names, fill=" ".join(f"{name}:{size}" for name, size in (fill or {}).items())))
    speed = ["--read-us", read_us, "--write-us", write_us, "--flush-us", flush_us]
    command = ["/run/bin/slow_disk", "--wait", "--file", image, "--mount", f"{directory}/slow", *speed]
    with contextlib.ExitStack() as cleanup:
        cleanup.callback(guest.tidy, f"umount {directory}/slow; rm -f {image}")
        cleanup.enter_context(Process(guest, command, "", "[ -s out ]"))
        cleanup.callback(guest.tidy, f"umount {directory}/slow")
        number, loop = guest.run(MOUNT.format(**names)).split()
        cleanup.callback(guest.tidy, f"losetup --detach {loop}")
        cleanup.callback(guest.tidy, f"umount {directory}/{kind}")
        yield GuestDisk(f"device:{number}", directory / kind)


@dataclass(frozen=True)
class GuestGroup(GuestPath):
    """A cgroup of version 2 that answers as one of version 1."""

    def __truediv__(self, name: str) -> GuestPath:
        return GuestGroup(self.guest, f"{self.path}/{name}")

    def read_text(self) -> str:
        """Return the text of a file; cpu.stat also has the time throttled by its old name."""
        text = super().read_text()
        statistics = dict(line.split(maxsplit=1) for line in text.splitlines() if " " in line)
        if "throttled_usec" in statistics:
            text += f"\nthrottled_time {1000 * int(statistics['throttled_usec'])}"
        return text


@contextlib.contextmanager
def guest_cgroup(guest: Guest, controller: str, name: str, **settings: int) -> Iterator[GuestGroup]:
    """A cgroup with a quota, given by the names of version 1."""
    assert controller == "cpu", "not made yet in a guest"
    path = f"/sys/fs/cgroup/{name}-{next(numbers)}"
    guest.run(f"mkdir {path}; echo {settings['cfs_quota_us']} {settings['cfs_period_us']} >{path}/cpu.max")
    try:
        yield GuestGroup(guest, path)
    finally:
        guest.tidy(
            f"while read pid; do echo $pid >/sys/fs/cgroup/cgroup.procs; done <{path}/cgroup.procs; rmdir {path}"
        )


def enter(group: GuestGroup) -> str:
    """Return what puts the process $pid of the guest into a cgroup."""
    return f"echo $pid >{group}/cgroup.procs"


def cgroup_of(guest: Guest) -> Callable[..., contextlib.AbstractContextManager[GuestGroup]]:
    """Return `cgroup` of the live tests for one guest."""
    return lambda *arguments, **settings: guest_cgroup(guest, *arguments, **settings)


__all__ = ["GuestDisk", "GuestGroup", "GuestPath", "cgroup_of", "enter", "new_folder", "slow_disk"]
