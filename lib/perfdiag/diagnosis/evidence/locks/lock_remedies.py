"""What to say and do about the locks of language runtimes and servers."""

from collections.abc import Iterable
from dataclasses import dataclass

from perfdiag.common.by_key import sums_by_key
from perfdiag.diagnosis.evidence.debuggers import shows_stacks
from perfdiag.diagnosis.rule import Remedy
from perfdiag.diagnosis.significance import duration, fix, plain
from perfdiag.model.model import Model, Row
from perfdiag.model.stacks.scripts import waits_in
from perfdiag.model.stacks.symbols import readable
from perfdiag.model.thread_accounts import ThreadLedger
from perfdiag.model.waits.runtime_locks import BY_ID, RuntimeLock


@dataclass(frozen=True)
class Advice:
    """What the lock does (the claim continues with it), and the remedies; "PID" stands for the process."""

    means: str
    remedies: tuple[str, ...]
    under: str = ""  # the account that its holder waits in: what the lock is for
    of_server: bool = False  # inside a database server: whoever runs it does not write its code


_SECTION = "shorten the section under the lock, or split its data among several locks"
_ADVICE = {
    "gil": Advice(
        "CPython lets one thread of a process run Python code at a time",
        (
            "move computing out of the threads: into processes (multiprocessing, more workers of the server), or"
            " into native code that releases the GIL (NumPy, hashlib, zlib, own extensions)",
            "see who holds it, and in which function: py-spy top --gil --pid PID",
        ),
    ),
    "gvl": Advice(
        "Ruby lets one thread of a process run Ruby code at a time",
        ("move computing into processes (more workers of Puma or Unicorn) or Ractors; rbspy record --pid PID",),
    ),
    "monitor": Advice(
        "",
        (
            'see which monitor and who owns it: jstack PID, "waiting to lock" and "locked"; shorten that synchronized'
            " section, or use a concurrent collection or several locks",
        ),
    ),
    "python": Advice("", ("see which lock, and who holds it: py-spy dump --pid PID; " + _SECTION,)),
    "threading": Advice("", ("see who takes and who holds it: py-spy dump --pid PID; " + _SECTION,)),
    "ruby": Advice("", ("see which lock: rbspy dump --pid PID; " + _SECTION,)),
    "walwrite": Advice(
        "sessions that commit wait for the one that writes the log",
        (
            "commit less often: several statements in one transaction, many rows in one INSERT or COPY",
            "if many sessions commit at once, let one flush serve more of them: commit_delay, some 100 us; undo:"
            " its present value, by default 0",
            "put pg_wal on a disk that flushes faster",
        ),
        under="disk.flush",
        of_server=True,
    ),
    "lwlock": Advice(
        "they protect shared structures inside the server",
        ("see which one: wait_event of pg_stat_activity, sampled; its documentation says what each protects",),
        of_server=True,
    ),
    "rowlock": Advice(
        "a transaction waits for another to end",
        (
            "see which rows, and who holds them: SHOW ENGINE INNODB STATUS, section TRANSACTIONS (MySQL:"
            " sys.innodb_lock_waits; MariaDB: information_schema.INNODB_LOCK_WAITS)",
            "shorten the transaction that holds them: only its statements between BEGIN and COMMIT, the most wanted"
            " row last",
        ),
        of_server=True,
    ),
    "metadata": Advice(
        "",
        (
            "see who holds them: SHOW FULL PROCESSLIST; SELECT * FROM information_schema.METADATA_LOCK_INFO (MariaDB, a"
            " plugin) or performance_schema.metadata_locks (MySQL)",
            "back up without FLUSH TABLES WITH READ LOCK (mariadb-backup, --single-transaction); ALTER and LOCK TABLES"
            " wait for open transactions, and all others behind them: commit soon",
        ),
        of_server=True,
    ),
    "table": Advice(
        "",
        (
            "make statements that change the table shorter, or use an engine that locks rows (ALTER TABLE ..."
            " ENGINE=InnoDB); SHOW FULL PROCESSLIST shows what each session does",
        ),
        of_server=True,
    ),
    "query_cache": Advice(
        "",
        ("do without it: SET GLOBAL query_cache_type = 0, query_cache_size = 0; undo: their present values",),
        of_server=True,
    ),
    "innodb": Advice("", ("see which: SHOW ENGINE INNODB MUTEX and its STATUS, section SEMAPHORES",), of_server=True),
}
_OF_THREADS = "see who holds it: gdb -p PID -batch -ex 'thread apply all bt' (stops it for a moment); " + _SECTION


def lock_of_key(key: str) -> RuntimeLock | None:
    """Return the runtime's lock that the key of a row names."""
    kind, _, rest = key.partition(":")
    return BY_ID.get(rest.partition(":")[0]) if kind == "lock" else None


def of_server(key: str) -> list[Remedy]:
    """Return the remedies of a lock inside a database server, by its key; none for another lock."""
    lock = lock_of_key(key)
    advice = _ADVICE.get(lock.id) if lock else None
    return [fix(text) for text in advice.remedies] if advice and advice.of_server else []


# What the tool of a runtime shows where threads are parked for locks and for work alike, by how its command begins.
_READ = {
    "jstack": '; "parking to wait for" a ReentrantLock or ReentrantReadWriteLock is a lock, for a ConditionObject work',
    "rbspy": "; Mutex#lock and Mutex#synchronize wait for a lock, Queue#pop and ConditionVariable#wait for work",
    "py-spy": "; acquire and __enter__ of a lock are none of queue.get or wait, which wait for work",
}
_INNODB = frozenset({"mysqld", "mariadbd"})


def tells(model: Model, pid: int) -> str:
    """Return the command that tells locks from work in a process whose stacks show neither, and how to read it."""
    comms = {thread.comm for thread in model.threads_of(pid)}
    if comms & _INNODB:
        return "SHOW ENGINE INNODB STATUS, section TRANSACTIONS: LOCK WAIT is a lock on rows; else " + shows_stacks(
            model, pid
        )
    command = shows_stacks(model, pid)
    return command + _READ.get(command.partition(" ")[0], "")


def account_under(lock: RuntimeLock) -> str:
    """Return the account in which the holder of such a lock waits by design, "" if there is none."""
    return _ADVICE[lock.id].under if lock.id in _ADVICE else ""


def claim(lock: RuntimeLock, rows: list[Row], name: str, ns: int) -> tuple[str, list[Remedy]]:
    """Return the claim about a runtime's lock, without its full stop, and the remedies."""
    advice = _ADVICE.get(lock.id, Advice("", (_OF_THREADS,)))
    pid = str(rows[0].pid) if rows[0].pid else "PID"
    means = f": {advice.means}" if advice.means else ""
    remedies = [fix(text.replace("PID", pid)) for text in advice.remedies]
    return f"Threads wait {duration(ns)} for {name}{means}", remedies


def without_names(lock: RuntimeLock) -> str:
    """Return how a lock was recognized without a function that shows it."""
    if lock.id == "gil":
        return "recognized by its waits, which time out after 5 ms: the interpreter's functions have no names here"
    if lock.id == "gvl":
        return (
            "recognized by where its waiters wait and that others run: the interpreter's functions have no names here"
        )
    return "recognized by its waiters, which wake each other or wait at the same time"


def shows(model: Model, lock: RuntimeLock, key: str) -> dict[str, int]:
    """Return the functions that identify a runtime's lock, by sampled time."""
    known = (
        (next((name for name in (*stack.user, *stack.scan) if lock.functions.search(name)), ""), stack.weight_ns)
        for stack in model.wait_stacks(key=key)
    )
    return sums_by_key((plain(readable(name)), ns) for name, ns in known if name)


def waiting_code(
    model: Model, account: str, key: str | None = None, *, threads: Iterable[ThreadLedger] | None = None
) -> dict[str, int]:
    """Return the functions outside the C library that wait for the lock, or that begin any wait of the account, of all
    threads or of some, by sampled time."""
    of = None if threads is None else {(each.pid, tid) for each in threads for tid in (each.tid, 0)}
    known = (
        (waits_in(stack), stack.weight_ns)
        for stack in model.wait_stacks(account, key=key)
        # a stack of a wait that took no time stands for none of it
        if stack.weight_ns and (of is None or (stack.pid, stack.tid) in of)
    )
    return sums_by_key((plain(name), ns) for name, ns in known if name)
