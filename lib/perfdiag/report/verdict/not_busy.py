"""What a target did while it was not busy: stopped, asleep on a timer, waiting for work, blocked or idle.

Only waiting for work rules a process out. A timer is its own decision, a stopped process waits for the one that stopped
it, and a blocked thread may be idle or stuck, unless its runtime blocks threads without work in functions of their own
(idle_runtime_threads.py).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from perfdiag.common.text import printable
from perfdiag.common.units import duration, plural
from perfdiag.diagnosis.evidence.debuggers import shows_sleepers
from perfdiag.diagnosis.evidence.locks.database_locks import waits_for_lock
from perfdiag.diagnosis.evidence.requests.calls import not_followed
from perfdiag.model.builder import UNLISTED
from perfdiag.model.model import Model
from perfdiag.model.share_denominator import counted
from perfdiag.model.stacks.symbols import SLEEPS_OF_C, is_named, symbol_of
from perfdiag.model.thread_accounts import ThreadLedger
from perfdiag.model.waits.idle_runtime_threads import WORK, IdleThreads, scheduler_of
from perfdiag.model.waits.receiving_calls import CALL
from perfdiag.report.stacks import natural_waits

TIMER, PARKED, CHILD = "wait.timer", "wait.parked", "wait.child"
EVENTS = "wait.events"
# What somebody else ends, as a rule by sending work; the words fit "waited 3 s ...".  Whose events a server waits for,
# its clients' or those of whoever it asks in turn, no wait shows.
FOR_WORK = (EVENTS, "net.accept", "net.request", "vm.halt")
_OTHERS = {EVENTS: f"for events ({EVENTS})", "wait.signal": "for a signal", CHILD: "for child processes"}

_TALKS = ("net.receive", "net.send", "net.accept", "ipc.pipe", "ipc.unix", "wait.events")

# A stop or a sleep of so much of the window is told beside faults; without any, less is enough.
FELT = 0.1
NOTICED = 0.02
WHOLE = 0.99  # of a thread's life
SHOWN = 3

# The C library's and the runtimes' own ways to sleep: whoever called them decided to.
_PRIMITIVE = re.compile(
    SLEEPS_OF_C + r"|syscall|pysleep|time_sleep|runtime\.(usleep|futexsleep).*|std::.*sleep.*|_*futex_abstimed_wait\w*"
)
# Go's own sleeping: a goroutine that sleeps has no thread.
_HOUSEKEEPING = re.compile(r"runtime\..*")
_INTERPRETER = re.compile(r"_?Py[A-Z_]\w*|cfunction_\w+|rb_\w+|vm_exec\w*|Interpreter|_ZN2v8.*|JVM_\w+")


@dataclass(frozen=True)
class Sleep:
    """Time spent asleep on a timer."""

    ns: int  # of all that sleep
    felt_ns: int  # of the one that sleeps most, or of children as far as a parent waits for them
    busy_ns: int  # of the threads that sleep, and of that parent
    wall_ns: int  # of the threads that sleep
    who: str
    threads: int
    function: str  # "backoff (app)", "" where no stack tells
    look: str  # "COMMAND shows where", if `function` does not; "" where nobody is left to be looked at
    besides: str  # the account in which the longest sleeper waits for others too, "" where it does not

    @property
    def sentence(self) -> str:
        """Return "Thread nap (7) sleeps 2.9 s of 3.0 s on a timer, in backoff (nap)."."""
        verb = "sleeps" if self.threads == 1 else "sleep"
        look = f"; {self.look}" if self.look else ""
        where = f", in {self.function}" if self.function else look
        slept = f"{duration(self.ns)} of {duration(self.wall_ns)}"
        return f"{self.who} {verb} {slept} on a timer{where}."

    @property
    def advice(self) -> str:
        """Return who may be delayed by that sleep."""
        if self.besides:
            who = "The same thread" if self.threads == 1 else "Such a thread"
            return f"{who} also waits for others ({self.besides}): if it serves them, this sleep delays them."
        it = "it" if self.threads == 1 else "them"
        return f"This sleep delays others that wait for {it}: shorten it, or wait for the event itself."


def asleep_all_along(model: Model) -> list[ThreadLedger]:
    """Return the threads that were blocked through their whole life in the window, in one wait: a thread that was woken
    and blocked again got something, work or a lock."""
    parked = [t for t in model.threads if t.wall_ns and t.ns(PARKED) >= WHOLE * t.wall_ns]
    return [
        t for t in parked if t.accounts[PARKED].count <= t.threads or t.accounts[PARKED].max_ns >= WHOLE * t.wall_ns
    ]


def stuck_or_idle(model: Model) -> list[ThreadLedger]:
    """Return those that may be stuck: not those that wait for the end of others, nor a runtime's own."""
    natural = natural_waits(model)
    threads = asleep_all_along(model)
    return [
        t for t in threads if not t.still_waiting or (t.still_waiting.account, t.still_waiting.object) not in natural
    ]


def scheduler(model: Model) -> IdleThreads | None:
    """Return the scheduler whose threads had nothing to run, if the target was busy for less than half of the window.
    Its tasks may wait for each other meanwhile, and no thread shows that."""
    if 2 * model.busy_ns > model.window_ns:
        return None
    return scheduler_of(row.key for row in model.rows_of(WORK))  # largest first


def untold_tasks(model: Model) -> list[str]:
    """Return the sentence on what such a scheduler's tasks wait for, if there is one."""
    found = scheduler(model)
    return [f"Threads do not show what its {found.tasks}s wait for: {found.tells}."] if found else []


def parked_ns(model: Model) -> int:
    """Return the blocked time of threads that also did something else.

    Threads that were blocked through the whole window did nothing in it: `still waiting` names them. A thread that
    reads requests is idle if it is blocked while nobody waits for an answer.
    """
    asleep_ns = sum(thread.ns(PARKED) for thread in asleep_all_along(model))
    return max(0, model.parked_ns - asleep_ns - _without_requests_ns(model))


def _without_requests_ns(model: Model) -> int:
    """Return how long threads of a server were blocked while nobody waited for them, at least.

    One thread works at each request at a time.  Threads that read no requests may have work of their own if they are
    busier than those that do.
    """
    served = [each.line for each in model.exchanges if each.served]
    if not model.measured("requests") or not_followed(model) or any(line.early or line.declined for line in served):
        return 0
    asleep = {id(thread) for thread in asleep_all_along(model)}
    awake = [each for each in model.threads if id(each) not in asleep]
    readers = [each for each in awake if each.requests_read]
    if not readers or 2 * sum(map(_busy_ns, readers)) < model.busy_ns:
        awake = readers
    awaited_ns = sum(line.sum_ns + line.open * line.oldest_ns for line in served)
    awaited_ns += sum(line.unanswered * (line.unanswered_longest_ns or model.window_ns) for line in served)
    awaited_ns += sum(line.sum_ns for line in model.requests_left)
    return max(0, sum(thread.ns(PARKED) for thread in awake) - awaited_ns)


def received(model: Model) -> tuple[int, str]:
    """Return how much of that blocked time is in calls that receive, and in which: "msgrcv()"."""
    rows = [row for row in model.rows_of(PARKED) if row.key.startswith(CALL)]
    asleep_ns = sum(thread.ns(PARKED) for thread in asleep_all_along(model) if receives(thread))
    ns = min(parked_ns(model), sum(row.distribution.sum_ns for row in rows) - asleep_ns)
    return max(0, ns), ", ".join(dict.fromkeys(row.object for row in rows[:SHOWN]))


def receives(thread: ThreadLedger) -> bool:
    """Return whether a blocked thread was in a call that receives when the recording ended."""
    return thread.still_waiting is not None and thread.still_waiting.object.startswith(CALL)


def sleep(model: Model, *, beside_faults: bool = False) -> Sleep | None:
    """Return who slept on a timer, if it was long enough to be noticed.

    `beside_faults`: if threads talk to others, only the sleep of one that does can delay those. The housekeepers of
    servers sleep all the time and then explain nothing; the clock of a runtime (Go's sysmon) never does.
    """
    housekeepers = _housekeepers(model)
    sleepers = [t for t in model.threads if t.ns(TIMER) and not {(t.pid, t.tid), (t.pid, 0)} & housekeepers]
    sleepers.sort(key=lambda t: -t.ns(TIMER))
    if beside_faults and any(t.ns(*_TALKS) for t in model.threads):
        sleepers = [t for t in sleepers if t.ns(*_TALKS)]
    ns = sum(t.ns(TIMER) for t in sleepers)
    if not ns or (ns < NOTICED * model.window_ns and ns <= model.busy_ns):
        return None
    # Those that hardly sleep would only blur how much of their time the others do.
    sleepers = [t for t in sleepers if t.ns(TIMER) >= FELT * sleepers[0].ns(TIMER)]
    first, number = sleepers[0], sum(t.threads for t in sleepers)
    felt_ns, parent = _waited_for(model, sleepers)
    names = {t.comm for t in sleepers}
    who = _named(first) if number == 1 else f"{plural(number, 'thread')}{_of(names)}"
    return Sleep(
        ns=sum(t.ns(TIMER) for t in sleepers),
        felt_ns=felt_ns,
        busy_ns=sum(_busy_ns(t) for t in [*sleepers, *parent]),
        wall_ns=sum(t.wall_ns for t in sleepers),
        who=who,
        threads=number,
        function=_function(model, {t.pid for t in sleepers}),
        look="" if first.exited else shows_sleepers(model, first.pid),
        besides=max((a for a in _TALKS if first.ns(a)), key=lambda account: first.ns(account), default=""),
    )


def _waited_for(model: Model, sleepers: Sequence[ThreadLedger]) -> tuple[int, list[ThreadLedger]]:
    """Return the longest sleep, and what waits for it: children sleep, one after the other, while their parent
    waits."""
    longest_ns = sleepers[0].ns(TIMER)
    parent = max(model.threads, key=lambda t: 0 if t.exited else t.ns(CHILD))
    of_children_ns = sum(t.ns(TIMER) for t in sleepers if t.pid != parent.pid)
    waited_ns = min(0 if parent.exited else parent.ns(CHILD), of_children_ns)
    return (waited_ns, [parent]) if waited_ns > longest_ns else (longest_ns, [])


def _busy_ns(thread: ThreadLedger) -> int:
    return sum(total.ns for name, total in thread.accounts.items() if counted(name))


def waits(model: Model, most: int | None = None) -> str:
    """Return what the target waited for while idle, timers and stops apart: "3.00 s for work (net.accept)".

    `most`: only so many of them, the longest.
    """
    parts = []
    work = [(name, model.ns(name)) for name in (*FOR_WORK, WORK) if model.ns(name) and name not in _OTHERS]
    if work:
        names = ", ".join(name for name, _ in sorted(work, key=lambda each: -each[1]))
        parts.append((sum(ns for _, ns in work), f"for work ({names})"))
    parts += [(model.ns(name), words) for name, words in _OTHERS.items() if model.ns(name)]
    worth_ns = sum(ns for ns, _ in parts) // 100  # less is not worth a word
    told = sorted((part for part in parts if part[0] >= worth_ns), key=lambda part: -part[0])
    return ", ".join(f"{duration(ns)} {words}" for ns, words in told[:most])


def _housekeepers(model: Model) -> set[tuple[int, int]]:
    """Return (process, thread) whose sleep is not the program's own by all stacks, with 0 for all threads of a process:
    their runtime sleeps, or their database does, before it asks for a lock again."""
    chosen: defaultdict[tuple[int, int], bool] = defaultdict(bool)
    for stack in model.wait_stacks(TIMER):
        own = not _HOUSEKEEPING.fullmatch(symbol_of(_asked_in(stack.user))) and not waits_for_lock(stack)
        for tid in (stack.tid, 0):
            chosen[stack.pid, tid] |= own
    return {who for who, by_choice in chosen.items() if not by_choice}


def _asked_in(frames: Iterable[str]) -> str:
    """Return the frame that called sleep, "" if frames end before it."""
    return next((frame for frame in frames if not _PRIMITIVE.fullmatch(symbol_of(frame))), "")


def _function(model: Model, pids: set[int]) -> str:
    """Return the function that called most of the sleeps; "" if frames end before its name."""
    weights: defaultdict[str, int] = defaultdict(int)
    for stack in model.wait_stacks(TIMER):
        if stack.pid in pids:
            weights[_caller(stack.user)] += stack.weight_ns or 1
    best = max(weights, key=lambda name: (weights[name], name), default="")
    return printable(best, 60)


def _caller(frames: Iterable[str]) -> str:
    frame = _asked_in(frames)
    name = symbol_of(frame)
    # An interpreter's own function is no answer, and beyond an address frames may be stale.
    return frame if name and is_named(name) and not _INTERPRETER.match(name) else ""


def _named(thread: ThreadLedger) -> str:
    if thread.comm == UNLISTED:
        return "A thread"
    return f"Thread {printable(thread.comm)} ({thread.tid})" if thread.tid else f"A thread of {printable(thread.comm)}"


def _of(names: set[str]) -> str:
    return f" ({printable(next(iter(names)))})" if len(names) == 1 and UNLISTED not in names else ""


__all__ = [
    "EVENTS",
    "FELT",
    "FOR_WORK",
    "Sleep",
    "parked_ns",
    "received",
    "receives",
    "scheduler",
    "sleep",
    "stuck_or_idle",
    "waits",
]
