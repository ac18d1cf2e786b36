"""Which thread a Java virtual machine waited for when it stopped all of them: the one that was stopped for less time.

The VM Thread polls until the last one has stopped, so no wake-up names it.  The ledger does: all others wait meanwhile,
and the late one is at something else.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from perfdiag.diagnosis.policy import jvm_policy
from perfdiag.model.java_machines import JavaMachine
from perfdiag.model.model import Model
from perfdiag.model.share_denominator import counted
from perfdiag.model.thread_accounts import ThreadLedger
from perfdiag.model.waits.stopped_threads import ACCOUNT


@dataclass(frozen=True)
class Late:
    """A thread that was busy while others were stopped already."""

    thread: ThreadLedger
    stopped_ns: int  # it itself
    others_ns: int  # the thread that was stopped for longest
    account: str  # what it mostly did besides
    share: float  # of its busy time besides


def late_threads(model: Model, machine: JavaMachine) -> Sequence[Late]:
    """Return the threads of a virtual machine that can have been the last to stop, the latest first."""
    threads = [thread for thread in model.threads_of(machine.pid) if thread.tid]
    longest_ns = max((thread.ns(ACCOUNT) for thread in threads), default=0)
    least_ns = jvm_policy.late_thread_share * (machine.reaching_ns or 0)
    found = []
    for thread in threads:
        besides = {name: total.ns for name, total in thread.accounts.items() if counted(name) and name != ACCOUNT}
        busy_ns, missed_ns = sum(besides.values()), longest_ns - thread.ns(ACCOUNT)
        # A thread that is idle, or that was not there, is not waited for.
        if missed_ns >= least_ns and busy_ns >= least_ns > 0:
            most = max(besides, key=lambda name: besides[name])
            found.append(Late(thread, thread.ns(ACCOUNT), longest_ns, most, besides[most] / busy_ns))
    return sorted(found, key=lambda late: late.stopped_ns)
