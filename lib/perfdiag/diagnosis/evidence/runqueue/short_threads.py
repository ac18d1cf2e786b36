"""Threads that are started for little work each, and queue for CPUs with all the others of their kind."""

from dataclasses import dataclass

from perfdiag.common.units import plural
from perfdiag.diagnosis.evidence.runqueue.unknown_competitors import queued_ns
from perfdiag.diagnosis.evidence.target import cpu_ns
from perfdiag.diagnosis.policy import local_policy, runqueue_policy
from perfdiag.diagnosis.rule import Evidence, Remedy
from perfdiag.diagnosis.significance import duration, fix
from perfdiag.model.model import Model


@dataclass(frozen=True)
class ShortThreads:
    """Threads that ended in the window soon after they began, without being a process."""

    count: int
    per_second: float
    life_ns: float  # mean
    cpu_ns: float  # mean

    def headline(self, cpus: int) -> str:
        """Return it in one line."""
        started = f"{self.per_second:,.0f} threads a second are started"
        return f"{started}, live {duration(self.life_ns)} each, and compete for {plural(cpus, 'CPU')}"

    @property
    def evidence(self) -> Evidence:
        """Return the numbers."""
        text = f"{self.count:,} threads ended; each lived {duration(self.life_ns)}, {duration(self.cpu_ns)} on a CPU"
        return Evidence(text, float(self.count), "count", "ledger")

    @property
    def remedy(self) -> Remedy:
        """Return what to do about them."""
        return fix("start fewer threads: a pool that stays, and more work for each of its tasks")


def short_threads(model: Model) -> ShortThreads | None:
    """Return the threads that end soon if they are many, and most of the waiting for own threads is theirs."""
    short = [each for each in model.threads if each.exited and each.threads > each.processes]
    whole = sum(each.threads for each in short)
    count = whole - sum(each.processes for each in short)
    seconds = model.window_ns / 1e9
    if not seconds or 2 * count <= whole or count < runqueue_policy.threads_per_second * seconds:
        return None
    life_ns, queued = sum(each.wall_ns for each in short) / whole, sum(map(queued_ns, short))
    if life_ns >= local_policy.short_life_ns or 2 * queued < sum(map(queued_ns, model.threads)):
        return None
    return ShortThreads(count, count / seconds, life_ns, sum(map(cpu_ns, short)) / whole)
