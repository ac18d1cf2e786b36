"""Hostile recordings of one shape each: what no recorder of ours writes, or only at its limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
from perfdiag.recording import schema

from unit.support import request_shapes
from unit.support.products import PRODUCTS, S, fact


def counters() -> Iterator[dict[str, Any]]:
    """Of a recorder that is not ours."""
    yield {
        "type": "footer",
        "at_ns": 20 * S,
        "reason": "duration",
        "threads_seen": 1,
        "cost": {"cpu_ns": 1, "programs": []},
        "lost": {f"counter{number}": 1 for number in range(20_000)},
    }


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


def details(account: str, kind: str) -> Callable[[], Iterator[dict[str, Any]]]:
    def lines() -> Iterator[dict[str, Any]]:
        for number in range(20_000):
            yield {
                "type": "detail",
                "pid": 100,
                "account": account,
                "object": kind.format(number),
                "sum_ns": 100,
                "count": 1,
                "max_ns": 100,
                "buckets": [[1, 1]],
                "waker_tid": 100 + number,
                "waker_count": 1,
            }

    return lines


def because() -> Iterator[dict[str, Any]]:
    for number in range(8000):
        yield {
            "type": "because",
            "pid": 100,
            "account": "wait.parked",
            "object": f"futex:{number:#x}",
            "steps": [],
            "cut": False,
            "root": "disk.read",
            "root_object": f"device:8:{number}",
            "root_tid": number,
            "root_tid_ns": 5,
            "sum_ns": 10,
            "count": 1,
        }


def stacks() -> Iterator[dict[str, Any]]:
    for number in range(4000):
        yield {
            "type": "stack",
            "kind": "wait",
            "pid": 100,
            "tid": 100,
            "account": "wait.parked",
            "count": 1,
            "object": f"futex:{number:#x}",
            "weight_ns": 1000,
            "kernel": [],
            "user": ["pthread_mutex_lock (libc.so.6)"],
        }


def mangled_names() -> Iterator[dict[str, Any]]:
    for number, stack in zip(range(800), stacks(), strict=False):
        yield {**stack, "user": [f"f{number} (a)", *[f"_ZN{'1a' * 245} (a)"] * 47]}


def sessions() -> Iterator[dict[str, Any]]:
    """Of a database with thousands of them."""
    yield {"type": "application", "pid": 100, "kind": "postgresql", "version": "15", "processes": 1, "reads": ""}
    yield {
        "type": "statement", "server": "postgresql", "kind": "run", "name": "SELECT ?", "cut": False, "count": 1,
        "sum_ns": S, "accounts": [], "over_slo": 0, "over_slo_ns": 0, "over_slo_accounts": [], "max_ns": S,
        "max_begun_ns": 1, "max_pid": 100, "max_tid": 100, "max_accounts": [], "buckets": [],
    }  # fmt: skip
    for number in range(10_000):
        yield thread(number, user_ns=0, accounts=[["cpu.user", S, 1, S]])


def pipeline() -> Iterator[dict[str, Any]]:
    """Processes that wait for each other, met from the last one to the first."""
    for number in range(16_000):
        yield {"type": "event", "at_ns": 2 * S, "name": "exec", "pid": 1000 + number, "tid": 1000, "text": "a"}
    sum_ns = 10**8
    for pipe, ahead in [*((number, 0) for number in range(16_000)), *((number, 1) for number in range(15_999, 0, -1))]:
        sum_ns -= 1000
        yield {
            "type": "detail", "pid": 1000 + pipe, "account": "ipc.pipe", "object": f"pipe:{16_000 * ahead + pipe}",
            "sum_ns": sum_ns, "count": 1, "max_ns": sum_ns, "buckets": [[19, 1]], "waker_tid": 1000 + pipe - ahead,
            "waker_count": 1,
        }  # fmt: skip


def threads() -> Iterator[dict[str, Any]]:
    for number in range(5000):
        yield thread(
            number,
            user_ns=0,
            accounts=[["lock.futex", S, 1, S]],
            futexes=[[f"futex:{number:#x}", S, 1, 100 + number // 2]],
            open={"account": "lock.futex", "object": f"futex:{number:#x}", "since_ns": 1},
        )


def operations() -> Iterator[dict[str, Any]]:
    for number in range(1000):
        yield {
            "type": "operation",
            "name": f"syscall:{number}",
            "count": 1,
            "errors": 0,
            "sum_ns": S,
            "max_ns": S,
            "buckets": [],
            "over_slo": 1,
            "accounts": [],
        }


def events() -> Iterator[dict[str, Any]]:
    for number in range(20_000):
        yield {
            "type": "event",
            "at_ns": number,
            "name": ("exec", "EMFILE", "oom_kill")[number % 3],
            "pid": number,
            "tid": number,
            "text": "a",
        }


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


def thread(number: int, **fields: Any) -> dict[str, Any]:
    """Return a thread that was parked nearly all along."""
    return {
        "type": "thread",
        "at_ns": S,
        "serial": 10 + number,
        "pid": 100,
        "tid": 100 + number,
        "namespace_tid": 1,
        "comm": "a",
        "state": "alive",
        "start_ns": 1,
        "wall_ns": S,
        "user_ns": 1000,
        "kernel_ns": 0,
        "accounts": [["wait.parked", S - 1000, 5, S // 3], ["cpu.user", 1000, 5, 300]],
        **fields,
    }


def parked(number: int, account: str, woken_by: int) -> dict[str, Any]:
    return {
        "type": "detail",
        "pid": 100,
        "account": account,
        "object": f"futex:{number:#x}",
        "sum_ns": S // 3,
        "count": 5,
        "max_ns": S // 3,
        "buckets": [[22, 5]],
        "waker_tid": woken_by,
        "waker_count": 5,
    }


def ring() -> Iterator[dict[str, Any]]:
    """Each thread waits for the next, and the last for the first."""
    size = 8000
    for number in range(size):
        following = (number + 1) % size
        yield thread(number)
        yield parked(number, "wait.parked", 100 + following)
        yield {
            "type": "because",
            "pid": 100,
            "account": "wait.parked",
            "object": f"futex:{number:#x}",
            "steps": ["lock.futex", "wait.parked", "lock.kernel"],
            "cut": True,
            "root": "wait.parked",
            "root_object": f"futex:{following:#x}",
            "root_tid": 100 + following,
            "root_tid_ns": S // 2,
            "sum_ns": S // 2,
            "count": 5,
            "inside": True,
        }


def contended() -> Iterator[dict[str, Any]]:
    """Each thread waits for many futexes, and each futex seems to be a lock that is worth a word."""
    size, locks = 10_900, 5000
    for number in range(size):
        words = [[f"futex:{(number * k + k) % locks:#x}", S // 20, 5, 100 + (number + k) % size] for k in range(14)]
        yield thread(number, futexes=words)
    for number in range(60_000):
        yield parked(number // 2, "wait.parked" if number % 2 else "lock.futex", 100 + number % size)


def exits() -> Iterator[dict[str, Any]]:
    """Exits of virtual CPUs for thousands of reasons."""
    yield thread(0, user_ns=0, accounts=[["vm.guest", S // 2, 1, S], ["vm.exit", S // 2, 1, S]])
    for number in range(4352):
        yield {
            "type": "vm_exit",
            "pid": 100,
            "vendor": "svm",
            "code": number,
            "count": 1000,
            "sum_ns": S,
            "max_ns": S,
            "buckets": [[20, 1000]],
            "running_ns": S,
            "halted_ns": 0,
            "polled_ns": 0,
            "user": False,
            "device": "",
        }


def listening() -> Iterator[dict[str, Any]]:
    """Many targets that listen on thousands of sockets: some on the same, some on their own."""
    for target in range(240):
        inodes = range(2500) if target % 2 else range(2500 * target, 2500 * target + 2500)
        text = "".join(f"0.0.0.0 {port} 0 128 5 {inode}\n" for port, inode in enumerate(inodes))
        yield fact(f"/sock_diag/listen/{100 + target}", f"somaxconn 4096 own\n{text}"[:65_000])
    yield from unanswered(100)


def unanswered(number: int) -> Iterator[dict[str, Any]]:
    for each in range(number):
        yield {
            "type": "silent",
            "object": f"port:{each}",
            "direction": "accepted",
            "pid": 100,
            "count": 1,
            "never": 0,
            "oldest_ns": 5,
        }


def asking() -> Iterator[dict[str, Any]]:
    """Requests of thousands of names that call as many peers."""
    fields = msgspec.structs.fields(schema.Exchange)
    nothing = {field.name: 0 for field in fields if field.required}
    for number in range(4300):
        served = number % 2
        yield {
            **nothing,
            "type": "exchange",
            "object": f"port:{number}" if served else f"peer:10.0.0.1:{number}",
            "name": f"GET /{number:x}" if served else "",
            "direction": "accepted" if served else "connected",
            "count": 1000,
            "sum_ns": S // 10,
            "whole": 1000,
            "whole_ns": S // 10,
            "peers_ns": S // 20,
            "busy_ns": S // 20,
            "accounts": [["wait.parked", S // 20]] if served else [],
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
    **PRODUCTS,
    **request_shapes.SHAPES,
    **{
        each.__name__: each
        for each in (
            counters,
            cpus_allowed,
            cgroup_paths,
            deepest_cgroup,
            cgroup_lines,
            because,
            stacks,
            mangled_names,
            sessions,
            pipeline,
            threads,
            operations,
            events,
            kernel_log,
            mounts,
            ring,
            contended,
            exits,
            listening,
            asking,
            nested,
        )
    },
    "futexes": details("wait.parked", "futex:{:#x}"),
    "devices": details("disk.read", "device:8:{}"),
    "peers": details("net.receive", "peer:10.0.0.1:{}"),
    "pipes": details("ipc.pipe", "pipe:{}"),
    "unix": details("ipc.unix", "unix:{}:cupsd"),
    "neighbours": details("runq.busy", "task:{}:cc1"),
    "idle_states": details("runq.waking", "idle:{}"),
    "nfs": details("nfs.commit", "mount:0:{}"),
    "files": details("memory.major_fault", "file:8:1:{}:a"),
    "locks": details("lock.file", "file:8:1:{}:a"),
    "cgroups": details("runq.throttled", "cgroup:{}"),
}

__all__ = ["SHAPES"]
