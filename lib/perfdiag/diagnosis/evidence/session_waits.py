"""What sessions of PostgreSQL say they wait for, by rows, by chains and by waits that were open at the end."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from perfdiag.common.by_key import sums_by_key
from perfdiag.diagnosis.evidence.debuggers import POSTGRES_PORT, port_option
from perfdiag.diagnosis.policy import sql_policy
from perfdiag.diagnosis.significance import still_waiting
from perfdiag.model.model import Model, Row, once
from perfdiag.model.thread_accounts import ThreadLedger
from perfdiag.model.waits.postgres_waits import PREFIX, SessionWait, major_of, parse
from perfdiag.model.waits.wait_chains import Chain
from perfdiag.recording import schema

LOCK = "lock.database"
EVENTS = "wait.events"
LOOK_BUCKET = 22  # of waits of 0.54 to 1.07 s
Pair = tuple[str, str]


@dataclass(frozen=True)
class Said:
    """A row whose object is what the session said."""

    row: Row
    wait: SessionWait


@once
def said(model: Model) -> list[Said]:
    """Return all rows of sessions that told what they wait for."""
    major = major_of(model.applications)
    rows = ((row, parse(row.key, major)) for row in model.rows if row.key.startswith(PREFIX))
    return [Said(row, wait) for row, wait in rows if wait]


@once
def telling(model: Model) -> frozenset[int]:
    """Return the processes that told what they wait for: of these no stack has to."""
    return frozenset(each.row.pid for each in said(model) if each.row.pid)


@once
def sessions(model: Model) -> frozenset[int]:
    """Return the processes that serve a client: others never wait for one."""
    return frozenset(each.row.pid for each in said(model) if each.wait.is_for_client and each.row.pid)


def lock_rows(model: Model, wanted: Callable[[SessionWait], bool]) -> list[Row]:
    """Return the rows of waits for some locks."""
    return [each.row for each in said(model) if each.row.account == LOCK and wanted(each.wait)]


def wait_of(model: Model, key: str) -> SessionWait | None:
    """Return what an object says."""
    return parse(key, major_of(model.applications))


def chains_behind(model: Model, keys: Iterable[str]) -> list[Chain]:
    """Return for what the holders of some locks waited or worked meanwhile, the longest first."""
    wanted = frozenset(keys)
    return [chain for chain in model.chains if chain.account == LOCK and chain.key in wanted]


def looks_in(row: Row) -> int:
    """Return how many waits of a row a session may have ended itself, to look for a deadlock."""
    return row.distribution.buckets.get(LOOK_BUCKET, 0)


def looks_ns(model: Model, keys: Iterable[str]) -> int:
    """Return the time of waits for locks that a session may have ended itself, to look for a deadlock: after
    deadlock_timeout, 1 s, it does so once, and then sleeps on.  Of that time no wake-up shows who had the lock."""
    looks = _looks_ns(model)
    return sum(looks[key] for key in frozenset(keys))


@once
def _looks_ns(model: Model) -> Counter[str]:
    return sums_by_key(
        (row.key, min(looks_in(row) * sql_policy.deadlock_timeout_ns, row.distribution.sum_ns))
        for row in model.rows_of(LOCK)
    )


def open_waits(
    model: Model, account: str, wanted: Callable[[SessionWait], bool], *, part: float
) -> list[tuple[ThreadLedger, schema.OpenWait]]:
    """Return the waits of an account that had not ended when the window did, and had taken that part of it."""
    return [
        (thread, wait)
        for thread, wait in still_waiting(model, account, part=part)
        if (what := wait_of(model, wait.object)) and wanted(what)
    ]


def activity(model: Model) -> str:
    """Return the command that shows who blocks whom, of the server that was recorded."""
    port = port_option(model, " -p {}", POSTGRES_PORT)
    columns = "pid, pg_blocking_pids(pid), state, xact_start, query"
    return f'psql{port} -c "SELECT {columns} FROM pg_stat_activity"'
