"""What to say and do about the locks of language runtimes and servers: each has its own remedy."""

from __future__ import annotations

from dataclasses import dataclass

from perfdiag.diagnosis.evidence.debuggers import shows_stacks
from perfdiag.diagnosis.rule import Remedy
from perfdiag.diagnosis.significance import duration, fix, plain
from perfdiag.model.model import Model, Row
from perfdiag.model.stacks.symbols import caller, readable
from perfdiag.model.waits.runtime_locks import BY_ID, RuntimeLock


@dataclass(frozen=True)
class Advice:
    """How the claim goes on after the name of the lock, and what helps; "PID" stands for the process."""

    means: str
    remedies: tuple[str, ...]
    under: str = ""  # the account that its holder waits in: what the lock is for


_SECTION = "shorten the section under the lock, or give what it guards several locks"
_ADVICE = {
    "gil": Advice(
        "CPython lets one thread of a process run Python code at a time",
        (
            "move what computes out of the threads: into processes (multiprocessing, more workers of the server), or"
            " into native code that releases the GIL (NumPy, hashlib, zlib, own extensions)",
            "see who holds it, and in which function: py-spy top --gil --pid PID",
        ),
    ),
    "gvl": Advice(
        "Ruby lets one thread of a process run Ruby code at a time",
        ("move what computes into processes (more workers of Puma or Unicorn) or Ractors; rbspy record --pid PID",),
    ),
    "monitor": Advice(
        "",
        (
            'see which monitor and who owns it: jstack PID, "waiting to lock" and "locked"; shorten that synchronized'
            " section, or use a concurrent collection or several locks",
        ),
    ),
    "collection": Advice(
        "they allocate faster than the heap has room, and stop until it is cleared",
        (
            "see how full it is and how long that takes: jstat -gcutil PID 1s, -Xlog:gc,safepoint; if it stays nearly"
            " full (O), give it a larger -Xmx or keep less; else allocate less (async-profiler -e alloc)",
        ),
    ),
    "safepoint": Advice(
        "the virtual machine stops all threads at once",
        ("see what for, and how long it takes: -Xlog:safepoint; mostly for garbage collection: jstat -gcutil PID 1s",),
    ),
    "python": Advice("", ("see which lock, and who holds it: py-spy dump --pid PID; " + _SECTION,)),
    "threading": Advice("", ("see who takes and who holds it: py-spy dump --pid PID; " + _SECTION,)),
    "ruby": Advice("", ("see which lock: rbspy dump --pid PID; " + _SECTION,)),
    "walwrite": Advice(
        "whoever commits waits for the one that writes the log",
        (
            "commit less often: several statements in one transaction, many rows in one INSERT or COPY",
            "where many sessions commit at once, one flush can serve more of them: commit_delay, some 100 us;"
            " undo: its present value, as a rule 0",
            "a faster disk for pg_wal: see DISK-FLUSH-SLOW",
        ),
        under="disk.flush",
    ),
    "lwlock": Advice(
        "its own locks on shared structures",
        ("see which: wait_event of pg_stat_activity, sampled; its documentation says what each guards",),
    ),
    "rowlock": Advice(
        "a transaction waits for another to end",
        (
            "see which rows, and who holds them: SHOW ENGINE INNODB STATUS, section TRANSACTIONS (MySQL:"
            " sys.innodb_lock_waits; MariaDB: information_schema.INNODB_LOCK_WAITS)",
            "shorten the transaction that holds them: nothing but its statements between BEGIN and COMMIT, the row that"
            " all change last",
        ),
    ),
    "innodb": Advice("", ("see which: SHOW ENGINE INNODB MUTEX and its STATUS, section SEMAPHORES",)),
}
_OF_THREADS = "see who holds it: gdb -p PID -batch -ex 'thread apply all bt' (stops it for a moment); " + _SECTION


def lock_of_key(key: str) -> RuntimeLock | None:
    """Return the runtime's lock that a row is about, by its key."""
    kind, _, rest = key.partition(":")
    return BY_ID.get(rest.partition(":")[0]) if kind == "lock" else None


# What the tool of a runtime shows where threads are parked for locks and for work alike, by how its command begins.
_READ = {
    "jstack": '; "parking to wait for" a ReentrantLock or ReentrantReadWriteLock is a lock, for a ConditionObject work',
    "rbspy": "; Mutex#lock and Mutex#synchronize wait for a lock, Queue#pop and ConditionVariable#wait for work",
    "py-spy": "; acquire and __enter__ of a lock are none of queue.get or wait, which wait for work",
}
_INNODB = frozenset({"mysqld", "mariadbd"})


def tells(model: Model, pid: int) -> str:
    """Return what tells locks from work in a process whose parked threads show neither, and how to read it."""
    comms = {thread.comm for thread in model.threads if thread.pid == pid}
    if comms & _INNODB:
        return "SHOW ENGINE INNODB STATUS, section TRANSACTIONS: LOCK WAIT is a lock on rows; else " + shows_stacks(
            model, pid
        )
    command = shows_stacks(model, pid)
    return command + _READ.get(command.partition(" ")[0], "")


def account_under(lock: RuntimeLock) -> str:
    """Return the account in which the holder of such a lock waits by the nature of the lock, "" if there is none."""
    return _ADVICE[lock.id].under if lock.id in _ADVICE else ""


def claim(lock: RuntimeLock, rows: list[Row], name: str, ns: int) -> tuple[str, list[Remedy]]:
    """Return the claim about a runtime's lock, without an end, and what to do about it."""
    advice = _ADVICE.get(lock.id, Advice("", (_OF_THREADS,)))
    pid = str(rows[0].pid) if rows[0].pid else "PID"
    means = f": {advice.means}" if advice.means else ""
    remedies = [fix(text.replace("PID", pid)) for text in advice.remedies]
    return f"Threads wait {duration(ns)} for {name}{means}", remedies


def without_names(lock: RuntimeLock) -> str:
    """Return by what a lock was recognised that no function shows, as the limit that it is."""
    if lock.id == "gil":
        return "recognised by its waits, which time out after 5 ms: the interpreter's functions have no names here"
    return "recognised by its waiters, which wake each other or wait at the same time"


def shows(model: Model, lock: RuntimeLock, key: str) -> dict[str, int]:
    """Return the functions by which a runtime's lock was recognised, by sampled time."""
    weights: dict[str, int] = {}
    for stack in model.stacks:
        if stack.kind == "wait" and stack.object == key:
            known = next((name for name in (*stack.user, *stack.scan) if lock.functions.search(name)), "")
            if known:
                name = plain(readable(known))
                weights[name] = weights.get(name, 0) + stack.weight_ns
    return weights


def waiting_code(model: Model, account: str, key: str | None = None) -> dict[str, int]:
    """Return the functions outside the C library that asked for the lock, or began any wait of the account, by sampled
    time."""
    weights: dict[str, int] = {}
    for stack in model.wait_stacks(account, key=key):
        # Where frames are missing, scanning the stack finds the caller that the frames left out.
        name = plain(caller((*stack.scan, *stack.user)))
        if name:
            weights[name] = weights.get(name, 0) + stack.weight_ns
    return weights


__all__ = ["account_under", "claim", "lock_of_key", "shows", "tells", "waiting_code", "without_names"]
