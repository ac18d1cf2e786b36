"""Requests that are not read because their reader waits for another thread."""

from collections.abc import Collection
from dataclasses import dataclass

from perfdiag.common.by_key import sums_by_key
from perfdiag.diagnosis.evidence.cpu.call_path import code_evidence
from perfdiag.diagnosis.evidence.cpu.garbage_collection import COLLECTS, collection
from perfdiag.diagnosis.evidence.cpu.stack_samples import CpuSamples
from perfdiag.diagnosis.evidence.fix_checks import read_in_time
from perfdiag.diagnosis.evidence.locks.holder_sentences import does, does_in_brief
from perfdiag.diagnosis.evidence.locks.lock_holders import SLEEP
from perfdiag.diagnosis.evidence.requests.unread_time import delays_of, is_felt, meanwhile, read_after, unread_ns
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import locks_policy
from perfdiag.diagnosis.rule import Finding, Mechanism, Severity
from perfdiag.diagnosis.significance import duration, fix, plain, thread_of
from perfdiag.model.model import Model
from perfdiag.model.requests.request_time import QUEUED, RequestTime
from perfdiag.recording.accounts import PIPE

THREAD = "WAIT-THREAD-IN-REQUEST"
_FOR_OTHERS = ("wait.parked", "wait.child", "lock.", PIPE)  # in these a thread waits for another one


@dataclass(frozen=True)
class _Awaited:
    """Whom others waited for."""

    name: str  # "committer (4711)", "apt (7 threads)"
    tids: Collection[int]


def waiting_readers(model: Model, time: RequestTime) -> tuple[Finding, Collection[int]] | None:
    """Return the finding WAIT-THREAD-IN-REQUEST for readers that wait for other threads, and these; None without."""
    met = time.met
    queued = unread_ns(time, sum(met.behind.values()))
    if time.by.loop or not is_felt(model, time, queued):
        return None
    delays = delays_of(model)
    root = max(met.behind, key=lambda name: met.behind[name])
    who = _waited_for(model, root)
    unseen = "" if who else "it is unknown which thread that is, or there are several"
    name = who.name if who else "another thread"
    samples = CpuSamples(model, tids=who.tids) if who and root == "cpu.user" else None
    garbage = collection(model, samples) if samples else None
    doing, brief = (COLLECTS, COLLECTS) if garbage else (does(root), does_in_brief(root))
    remedy = fix(f"see what {name} does, and why threads that serve requests have to wait for it")
    found = conclude(
        model,
        {QUEUED: queued},
        headline=f"The thread that reads requests waits for {name}, which {brief}",
        claim=(
            f"Requests wait up to {duration(delays.max_ns)} to be read: the thread that reads them waits for {name},"
            f" which mostly {doing}."
        ),
        mechanism=Mechanism.SLEEP if root == SLEEP else Mechanism.BUSY,
        severity=Severity.WARNING,
        doubts=[unseen],
        evidence=[
            read_after(delays),
            meanwhile(time.by),
            *(code_evidence(samples, samples.hottest(), " of its CPU samples") if samples else []),
        ],
        remedies=[garbage.remedy if garbage else remedy],
        verify=read_in_time(model),
    )
    return found, who.tids if who else ()


def _waited_for(model: Model, root: str) -> _Awaited | None:
    """Return who was in `root` while others waited for it: one thread, or those of one name, as of a program that each
    request starts; None if it was not mostly these."""
    ns_by_tid = sums_by_key(
        (chain.root_tid or chain.some_tid, chain.ns)
        for chain in model.chains
        if chain.root == root and chain.account.startswith(_FOR_OTHERS)
    )
    least_ns = locks_policy.holder_share * ns_by_tid.total()
    tid, ns = max(ns_by_tid.items(), key=lambda item: item[1], default=(0, 0))
    thread = thread_of(model, tid)
    if thread and ns > least_ns:
        return _Awaited(thread.name, {tid})
    comms = {each.tid: plain(each.comm) for each in model.threads if each.tid in ns_by_tid}
    ns_by_comm = sums_by_key((comm, ns_by_tid[tid]) for tid, comm in comms.items())
    comm, ns = max(ns_by_comm.items(), key=lambda item: item[1], default=("", 0))
    tids = {tid for tid in comms if comms[tid] == comm}
    return _Awaited(f"{comm} ({len(tids)} threads)", tids) if ns > least_ns else None
