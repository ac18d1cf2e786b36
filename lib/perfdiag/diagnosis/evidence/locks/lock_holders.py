"""Who holds a lock, and what that thread does meanwhile."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from perfdiag.common.by_key import groups_by_key, sums_by_key
from perfdiag.diagnosis.evidence.locks.wait_paths import roots_of, way_to
from perfdiag.diagnosis.evidence.runqueue.competition import competition, long_ns, surely_neighbours
from perfdiag.diagnosis.evidence.silent_ends import nothing_came
from perfdiag.diagnosis.evidence.target import subject
from perfdiag.diagnosis.policy import locks_policy
from perfdiag.diagnosis.significance import plain, thread_of, total_ns
from perfdiag.model.model import Model, Row, once
from perfdiag.model.requests.request_time import REST
from perfdiag.model.stacks.scripts import waits_in
from perfdiag.model.thread_accounts import AccountTotal, ThreadLedger, summed
from perfdiag.recording import schema
from perfdiag.recording.accounts import OF_CPUS, PARKED, Kind, kind_of

# Idle accounts in which somebody may still hold a lock; waiting for work is done without one.
WAITS_OF_HOLDERS = ("wait.timer", "wait.child", "wait.stopped", "wait.io_uring")
# Threads that take turns queue behind each other as they wake: that need not be while one of them holds the lock.
# Behind neighbours they queue with the lock in hand as well as without.
OF_TURNS = {"runq.busy": 0.0, "runq.waking": 0.0}

SLEEP = "wait.timer"


@dataclass(frozen=True)
class Holder:
    """The thread that had a lock most of the time, or those that took turns, and what they do besides waiting for
    locks."""

    name: str
    one: bool  # most waits were for one thread; else all that waited take turns
    root: str  # the account of what it mostly does, "" where nothing is more than half
    root_part: float  # of the holder's time outside locks; where `known` or `exact`, of what was waited for the lock
    another: str = ""  # the lock that it waits for itself meanwhile
    known: bool = False  # what the lock is for is the root
    exact: bool = False  # the root is what the holder was in while others waited, not what its ledger shows besides
    root_object: str = ""  # for people; only where that is so
    tid: int = 0  # of one thread of the target
    way: str = ""  # the account of its own wait, where another thread is in the root meanwhile

    @property
    def sleeps(self) -> bool:
        """Whether the holder, or the thread that it waits for, sleeps on a timer."""
        return not self.another and bool(self.root) and SLEEP in (self.root, self.way)

    @property
    def waits(self) -> bool:
        """Whether the holder itself waits, as opposed to computing or having no CPU."""
        return bool(self.another) or (bool(self.root) and not self.root.startswith(OF_CPUS))


class Waiters(NamedTuple):
    """Threads that were in an account of waits for locks, all together."""

    rows: int  # of the ledger: a fold of threads that ended counts as one
    threads: int
    accounts: Mapping[str, AccountTotal]


def holder_of(model: Model, rows: list[Row]) -> Holder | None:
    """Return the holder of the lock that these rows wait for; None if neither a waker nor a waiter is known.

    What the holder did meanwhile was seen at each wake-up. If it was not, its ledger decides, which is of the whole
    window, not only of the time it held the lock.
    """
    holder = _guessed(model, rows)
    if holder and (holder.tid or not holder.one) and is_outside(model, rows):
        return None
    return _with_root(model, rows, holder) if holder else None


def is_outside(model: Model, rows: Sequence[Row]) -> bool:
    """Return whether a file's lock was mostly held by threads outside the target.

    Threads that queue behind an outside holder take the lock more often than it does, and wake each other; what one of
    them did while others waited is known.
    """
    if rows[0].account != "lock.file":
        return False
    known_ns = sum(roots_of(model, rows[0].account, rows[0].key).values())
    return known_ns < locks_policy.holder_share * total_ns(rows)


def _with_root(model: Model, rows: list[Row], holder: Holder) -> Holder:
    """Return the holder with what it did while others waited, if most of that time is known."""
    waited_ns = total_ns(rows)
    roots = roots_of(model, rows[0].account, rows[0].key)
    if not waited_ns or sum(roots.values()) < locks_policy.held_share * waited_ns:
        return holder
    (root, name), ns = next(iter(roots.items()))
    if ns < locks_policy.holder_root_share * waited_ns:
        return replace(holder, root="", root_part=0.0, another="")
    if _lock(root):
        return replace(holder, root="", root_part=0.0, another=name)
    way = way_to(model, rows[0].account, rows[0].key, root, name)
    if root == way == "cpu.user" and holder.root == "cpu.kernel":
        root = way = holder.root  # which of the two it was is told by the ticks alone
    exact = replace(holder, root=root, root_part=min(1.0, ns / waited_ns), another="", exact=True, root_object=name)
    return exact if way == root or _lock(way) else replace(exact, way=way)


def _guessed(model: Model, rows: list[Row]) -> Holder | None:
    ended = sums_by_key((row.waker_tid, row.waker_count) for row in rows if row.waker_tid)
    waited = sum(row.distribution.count for row in rows)
    tid = max(ended, key=lambda each: ended[each], default=0)
    thread = thread_of(model, tid)
    waiters = _waiters(model, rows)
    waited_ns = total_ns(rows) // max(1, waiters.threads)
    if tid and waited and ended[tid] >= locks_policy.holder_share * waited:
        if thread is None:
            comm = next((plain(row.waker_comm) for row in rows if row.waker_tid == tid and row.waker_comm), "")
            name = f"{comm} ({tid})" if comm else f"thread {tid}"
            return Holder(f"{name} outside {subject(model)}", True, "", 0.0)
        root, part = _root(summed([thread]), waited_ns, model.window_ns, {})
        least_ns = max(locks_policy.holder_root_share * waited_ns, thread.accounts[root].ns if root else 0)
        another = _another(model, thread, rows[0].key, least_ns)
        return Holder(thread.name, True, "" if another else root, part, another, tid=tid)
    if nothing_came(model, rows):
        return None  # nobody took it meanwhile
    # A lone waiter is not its own holder.
    root, part = _root(waiters.accounts, waited_ns, model.window_ns, OF_TURNS | {"runq.busy": _starved_part(model)})
    if _may_be_parked(model, rows[0].account, root):
        root = ""
    return Holder(f"{waiters.rows} threads in turn", False, root, part) if waiters.rows > 1 else None


def _may_be_parked(model: Model, account: str, root: str) -> bool:
    """Return whether requests wait for the lock, and others are blocked, or in nobody's hands, for longer than they are
    in `root`: then whoever has the lock may be, too."""
    time = model.request_time
    spent = time.accounts if time else {}
    return bool(spent.get(account)) and spent.get(PARKED, 0) + spent.get(REST, 0) > spent.get(root, 0)


def code_of(model: Model, holder: Holder) -> str:
    """Return the function in which one holder is sampled most, "" if unknown.

    Equal stacks of a process are at the first of its threads: they are the holder's own only if no other thread does
    the like.
    """
    kind = "cpu" if holder.root.startswith("cpu.") else "wait"
    thread = thread_of(model, holder.tid)
    if thread is None or holder.root not in thread.accounts:
        return ""
    like = [each for each in model.threads_of(thread.pid) if holder.root in each.accounts]
    if (
        sum(each.accounts[holder.root].ns for each in like) * locks_policy.holder_stacks_share
        > thread.accounts[holder.root].ns
    ):
        return ""
    weights = sums_by_key(
        (plain(waits_in(stack)), stack.weight_ns)
        for stack in model.stacks
        if (stack.tid, stack.kind, stack.account) == (holder.tid, kind, holder.root)
    )
    return max(weights, key=lambda each: weights[each], default="")


def under(model: Model, rows: list[Row], account: str) -> Holder | None:
    """Return the threads that take a lock and wait in `account` while they hold it; None if that is too short."""
    waiters = _waiters(model, rows)
    number = max(1, waiters.threads)
    ns = waiters.accounts[account].ns if account in waiters.accounts else 0
    part = ns * number / max(1, total_ns(rows))
    return (
        Holder(f"{number} threads in turn", False, account, min(1.0, part), known=True)
        if part >= locks_policy.holder_root_share
        else None
    )


def _another(model: Model, holder: ThreadLedger, key: str, least_ns: float) -> str:
    """Return the other lock that the holder of `key` mostly waits for, "" if that is for less than `least_ns`."""
    weights = sums_by_key((stack.object, stack.weight_ns) for stack in _wait_samples(model).get(holder.tid, ()))
    most = max(weights, key=lambda each: weights[each], default=key)
    waits_ns = sum(total.ns for name, total in holder.accounts.items() if _lock(name))
    if most == key or waits_ns * weights[most] < least_ns * sum(weights.values()):
        return ""
    return plain(_lock_names(model).get(most, ""))


def _waiters(model: Model, rows: list[Row]) -> Waiters:
    """Return the threads of the processes of some rows that were in their account."""
    found, asked = _found_waiters(model), (frozenset(row.pid for row in rows), rows[0].account)
    if asked not in found:
        pids, account = asked
        threads = [each for each in model.threads if each.pid in pids and account in each.accounts]
        found[asked] = Waiters(len(threads), sum(each.threads for each in threads), summed(threads))
    return found[asked]


@once
def _found_waiters(_model: Model) -> dict[tuple[frozenset[int], str], Waiters]:
    """Return where threads are kept that wait for many locks: they are looked up once for all of these."""
    return {}


@once
def _wait_samples(model: Model) -> dict[int, list[schema.Stack]]:
    """Return the stacks of waits for locks by thread."""
    return groups_by_key((stack.tid, stack) for stack in model.stacks if stack.kind == "wait" and _lock(stack.account))


@once
def _lock_names(model: Model) -> dict[str, str]:
    """Return what locks are called, by key."""
    return {row.key: row.object for row in reversed(model.rows) if _lock(row.account)}


def _starved_part(model: Model) -> float:
    """Return the part of the time in run queues that was behind other processes, in waits longer than a hand-over."""
    competing, queued_ns = competition(model), model.ns("runq.busy")
    behind = sum(long_ns(competing.neighbours).values()) + sum(surely_neighbours(model, competing).values())
    return min(1.0, behind / queued_ns) if queued_ns else 0.0


def _root(
    everything: Mapping[str, AccountTotal], waited_ns: int, held_ns: int, parts: Mapping[str, float]
) -> tuple[str, float]:
    """Return the account that is most of what threads did outside locks, busy time first, and its part; "" if that
    cannot be most of what they did with the lock.

    Of the accounts in `parts` only that much counts. The lock was held while somebody waited, for at least `waited_ns`:
    threads that did less hold it while waiting for another lock, or others hold it. One thread held it at a time, for
    at most `held_ns`: what they did beyond that, they did without the lock.
    """
    sums = {
        account: total.ns
        for account, total in everything.items()
        if account in WAITS_OF_HOLDERS or (_busy(account) and not _lock(account))
    }
    enough = sum(sums.values()) >= locks_policy.held_share * waited_ns
    sums = {name: round(parts.get(name, 1.0) * ns) for name, ns in sums.items()}
    busy = {name: ns for name, ns in sums.items() if _busy(name)}
    # A holder that is nearly always asleep shows nothing but that; one that works shows what its work waits for.
    fills = sum(busy.values()) >= locks_policy.held_share * waited_ns and sum(busy.values()) * 5 >= sum(sums.values())
    judged_on = busy if fills else sums
    whole = sum(judged_on.values())
    account = max(judged_on, key=lambda name: judged_on[name], default="")
    ns = judged_on.get(account, 0)
    part = ns / whole if whole else 0.0
    without_ns = max(0, whole - held_ns)
    surely = (
        ns >= locks_policy.holder_root_share * waited_ns
        and ns - without_ns >= locks_policy.holder_root_share * min(whole, held_ns)
    )
    sleeps_without = account in WAITS_OF_HOLDERS and locks_policy.held_share * ns > held_ns
    return account if enough and surely and whole and not sleeps_without else "", part


def _lock(account: str) -> bool:
    return account.startswith("lock.")


def _busy(account: str) -> bool:
    return kind_of(account) is Kind.LATENCY
