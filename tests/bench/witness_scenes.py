"""What a guest is prepared with for each question: a workload with a known answer, and a load to slow down."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

from bench.emulated import CPU, Load
from lab.support.guest import Guest
from lab.support.host import new_folder, slow_disk
from lab.support.nfs import nfs
from live.support.workload import ROOT

READ_US = 20_000
FLUSH_MS = 50
PAGES = 1024
PAGE_BYTES = 4096
COLLECTIONS = 23
OBJECTS = 100_000
QUIET = ("--outs", 0, "--ins", 0, "--cpuids", 0, "--writes", 0, "--halts", 0, "--spins", 0)
PINGPONG = Load("round trip between two processes on a CPU", ("pingpong", "--cpu", CPU, "--count"), 1_000, 11_000)
# A workload in Java: what starts it takes the options of the others.
JAVA = """#!/bin/sh
shift
exec java -XX:+UseSerialGC -Xmx128m -cp /run/java Collections "$@"
"""


@dataclass(frozen=True)
class Scene:
    """What there is now; `name` is what an answer stands under: a disk, a file."""

    workload: tuple[object, ...]
    load: Load | None
    name: str = ""
    device: str = ""  # as a recording names that disk


@contextlib.contextmanager
def spinners(_: Guest) -> Iterator[Scene]:
    """Two threads on one CPU."""
    yield Scene(("spin", "--threads", 2, "--cpu", CPU, "--duration-ms", 2000), PINGPONG)


@contextlib.contextmanager
def slow_reads(guest: Guest) -> Iterator[Scene]:
    """A disk whose reads take 20 ms; the load reads another one, in memory."""
    with slow_disk(new_folder(guest), "ext4", read_us=READ_US, fill={"read.data": 32}) as disk:
        fast = guest.run("truncate -s 16M /dev/shm/fast; losetup --find --show /dev/shm/fast")
        load = ("read", "--mode", "direct", "--file", fast, "--stride", PAGE_BYTES, "--count")
        yield Scene(
            ("read", "--mode", "direct", "--count", 101, "--file", disk.mountpoint / "read.data"),
            Load("direct read of 4 KiB from a disk in memory", load, 200, 1_200),
            name=f"loop{disk.device.rpartition(':')[2]}",
            device=disk.device.partition(":")[2],
        )


@contextlib.contextmanager
def lock(_: Guest) -> Iterator[Scene]:
    """Three threads that hold one lock nearly all the time, asleep."""
    yield Scene(("lock", "--duration-ms", 2000), PINGPONG)


@contextlib.contextmanager
def cold_and_warm(guest: Guest) -> Iterator[Scene]:
    """A file of which every page is read twice: once it is not in memory, and once it is."""
    path = new_folder(guest) / "read.data"
    path.write_bytes(bytes(PAGES * PAGE_BYTES))
    load = ("read", "--mode", "buffered", "--file", "/proc/self/exe", "--count")
    yield Scene(
        ("read", "--mode", "buffered", "--stride", PAGE_BYTES, "--count", 2 * PAGES, "--file", path),
        Load("pread(2) of 4 KiB that are in memory", load, 1_000, 21_000),
    )


@contextlib.contextmanager
def virtual_machine(guest: Guest) -> Iterator[Scene]:
    """A virtual machine that leaves for known reasons."""
    guest.run("modprobe kvm_amd")
    load = Load("KVM exit to the kernel (CPUID)", ("kvm_guest", *QUIET, "--cpuids"), 3_000, 23_000)
    yield Scene(("kvm_guest", "--rounds", 3), load)


@contextlib.contextmanager
def nfs_flushes(guest: Guest) -> Iterator[Scene]:
    """fsync(2) of 2 MiB on NFS: WRITEs that the server may keep in memory, and a COMMIT that waits for its disk."""
    with nfs(guest, flush_ms=FLUSH_MS) as mount:
        flush = ("flush", "--mode", "fsync", "--append", 0)
        load = (*flush, "--bytes", 65_536, "--file", mount.mountpoint / "load", "--count")
        yield Scene(
            (*flush, "--bytes", 2 << 20, "--count", 23, "--file", mount.mountpoint / "flushed"),
            Load("fsync(2) of 64 KiB on NFS", load, 10, 60),
            name="flushed",
        )


@contextlib.contextmanager
def java(guest: Guest) -> Iterator[Scene]:
    """A Java program that collects its whole heap; it is compiled by this host, and counts for itself."""
    source = ROOT / "tests" / "workloads" / "Collections.java"
    subprocess.run(["javac", "--release", "17", "-d", str(guest.folder / "java"), str(source)], check=True)
    (guest.folder / "collections").write_text(JAVA)
    guest.run("cp -r /lab/java /run/java; install -m 755 /lab/collections /run/bin/collections")
    yield Scene(("collections", OBJECTS, COLLECTIONS), None)


__all__ = [
    "PAGE_BYTES",
    "Scene",
    "cold_and_warm",
    "java",
    "lock",
    "nfs_flushes",
    "slow_reads",
    "spinners",
    "virtual_machine",
]
