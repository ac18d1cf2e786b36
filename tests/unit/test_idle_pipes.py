"""Waits at pipes that no request has to do with: for news that nobody sent, or that the process tells itself."""

from __future__ import annotations

import pytest
from perfdiag.model.model import Model
from perfdiag.recording import schema

from unit.support import Builder
from unit.support.exchanges import exchange

S, MS = 1_000_000_000, 1_000_000
PIPE = "pipe:655751"
READS, WRITES = ["schedule", "anon_pipe_read"], ["schedule", "anon_pipe_write"]


def server(accounts: dict[str, int] | None = None) -> Builder:
    """A server that answers 40 requests in 1 ms each."""
    builder = Builder(window="10 s").thread("server", tid=100, cpu_user="40 ms", rest="wait.events").reads(40)
    return builder.line(exchange(40, 40 * MS, {"cpu.user": 40 * MS} | (accounts or {})))


def waits(builder: Builder, *, count: int = 1, waker_tid: int = 0, functions: list[str] = READS) -> Builder:
    """Another thread waits ten seconds at a pipe: once, until the end of the window, or until somebody wakes it."""
    builder.thread("handler", tid=101, open=("ipc.pipe", PIPE, "10 s") if count == 1 else None)
    builder.row("ipc.pipe", PIPE, "10 s", count=count, waker_tid=waker_tid, waker_count=count if waker_tid else 0)
    return builder.stack("wait", "ipc.pipe", tid=101, object=PIPE, kernel=functions, weight="10 s")


def parked(model: Model) -> bool:
    """Return whether that counts as unknown; all of it must be in one account."""
    assert sorted([model.ns("wait.parked"), model.ns("ipc.pipe")]) == [0, 10 * S]
    assert [row.account for row in model.rows if row.key == PIPE] == [
        "wait.parked" if model.ns("wait.parked") else "ipc.pipe"
    ]
    assert model.coverage.stack_agreement == 1
    return bool(model.ns("wait.parked"))


def test_who_waits_at_a_pipe_for_what_nobody_sent_may_be_idle() -> None:
    """As Erlang's handler of signals; requests were answered, and none of them waited for it."""
    model = waits(server()).model()
    assert parked(model) and model.busy_ns == 40 * MS
    waiting = next(thread.still_waiting for thread in model.threads if thread.tid == 101)
    assert waiting is not None and (waiting.account, waiting.object) == ("wait.parked", PIPE)


@pytest.mark.parametrize(("waker_tid", "idle"), [(100, True), (777, False), (0, False)])
def test_who_is_woken_by_its_own_process_may_be_idle(waker_tid: int, idle: bool) -> None:
    builder = waits(server(), count=50, waker_tid=waker_tid)
    assert parked(builder.model()) is idle


def test_where_requests_wait_at_pipes_nothing_is_idle() -> None:
    assert not parked(waits(server({"ipc.pipe": 20 * MS})).model())


def test_who_has_requests_behind_it_is_not_idle() -> None:
    builder = waits(server())
    behind = schema.Because(
        pid=builder.pid, account="wait.parked", object="futex:1", steps=["ipc.pipe"], cut=False, root="wait.timer",
        root_object="", root_tid=0, root_tid_ns=0, sum_ns=S, count=9, inside=True,
    )  # fmt: skip
    assert not parked(builder.line(behind).model())


def test_a_filter_without_requests_waits_for_its_input() -> None:
    assert not parked(waits(Builder(window="10 s").thread("main", tid=100, cpu_user="40 ms")).model())


def test_who_waits_for_room_is_not_idle() -> None:
    assert not parked(waits(server(), functions=WRITES).model())
