"""What do threads wait for on a futex?  The operation code never tells; their user stacks do (LEDGER.md, 7)."""

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from perfdiag.common.by_key import sums_by_key
from perfdiag.model.stacks.symbols import WAITS_FOR_ROOM, symbol_of
from perfdiag.model.waits.futex_waiters import brief, exclusive, sibling, woken_by_own_process
from perfdiag.model.waits.idle_runtime_threads import IDLE_BY_ID, WORK, idle_thread
from perfdiag.model.waits.runtime_locks import BY_ID, Words, is_caller, lock_of, on_top
from perfdiag.model.waits.statement_locks import statement_locks
from perfdiag.model.waits.stopped_threads import Stops
from perfdiag.model.waits.wait_chains import is_for_answer, own_account
from perfdiag.recording import schema
from perfdiag.recording.accounts import PARKED, Kind, kind_of
from perfdiag.recording.recording import Recording
from perfdiag.recording.schema.limits import RECORDER

# The C library's locks.
_LOCK = re.compile(
    r"_*pthread_mutex_(lock|timedlock|clocklock|cond_lock)(_full)?|_*lll_lock_wait(_private)?|_*lll_(clock|timed)lock_wait"
    r"|_*pthread_rwlock_(timed|clock)?(rd|wr)lock(_full\w*)?|_*pthread_spin_lock|mtx_(timed)?lock"
)
# What waits for an event, work or another thread's end: idle or not, but no lock.
_NO_LOCK = re.compile(
    r"_*pthread_cond_(timed|clock)?wait(_common)?|_*pthread_(timed|clock|try)?join\w*|_*pthread_barrier_wait"
    r"|_*(new_)?sem_\w*wait\w*|cnd_(timed)?wait|thrd_join|Unsafe_Park|.*Parker(::|\d*)park.*|.*Condvar.*wait.*"
    r"|runtime\.(notesleep|notetsleep\w*|futexsleep)|PyThread_acquire_lock_timed|std.*thread.*park.*|.*ObjectMonitor.*"
)
# The same that are no part of a lock, wherever they stand.
_OTHERS = re.compile(
    r"_*pthread_\w*join\w*|thrd_join|.*Parker.*|.*ObjectMonitor.*|PyThread_acquire_lock_timed|runtime\..*"
    r"|.*os_event.*timed_wait.*"  # InnoDB's latches are waited for without a limit
)
_JOIN = re.compile(r"_*pthread_(timed|clock)?join\w*|thrd_join")
# Of threading.Lock and RLock alone: queues and pools wait in the same PyThread_acquire_lock_timed.  An interpreter
# without symbols has none of these names, and then nothing can tell.
_PYTHON_LOCK = re.compile(r"acquire_timed|r?lock_(PyThread_)?acquire(_lock)?")
_ABOVE_THE_GIL = re.compile(r"_?PyEval_\w+|PyGILState_Ensure|_Py_HandlePending|_PyThreadState_Attach")


# Whoever is in one of these waits for work, and who waits for a lock behind him, for the next turn to do so.
_FOR_REQUESTS = ("net.accept", "net.request")
# In one of these he waits for work, or for the answer of somebody whom he has asked: nothing shows which.
_FOR_NEWS = ("wait.events", "ipc.pipe", "ipc.unix")


class Verdict(Enum):
    """What one stack says of the futex its thread is parked on."""

    LOCK = "lock"
    IDLE = "idle"
    NO_LOCK = "no lock"
    SILENT = "silent"


class Shown(NamedTuple):
    """A verdict, and the id of the lock or idle threads of a runtime that it is about, "" for none."""

    verdict: Verdict
    kind: str = ""


SILENT = Shown(Verdict.SILENT)


class Booking(NamedTuple):
    """Where time parked on a futex belongs."""

    account: str
    object: str


def judge(frames: Sequence[str]) -> Verdict:
    """Judge names, innermost first: the first that is known decides, unless a runtime's lock stands further out."""
    return _judged(frames).verdict


def _judged(frames: Sequence[str]) -> Shown:
    first = Verdict.SILENT
    for name in map(symbol_of, frames):
        if lock := lock_of(name):
            return Shown(Verdict.LOCK, lock.id)
        if "ObjectMonitor" in name:
            return Shown(Verdict.NO_LOCK)
        if first is Verdict.SILENT:
            if _LOCK.fullmatch(name):
                first = Verdict.LOCK
            elif _NO_LOCK.fullmatch(name):
                first = Verdict.NO_LOCK
    return Shown(first)


class Futexes:
    """The futexes of a recording, by process and object: which are proven to be locks, or what idle threads wait on."""

    def __init__(self, recording: Recording) -> None:
        self._weights: defaultdict[tuple[int, str], defaultdict[Shown, int]] = defaultdict(lambda: defaultdict(int))
        self._judged: dict[tuple[int, str], Shown] = {}
        self._booked: dict[tuple[int, str], Booking | None] = {}
        woken_inside, taken_in_turn = woken_by_own_process(recording), exclusive(recording)
        self._asked_again = asked_again = brief(recording)
        alive = {line.pid for line in recording.threads.values() if line.state == "alive"}
        comms = {line.tid: line.comm for line in recording.threads.values()}
        named: list[tuple[schema.Stack, str]] = []
        for stack in recording.stacks:
            if stack.kind != "wait" or not stack.object.startswith("futex:"):
                continue
            key = (stack.pid, stack.object)
            shown = _judge_stack(stack, comms.get(stack.tid, ""), key in woken_inside, key in taken_in_turn)
            if shown.verdict in (Verdict.SILENT, Verdict.NO_LOCK) and key in asked_again and _asks_again(stack):
                shown = Shown(Verdict.LOCK, "gil")
            if shown.kind and shown.verdict is Verdict.LOCK:
                named.append((stack, shown.kind))
            for pid in {stack.pid} if stack.pid in alive else {stack.pid, 0}:
                self._weights[pid, stack.object][shown] += stack.weight_ns or 1
        self._of_statements = statement_locks(recording, named)
        self.stops = Stops(recording)
        self._of_idle_pools = _mostly_behind(recording, _waits_for_request)
        # Who waits for a connection is in no transaction, whatever the lock: an idle session of a database may be.
        self._of_accepting = _mostly_behind(recording, lambda line: line.root == "net.accept")
        writers = {
            (stack.pid, stack.account)
            for stack in recording.stacks
            if stack.account in _FOR_NEWS and not WAITS_FOR_ROOM.isdisjoint(stack.kernel)
        }
        self._of_pools = _mostly_behind(
            recording, lambda line: _waits_for_news(line) and (line.pid, own_account(line)) not in writers
        )

    def booking(self, pid: int, futex: str) -> Booking | None:
        """Return where time parked on this futex of process `pid` (0: an exited one) belongs, as far as is proven.

        It is asked once for each of its waiters, and may have thousands.
        """
        try:
            return self._booked[pid, futex]
        except KeyError:
            return self._booked.setdefault((pid, futex), self._booking(pid, futex))

    def _booking(self, pid: int, futex: str) -> Booking | None:
        verdict, kind = self._shown(pid, futex)
        if kind != "collection" and self.stops.ends_wait(pid, futex):
            verdict, kind = Verdict.LOCK, "safepoint"
        if verdict is Verdict.IDLE:
            return Booking(IDLE_BY_ID[kind].account, f"runtime:{kind}")
        if verdict is not Verdict.LOCK:
            return None
        lock = BY_ID.get(kind)
        has_word = lock is None or lock.words is Words.OF_LOCKS
        if (pid, futex) in (self._of_idle_pools if has_word else self._of_accepting):
            return Booking(WORK, futex)
        if has_word and (pid, futex) in self._of_pools:
            return None
        if lock is None or not lock.name:
            return Booking("lock.futex", futex)
        address = f":{futex.partition(':')[2]}" if lock.words is Words.OF_LOCKS else ""
        return Booking(lock.account, f"lock:{kind}" if lock.shared else f"lock:{kind}:{pid}{address}")

    def stopped(self, pid: int) -> Booking:
        """Return where time belongs in which a virtual machine of Java stops its threads."""
        return Booking(BY_ID["safepoint"].account, f"lock:safepoint:{pid}")

    def stopped_part(self, lines: Sequence[schema.Because], root: str) -> float:
        """Return for how much of the waits for threads that were in `root` these had stopped whoever waited.

        Of a way as long as ways are kept the thread at its end may be one in between: it is left out.
        """
        stopped = whole = 0
        for line in lines:
            if line.account != PARKED or line.root != root or len(line.steps) >= RECORDER["CHAIN_STEPS"]:
                continue
            booking = self.booking(line.pid, line.object)
            if booking is None or booking.account != WORK:
                whole += line.sum_ns
                stopped += line.sum_ns if self.stops.is_root(line) else 0
        return stopped / whole if whole else 0.0

    def _shown(self, pid: int, futex: str) -> Shown:
        """Return what the stacks of a futex show together; where they are silent, those of its sibling.

        So, too, where threads wait there as they wait for the GIL: names left from earlier calls may hide that.
        """
        own = self._heaviest(pid, futex)
        if own.verdict is Verdict.NO_LOCK and (pid, futex) in self._asked_again:
            gil = self._heaviest(pid, sibling(futex))
            return gil if gil.kind == "gil" else own
        if own != SILENT:
            return own
        shown = self._heaviest(pid, sibling(futex))
        if shown.verdict is Verdict.LOCK and (not shown.kind or BY_ID[shown.kind].words is Words.OF_LOCKS):
            return SILENT
        if shown.verdict in (Verdict.LOCK, Verdict.IDLE):
            return shown
        lock, words = self._of_statements.get(pid, ("", frozenset[str]()))
        return Shown(Verdict.LOCK, lock) if futex in words else SILENT

    def _heaviest(self, pid: int, futex: str) -> Shown:
        """Return the verdict of the stacks of one futex, judged once however many threads wait for it.

        Silence says nothing against a lock.  Threads that are idle park in the same few functions every time.
        """
        weights = self._weights.get((pid, futex))
        if not weights:
            return SILENT
        if (pid, futex) not in self._judged:
            self._judged[pid, futex] = _outweighing(weights)
        return self._judged[pid, futex]


def _outweighing(weights: Mapping[Shown, int]) -> Shown:
    """Return the verdict that outweighs all others together, and what most of its time is about."""
    of = dict.fromkeys(Verdict, 0)
    for shown, weight in weights.items():
        of[shown.verdict] += weight
    told = sum(of.values()) - of[Verdict.SILENT]
    for verdict, whole in ((Verdict.LOCK, told), (Verdict.IDLE, sum(of.values()))):
        if 2 * of[verdict] > whole:
            same = [shown for shown in weights if shown.verdict is verdict]
            return max(same, key=lambda shown: (weights[shown], shown.kind))
    return Shown(Verdict.NO_LOCK) if told else SILENT


def _mostly_behind(recording: Recording, wanted: Callable[[schema.Because], bool]) -> set[tuple[int, str]]:
    """Return the locks for which threads that serve nobody waited mostly while their holder was in such a wait."""
    waited = sums_by_key(
        ((detail.pid, detail.object), detail.sum_ns)
        for detail in recording.details.values()
        if detail.account == PARKED
    )
    behind = sums_by_key(
        ((line.pid, line.object), line.sum_ns)
        for line in recording.because
        if line.account == PARKED and not line.inside and wanted(line)
    )
    return {key for key, ns in behind.items() if 2 * ns > waited[key]}


def _waits_for_request(line: schema.Because) -> bool:
    return line.root in _FOR_REQUESTS


def _waits_for_news(line: schema.Because) -> bool:
    """Whether the holder itself waited for what another thread tells, who did nothing for it meanwhile: it slept by its
    own choice, or waited itself."""
    if is_for_answer(line) or kind_of(line.root) is not Kind.IDLE:
        return False
    return own_account(line) in _FOR_NEWS


def _judge_stack(stack: schema.Stack, comm: str, woken_inside: bool, taken_in_turn: bool) -> Shown:
    """Return what a stack of a thread named `comm` says of its futex."""
    shown = _judged(stack.user)
    if shown.kind:
        return shown
    lock, other = on_top(stack.scan, _OTHERS)
    if lock:
        return Shown(Verdict.LOCK, lock.id)
    if taken_in_turn and any(_PYTHON_LOCK.fullmatch(symbol_of(name)) for name in (*stack.user, *stack.scan)):
        return Shown(Verdict.LOCK, "threading")
    # A lock that stands nearer than the function of an idle thread is what the thread waits for.
    if shown.verdict is not Verdict.LOCK and (idle := idle_thread(stack.user, comm) or idle_thread(stack.scan, comm)):
        return Shown(Verdict.IDLE, idle.id)
    if shown.verdict is Verdict.SILENT and other:
        return Shown(Verdict.NO_LOCK)
    if shown.verdict is Verdict.SILENT and woken_inside:
        # Names found by scanning may be left from earlier calls: they count only with a second witness.
        shown = Shown(judge_scan(stack.scan))
    if shown.verdict is Verdict.NO_LOCK and not any(map(is_caller, (*stack.user, *stack.scan))):
        return SILENT  # most locks of runtimes wait for a condition, too: only the caller's name tells them apart
    return shown


def _asks_again(stack: schema.Stack) -> bool:
    """Return whether a stack may be of take_gil() in an interpreter without symbols: nothing else stands above."""
    names = [symbol_of(name) for name in stack.scan]
    waits = [number for number, name in enumerate(names[:3]) if name == "pthread_cond_timedwait"]
    above = names[waits[0] + 1 : waits[0] + 2] if waits else []
    return bool(waits) and all(map(_ABOVE_THE_GIL.fullmatch, above))


def judge_scan(names: Sequence[str]) -> Verdict:
    """Judge names found by scanning the stack, of which each may be stale: lock only if nothing speaks against it."""
    verdicts = {judge([name]) for name in names}
    if Verdict.NO_LOCK in verdicts:
        return Verdict.NO_LOCK
    return Verdict.LOCK if Verdict.LOCK in verdicts else Verdict.SILENT


def joins(stack: schema.Stack) -> bool:
    """Return whether a thread waits for the end of another: known from its frames or the nearest names of a scan."""
    return any(_JOIN.fullmatch(symbol_of(name)) for name in (*stack.user, *stack.scan[:3]))
