"""Holders of a lock outside the target: whoever waits for the lock waits for what they are in, or for their turn on a
CPU.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from perfdiag.common.by_key import sums_by_key
from perfdiag.common.text import NO_NAME
from perfdiag.diagnosis.evidence.local.peer_work import of_waits
from perfdiag.diagnosis.evidence.local.slow_peers import with_work
from perfdiag.diagnosis.policy import locks_policy
from perfdiag.diagnosis.rule import Confidence, Evidence, Finding, Remedy
from perfdiag.diagnosis.significance import attempt, brief, fix, percent, plain, total_ns
from perfdiag.facts.competitors import Competitor
from perfdiag.model.model import Model, Row

LIMIT = "what its holder waited for CPUs is known since that began, not in the window alone"
NO_CPU = "the holder has no CPU"  # what else may be, where nobody looked


@dataclass(frozen=True)
class Starved:
    """Such a holder, as it was seen at the end."""

    seen: Competitor
    comm: str

    def headline(self, lock: str) -> str:
        """Return it in one line."""
        nice = f", nice {self.seen.nice}," if self.seen.nice else ""
        return f"{self.comm} ({self.seen.pid}){nice} holds the lock on {lock} but gets no CPU"

    @property
    def evidence(self) -> Evidence:
        """Return the number that carries it."""
        part = self.seen.queued_part
        text = f"since process {self.seen.pid} began, it has waited for a CPU {percent(part)} of the time it wanted one"
        return Evidence(text, part, "share", "schedstat")

    @property
    def remedy(self) -> Remedy:
        """Return what gives it a CPU."""
        pid, nice = self.seen.pid, self.seen.nice or 0
        threads = f"$(ls /proc/{pid}/task)"  # the nice value is each thread's own
        if nice > 0:
            return attempt(f"renice -n 0 -p {threads}", f"renice -n {nice} -p {threads}", f"nice {nice}")
        return fix(f"let process {pid} have a CPU: see who has those it may use (perfdiag latency --pid {pid})")


def told(model: Model, rows: Sequence[Row], finding: Finding) -> Finding:
    """Return the finding on these waits for a lock with what its holder did meanwhile, or that it has no CPU."""
    work = of_waits(model, rows)
    lock = brief(plain(rows[0].object or rows[0].key))
    if work is not None and not work.is_idle and work.first != "runq.busy":
        return with_work(finding, work, lock, f"holds the lock on {lock}")
    holder = starved(model, rows)
    if holder is None:
        return finding
    return replace(
        finding,
        headline=holder.headline(lock),
        confidence=Confidence.LOW if finding.confidence is Confidence.LOW else Confidence.MEDIUM,
        limits=(*finding.limits, LIMIT),
        evidence=[holder.evidence, *finding.evidence],
        remedies=[holder.remedy, *finding.remedies],
        alternatives=[each for each in finding.alternatives if each != NO_CPU],
    )


def starved(model: Model, rows: Sequence[Row]) -> Starved | None:
    """Return the process outside the target that ended most of these waits, if it mostly waited for a CPU when it
    wanted one, and for long enough to explain them; None if not, or nobody looked at it."""
    ended = sums_by_key((row.waker_pid, row.waker_count) for row in rows if row.waker_pid)
    pid = max(ended, key=lambda each: ended[each], default=0)
    seen = model.facts.competitors.get(pid)
    if seen is None or 2 * ended[pid] < sum(row.distribution.count for row in rows):
        return None
    comm = next((plain(row.waker_comm) for row in rows if row.waker_pid == pid and row.waker_comm), NO_NAME)
    long = 2 * (seen.queued_ns or 0) >= total_ns(rows)
    return Starved(seen, comm) if long and seen.queued_part >= locks_policy.starved_holder_share else None
