"""Recordings of two full tables each, in which a join that asks for all of one per line of the other takes long."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
from perfdiag.recording import schema

from unit.support.threads import START_NS

S = 1_000_000_000
WINDOW_NS = 10 * S  # of the recording that a builder makes
Line = dict[str, Any]
PID = 100
LIMITS = "Limit                     Soft Limit           Hard Limit           Units     \n"
LIMITS += "Max open files            10                   10                   files     \n"


def fact(path: str, text: str, phase: str = "end") -> Line:
    return {"type": "fact", "at_ns": 1, "phase": phase, "path": path, "text": text}


def thread(number: int, account: str, pid: int = PID, **fields: Any) -> Line:
    return {
        "type": "thread",
        "at_ns": START_NS + S,
        "serial": 10 + number,
        "pid": pid,
        "tid": 100 + number,
        "namespace_tid": 1,
        "comm": "a",
        "state": "alive",
        "start_ns": START_NS,
        "wall_ns": S,
        "user_ns": 1000,
        "kernel_ns": 0,
        "accounts": [[account, S - 1000, 5, S // 3], ["cpu.user", 1000, 5, 300]],
        **fields,
    }


def detail(account: str, key: str, sum_ns: int = S // 4, **fields: Any) -> Line:
    waker = {"waker_tid": 101, "waker_count": 3}
    whole = {"count": 5, "max_ns": sum_ns // 2, "buckets": [[22, 5]], **waker}
    return {"type": "detail", "pid": PID, "account": account, "object": key, "sum_ns": sum_ns, **whole, **fields}


def because(account: str, key: str, steps: list[str], root_key: str, **fields: Any) -> Line:
    chain = {"pid": PID, "account": account, "object": key, "steps": steps, "cut": False, "root": steps[-1]}
    root = {"root_object": root_key, "root_tid": 101, "root_tid_ns": S // 1000}
    return {"type": "because", **chain, **root, "sum_ns": S // 1000, "count": 50, "inside": False, **fields}


def exchange(key: str, direction: str, **fields: Any) -> Line:
    nothing = {field.name: 0 for field in msgspec.structs.fields(schema.Exchange) if field.required}
    return {**nothing, "type": "exchange", "object": key, "name": "", "direction": direction, "accounts": [], **fields}


def requests(sum_ns: int, accounts: list[list[Any]], **fields: Any) -> Iterator[Line]:
    """Yield what is known of 500 requests."""
    whole = {"count": 500, "sum_ns": sum_ns, "whole": 500, "whole_ns": sum_ns, "accounts": accounts}
    yield exchange("port:80", "accepted", **{**whole, "name": "GET /", **fields})
    yield {
        "type": "latency",
        "object": "port:80",
        "name": "GET /",
        "direction": "accepted",
        "what": "whole",
        "buckets": [[300, 500]],
        "max_ns": S // 100,
    }


def never_released() -> Iterator[Line]:
    """Each thread waits for a futex of its own, all along; and so do tens of thousands that have no line."""
    for number in range(10_900):
        open = {"account": "lock.futex", "object": f"futex:{number:#x}", "since_ns": START_NS}
        whole = {"user_ns": 0, "wall_ns": WINDOW_NS, "accounts": [["lock.futex", WINDOW_NS, 1, WINDOW_NS]]}
        yield thread(number, "", open=open, **whole)
    for number in range(34_000):
        whole = {"count": 1, "max_ns": WINDOW_NS, "buckets": [[23, 1]], "waker_tid": 0, "waker_count": 0}
        yield detail("lock.futex", f"futex:{number:#x}", WINDOW_NS, **whole)


def stopped_machines() -> Iterator[Line]:
    """Thousands of processes, each stopped at safepoints for several reasons."""
    for number in range(10_900):
        yield thread(number, "runtime.safepoint", pid=100 + number)
    for number in range(40_000):
        key = "lock:safepoint" if number < 10_900 else f"lock:collection{number // 10_900}"
        yield detail("runtime.safepoint", key, pid=100 + number % 10_900)


def stops_that_write() -> Iterator[Line]:
    """Thousands of processes that are stopped while something is written."""
    for number in range(8000):
        yield thread(number, "disk.write", pid=100 + number)
        yield because("runtime.safepoint", "lock:safepoint", ["disk.write"], "file:254:1:1:f", pid=100 + number)
    for number in range(33_000):
        yield detail("disk.write", f"file:254:1:{number // 8000}:f", pid=100 + number % 8000)


def sessions() -> Iterator[Line]:
    """Tens of thousands of locks of a database, thousands of them behind a session that is idle in a transaction."""
    for number in range(500):
        yield thread(number, "lock.database")
    for number in range(34_000):
        yield detail("lock.database", f"postgres:3:{number}")
    for number in range(8700):
        yield because("lock.database", f"postgres:3:{number}", ["wait.events"], "postgres:6:0:transaction")


def refused() -> Iterator[Line]:
    """Thousands of processes near their limit of descriptors, and as many refusals to others."""
    for number in range(2000):
        pid = 100 + number
        yield thread(number, "wait.events", pid=pid)
        yield fact(f"/proc/{pid}/fd", "6 inode 4695570")
        yield fact(f"/proc/{pid}/stat", f"{pid} (x) S 1 1 1")
        yield fact(f"/proc/{pid}/limits", LIMITS)
    for number in range(30_000):
        whose = {"pid": 900_000 + number, "tid": 5, "by_pid": 5, "by_comm": "a"}
        yield {"type": "event", "at_ns": START_NS + number, "name": "operation_refused", "text": "EMFILE", **whose}


def device(name: str, number: str) -> Iterator[Line]:
    yield fact(f"/sys/block/{name}/dev", f"{number}\n")
    yield fact(f"/sys/block/{name}", f"../devices/virtual/block/{name}")


def nested_arrays() -> Iterator[Line]:
    """Eight layers of arrays, each with all six of the next layer as members."""
    yield thread(0, "disk.read")
    yield detail("disk.read", "device:250:0")
    yield from device("dm0", "250:0")
    for layer in range(8):
        for place in range(6):
            own = layer * 6 + place
            yield from device(f"dm{own + 1}", f"250:{own + 1}")
            above = ["dm0"] if not layer else [f"dm{own - place - each}" for each in range(6)]
            for name in above:
                yield fact(f"/sys/block/{name}/slaves/dm{own + 1}", "")


def wide_arrays() -> Iterator[Line]:
    """Many arrays of the same thousands of disks."""
    yield thread(0, "disk.read")
    for number in range(4000):
        yield from device(f"sd{number}", f"251:{number}")
    for number in range(90):
        yield detail("disk.read", f"device:250:{number}")
        yield from device(f"dm{number}", f"250:{number}")
        yield fact(f"/sys/block/dm{number}/slaves/big", "")
    yield from device("big", "252:0")
    for number in range(4000):
        yield fact(f"/sys/block/big/slaves/sd{number}", "")


def unknown_disks() -> Iterator[Line]:
    """Thousands of disks without a folder, beside thousands of folders."""
    yield thread(0, "disk.read")
    yield detail("disk.read", "device:250:0")
    for major, phase in enumerate(("begin", "end"), 250):
        text = "".join(f"{major} {minor} x{minor}{' 0' * 17}\n" for minor in range(1350))
        yield fact("/proc/diskstats", text, phase)
    for number in range(15_000):
        yield fact(f"/sys/block/w{number}", f"../devices/w{number}")


def limited_calls() -> Iterator[Line]:
    """Calls to thousands of peers, of each many at a time, while requests wait."""
    yield thread(0, "net.receive")
    levels = [[level, S // 32] for level in range(1, 32)] + [[32 + 2 * each, S // 1000] for each in range(8)]
    yield {"type": "requests_inside", "most": 60, "unseen": 0, "levels": levels}
    outstanding = [[1, 100, 100, 100], [2, S, 100, 100], *([level, 1, 0, 0] for level in range(3, 40))]
    for number in range(4300):
        many = {"count": 100, "sum_ns": S // 1000, "most": 2, "levels": outstanding}
        yield exchange(f"peer:10.0.0.1:{number}", "connected", **many)


def chatty_calls() -> Iterator[Line]:
    """Requests that call thousands of peers often."""
    for number in range(200):
        yield thread(number, "net.receive")
    yield from requests(S, [["net.receive", S // 2], ["cpu.user", S // 2]], peers_ns=S // 2)
    for number in range(4300):
        own_ns = S // 4 // 4300
        yield exchange(f"peer:10.0.0.1:{number}", "connected", count=100_000, sum_ns=own_ns, busy_ns=own_ns)
    for number in range(33_000):
        yield detail("net.receive", f"peer:10.0.0.1:{number}", S // 1000)


def parked_requests() -> Iterator[Line]:
    """Requests that wait on thousands of futexes, among tens of thousands."""
    for number in range(2000):
        yield thread(number, "wait.parked")
    yield from requests(1000 * S, [["wait.parked", 900 * S], ["cpu.user", 100 * S]])
    for number in range(4352):
        one = {"pid": PID, "object": f"futex:{number:#x}", "over_slo": False, "count": 10, "sum_ns": 900 * S // 4352}
        yield {"type": "request_parked", **one}
    for number in range(33_000):
        yield detail("wait.parked", f"futex:{number:#x}", 900 * S // 33_000, waker_tid=100 + number % 2000)


PRODUCTS: dict[str, Callable[[], Iterator[Line]]] = {
    each.__name__: each
    for each in (
        chatty_calls,
        limited_calls,
        nested_arrays,
        never_released,
        parked_requests,
        refused,
        sessions,
        stopped_machines,
        stops_that_write,
        unknown_disks,
        wide_arrays,
    )
}

__all__ = ["PRODUCTS", "S", "fact"]
