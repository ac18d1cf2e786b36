"""The threads of an NFS server that is this host: are there enough of them?"""

from dataclasses import dataclass

from perfdiag.common.units import plural
from perfdiag.diagnosis.evidence.nfs.mount_calls import requests
from perfdiag.diagnosis.evidence.nfs.wait_parts import Use
from perfdiag.diagnosis.evidence.target import setting
from perfdiag.diagnosis.policy import nfs_policy
from perfdiag.diagnosis.rule import Evidence, Remedy
from perfdiag.diagnosis.significance import percent
from perfdiag.model.model import Model

THREADS = "/proc/fs/nfsd/threads"


@dataclass(frozen=True)
class BusyThreads:
    """All threads of nfsd, busy nearly all the time: requests wait for one."""

    count: int
    part: float  # of their time

    @property
    def headline(self) -> str:
        """Return it in one line."""
        threads = plural(self.count, "thread")
        return f"This host's NFS server has {threads}, {percent(self.part)} busy, and calls wait for one"

    @property
    def evidence(self) -> Evidence:
        """Return the number that carries it."""
        text = f"{plural(self.count, 'thread')} of nfsd, busy {percent(self.part)} of the time"
        return Evidence(text, self.part, "share", "svc_stats_latency")

    @property
    def remedy(self) -> Remedy:
        """Return more of them, for a trial."""
        more = max(nfs_policy.usual_server_threads, 2 * self.count)
        return setting(THREADS, str(more), str(self.count))


def busy_threads(model: Model, use: Use) -> BusyThreads | None:
    """Return the threads that serve a mount of this very host if they are all busy; None if not, or not known."""
    count = model.facts.texts.number(THREADS)
    if not use.nfsd.requests.count or not count or not model.window_ns:
        return None
    calls, served = use.calls(*(name for name in use.procedures if "." not in name)), use.nfsd.requests
    waited_ns = calls.wire.sum_ns - served.sum_ns - calls.count * use.trip_ns
    if not use.far and waited_ns < nfs_policy.queued_for_threads_share * calls.wire.sum_ns:
        return None  # one that waits for its disk is busy, too, and yet nobody queues for it
    part = requests(model).sum_ns / (count * model.window_ns)
    return BusyThreads(count, min(1.0, part)) if part >= nfs_policy.busy_threads_share else None
