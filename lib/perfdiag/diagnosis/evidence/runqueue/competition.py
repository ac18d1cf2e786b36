"""Waits for a CPU, sorted by who had it meanwhile: own threads, neighbours, perfdiag, or nobody knows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from perfdiag.common.text import NAME_NOT_KEPT, NO_NAME
from perfdiag.diagnosis.evidence.runqueue.unknown_competitors import of_neighbours
from perfdiag.diagnosis.rule import Check, Evidence, Silence
from perfdiag.diagnosis.significance import (
    TOLERABLE_LOSS,
    duration,
    percent,
    share_above,
    together,
    total_ns,
    waits,
    without_rows,
    worth,
)
from perfdiag.model.model import Model, Row

# A woken thread often waits until its waker leaves the CPU: waits up to 131 us (a bucket's edge) are the price of
# handing over and nobody's fault.
HANDOVER_NS = 131_072
# Short waits of less than a tenth of one thread are not felt: idle workers with something to do now and then.
FELT_OF_WINDOW = 0.1
KERNEL_THREADS = (
    "kworker/",
    "ksoftirqd/",
    "migration/",
    "rcu_",
    "rcuo",
    "kswapd",
    "kcompactd",
    "khugepaged",
    "kdamond",
    "jbd2/",
    "xfsaild/",
    "btrfs-",
    "irq/",
    "cpuhp/",
    "watchdog/",
)
# Counters of the recording that say that names of those who ran were dropped for want of room.
NAMES_DROPPED = ("detail_full", "details", "names_full")


@dataclass(frozen=True)
class Competition:
    """runq.busy by who had the CPU."""

    own: list[Row]
    neighbours: list[Row]
    measuring: list[Row]  # perfdiag: a fact about this recording, none about the target
    unnamed: list[Row]


def competition(model: Model) -> Competition:
    """Sort the waits.  A kernel thread runs for microseconds: where own threads are most of the competition, the
    wait that began behind one was spent behind them."""
    rows = model.rows_of("runq.busy")
    own = [row for row in rows if row.key.startswith("own:")]
    tasks = [row for row in rows if row.key.startswith("task:")]
    measuring = [row for row in tasks if comm_of(row.key).startswith("perfdiag")]
    neighbours = [row for row in tasks if not comm_of(row.key).startswith("perfdiag")]
    if total_ns(own) > total_ns(neighbours):
        own += [row for row in neighbours if comm_of(row.key).startswith(KERNEL_THREADS)]
        neighbours = [row for row in neighbours if not comm_of(row.key).startswith(KERNEL_THREADS)]
    return Competition(own, neighbours, measuring, [row for row in rows if not row.key.startswith(("own:", "task:"))])


def surely_neighbours(model: Model, competing: Competition) -> dict[str, int]:
    """Return the waits without a name that cannot be behind own threads, by key."""
    return of_neighbours(model, long_ns(competing.unnamed), total_ns(competing.own))


def unnamed(model: Model, id: str, nameless_ns: int, known_ns: int) -> Silence | None:
    """Return the silence where most of the waiting has no name, and why it has none."""
    rowless = without_rows(model, id, "runq.busy")
    if rowless:
        return rowless
    if not worth(model, nameless_ns) or nameless_ns <= known_ns:
        return None
    why, remedy = _why_unnamed(model)
    return Silence(id, f"{duration(nameless_ns)} in the run queue of which is not known who had the CPU: {why}", remedy)


def _why_unnamed(model: Model) -> tuple[str, str]:
    if any(model.coverage.lost.get(counter) for counter in NAMES_DROPPED):
        return "the table of names was full", "record fewer processes, or a shorter window"
    return (
        "the CPU changed hands more than 64 times in one wait (more names are not kept), or the thread was moved"
        " from another CPU's queue",
        "perf sched record -p PID, then perf sched timehist: every switch by name",
    )


def what_is_missing(model: Model, competing: Competition, ns: int, nameless_ns: int) -> list[str]:
    """Return what limits a statement on `ns` of these waits, where `nameless_ns` more belong to nobody."""
    measuring_ns = total_ns(competing.measuring)
    return [
        f"of {duration(nameless_ns)} more in the run queue is not known who had the CPU: {_why_unnamed(model)[0]}"
        if nameless_ns > ns / 10
        else "",
        f"{duration(measuring_ns)} more were spent behind perfdiag itself, which is not there otherwise"
        if measuring_ns > ns / 10
        else "",
    ]


def long_ns(rows: Iterable[Row]) -> dict[str, int]:
    """Return the time in waits longer than a hand-over, by who ran."""
    sums: dict[str, int] = {}
    for row in rows:
        ns = round(row.distribution.sum_ns * share_above(row.distribution, HANDOVER_NS))
        if ns:
            sums[row.key] = sums.get(row.key, 0) + ns
    return sums


def claims(wanted: Mapping[str, int]) -> dict[str | tuple[str, str], int]:
    """Return what a rule claims of these waits."""
    return {("runq.busy", key): ns for key, ns in wanted.items()}


def all_ns(rows: Iterable[Row]) -> dict[str, int]:
    """Return the time in waits of any length, by who ran."""
    sums: dict[str, int] = {}
    for row in rows:
        sums[row.key] = sums.get(row.key, 0) + row.distribution.sum_ns
    return sums


def named_waits(rows: list[Row], who: str, claimed: Mapping[str, int]) -> list[Evidence]:
    """Return the evidence of waits of which is known who ran, and how much of it is too short to be claimed."""
    if not rows:
        return []
    whole = together(rows)
    short_ns = whole.sum_ns - sum(claimed.get(key, 0) for key in {row.key for row in rows})
    left_out = f" ({duration(short_ns)} in those up to 131 us left out)" if short_ns > whole.sum_ns / 100 else ""
    return [waits(whole, f"waits behind {who}{left_out}")]


def no_competition(model: Model, id: str, who: str, ns: int, why: str = "") -> Check | Silence:
    """Return the check of waits that are no finding; the silence where more may stand with what was waited for before:
    a wait whose end was not seen lasts until the thread runs again."""
    unseen, ended = model.coverage.lost.get("wakeups_missing", 0), sum(each.count for each in model.accounts.values())
    if unseen > TOLERABLE_LOSS * ended:
        reason = f"the end of {unseen:,} in {ended:,} waits was not seen: time in the run queue counts as theirs"
        return Silence(id, reason, "perf sched record -p PID, then perf sched timehist: wait and sch delay of each")
    share = ns / model.busy_ns if model.busy_ns else 0.0
    return Check(
        id, f"waits over 131 us behind {who}: {duration(ns)}, {percent(share)} of busy time{why}", share, "share"
    )


def felt(model: Model, ns: int) -> bool:
    """Return whether so much queueing in short waits is worth a finding."""
    return worth(model, ns) and ns >= FELT_OF_WINDOW * model.window_ns


def comm_of(key: str) -> str:
    """Return the name in "task:PID:COMM"; it may hold colons itself.  Of "task:PID" there is only the number."""
    parts = key.split(":", 2)
    return f"process {parts[1]} {NAME_NOT_KEPT}" if len(parts) == 2 else parts[2] or NO_NAME


__all__ = [
    "KERNEL_THREADS",
    "Competition",
    "all_ns",
    "claims",
    "comm_of",
    "competition",
    "felt",
    "long_ns",
    "named_waits",
    "no_competition",
    "surely_neighbours",
    "unnamed",
    "what_is_missing",
]
