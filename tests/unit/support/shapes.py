"""Hostile recordings of one shape each: what no recorder of ours writes, or only at its limits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from unit.support import fact_shapes, request_shapes, wait_shapes
from unit.support.products import PRODUCTS, S
from unit.support.wait_shapes import thread


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


def short_names() -> Iterator[dict[str, Any]]:
    """Samples of CPU time with as many functions as a recorder writes, of a few letters each."""
    for number, stack in zip(range(4000), stacks(), strict=False):
        names = [f"{chr(97 + place % 26)}{number % 100}" for place in range(48)]
        sample = {"kind": "cpu", "account": "cpu.user", "object": "", "weight_ns": 4_000_000}
        yield {**stack, **sample, "kernel": names if number % 2 else [], "user": [*names[:47], f"f{number} (a)"]}


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


SHAPES = {
    **PRODUCTS,
    **request_shapes.SHAPES,
    **fact_shapes.SHAPES,
    **wait_shapes.SHAPES,
    **{each.__name__: each for each in (counters, stacks, mangled_names, short_names, operations, events, exits)},
}
