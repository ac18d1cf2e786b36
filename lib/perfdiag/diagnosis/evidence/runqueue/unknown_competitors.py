"""Waits for a CPU with an unknown task on it: how much can be behind own threads."""

from collections.abc import Mapping

from perfdiag.common.by_key import sums_by_key
from perfdiag.common.units import duration
from perfdiag.diagnosis.evidence.target import cpus_of
from perfdiag.diagnosis.rule import Evidence
from perfdiag.facts.cpu_sets import Cpus
from perfdiag.model.model import Model, once
from perfdiag.model.thread_accounts import ThreadLedger, times_of

# With more affinities than this all threads count as allowed everywhere: this only keeps more time unknown.
MOST_SETS = 64


def queued_ns(thread: ThreadLedger) -> int:
    """Return how long a thread was runnable while its CPU ran others."""
    return thread.ns("runq.busy")


def on_cpu_ns(thread: ThreadLedger) -> int:
    """Return how long a thread had a CPU: its own work, interrupts, and what a hypervisor took meanwhile."""
    return sum(ns for name, ns in times_of(thread.accounts) if name.startswith("cpu."))


@once
def most_behind_own_ns(model: Model) -> int:
    """Return how long threads of the target can have queued behind each other at most.

    A thread waits behind own threads no longer than those ran, on CPUs it may use itself.
    """
    sets = [cpus_of(model, thread) for thread in model.threads]
    ran_each = [on_cpu_ns(thread) for thread in model.threads]
    ran: dict[Cpus | None, int] = sums_by_key((cpus, ran_ns) for ran_ns, cpus in zip(ran_each, sets, strict=True))
    whole_ns = sum(ran.values())
    if len(ran) > MOST_SETS:
        reach = dict.fromkeys(ran, whole_ns)
    else:
        reach = {
            cpus: sum(ns for other, ns in ran.items() if cpus is None or other is None or cpus & other) for cpus in ran
        }
    most = 0
    for thread, ran_ns, cpus in zip(model.threads, ran_each, sets, strict=True):
        # A fold is many ended threads: each may have waited for all the others.
        others_ns = max(1, thread.threads) * reach[cpus] - ran_ns
        most += min(queued_ns(thread), others_ns)
    return most


def of_neighbours(model: Model, nameless: Mapping[str, int], own_ns: int) -> dict[str, int]:
    """Return the part of `nameless` beyond own CPU time (less `own_ns`, known as own): other processes ran."""
    room = max(0, most_behind_own_ns(model) - own_ns)
    found = {}
    for key, ns in nameless.items():
        kept = min(ns, room)
        room -= kept
        if ns > kept:
            found[key] = ns - kept
    return found


def without_names(model: Model, inferred_ns: int) -> list[Evidence]:
    """Return the evidence of waits behind others by inference: own CPU time cannot explain them."""
    if not inferred_ns:
        return []
    most_ns = most_behind_own_ns(model)
    own = f"at most {duration(most_ns)} of it" if most_ns else "none of it"
    return [
        Evidence(
            f"{duration(inferred_ns)} behind unidentified processes, {own} behind own threads",
            float(inferred_ns),
            "ns",
            "ledger",
        )
    ]
