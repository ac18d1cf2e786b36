"""Hostile recordings of one shape each: facts of the host and of its control groups."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from unit.support.products import fact
from unit.support.wait_shapes import thread, threads


def cpus_allowed() -> Iterator[dict[str, Any]]:
    ranges = ",".join(str(2 * number) for number in range(10_000))
    for tid in range(1, 17):
        yield fact(f"/proc/100/task/{tid}/status", f"Name:\tapp\nCpus_allowed_list:\t{tid},{ranges}\n")
    yield fact("/proc/100/status", f"Name:\tapp\nCpus_allowed_list:\t{ranges}\n")
    yield from threads()


def cgroup_paths() -> Iterator[dict[str, Any]]:
    yield fact("/proc/self/mountinfo", "26 1 0:23 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
    for pid in range(100, 164):
        yield fact(f"/proc/{pid}/cgroup", f"0::/{pid}{'/a' * 2000}\n")


def deepest_cgroup() -> Iterator[dict[str, Any]]:
    yield fact("/proc/self/mountinfo", "26 1 0:23 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
    yield fact("/proc/100/cgroup", "".join(f"0::/{number}{'/a' * 300}\n" for number in range(100)))


def cgroup_lines() -> Iterator[dict[str, Any]]:
    mounts = (f"{n} 1 0:{n} / /sys/fs/cgroup/{n} rw - cgroup cgroup rw,cpu\n" for n in range(1000))
    yield fact("/proc/self/mountinfo", "".join(mounts))
    yield fact("/proc/100/cgroup", "".join(f"{number}:cpu:/{number}\n" for number in range(4000)))


def kernel_log() -> Iterator[dict[str, Any]]:
    yield fact("/dev/kmsg", "".join(f"3,{n},{n},-;I/O error, dev sd{n}, sector {n}\n" for n in range(1500)))


def mounts() -> Iterator[dict[str, Any]]:
    for pid in range(100, 130):
        yield fact(
            f"/proc/{pid}/mountinfo", "".join(f"{n} 1 {pid}:{n} / /{n} rw - nfs4 s:/{n} rw\n" for n in range(1500))
        )
    for number in range(2000):
        yield {
            "type": "rpc",
            "object": f"mount:{100 + number % 30}:{number}",
            "program": "nfs",
            "version": 4,
            "procedure": "READ",
            "count": 1,
            "errors": 0,
            "retransmits": 0,
            "bytes_sent": 0,
            "bytes_received": 0,
            "queue_ns": 1,
            "wire_ns": 1,
            "reply_ns": 1,
            "max_ns": 1,
            "queue_buckets": [],
            "wire_buckets": [],
        }


def nested() -> Iterator[dict[str, Any]]:
    """Many targets, each in a control group of its own far below the root."""
    yield fact("/proc/self/mountinfo", "26 1 0:23 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
    for number in range(3800):
        pid = 100 + number
        yield thread(number, pid=pid)
        yield fact(f"/proc/{pid}/cgroup", f"0::{f'/x{number}' * 200}\n")
        for name in ("stat", "status", "io"):
            yield fact(f"/proc/{pid}/{name}", f"{pid} (a) S 1\n")


SHAPES = {
    each.__name__: each
    for each in (cpus_allowed, cgroup_paths, deepest_cgroup, cgroup_lines, kernel_log, mounts, nested)
}
