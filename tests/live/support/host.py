"""Slow disks, file systems, swap and cgroups, made for a test and removed whatever happens to it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bench.processes import die_with_parent
from live.support.workload import PATIENCE_SECONDS, WORKLOADS
from unit.support.waiting import until

MEBIBYTE = 1 << 20
MAKE = {
    "ext4": ("mkfs.ext4", "-q", "-F"),
    "xfs": ("mkfs.xfs", "-q", "-f"),
    "btrfs": ("mkfs.btrfs", "-q", "-f"),
    "swap": ("mkswap", "-q"),
}


def run(*command: object) -> str:
    """Run a command that must succeed and return what it printed."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=PATIENCE_SECONDS)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout.strip()


def try_run(*command: object) -> None:
    """Run a command of a clean-up: it may fail, the next one still runs."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        subprocess.run([str(word) for word in command], capture_output=True, timeout=PATIENCE_SECONDS)


def unmount(path: Path) -> None:
    """Unmount in a clean-up: at once if it can be, else when its last user has gone."""
    try_run("umount", path)
    if os.path.ismount(path):
        try_run("umount", "--lazy", path)


def need_file_system(name: str) -> None:
    """Skip unless the kernel knows a file system."""
    if name not in Path("/proc/filesystems").read_text().split():
        pytest.skip(f"this kernel has no {name}")


@dataclass
class SlowDisk:
    """A file that takes its time (workload slow_disk), and what stands on it."""

    file: Path  # the slow file itself
    loop: str = ""  # the loop device over it
    mountpoint: Path = field(default_factory=Path)

    @property
    def settings(self) -> Path:
        """Where the kernel keeps the settings of write-back to the slow file."""
        number = self.file.stat().st_dev
        return Path(f"/sys/class/bdi/{os.major(number)}:{os.minor(number)}")

    @property
    def device(self) -> str:
        """The loop device as a recording names it."""
        number = os.stat(self.loop).st_rdev
        return f"device:{os.major(number)}:{os.minor(number)}"


@contextlib.contextmanager
def slow_file(
    directory: Path,
    backing: Path,
    *,
    read_us: int = 0,
    write_us: int = 0,
    flush_us: int = 0,
    open_us: int = 0,
    writeback: bool = False,
) -> Iterator[SlowDisk]:
    """Mount the slow twin of `backing` (FUSE, served by a process of our own)."""
    need_file_system("fuse")
    disk = SlowDisk(directory / f"{backing.name}.slow")
    disk.file.touch()
    server = subprocess.Popen(
        [
            WORKLOADS / "slow_disk", "--wait", "--file", backing, "--mount", disk.file, "--read-us", str(read_us),
            "--write-us", str(write_us), "--flush-us", str(flush_us), "--open-us", str(open_us),
            "--writeback", str(int(writeback)),
        ],
        stdout=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=die_with_parent(),
    )  # fmt: skip
    try:
        assert server.stdout
        assert json.loads(server.stdout.readline())["ready"]
        if writeback:  # a limit of its own for its dirty pages, so that no other writer of this host is paused
            (disk.settings / "max_bytes").write_text(str(MEBIBYTE))
        yield disk
    finally:
        try_run("umount", disk.file)
        server.send_signal(signal.SIGTERM)
        try:
            server.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            server.kill()  # the kernel then fails all its requests
            server.communicate()
        unmount(disk.file)


@contextlib.contextmanager
def slow_disk(
    directory: Path,
    kind: str,
    *,
    mebibytes: int = 320,
    read_us: int = 0,
    write_us: int = 0,
    flush_us: int = 0,
    fill: dict[str, int] | None = None,
) -> Iterator[SlowDisk]:
    """A disk of known slowness with a file system (or swap) on it; `fill` names files of so many MiB made on it."""
    backing = directory / f"{kind}.image"
    if kind != "swap":
        need_file_system(kind)
    with backing.open("wb") as image:
        image.truncate(mebibytes * MEBIBYTE)
    run(*MAKE[kind], backing)
    if fill:
        _fill(directory, backing, fill)
    with contextlib.ExitStack() as cleanup:
        disk = cleanup.enter_context(
            slow_file(directory, backing, read_us=read_us, write_us=write_us, flush_us=flush_us)
        )
        disk.loop = run("losetup", "--find", "--show", disk.file)
        try:
            if kind == "swap":
                run("swapon", disk.loop)
                cleanup.callback(try_run, "swapoff", disk.loop)
            else:
                disk.mountpoint = directory / kind
                disk.mountpoint.mkdir(exist_ok=True)
                run("mount", "-t", kind, disk.loop, disk.mountpoint)
                cleanup.callback(unmount, disk.mountpoint)
        finally:  # it goes with its last user, also where no clean-up comes to run
            try_run("losetup", "--detach", disk.loop)
        yield disk
    backing.unlink()


def _fill(directory: Path, image: Path, files: dict[str, int]) -> None:
    """Write files to the image while it is still fast."""
    mountpoint = directory / "filling"
    mountpoint.mkdir()
    run("mount", "-o", "loop", image, mountpoint)
    try:
        for name, mebibytes in files.items():
            with (mountpoint / name).open("wb") as file:
                for _ in range(mebibytes):
                    file.write(os.urandom(MEBIBYTE))
    finally:
        try_run("umount", mountpoint)
        mountpoint.rmdir()


@contextlib.contextmanager
def overlay(directory: Path, upper_file_system: Path) -> Iterator[Path]:
    """An overlayfs whose upper layer lies on another file system."""
    need_file_system("overlay")
    parts = {name: upper_file_system / name for name in ("upper", "work")} | {"lower": directory / "lower"}
    for part in parts.values():
        part.mkdir()
    merged = directory / "merged"
    merged.mkdir()
    options = f"lowerdir={parts['lower']},upperdir={parts['upper']},workdir={parts['work']}"
    run("mount", "-t", "overlay", "overlay", "-o", options, merged)
    try:
        yield merged
    finally:
        unmount(merged)


@contextlib.contextmanager
def cgroup(controller: str, name: str, **settings: object) -> Iterator[Path]:
    """A cgroup of version 1 with settings ("cpu_cfs_quota_us" stands for cpu.cfs_quota_us); skips without it."""
    root = Path("/sys/fs/cgroup") / controller
    if not (root / "cgroup.procs").exists() or not Path(f"/sys/fs/cgroup/{controller}/tasks").exists():
        pytest.skip(f"no cgroup version 1 controller {controller!r} is mounted here")
    path = root / f"perfdiag-test-{name}-{os.getpid()}"
    path.mkdir()
    try:
        for setting, value in settings.items():
            (path / f"{controller}.{setting}").write_text(str(value))
        yield path
    finally:
        until(lambda: _removed(path, root), f"{path} is empty")


def _removed(group: Path, parent: Path) -> bool:
    """Move who is in a cgroup to its parent and remove it; False where somebody in it has just started, or ends."""
    for pid in (group / "cgroup.procs").read_text().split():
        with contextlib.suppress(OSError):
            (parent / "cgroup.procs").write_text(pid)
    with contextlib.suppress(OSError):
        group.rmdir()
    return not group.exists()


def enter(group: Path) -> Callable[[], None]:
    """Return what a child process has to call before exec to be in a cgroup."""

    def move() -> None:
        (group / "cgroup.procs").write_text(str(os.getpid()))

    return move


__all__ = ["MEBIBYTE", "SlowDisk", "cgroup", "enter", "need_file_system", "overlay", "run", "slow_disk", "slow_file"]
