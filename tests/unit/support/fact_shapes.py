"""Hostile recordings of one shape each: facts of the host and of its control groups."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from unit.support import products
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


def waits_for(key: str, number: int = 0, account: str = "disk.read") -> Iterator[dict[str, Any]]:
    """A thread that waits for an object."""
    yield products.thread(number, account)
    yield products.detail(account, key)


def mounts_of_one_device() -> Iterator[dict[str, Any]]:
    """Thousands of bind mounts, and a wait for the device that all of them are of."""
    yield from waits_for("device:254:0")
    for name, phase in (("self", "begin"), ("self", "end"), *((str(pid), "begin") for pid in range(1000, 1060))):
        lines = (f"1 1 254:0 / /{name}{phase}{n:x} rw - ext4 /dev/vda rw\n" for n in range(1300))
        yield fact(f"/proc/{name}/mountinfo", "".join(lines), phase)


def mount_options() -> Iterator[dict[str, Any]]:
    """Mounts with thousands of options each, of devices that are waited for."""
    for number in range(64):
        yield from waits_for(f"device:8:{number}", number)
        options = ",".join(f"o{n:x}=1" for n in range(8000))
        mount = f"1 1 8:{number} / /{number} rw - ext4 /dev/sd{number} rw,{options}\n"
        yield fact(f"/proc/{1000 + number}/mountinfo", mount, "begin")


def layers_in_a_circle() -> Iterator[dict[str, Any]]:
    """Devices each of which has eight others below it, round and round."""
    yield from waits_for("device:300:0")
    for number in range(900):
        yield fact(f"/sys/block/d{number}/dev", f"{300 + number}:0\n", "begin")
        yield fact(f"/sys/block/d{number}", f"../devices/virtual/block/d{number}", "begin")
        for below in range(8):
            yield fact(f"/sys/block/d{number}/slaves/d{(8 * number + below) % 900}", "x", "begin")


def queues_of_packets() -> Iterator[dict[str, Any]]:
    """Queues, addresses and links of a bond by the thousand, and a wait for a peer."""
    yield from waits_for("peer:10.0.0.1:80", account="net.receive")
    queues = "".join(f"e tbf {n:x}:0 ffff:ffff 1 0 1 1 0 0 0\n" for n in range(1400))
    addresses = "".join(f"e address 10.0.{n // 256}.{n % 256}\n" for n in range(1400))
    for pid in range(1000, 1060):
        yield fact(f"/traffic_control/{pid}", queues + addresses, "begin")
    for number in range(60):
        yield fact(f"/sys/class/net/b{number}/bonding/mode", "balance-rr 0\n", "begin")
        yield fact(f"/sys/class/net/b{number}/mtu", "1500\n", "begin")
        yield fact(f"/sys/class/net/b{number}/operstate", "down\n", "begin")
        yield fact(f"/sys/class/net/b{number}/bonding/slaves", "b0 " * 21_000, "begin")


SHAPES = {
    each.__name__: each
    for each in (
        *(cpus_allowed, cgroup_paths, deepest_cgroup, cgroup_lines, kernel_log, mounts, nested),
        *(mounts_of_one_device, mount_options, layers_in_a_circle, queues_of_packets),
    )
}
