"""Futexes by who waits on them and who wakes: the second witness where functions alone do not prove a lock."""

import re
from collections import defaultdict

from perfdiag.common.by_key import sums_by_key
from perfdiag.recording.recording import Recording

# Whoever waits for the GIL asks for it anew after sys.getswitchinterval(), as a rule 5 ms: the last bucket to 8.4 ms.
_SWITCH_INTERVAL_BUCKET = 15
_OF_PYTHON = re.compile(r"\((lib)?python\d")


def exclusive(recording: Recording) -> set[tuple[int, str]]:
    """Return (process, futex) that threads wait for and wake each other on, or several at once.

    CPython makes its conditions, events and queues of the same lock, but gives each waiter a new one: the thread that
    releases that waits for others.  Where it waited for this very one before, or two threads did at the same time,
    it is one that is taken in turn: a lock, or that of a SimpleQueue, which only functions tell apart.
    """
    waiters, longest_ns = _waiters(recording)
    whole_ns: defaultdict[tuple[int, str], int] = defaultdict(int)
    by_waiters_ns: defaultdict[tuple[int, str], int] = defaultdict(int)
    for thread in recording.threads.values():
        for futex in thread.futexes:
            key = (thread.pid, futex.object)
            if key in waiters:
                whole_ns[key] += futex.sum_ns
                by_waiters_ns[key] += futex.sum_ns if futex.waker_tid in waiters[key] else 0
    return {key for key, ns in whole_ns.items() if 2 * by_waiters_ns[key] > ns or ns > 1.05 * longest_ns[key[0]]}


def _waiters(recording: Recording) -> tuple[dict[tuple[int, str], set[int]], dict[int, int]]:
    """Return the threads that waited for the same futex, of those that several waited for, and by process how long its
    threads were followed at most."""
    first: dict[tuple[int, str], int] = {}
    several: dict[tuple[int, str], set[int]] = {}
    longest_ns: defaultdict[int, int] = defaultdict(int)
    for thread in recording.threads.values():
        pid, tid = thread.pid, thread.tid
        longest_ns[pid] = max(longest_ns[pid], thread.wall_ns)
        for futex in thread.futexes:
            other = first.setdefault((pid, futex.object), tid)
            if other != tid:
                several.setdefault((pid, futex.object), {other}).add(tid)
    return several, longest_ns


def brief(recording: Recording) -> set[tuple[int, str]]:
    """Return (process, futex) of Python on which several threads wait, hardly ever longer than a switch interval."""
    python = {stack.pid for stack in recording.stacks if any(map(_OF_PYTHON.search, (*stack.user, *stack.scan)))} | {
        target.pid for target in recording.header.targets if target.comm.startswith("python")
    }
    threads = sums_by_key(
        ((thread.pid, futex.object), 1)
        for thread in recording.threads.values()
        if thread.pid in python
        for futex in thread.futexes
    )
    return {
        key
        for line in recording.details.values()
        if threads[key := (line.pid, line.object)] > 1
        and 20 * sum(number for bucket, number in line.buckets if bucket > _SWITCH_INTERVAL_BUCKET) <= line.count
    }


def woken_by_own_process(recording: Recording) -> set[tuple[int, str]]:
    """Return (process, futex) of the waits that a thread of the same process ended."""
    process_of = {line.tid: line.pid for line in recording.threads.values()}
    woken = {
        (line.pid, line.object)
        for line in recording.details.values()
        if line.waker_tid and line.pid and line.pid in (line.waker_pid, process_of.get(line.waker_tid))
    }
    for thread in recording.threads.values():
        for futex in thread.futexes:
            if futex.waker_tid and process_of.get(futex.waker_tid) == thread.pid:
                woken.add((thread.pid, futex.object))
    return woken


def sibling(futex: str) -> str:
    """Return the other word of a condition variable of the C library: it wakes its waiters through two in turn."""
    kind, _, address = futex.partition(":")
    try:
        return f"{kind}:{int(address, 16) ^ 4:#x}"
    except ValueError:
        return ""
