"""Requests that lie unread: an event loop that is held up, a pool of workers that is full."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unit.support import Builder
from unit.support.exchanges import exchange, latency, unread

MS = 1_000_000
HANDLER = {"user": ["renderYearlyReport (app.js)"]}


def requests(
    builder: Builder,
    accounts: dict[str, int],
    *,
    count: int = 400,
    turns: int = 0,
    delays: list[int] | None = None,
    met: Mapping[str, float] | None = None,
    served: bool = True,
    name: str = "",
    **sums: Any,
) -> Builder:
    """Let a target serve requests that took so long (milliseconds, all together) in accounts, until read, and else.

    The last thread has read them, and was in what they `met` for these parts of the time in which they lay unread: by
    default it computed; and `served` others meanwhile.
    """
    delays = delays or [0] * count
    parts = {name: ms * MS for name, ms in accounts.items()}
    whole_ns = sum(parts.values()) + sum(delays) * MS + sums.pop("rest", 0) * MS
    fields = {name: value * MS for name, value in sums.items()}
    read_delay_ns = sum(delays) * MS
    builder.reads(count, turns)
    builder.line(exchange(count, whole_ns, parts, turns=turns, read_delay_ns=read_delay_ns, name=name, **fields))
    for account, part in (met or {"cpu.user": 1}).items() if read_delay_ns else ():
        for line in unread({(account, account): int(part * read_delay_ns)}, served=served):
            builder.line(line)
    builder.line(latency([whole_ns // count] * count, name=name))
    return builder.line(latency([ms * MS for ms in delays], "read_delay", name=name))


def loop(slow_ms: int, accounts: dict[str, int] | None = None) -> Builder:
    """Return an event loop; in front of one handler of so many milliseconds twenty of 400 requests queue up."""
    builder = Builder(comm="node").thread("node", cpu_user=f"{2000 + slow_ms} ms", wait_events="6 s")
    builder.stack("cpu", count=100, **HANDLER)
    delays = [slow_ms // 2] * 20 + [0] * 380
    return requests(builder, {"cpu.user": 2000 + slow_ms, **(accounts or {})}, turns=390, delays=delays)


def pool(met: Mapping[str, float] | None = None, *, served: bool = True) -> Builder:
    """Return four workers that read from a disk; half of 100 requests waited 400 ms to be read."""
    builder = Builder(comm="httpd")
    for _ in range(4):
        builder.thread("worker", disk_read="7 s")
    met = met or {"disk.read": 1}
    return requests(builder, {"disk.read": 28_000}, count=100, delays=[400] * 50 + [0] * 50, met=met, served=served)


__all__ = ["loop", "pool", "requests"]
