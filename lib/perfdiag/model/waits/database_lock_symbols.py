"""Locks that are waited for as for work or for a timer: by which functions they are known.

The system call is that of a server without work, so the books say idle, and only stacks say more: databases wait for
locks on rows, tables and files in the same calls as for their clients.  The functions of one wait lie next to each
other on its stack; a name further out may be left from an earlier call and proves nothing.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from perfdiag.model.stacks.symbols import SLEEPS_OF_C, nearest_of, symbol_of
from perfdiag.recording.schema import Stack

_CALLS = re.compile(SLEEPS_OF_C + r"|__new_sem_wait_slow\w*")  # as a rule left in the gaps of stacks of PostgreSQL


@dataclass(frozen=True)
class HiddenLock:
    """A kind of lock; `name` and `who` (of those that wait) are for people."""

    account: str
    name: str
    who: str
    functions: str  # that wait for it
    through: str  # what these wait in, next to them
    known: str  # functions that wait for something else in the same way: where they are seen, a lock would be
    serves: str  # functions of processes that talk to clients; "" where any process may
    cause: str
    tells: str  # what shows who holds it, in few words
    shorter: str  # what helps
    command: str  # what shows them, to be typed; with room for `port_option`
    own_code: str = ""  # frames of it need no second sign; "": none does
    beside: str = ""  # one of which must stand on the stack, too: any program may have a function of such a name

    def waited_in(self, stack: Stack) -> str:
        """Return the function in which this stack waits for such a lock, "" if it does not."""
        if (stack.kind, stack.account) != ("wait", self.account):
            return ""
        for names in (stack.user, stack.scan):
            frame = nearest_of(names, self.functions, self.through, _CALLS)
            if frame and self._is_sure(frame, names):
                return symbol_of(frame)
        return ""

    def _is_sure(self, frame: str, names: Sequence[str]) -> bool:
        if not self.beside or re.fullmatch(self.own_code, frame):
            return True
        return any(re.fullmatch(self.beside, symbol_of(name)) for name in names if symbol_of(name) != symbol_of(frame))

    def would_show(self, names: Sequence[str]) -> bool:
        """Return whether callers have names in a process with this stack."""
        return any(re.fullmatch(self.known, symbol_of(name)) for name in names)

    def serving(self, names: Sequence[str]) -> bool:
        """Return whether a process with this stack talks to clients."""
        return any(re.fullmatch(self.serves, symbol_of(name)) for name in names)


POSTGRES = HiddenLock(
    account="wait.events",
    name="PostgreSQL's locks",
    who="backend",
    # Of this program: others have functions of such names for locks of their own.
    functions=r"(ProcSleep|WaitOnLock|LockAcquire(Extended)?) \((edb-)?postgres\b.*",
    through=r"WaitLatch(OrSocket)?|WaitEventSetWait\w*",
    known=r"secure_read|pq_getbyte|ProcSleep|\w+Main",
    serves=r"secure_read|pq_getbyte|PostgresMain",
    cause="the sessions that hold them are the cause",
    tells="pg_blocking_pids(pid) in pg_stat_activity",
    shorter="commit soon after the first change, change the most wanted rows last, nothing slow before COMMIT",
    command='psql{port} -c "SELECT pid, pg_blocking_pids(pid), state, wait_event_type, query FROM pg_stat_activity"',
)
SQLITE = HiddenLock(
    account="wait.timer",
    name="SQLite's locks",
    who="process",
    # Only sqlite3_sleep() sleeps there for another reason.
    functions=r"sqlite3InvokeBusyHandler|sqliteDefaultBusyCallback|btreeInvokeBusyHandler"
    r"|(?!sqlite3_sleep|sqlite3OsSleep|unixSleep).* \(libsqlite3\.so.*",
    through=r"_*u?sleep|(clock_)?nanosleep\w*|unixSleep|sqlite3OsSleep",
    known=r"(?!)",
    serves="",
    cause="a session that keeps a transaction open is the cause",
    tells="lslocks, by the database's files",
    shorter="use one short transaction for each change, and do nothing slow between BEGIN and COMMIT",
    command="lslocks --output COMMAND,PID,MODE,PATH",
    own_code=r".* \(libsqlite3\.so.*",
    beside=r"sqlite(3|Default)\w+|btreeInvokeBusyHandler",  # linked statically
)
HIDDEN_LOCKS = (POSTGRES, SQLITE)
