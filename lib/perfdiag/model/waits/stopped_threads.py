"""Threads that a Java virtual machine stops: known by its thread that lets them go on, not by sampled stacks.

All threads that are to stop wait for one word (LinuxWaitBarrier), and whoever asked for the operation waits for its
end; the VM Thread ends both.  It runs no code of the program, so it ends no wait for anything else, but of the helper
threads of the virtual machine, which wait for work.

Up to JDK 12 they wait for a mutex that the VM Thread holds meanwhile (Threads_lock), each thread in an event of its own
that is for mutexes of the virtual machine alone.  Who gets it hands it on, so the VM Thread ends only a few of these
waits, but none in an event for Java's own locks.
"""

import re
from collections import Counter, defaultdict

from perfdiag.common.by_key import sums_by_key
from perfdiag.model.waits.futex_waiters import sibling
from perfdiag.model.waits.idle_runtime_threads import IDLE_BY_ID
from perfdiag.recording import schema
from perfdiag.recording.recording import Recording
from perfdiag.recording.schema.limits import RECORDER

ACCOUNT = "runtime.safepoint"
VM_THREAD = "VM Thread"
# Other programs may call a thread so: these stand beside it in every virtual machine.
_BESIDE = frozenset({"VM Periodic Tas", "Reference Handl", "Finalizer"})
# Work in stops alone: the VM Thread, and those whom it gives parts of its collection.
# It sleeps while it waits for the last thread to stop.
_AT_WORK = ("cpu.user", "wait.timer", "wait.parked")
_HELPERS = re.compile(IDLE_BY_ID["jvm"].threads)
_MOSTLY = 3  # times as long as waits that have another root: what a holder of Java's own locks computes is one
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
        self._words |= _own_events(own, vm_threads, recording.because, self._words)

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
    shared = {(line.pid, futex.object) for line in own if line.tid in vm_threads for futex in line.futexes}
    # Lists of threads are short; the process's sums have the rest.
    balance = sums_by_key(((each.pid, each.object), each.sum_ns) for each in details if each.waker_tid in vm_threads)
    for line in own:
        for futex in line.futexes:
            if balance.get((line.pid, futex.object)):
                balance[line.pid, futex.object] -= futex.sum_ns
    for line in own:
        if not _HELPERS.match(line.comm):
            for futex in line.futexes:
                by_it = futex.waker_tid in vm_threads or (line.pid, futex.object) in shared
                balance[line.pid, futex.object] += futex.sum_ns if by_it else -futex.sum_ns
    return {key for key, ns in balance.items() if ns > 0}


def _own_events(
    own: list[schema.Thread], vm_threads: set[int], because: list[schema.Because], barriers: set[tuple[int, str]]
) -> set[tuple[int, str]]:
    """Return the words on which one thread of the program waits until it has the mutex of the VM Thread: some of its
    waits that one ends itself, or nearly all come down to it; where all threads wait on one word, there are none."""
    waiters: defaultdict[tuple[int, str], set[int]] = defaultdict(set)
    for line in own:
        for futex in line.futexes:
            waiters[line.pid, _event(futex.object)].add(0 if _HELPERS.match(line.comm) else line.tid)
    old = {line.pid for line in own} - {pid for pid, word in barriers if len(waiters[pid, _event(word)] - {0}) > 1}
    ended, ended_ns, others_ns = set(), Counter[tuple[int, str]](), Counter[tuple[int, str]]()
    for each in because:
        key = (each.pid, _event(each.object))
        if each.pid not in old or len(waiters[key]) > 1 or 0 in waiters[key]:
            continue
        if each.root_tid in vm_threads:
            ended |= set() if each.steps else {key}
            ended_ns[key] += each.sum_ns
        elif len(each.steps) < RECORDER["CHAIN_STEPS"]:  # else the thread at the end may be one in between
            others_ns[key] += each.sum_ns
    stops = {key for key, ns in ended_ns.items() if key in ended or ns > _MOSTLY * others_ns[key]}
    return {(pid, each) for pid, word in stops for each in (word, sibling(word))}


def _event(futex: str) -> str:
    """Return one word for both of a condition variable: a list of threads is short, and may have the other one."""
    return min(futex, sibling(futex))
