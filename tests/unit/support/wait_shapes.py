"""Hostile recordings of one shape each: waits, and who ended them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
from perfdiag.recording import schema
from perfdiag.recording.accounts import ACCOUNTS

from unit.support.products import S, fact


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


def causes() -> Iterator[dict[str, Any]]:
    """Many findings, each beside thousands of causes of waits, and nearly as many accounts as there may be."""
    yield thread(0, user_ns=0, accounts=[[f"a.{number}", 10, 1, 10] for number in range(50)])
    for number in range(2000):
        yield parked(number, "net.receive", 0) | {"object": f"peer:10.0.{number // 250}.{number % 250}:80"}
    for number in range(8000):
        yield {
            "type": "because",
            "pid": 100,
            "account": "lock.futex",
            "object": "futex:0x1000",
            "steps": [],
            "cut": False,
            "root": "disk.flush",
            "root_object": f"file:254:0:{number}:f",
            "root_tid": 1,
            "root_tid_ns": 10**6,
            "sum_ns": 10**7,
            "count": 5,
        }


def members() -> Iterator[dict[str, Any]]:
    """Waits at thousands of unix sockets, each worth a finding."""
    for number in range(20_000):
        yield parked(number, "ipc.unix", 0) | {"object": f"unix:{number}:"}


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


def crowd() -> Iterator[dict[str, Any]]:
    """Threads that were in most accounts, and waited at several futexes."""
    names = [account.name for account in ACCOUNTS if not account.name.startswith("cpu.")][:22]
    for number in range(12_000):
        parts = [[name, S // len(names), 5, S // 99] for name in names]
        futexes = [[f"futex:{number * 16 + each:#x}", S // 999, 1, 100 + number // 2] for each in range(14)]
        yield thread(number, user_ns=0, wall_ns=len(names) * (S // len(names)), accounts=parts, futexes=futexes)


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


def listening() -> Iterator[dict[str, Any]]:
    """Many targets that listen on thousands of sockets: some on the same, some on their own."""
    for target in range(240):
        inodes = range(2500) if target % 2 else range(2500 * target, 2500 * target + 2500)
        text = "".join(f"0.0.0.0 {port} 0 128 5 {inode}\n" for port, inode in enumerate(inodes))
        yield fact(f"/sock_diag/listen/{100 + target}", f"somaxconn 4096 own\n{text}"[:65_000])
    yield from unanswered(100)


def fleeting_peers() -> Iterator[dict[str, Any]]:
    """As many peers as there is room for, each asked once: a crawler's."""
    for number in range(69_632):
        yield {
            "type": "detail",
            "pid": 100,
            "account": "net.receive",
            "object": f"peer:10.{number >> 16}.{number >> 8 & 255}.{number & 255}:80",
            "sum_ns": 60_000,
            "count": 1,
            "max_ns": 60_000,
            "buckets": [[8, 1]],
        }


SHAPES = {
    **{
        each.__name__: each
        for each in (because, causes, members, sessions, pipeline, ring, contended, asking, threads, crowd, listening)
    },
    "futexes": details("wait.parked", "futex:{:#x}"),
    "devices": details("disk.read", "device:8:{}"),
    "peers": details("net.receive", "peer:10.0.0.1:{}"),
    "fleeting_peers": fleeting_peers,
    "pipes": details("ipc.pipe", "pipe:{}"),
    "unix": details("ipc.unix", "unix:{}:cupsd"),
    "neighbours": details("runq.busy", "task:{}:cc1"),
    "idle_states": details("runq.waking", "idle:{}"),
    "nfs": details("nfs.commit", "mount:0:{}"),
    "files": details("memory.major_fault", "file:8:1:{}:a"),
    "locks": details("lock.file", "file:8:1:{}:a"),
    "cgroups": details("runq.throttled", "cgroup:{}"),
}
