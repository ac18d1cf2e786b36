"""Threads that stay blocked or idle: nothing shows which, unless a runtime has a function of its own in which threads
wait for work (idle_runtime_threads.py).
"""

import re
from collections.abc import Sequence

from perfdiag.common.by_key import groups_by_key
from perfdiag.common.text import printable
from perfdiag.common.units import first_of, plural
from perfdiag.diagnosis.evidence.requests.calls import not_followed
from perfdiag.diagnosis.policy import idle_policy
from perfdiag.model.builder import UNLISTED
from perfdiag.model.model import Model, once
from perfdiag.model.share_denominator import busy_ns_of
from perfdiag.model.stacks.symbols import HOTSPOT, module_of
from perfdiag.model.thread_accounts import ThreadLedger
from perfdiag.model.waits.futexes import joins
from perfdiag.model.waits.idle_runtime_threads import WORK
from perfdiag.model.waits.receiving_calls import CALL
from perfdiag.recording import schema
from perfdiag.recording.accounts import PARKED, Kind, kind_of

SHOWN = 3
# Java code that waits, and threads that wait for an operation of the virtual machine.
_OF_JAVA = re.compile(r"ObjectMonitor|Parker|Unsafe_Park|JVM_|VMThread\d*execute|Safepoint|sleep")


@once
def asleep_all_along(model: Model) -> list[ThreadLedger]:
    """Return the threads that stayed blocked or idle through their whole life in the window, in one wait.

    A thread that was woken and parked again got something, work or a lock.
    """
    parked = [
        t
        for t in model.threads
        if PARKED in t.accounts and t.ns(PARKED) >= idle_policy.parked_whole_life_share * t.wall_ns
    ]
    return [
        t
        for t in parked
        if t.accounts[PARKED].count <= t.threads
        or t.accounts[PARKED].max_ns >= idle_policy.parked_whole_life_share * t.wall_ns
    ]


@once
def stuck_or_idle(model: Model) -> list[ThreadLedger]:
    """Return those that may be stuck: not those that wait for the end of others, nor a runtime's own."""
    natural = natural_waits(model)
    threads = asleep_all_along(model)
    return [
        t for t in threads if not t.still_waiting or (t.still_waiting.account, t.still_waiting.object) not in natural
    ]


@once
def parked_ns(model: Model) -> int:
    """Return how long threads were blocked or idle that also did something else.

    Threads that were blocked through the whole window did nothing in it: `still waiting` names them. A thread that
    reads requests is idle if it is blocked while nobody waits for an answer.  What a thread waits for another one that
    meanwhile ran, or was held up itself, hides nothing: the books of that one show it.
    """
    asleep_ns = sum(thread.ns(PARKED) for thread in asleep_all_along(model))
    behind_ns = sum(
        chain.ns for chain in model.chains if chain.account == PARKED and kind_of(chain.root) is Kind.LATENCY
    )
    return max(0, model.parked_ns - asleep_ns - max(_without_requests_ns(model), behind_ns))


def _without_requests_ns(model: Model) -> int:
    """Return how long threads of a server were blocked while nobody waited for them, at least.

    One thread works at each request at a time.  Threads that read no requests may have work of their own if they are
    busier than those that do; a runtime's own, which wait for work in functions known by name, have none.
    """
    served = [each.line for each in model.exchanges if each.served]
    if not model.measured("requests") or not_followed(model) or any(line.early or line.declined for line in served):
        return 0
    asleep = {id(thread) for thread in asleep_all_along(model)}
    awake = [each for each in model.threads if id(each) not in asleep]
    readers = [each for each in awake if each.requests_read]
    of_runtime = [each for each in model.threads if 2 * each.ns(WORK) > each.wall_ns]
    busy_ns = model.busy_ns - sum(map(busy_ns_of, of_runtime))
    if not readers or 2 * sum(map(busy_ns_of, readers)) < busy_ns:
        awake = readers
    awaited_ns = sum(line.sum_ns + line.open * line.oldest_ns for line in served)
    awaited_ns += sum(line.unanswered * (line.unanswered_longest_ns or model.window_ns) for line in served)
    awaited_ns += sum(line.sum_ns for line in model.requests_left)
    return max(0, sum(thread.ns(PARKED) for thread in awake) - awaited_ns)


def received(model: Model) -> tuple[int, str]:
    """Return how much of that time is in calls that receive, and in which: "msgrcv()"."""
    rows = [row for row in model.rows_of(PARKED) if row.key.startswith(CALL)]
    asleep_ns = sum(thread.ns(PARKED) for thread in asleep_all_along(model) if receives(thread))
    ns = min(parked_ns(model), sum(row.distribution.sum_ns for row in rows) - asleep_ns)
    return max(0, ns), ", ".join(dict.fromkeys(row.object for row in rows[:SHOWN]))


def receives(thread: ThreadLedger) -> bool:
    """Return whether a thread was in a call that receives when the recording ended."""
    return thread.still_waiting is not None and thread.still_waiting.object.startswith(CALL)


def stuck(model: Model, threads: Sequence[ThreadLedger]) -> str:
    """Return that threads were blocked or idle all the time."""
    who = f"{plural(sum(thread.threads for thread in threads), 'thread')}{_of(threads)}"
    if all(map(receives, threads)):
        return f"{who} waited in {received(model)[1]} all the time, for work or for an answer"
    return f"{who} stayed blocked or idle all the time: an idle pool, or deadlocked"


def _of(threads: Sequence[ThreadLedger]) -> str:
    """Return the names of threads, without the numbers of a pool."""
    alike: dict[str, set[str]] = {}
    for comm in {thread.comm for thread in threads} - {UNLISTED}:
        alike.setdefault(re.sub(r"\d+", "N", comm), set()).add(comm)
    names = sorted(name if len(comms) > 1 else comms.pop() for name, comms in alike.items())
    return f" ({first_of([printable(name) for name in names], SHOWN)})" if names else ""


def natural_waits(model: Model) -> set[tuple[str, str]]:
    """Return (account, object key) of waits in which nothing is stuck: for the end of a thread, or inside a runtime."""
    waits = groups_by_key(((stack.account, stack.object), stack) for stack in model.wait_stacks(PARKED))
    return {key for key, same in waits.items() if all(joins(stack) or _serves(stack) for stack in same)}


def _serves(stack: schema.Stack) -> bool:
    """Return whether it is a service thread of HotSpot; Java code that waits there has a name of its own."""
    inside = [name for name in (*stack.user, *stack.scan) if module_of(name) == HOTSPOT]
    return bool(inside) and not any(_OF_JAVA.search(name) for name in inside)
