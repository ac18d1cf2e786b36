"""Threads that a Java virtual machine stops: known by its thread that lets them go on, not by sampled stacks.

All threads that are to stop wait for one word (LinuxWaitBarrier), and whoever asked for the operation waits for its
end; the VM Thread ends both.  It runs no code of the program, so it ends no wait for anything else, but of the helper
threads of the virtual machine, which wait for work.  JDK 8 and 11 stop threads with a mutex that the VM Thread holds
meanwhile (not tried out).
"""

import re
from collections import defaultdict

from perfdiag.common.by_key import sums_by_key
from perfdiag.model.waits.idle_runtime_threads import IDLE_BY_ID
from perfdiag.recording import schema
from perfdiag.recording.recording import Recording

ACCOUNT = "runtime.safepoint"
VM_THREAD = "VM Thread"
# Other programs may call a thread so: these stand beside it in every virtual machine.
_BESIDE = frozenset({"VM Periodic Tas", "Reference Handl", "Finalizer"})
# Work in stops alone: the VM Thread, and those whom it gives parts of its collection.
# It sleeps while it waits for the last thread to stop.
_AT_WORK = ("cpu.user", "wait.timer", "wait.parked")
_STOPPERS = re.compile(r"VM Thread|GC (Thread#|task )")


class Stops:
    """The virtual machines of a recording, and what threads that they stop wait for."""

    def __init__(self, recording: Recording) -> None:
        threads = list(recording.threads.values())
        names: defaultdict[int, set[str]] = defaultdict(set)
        for line in threads:
            names[line.pid].add(line.comm)
        self._machines = {pid for pid, comms in names.items() if VM_THREAD in comms and comms & _BESIDE}
        own = [line for line in threads if line.pid in self._machines]
        self._stoppers = {line.tid: line.pid for line in own if _STOPPERS.match(line.comm)}
        vm_threads = {line.tid for line in own if line.comm == VM_THREAD}
        self._words = _words(own, vm_threads, list(recording.details.values()))

    def ends_wait(self, pid: int, futex: str) -> bool:
        """Return whether threads of the program that wait for this word are stopped."""
        return (pid, futex) in self._words

    def is_root(self, line: schema.Because) -> bool:
        """Return whether threads waited for one that worked meanwhile, and that works only while it stops them.

        What else it was in, say a wait for a CPU or for a disk, is the root of the stop as well.
        """
        return line.root in _AT_WORK and self._stoppers.get(line.root_tid) == line.pid


def _words(own: list[schema.Thread], vm_threads: set[int], details: list[schema.Detail]) -> set[tuple[int, str]]:
    """Return the words on which the VM Thread ended most of the time that threads of the program waited, or waited
    itself: a lock that it shares with them is one of the virtual machine's operations."""
    helpers = re.compile(IDLE_BY_ID["jvm"].threads)
    shared = {(line.pid, futex.object) for line in own if line.tid in vm_threads for futex in line.futexes}
    # Lists of threads are short; the process's sums have the rest.
    balance = sums_by_key(((each.pid, each.object), each.sum_ns) for each in details if each.waker_tid in vm_threads)
    for line in own:
        for futex in line.futexes:
            if balance.get((line.pid, futex.object)):
                balance[line.pid, futex.object] -= futex.sum_ns
    for line in own:
        if not helpers.match(line.comm):
            for futex in line.futexes:
                by_it = futex.waker_tid in vm_threads or (line.pid, futex.object) in shared
                balance[line.pid, futex.object] += futex.sum_ns if by_it else -futex.sum_ns
    return {key for key, ns in balance.items() if ns > 0}
