"""The threads that share the CPUs of those that queue for them, and whether they are too many."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from perfdiag.common.by_key import sums_by_key
from perfdiag.diagnosis.evidence.runqueue.unknown_competitors import on_cpu_ns, queued_ns
from perfdiag.diagnosis.evidence.target import cpus_of, usable_cpus
from perfdiag.diagnosis.policy import runqueue_policy
from perfdiag.facts.cpu_sets import Cpus
from perfdiag.model.model import Model
from perfdiag.model.thread_accounts import ThreadLedger


@dataclass(frozen=True)
class Crowd:
    """The threads that share the CPUs of those that queue."""

    threads: Sequence[ThreadLedger]
    cpus: int
    runnable: float  # mean number of them on a CPU or ready
    known: bool  # whether their CPUs were recorded
    window_ns: int

    @property
    def dense(self) -> bool:
        """Whether threads queue all the time, so that even short waits are no handovers."""
        return self.runnable >= runqueue_policy.dense_factor * self.cpus

    @property
    def exceeds(self) -> bool:
        """Whether on average more are runnable than they have CPUs."""
        return self.runnable > self.cpus + runqueue_policy.oversubscribed_margin_share

    @property
    def excess_ns(self) -> int:
        """The waiting they must have even with these CPUs to themselves."""
        return round((self.runnable - self.cpus) * self.window_ns) if self.exceeds else 0


def crowd_of(model: Model) -> Crowd:
    """Return the threads that queue most, and all that their CPUs are shared with."""
    ranked = sorted(model.threads, key=queued_ns, reverse=True)
    wanted = runqueue_policy.queueing_threads_share * sum(map(queued_ns, ranked))
    before = itertools.accumulate(map(queued_ns, ranked), initial=0)
    queueing = [thread for thread, so_far in zip(ranked, before, strict=False) if so_far < wanted]
    sets = [cpus_of(model, thread) for thread in queueing]
    known = [cpus for cpus in sets if cpus]
    if not known or len(known) < len(sets):
        # The affinity of children and ended threads is unknown: usually it is the target's.
        threads, cpus = list(model.threads), usable_cpus(model)
    else:
        allowed = Cpus.together(known)
        threads = [thread for thread in model.threads if (cpus_of(model, thread) or allowed) <= allowed]
        cpus = min(len(allowed), model.cpus_online)
    could_run_ns = sum(queued_ns(thread) + on_cpu_ns(thread) for thread in threads)
    return Crowd(
        threads, cpus, could_run_ns / model.window_ns if model.window_ns else 0.0, bool(known), model.window_ns
    )


def bound_threads(model: Model, crowd: Crowd) -> list[ThreadLedger]:
    """Return the threads with an affinity of their own, set by the program or by taskset."""
    facts = model.facts.processes
    return [
        thread
        for thread in crowd.threads
        if thread.pid in facts and thread.tid in (facts[thread.pid].thread_cpus or {})
    ]


def are_many_processes(crowd: Crowd) -> bool:
    """Return whether processes queue behind each other (a build, xargs), rather than the threads of one."""
    # Ended processes are folded under pid 0: divide by their number.
    by_process = sums_by_key((each.pid, queued_ns(each) // max(1, each.processes)) for each in crowd.threads)
    return 2 * max(by_process.values(), default=0) < sum(map(queued_ns, crowd.threads))
