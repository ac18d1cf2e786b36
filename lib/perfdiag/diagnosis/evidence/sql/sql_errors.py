"""What errors of SQL servers mean, and what can be done: SQLSTATE of PostgreSQL, numbers of MySQL and MariaDB."""

import re
from collections.abc import Mapping

SQLSTATE = re.compile("(?=[A-Z]*[0-9])[0-9A-Z]{5}")  # no word of Redis has a digit
_NUMBER = re.compile("[0-9]{4}")  # statuses of HTTP have three
_SEE_LOG = "see the server's log: it has the statement, and what was wrong"
_RETRY = "try again at once: nothing is gained by a sleep"
_CONFLICT = (
    f"{_RETRY}; make transactions shorter, let them read fewer rows (an index instead of a scan of the table), or use"
    " READ COMMITTED with SELECT ... FOR UPDATE"
)
_ORDER = f"{_RETRY}; lock rows and tables in the same order everywhere, and make transactions shorter"
_MANY = (
    "use a pool with fewer connections than the server allows, and find out who holds them: SELECT * FROM"
    " pg_stat_activity"
)
_MANY_OF_MYSQL = (
    "use a pool with fewer connections than max_connections, and find out who holds them: SHOW FULL PROCESSLIST"
)
_BLOCKERS = "find out who holds it: pg_blocking_pids() and pg_stat_activity"
_BLOCKERS_OF_MYSQL = "find out who holds it: SHOW ENGINE INNODB STATUS, sys.innodb_lock_waits"
_LIMITS = "make the statement cheaper, or raise the limit: SHOW statement_timeout"
CREDENTIALS = "give it credentials that are valid, and allowed to ask for this"
_SPACE = "see how much room is left: df, and the server's limits"
_START = "find out in the server's log why it is down, and when it was ready"

# What it is called, what it means, what can be done.
_KNOWN: Mapping[str, tuple[str, str, str]] = {
    "40001": ("serialization failure", "the transaction read or changed what another one changed meanwhile", _CONFLICT),
    "40P01": ("deadlock", "transactions wait for each other in a circle, and this one was chosen to end", _ORDER),
    "53300": ("too many connections", "the server has as many connections as it may have", _MANY),
    "53100": ("disk full", "the server has no space left", _SPACE),
    "53200": ("out of memory", "the server has no memory left", "see its log, and what takes its memory"),
    "55P03": ("lock not available", "somebody else has locked it, and the statement waits no longer", _BLOCKERS),
    "55006": ("object in use", "somebody else uses it", _BLOCKERS),
    "57014": ("statement canceled", "the statement took longer than it may, or was canceled", _LIMITS),
    "57P01": ("ended by an administrator", "the server or its operator ends the connection", _START),
    "57P03": ("cannot connect now", "the server starts, recovers or stops", _START),
    "23505": (
        "duplicate key",
        "a row with that key is there",
        "let the server decide: INSERT ... ON CONFLICT DO NOTHING, or make keys that differ",
    ),
    "25006": ("read-only transaction", "it is a replica, or was told to be read only", "write to the primary server"),
    "25P03": (
        "idle in transaction",
        "the session was idle in a transaction for longer than it may",
        "commit before the client does anything else: idle_in_transaction_session_timeout",
    ),
    "25P02": ("failed transaction", "a statement before it in the transaction failed", _SEE_LOG),
    "1040": ("too many connections", "the server has as many connections as it may have", _MANY_OF_MYSQL),
    "1203": ("too many connections", "the user has as many connections as it may have", _MANY_OF_MYSQL),
    "1062": ("duplicate key", "a row with that key is there", "use INSERT IGNORE, or make keys that differ"),
    "1205": (
        "lock wait timeout",
        "somebody else has held the lock for longer than innodb_lock_wait_timeout",
        _BLOCKERS_OF_MYSQL,
    ),
    "1213": ("deadlock", "transactions wait for each other in a circle, and this one was chosen to end", _ORDER),
    "3572": ("lock not available", "somebody else has locked it, and the statement does not wait", _BLOCKERS_OF_MYSQL),
}
# Of states that are not known, the first two digits.
_CLASSES: Mapping[str, tuple[str, str, str]] = {
    "08": ("connection error", "the server has lost a connection", _SEE_LOG),
    "22": ("data error", "a value is none that the server takes", _SEE_LOG),
    "23": ("constraint violation", "a row breaks a rule of its table", _SEE_LOG),
    "28": ("not authorized", "the server does not know who asks", CREDENTIALS),
    "40": ("transaction rolled back", "the server ended the transaction", _RETRY),
    "42": ("error in the statement", "the statement is wrong, or not allowed", _SEE_LOG),
    "53": ("insufficient resources", "the server is at a limit", _SEE_LOG),
    "55": ("not in the right state", "what is asked for is in use, or not ready", _BLOCKERS),
    "57": ("intervention", "an operator or a timeout ended it", _SEE_LOG),
    "58": ("system error", "the server's host fails", _SEE_LOG),
    "XX": ("internal error", "the server fails", _SEE_LOG),
}
_OTHER = ("", "the server refuses the statement", _SEE_LOG)
EXPECTED = frozenset({"23505", "1062"})  # who inserts what may be there meets these without any harm
STANDBY = frozenset({"55P03", "3572"})  # a standby that waits for its turn does, too


def server_of(status: str) -> str:
    """Return which server answers with such an error; "": none of SQL."""
    if SQLSTATE.fullmatch(status):
        return "PostgreSQL"
    return "MySQL or MariaDB" if _NUMBER.fullmatch(status) else ""


def name_of(status: str) -> str:
    """Return "40001 (serialization failure)"."""
    name, _, _ = _known(status)
    return f"{status} ({name})" if name else status


def meaning_of(status: str) -> tuple[str, str]:
    """Return what an error means, and what can be done."""
    _, why, remedy = _known(status)
    return why, remedy


def _known(status: str) -> tuple[str, str, str]:
    return _KNOWN.get(status) or (_CLASSES.get(status[:2]) if len(status) == 5 else None) or _OTHER
