"""Requests that are not read because their reader waits for another thread."""

from collections.abc import Iterable

from perfdiag.common.by_key import sums_by_key
from perfdiag.diagnosis.evidence.cpu.garbage_collection import COLLECTS, collection
from perfdiag.diagnosis.evidence.cpu.stack_samples import CpuSamples
from perfdiag.diagnosis.evidence.fix_checks import read_in_time
from perfdiag.diagnosis.evidence.locks.holder_sentences import does, does_in_brief
from perfdiag.diagnosis.evidence.locks.lock_holders import SLEEP
from perfdiag.diagnosis.evidence.requests.unread_time import delays_of, is_felt, meanwhile, read_after, unread_ns
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import locks_policy
from perfdiag.diagnosis.rule import Finding, Mechanism, Severity
from perfdiag.diagnosis.significance import duration, fix, thread_of
from perfdiag.model.model import Model
from perfdiag.model.requests.request_time import QUEUED, RequestTime
from perfdiag.model.thread_accounts import ThreadLedger

THREAD = "WAIT-THREAD-IN-REQUEST"


def waiting_readers(model: Model, time: RequestTime) -> Iterable[Finding]:
    """Yield the finding WAIT-THREAD-IN-REQUEST for readers that wait for another thread."""
    met = time.met
    queued = unread_ns(time, sum(met.behind.values()))
    if time.by.loop or not is_felt(model, time, queued):
        return
    delays = delays_of(model)
    root = max(met.behind, key=lambda name: met.behind[name])
    who = _waited_for(model, root)
    unseen = "" if who else "it is unknown which thread that is, or there are several"
    name = who.name if who else "another thread"
    garbage = collection(model, CpuSamples(model, tids={who.tid})) if who and root == "cpu.user" else None
    doing, brief = (COLLECTS, COLLECTS) if garbage else (does(root), does_in_brief(root))
    remedy = fix(f"see what {name} does, and why threads that serve requests have to wait for it")
    yield conclude(
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
        evidence=[read_after(delays), meanwhile(time.by)],
        remedies=[garbage.remedy if garbage else remedy],
        verify=read_in_time(model),
    )


def _waited_for(model: Model, root: str) -> ThreadLedger | None:
    """Return the thread that was in `root` while others waited for it, None if it was not mostly one thread."""
    ns_by_tid = sums_by_key(
        (chain.root_tid, chain.ns)
        for chain in model.chains
        if chain.root == root and chain.account.startswith(("wait.parked", "lock."))
    )
    tid, ns = max(ns_by_tid.items(), key=lambda item: item[1], default=(0, 0))
    thread = thread_of(model, tid)
    return thread if ns > locks_policy.holder_share * ns_by_tid.total() else None
