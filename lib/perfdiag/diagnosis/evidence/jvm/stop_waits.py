"""What the thread that stops a Java virtual machine waits for meanwhile: until its log or its counters are written.

The JVM's own log only shows that such a stop was long.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from perfdiag.diagnosis.rule import Claim
from perfdiag.model.model import Model, once
from perfdiag.model.waits.stopped_threads import ACCOUNT
from perfdiag.model.waits.wait_chains import Chain

# A collection reads and writes nothing itself.  A heap in swap and a CPU that others have are findings of their own.
_OUTPUT = ("disk.", "nfs.", "remote.fs", "ipc.", "net.send", "memory.dirty_throttle", "memory.major_fault")
# What threads wait in for the one that stops them, and that one for its helpers.
_ON_THE_WAY = frozenset({ACCOUNT, "wait.parked", "lock.futex"})


@dataclass(frozen=True)
class StopWait:
    """Waits of one kind of the thread that had stopped all others of a virtual machine."""

    pid: int
    account: str
    objects: Sequence[str]  # for people, the one waited for longest first
    claims: dict[Claim, int]  # the time of the stopped threads, ns
    waker_tid: int  # who was waited for most of the time, 0: not known

    @property
    def ns(self) -> int:
        """The time of the stopped threads."""
        return sum(self.claims.values())


@once
def stop_waits(model: Model) -> list[StopWait]:
    """Return by process and account what stops of a virtual machine waited for, the longest first."""
    chains: defaultdict[tuple[int, str], list[Chain]] = defaultdict(list)
    for chain in model.chains:
        account = _outside(chain)
        if chain.account == ACCOUNT and account:
            chains[chain.pid, account].append(chain)
    found = [_wait(model, pid, account, own) for (pid, account), own in chains.items()]
    return sorted(found, key=lambda each: -each.ns)


def _outside(chain: Chain) -> str:
    """Return the first account on the way to a stop's root that is no stop and no hand-over; "" if it is no output."""
    account = next((step for step in (*chain.steps, chain.root) if step not in _ON_THE_WAY), "")
    return account if account.startswith(_OUTPUT) else ""


def _wait(model: Model, pid: int, account: str, chains: Sequence[Chain]) -> StopWait:
    claims: defaultdict[Claim, int] = defaultdict(int)
    wakers: defaultdict[int, int] = defaultdict(int)
    for chain in chains:
        claims[chain.account, chain.key] += chain.ns
        if chain.root != account and chain.root_tid:
            wakers[chain.root_tid] += chain.ns
    rows = model.rows_of(account, pid=pid)
    longest = max(wakers, key=lambda tid: wakers[tid], default=0)
    known = 2 * wakers.get(longest, 0) >= sum(claims.values())
    return StopWait(pid, account, list(dict.fromkeys(row.object for row in rows)), dict(claims), longest * known)
