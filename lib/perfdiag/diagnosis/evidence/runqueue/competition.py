"""Waits for a CPU, by the task on it: own threads, other processes, perfdiag, or unknown."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from perfdiag.common.by_key import sums_by_key
from perfdiag.common.text import NAME_NOT_KEPT, NO_NAME
from perfdiag.diagnosis.evidence.runqueue.unknown_competitors import of_neighbours
from perfdiag.diagnosis.policy import general_policy, runqueue_policy
from perfdiag.diagnosis.rule import Check, Claim, Evidence, Silence
from perfdiag.diagnosis.significance import (
    duration,
    little,
    share_above,
    together,
    total_ns,
    waits,
    without_rows,
    worth,
)
from perfdiag.model.model import Model, Row

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
# Counters of task names dropped because a table was full.
NAMES_DROPPED = ("detail_full", "details", "names_full")


@dataclass(frozen=True)
class Competition:
    """Waits in runq.busy by the task on the CPU."""

    own: list[Row]
    neighbours: list[Row]
    measuring: list[Row]  # perfdiag itself: says nothing about the target
    unnamed: list[Row]


def competition(model: Model) -> Competition:
    """Sort the waits.  Kernel threads run for microseconds: if own threads are most of the competition, a wait that
    began behind a kernel thread was mostly spent behind own threads."""
    rows = model.rows_of("runq.busy")
    own = [row for row in rows if row.key.startswith("own:")]
    tasks = [row for row in rows if row.key.startswith("task:")]
    measuring = [row for row in tasks if comm_of(row.key).startswith("perfdiag")]
    neighbours = [row for row in tasks if not comm_of(row.key).startswith("perfdiag")]
    if _is_more_than_it_ran(model, measuring):  # somebody else has that name
        measuring, neighbours = [], tasks
    if total_ns(own) > total_ns(neighbours):
        own += [row for row in neighbours if comm_of(row.key).startswith(KERNEL_THREADS)]
        neighbours = [row for row in neighbours if not comm_of(row.key).startswith(KERNEL_THREADS)]
    return Competition(own, neighbours, measuring, [row for row in rows if not row.key.startswith(("own:", "task:"))])


def _is_more_than_it_ran(model: Model, measuring: list[Row]) -> bool:
    """Return whether threads waited longer for perfdiag, by its name, than it has run, as it measured itself."""
    if model.cost is None or model.cost.cpu_ns is None:
        return False
    waiting = sum(thread.threads for thread in model.threads if thread.ns("runq.busy"))
    return total_ns(measuring) > max(1, waiting) * (2 * model.cost.cpu_ns + runqueue_policy.helpers_ns)


def surely_neighbours(model: Model, competing: Competition) -> dict[str, int]:
    """Return the unnamed waits that cannot be behind own threads, by key."""
    return of_neighbours(model, long_ns(competing.unnamed), total_ns(competing.own))


def unnamed(model: Model, id: str, nameless_ns: int, known_ns: int) -> Silence | None:
    """Return the silence if most of the waiting has no name, with the reason."""
    rowless = without_rows(model, id, "runq.busy")
    if rowless:
        return rowless
    if not worth(model, nameless_ns) or nameless_ns <= known_ns:
        return None
    why, remedy = _why_unnamed(model)
    return Silence(id, f"for {duration(nameless_ns)} in the run queue the running task is unknown: {why}", remedy)


def _why_unnamed(model: Model) -> tuple[str, str]:
    if any(model.coverage.lost.get(counter) for counter in NAMES_DROPPED):
        return "the table of task names was full", "record fewer processes, or a shorter window"
    return (
        "more than 64 switches in one wait, or the thread moved from another run queue",
        "perf sched record -p PID, then perf sched timehist",
    )


def what_is_missing(model: Model, competing: Competition, ns: int, nameless_ns: int) -> list[str]:
    """Return the limits of a statement on `ns` of these waits, with `nameless_ns` more unknown."""
    measuring_ns = total_ns(competing.measuring)
    return [
        f"for another {duration(nameless_ns)} the running task is unknown: {_why_unnamed(model)[0]}"
        if nameless_ns > ns / 10
        else "",
        f"another {duration(measuring_ns)} was spent behind perfdiag itself" if measuring_ns > ns / 10 else "",
    ]


def long_ns(rows: Iterable[Row]) -> dict[str, int]:
    """Return the time in waits longer than a handover, by the running task."""
    sums: dict[str, int] = {}
    for row in rows:
        ns = round(row.distribution.sum_ns * share_above(row.distribution, runqueue_policy.handover_ns))
        if ns:
            sums[row.key] = sums.get(row.key, 0) + ns
    return sums


def claims(wanted: Mapping[str, int]) -> dict[Claim, int]:
    """Return the claims on these waits."""
    return {("runq.busy", key): ns for key, ns in wanted.items()}


def all_ns(rows: Iterable[Row]) -> dict[str, int]:
    """Return the time in waits of any length, by the running task."""
    return sums_by_key((row.key, row.distribution.sum_ns) for row in rows)


def named_waits(rows: list[Row], who: str, claimed: Mapping[str, int]) -> list[Evidence]:
    """Return the evidence of waits with a known running task, and how much is too short to be claimed."""
    if not rows:
        return []
    whole = together(rows)
    short_ns = whole.sum_ns - sum(claimed.get(key, 0) for key in {row.key for row in rows})
    left_out = f"{duration(short_ns)} of it in waits up to {duration(runqueue_policy.handover_ns)}, which are no fault"
    short = [Evidence(left_out, float(short_ns), "ns", "ledger")] if short_ns > whole.sum_ns / 100 else []
    return [waits(whole, f"waits behind {who}"), *short]


def no_competition(model: Model, id: str, who: str, ns: int, why: str = "") -> Check | Silence:
    """Return the check of waits that are no finding; the silence if missed wake-ups may hide more."""
    unseen, ended = model.coverage.lost.get("wakeups_missing", 0), sum(each.count for each in model.accounts.values())
    if unseen > general_policy.tolerable_loss_share * ended:
        reason = f"{unseen:,} of {ended:,} wake-ups were missed: their time in the run queue counts as waiting"
        return Silence(id, reason, "perf sched record -p PID, then perf sched timehist (wait, sch delay)")
    return little(model, id, f"waiting behind {who} {duration(ns)},", ns, why)


def felt(model: Model, ns: int) -> bool:
    """Return whether this much waiting in short waits is worth a finding."""
    return worth(model, ns) and ns >= runqueue_policy.felt_of_window_share * model.window_ns


def comm_of(key: str) -> str:
    """Return the name in "task:PID:COMM", colons included; "task:PID" has only the number."""
    parts = key.split(":", 2)
    return f"process {parts[1]} {NAME_NOT_KEPT}" if len(parts) == 2 else parts[2] or NO_NAME
