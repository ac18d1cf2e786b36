"""Requests that wait for processes which the target has started."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Severity
from perfdiag.recording import schema

from unit.support import Builder
from unit.support.exchanges import served

S, MS = 1_000_000_000, 1_000_000


def waited(account: str, root: str, ns: int, *, inside: bool = True) -> schema.Because:
    return schema.Because(
        pid=100, account=account, object="", steps=[], cut=False, root=root, root_object="", root_tid=0,
        root_tid_ns=0, sum_ns=ns, count=9, inside=inside,
    )  # fmt: skip


def accounts_behind(*lines: schema.Because, wait: str = "wait.child") -> dict[str, int]:
    """Return where the time of requests goes that wait 36 of 36.04 s for processes of the target."""
    builder = Builder(comm="server").thread("serve", cpu_user="40 ms", rest="net.request")
    for line in (*served(120, 301 * MS, {wait: 36 * S, "cpu.user": 40 * MS}), *lines):
        builder.line(line)
    time = builder.model().request_time
    assert time
    return dict(time.accounts)


@pytest.mark.parametrize("wait", ["wait.child", "ipc.pipe"])
def test_requests_that_wait_for_processes_of_the_target_are_in_what_those_do(wait: str) -> None:
    """As far as it is known; what sleeps keeps the name of the wait, and waits outside of requests do not count."""
    lines = [
        waited(wait, "disk.flush", 20 * S),
        waited(wait, "cpu.user", 4 * S),
        waited(wait, "wait.timer", 2 * S),
        waited(wait, "disk.read", 9 * S, inside=False),
    ]
    found = accounts_behind(*lines, wait=wait)
    assert (found["disk.flush"], found[wait], found["cpu.user"]) == (20 * S, 12 * S, 4 * S + 40 * MS), found
    assert "disk.read" not in found and "wait.timer" not in found
    more = accounts_behind(waited(wait, "disk.flush", 80 * S), waited(wait, "net.receive", 20 * S), wait=wait)
    assert (more["disk.flush"], more["net.receive"]) == (28_800 * MS, 7_200 * MS) and wait not in more, more


def test_requests_that_read_from_a_process_that_sleeps() -> None:
    builder = Builder(comm="server").thread("serve", cpu_user="40 ms", rest="net.request")
    builder.row("ipc.pipe", "pipe:1", "9 s", count=30)
    for line in (
        *served(30, 301 * MS, {"ipc.pipe": 9 * S, "cpu.user": 10 * MS}),
        waited("ipc.pipe", "wait.timer", 8 * S),
    ):
        builder.line(line)
    first = diagnose(builder.model()).findings[0]
    assert first.id == "PROC-CHILD-SLOW" and first.severity is Severity.WARNING and first.claimed_ns == 9 * S, first
