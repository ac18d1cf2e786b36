"""Locks that nobody released during the whole window: a deadlock, or a holder that hangs."""

from perfdiag.common.by_key import groups_by_key
from perfdiag.common.units import first_of, plural
from perfdiag.diagnosis.evidence.debuggers import shows_stacks
from perfdiag.diagnosis.evidence.fix_checks import measured
from perfdiag.diagnosis.evidence.locks.lock_remedies import lock_of_key
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import locks_policy
from perfdiag.diagnosis.rule import Evidence, Finding, Mechanism, Severity
from perfdiag.diagnosis.significance import (
    by_key,
    claims_of,
    duration,
    fix,
    plain,
    still_waiting,
    total_ns,
    worth,
)
from perfdiag.model.model import Model, Row
from perfdiag.model.thread_accounts import ThreadLedger
from perfdiag.model.waits.runtime_locks import Words

FUTEX = "lock.futex"
SHOWN = 3
# Who stays in one of these for the whole window waits for work, and may do so with a lock in hand: the others of a pool
# queue behind it.
FOR_WORK = ("wait.events", "net.accept", "net.request")


def stuck(model: Model) -> tuple[list[Row], list[ThreadLedger]]:
    """Return the rows of locks that nobody released, and the threads that waited for them all along.

    A runtime may wait with a timeout and look again, so that waits end without a release. Locks that protect a whole
    runtime do not count: a garbage collection, or native code under the GIL, may take longer than the window.
    """
    waiting = groups_by_key(
        ((thread.pid, wait.object), thread)
        for thread, wait in still_waiting(model, FUTEX, part=0.0)
        if _waited_ns(thread) >= locks_policy.never_released_wait_share * _observed_ns(model, [thread])
    )
    by_lock = groups_by_key(((row.pid, row.key), row) for row in model.rows_of(FUTEX))
    rows: list[Row] = []
    threads: list[ThreadLedger] = []
    for (pid, key), stay in waiting.items():
        runtime, observed_ns = lock_of_key(key), _observed_ns(model, stay)
        of_lock = by_lock.get((pid, key), [])
        never = [row for row in of_lock if _threads_of(row, observed_ns)]
        # Where others get what may be the same lock, these may only be less lucky.
        released_ns = total_ns(of_lock) - total_ns(never)
        besides_ns = sum(thread.wall_ns - _waited_ns(thread) for thread in stay)
        ended = sum(row.distribution.count for row in never) - len(stay)
        if (
            (runtime is None or runtime.words is not Words.ONE_LOCK)
            and sum(_threads_of(row, observed_ns) for row in never) == len(stay)
            and released_ns + besides_ns <= locks_policy.never_released_work_share * model.window_ns
            and (ended <= 0 or ended > model.coverage.lost.get("wakeups_missing", 0))  # each may have been a release
        ):
            rows += never
            threads += stay
    return rows, threads


def _waited_ns(thread: ThreadLedger) -> int:
    return thread.ns(FUTEX)


def _observed_ns(model: Model, threads: list[ThreadLedger]) -> int:
    """Return how long threads were observed at most: on a busy host their records begin a little after the window."""
    longest_ns = max(thread.wall_ns for thread in threads)
    return longest_ns if longest_ns >= locks_policy.never_released_observed_share * model.window_ns else model.window_ns


def _threads_of(row: Row, observed_ns: int) -> int:
    """Return how many threads waited for this lock all along, 0 if a thread ended waits or waited for less."""
    number = round(row.distribution.sum_ns / max(1, observed_ns)) if not row.waker_tid else 0
    return number if row.distribution.sum_ns >= locks_policy.never_released_wait_share * number * observed_ns else 0


def finding(model: Model, rows: list[Row], threads: list[ThreadLedger], code: dict[str, str]) -> Finding | None:
    """Return one finding on all such locks; `code` has the function that wants each, by key."""
    if not rows or not worth(model, total_ns(rows)):
        return None
    several = len(rows) > 1
    groups = {key: of_lock for (_, key), of_lock in by_key(rows).items()}
    who = first_of([thread.name for thread in threads], SHOWN)
    locks = _locks(groups) + " that nobody released"
    why = "they wait for each other (a deadlock), or a holder hangs" if several else "its holder hangs, or is gone"
    idle = _may_hold(model, threads)
    innocent = len(idle) >= _least_locks(groups)
    if innocent:
        why = f"its holder hangs, or is {first_of(idle, 1)}"
    return conclude(
        model,
        claims_of(rows),
        headline=f"{plural(len(threads), 'thread')} waited for a lock that nobody released",
        claim=(
            f"{plural(len(threads), 'thread')} waited all {duration(_observed_ns(model, threads))} for {locks}: {why}."
        ),
        mechanism=Mechanism.UNDETERMINED if innocent else Mechanism.FAILED,
        severity=Severity.INFO if innocent else Severity.CRITICAL,
        doubts=["the holder of such a lock is not visible from outside"],
        evidence=[
            Evidence(f"waiting from before the window to its end: {who}", float(len(threads)), "count", "ledger"),
            *(
                Evidence(f"{plain(waited[0].object)} wanted by {code[key]}", float(total_ns(waited)), "ns", "stacks")
                for key, waited in list(groups.items())[:SHOWN]
                if key in code
            ),
        ],
        remedies=[
            fix(f"see what each thread holds: {shows_stacks(model, rows[0].pid)}; then take the locks in one order")
        ],
        alternatives=["locks that are meant to be held for longer than the window"],
        verify=measured(model, "no thread waits for these locks all along", "--duration 60"),
    )


def _may_hold(model: Model, threads: list[ThreadLedger]) -> list[str]:
    """Return which other threads of these processes waited for work all along."""
    pids, tids = {thread.pid for thread in threads}, {thread.tid for thread in threads}
    idle = [thread for thread in model.threads if thread.pid in pids and thread.tid not in tids and thread.tid]
    return [
        f"{thread.name}, which waits for work all along ({account})"
        for thread in idle
        for account in FOR_WORK
        if thread.ns(account) >= locks_policy.never_released_wait_share * _observed_ns(model, [thread])
    ]


def _least_locks(groups: dict[str, list[Row]]) -> int:
    """Return the least number of locks: each word of a program's own is one; several words of a runtime's may be
    one."""
    return len(groups) if lock_of_key(next(iter(groups))) is None else 1


def _locks(groups: dict[str, list[Row]]) -> str:
    """Return the name of the locks; if each thread waits on a word of its own, their number is unknown."""
    runtime = lock_of_key(next(iter(groups)))
    if len(groups) == 1 and runtime and runtime.words is not Words.OF_LOCKS:
        return plain(next(iter(groups.values()))[0].object)
    return f"{len(groups)} locks" if len(groups) > 1 else "a lock"
