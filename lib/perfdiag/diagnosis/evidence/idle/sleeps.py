"""Who sleeps on a timer, for how long and in which function: a timer is the program's own decision."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from perfdiag.common.by_key import sums_by_key
from perfdiag.common.text import printable
from perfdiag.common.units import duration, plural
from perfdiag.diagnosis.evidence.debuggers import command_for_sleepers
from perfdiag.diagnosis.evidence.locks.database_locks import waits_for_lock
from perfdiag.diagnosis.policy import idle_policy
from perfdiag.model.builder import UNLISTED
from perfdiag.model.java_machines import java_machines
from perfdiag.model.model import Model, once
from perfdiag.model.share_denominator import busy_ns_of
from perfdiag.model.stacks.scripts import functions, waits_in
from perfdiag.model.stacks.symbols import SLEEPS_OF_C, is_named, symbol_of
from perfdiag.model.thread_accounts import ThreadLedger
from perfdiag.model.waits.stopped_threads import VM_THREAD
from perfdiag.recording import schema
from perfdiag.recording.accounts import TIMER

CHILD = "wait.child"
_TALKS = ("net.receive", "net.send", "net.accept", "ipc.pipe", "ipc.unix", "wait.events")


# The C library's and the runtimes' own ways to sleep: whoever called them decided to.
_PRIMITIVE = re.compile(
    SLEEPS_OF_C + r"|syscall|pysleep|time_sleep|runtime\.(usleep|futexsleep).*|std::.*sleep.*|_*futex_abstimed_wait\w*"
)
# Go's own sleeping: a goroutine that sleeps has no thread.
_HOUSEKEEPING = re.compile(r"runtime\..*")
_INTERPRETER = re.compile(r"_?Py[A-Z_]\w*|cfunction_\w+|rb_\w+|vm_exec\w*|Interpreter|_ZN2v8.*|JVM_\w+")
_MOST = 0.6  # of the sleep of all


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
    look: str  # "COMMAND shows where", if `function` does not; "" where it does, or nobody is left to be looked at
    serves: bool  # whether the longest sleeper reads requests
    between_jobs: bool  # they are processes that do nothing else, while another one waits for them to end
    sleepers: Sequence[ThreadLedger]
    besides: str  # the account in which the longest sleeper waits for others too, "" where it does not

    @property
    def headline(self) -> str:
        """Return "Thread nap (7) sleeps 2.9 s of 3.0 s on a timer, in backoff (nap)"."""
        verb = "sleeps" if self.threads == 1 else "sleep"
        where = f", in {self.function}" if self.function else ""
        return f"{self.who} {verb} {duration(self.ns)} of {duration(self.wall_ns)} on a timer{where}"

    @property
    def advice(self) -> str:
        """Return who may be delayed by that sleep."""
        if self.serves:
            who = "The same thread" if self.threads == 1 else "Such a thread"
            return f"{who} reads requests: this sleep delays those that it serves."
        if self.besides:
            who = "The same thread" if self.threads == 1 else "Such a thread"
            return f"{who} also waits for others ({self.besides}): if it serves them, this sleep delays them."
        these = "this thread" if self.threads == 1 else "these threads"
        return f"If something waits for {these}, shorten the sleep, or wait for the event itself."


def sleep(model: Model, *, talking: bool = False) -> Sleep | None:
    """Return who slept on a timer, if it was long enough to be noticed.

    `talking`: if threads talk to others, only the sleep of one that does can delay those. The housekeepers of
    servers sleep all the time and then explain nothing; the clock of a runtime (Go's sysmon) never does.
    """
    return _sleep_of_talkers(model) if talking and any(map(_talks, model.threads)) else _sleep_of_all(model)


@once
def _sleep_of_all(model: Model) -> Sleep | None:
    return _sleep(model, talking=False)


@once
def _sleep_of_talkers(model: Model) -> Sleep | None:
    return _sleep(model, talking=True)


def _sleep(model: Model, *, talking: bool) -> Sleep | None:
    housekeepers = _housekeepers(model)
    sleepers = [t for t in model.threads if t.ns(TIMER) and not {(t.pid, t.tid), (t.pid, 0)} & housekeepers]
    sleepers.sort(key=lambda t: -t.ns(TIMER))
    if talking:
        sleepers = [t for t in sleepers if _talks(t)]
    ns = sum(t.ns(TIMER) for t in sleepers)
    if not ns or (ns < idle_policy.sleep_alone_share * model.window_ns and ns <= model.busy_ns):
        return None
    sleepers = _of_most(sleepers)
    # Those that hardly sleep would only blur how much of their time the others do.
    sleepers = [t for t in sleepers if t.ns(TIMER) >= idle_policy.sleep_beside_faults_share * sleepers[0].ns(TIMER)]
    first, number = sleepers[0], sum(t.threads for t in sleepers)
    felt_ns, parent = _waited_for(model, sleepers)
    function = sleeps_in(model, sleepers)
    command = "" if function or first.exited else command_for_sleepers(model, first.pid)
    names = {t.comm for t in sleepers}
    who = _named(first) if number == 1 else f"{plural(number, 'thread')}{_of(names)}"
    return Sleep(
        ns=sum(t.ns(TIMER) for t in sleepers),
        felt_ns=felt_ns,
        busy_ns=sum(busy_ns_of(t) for t in [*sleepers, *parent]),
        wall_ns=sum(t.wall_ns for t in sleepers),
        who=who,
        threads=number,
        function=function,
        look=f"{command} shows where" if command else "",
        serves=bool(first.requests_read),
        between_jobs=_are_between_jobs(sleepers, parent),
        sleepers=sleepers,
        besides=max((a for a in _TALKS if first.ns(a)), key=lambda account: first.ns(account), default=""),
    )


def _are_between_jobs(sleepers: Sequence[ThreadLedger], parent: Sequence[ThreadLedger]) -> bool:
    """Return whether the sleepers are children for which a script waits, and that hardly ran: its pauses."""
    hardly_ran = all(busy_ns_of(t) < idle_policy.pause_busy_share * t.wall_ns for t in sleepers)
    return bool(parent) and hardly_ran and all(t.processes == t.threads for t in sleepers)


def _talks(thread: ThreadLedger) -> bool:
    """Return whether a thread waits for others, or reads requests, the wait for which may lie before the window."""
    return bool(thread.requests_read or thread.ns(*_TALKS))


def _of_most(sleepers: list[ThreadLedger]) -> list[ThreadLedger]:
    """Return those of one name, if they sleep for most of the time together: a script that starts sleep(1) again and
    again sleeps by it, whatever else does."""
    by_name = sums_by_key((thread.comm, thread.ns(TIMER)) for thread in sleepers)
    most = max(by_name, key=lambda name: by_name[name])
    if by_name[most] <= _MOST * sum(by_name.values()):
        return sleepers
    return [thread for thread in sleepers if thread.comm == most]


def _waited_for(model: Model, sleepers: Sequence[ThreadLedger]) -> tuple[int, list[ThreadLedger]]:
    """Return the longest sleep, and what waits for it: children sleep, one after the other, while their parent
    waits."""
    longest_ns = sleepers[0].ns(TIMER)
    parent = max(model.threads, key=lambda t: 0 if t.exited else t.ns(CHILD))
    of_children_ns = sum(t.ns(TIMER) for t in sleepers if t.pid != parent.pid)
    waited_ns = min(0 if parent.exited else parent.ns(CHILD), of_children_ns)
    return (waited_ns, [parent]) if waited_ns > longest_ns else (longest_ns, [])


def _housekeepers(model: Model) -> set[tuple[int, int]]:
    """Return (process, thread) whose sleep is not the program's own by all stacks, with 0 for all threads of a process:
    their runtime sleeps, or their database does, before it asks for a lock again. A JVM polls until its threads have
    stopped."""
    chosen: defaultdict[tuple[int, int], bool] = defaultdict(bool)
    for stack in model.wait_stacks(TIMER):
        own = not _HOUSEKEEPING.fullmatch(symbol_of(_asked_in(stack.user))) and not waits_for_lock(stack)
        for tid in (stack.tid, 0):
            chosen[stack.pid, tid] |= own
    machines = {machine.pid for machine in java_machines(model)}
    stopping = {(t.pid, t.tid) for t in model.threads if t.comm == VM_THREAD and t.pid in machines}
    return stopping | {who for who, by_choice in chosen.items() if not by_choice}


def _asked_in(frames: Iterable[str]) -> str:
    """Return the frame that called sleep, "" if frames end before it."""
    return next((frame for frame in frames if not _PRIMITIVE.fullmatch(symbol_of(frame))), "")


def sleeps_in(model: Model, threads: Iterable[ThreadLedger]) -> str:
    """Return the function that called most of the sleeps of these threads; "" if frames end before its name."""
    wanted = {(thread.pid, thread.tid) for thread in threads}  # 0: of several that are told together
    return caller_of_sleeps(
        stack for stack in model.wait_stacks(TIMER) if wanted & {(stack.pid, stack.tid), (stack.pid, 0)}
    )


def caller_of_sleeps(stacks: Iterable[schema.Stack]) -> str:
    """Return the function that called most of the sleeps that began with these stacks; "" if that has no name."""
    weights = sums_by_key((_caller(stack), stack.weight_ns or 1) for stack in stacks)
    best = max(weights, key=lambda name: (weights[name], name), default="")
    return printable(best, 60)


def _caller(stack: schema.Stack) -> str:
    if functions(stack):
        return waits_in(stack)
    frame = _asked_in(stack.user)
    name = symbol_of(frame)
    # An interpreter's own function is no answer, and beyond an address frames may be stale.
    return frame if name and is_named(name) and not _INTERPRETER.match(name) else ""


def _named(thread: ThreadLedger) -> str:
    if thread.comm == UNLISTED:
        return "A thread"
    return f"Thread {thread.name}" if thread.tid else f"A thread of {printable(thread.comm)}"


def _of(names: set[str]) -> str:
    return f" ({printable(next(iter(names)))})" if len(names) == 1 and UNLISTED not in names else ""
