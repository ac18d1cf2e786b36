"""SQL-LOCK-WAIT: sessions wait for locks of their database, and what the holders do meanwhile."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from perfdiag.common.units import plural
from perfdiag.diagnosis.evidence.fix_checks import time_under
from perfdiag.diagnosis.evidence.session_waits import LOCK, activity, wait_of
from perfdiag.diagnosis.evidence.sql.deadlocks import Deadlock, deadlock_of
from perfdiag.diagnosis.evidence.sql.idle_transactions import behind
from perfdiag.diagnosis.evidence.sql.lock_roots import Root, root_of
from perfdiag.diagnosis.evidence.sql.statement_work import MARIADB, MYSQL
from perfdiag.diagnosis.evidence.sql.table_lockers import TableLocker, table_locker
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.rule import (
    Confidence,
    Evidence,
    Finding,
    Mechanism,
    Other,
    Outcome,
    Relation,
    Remedy,
    Silence,
    rule,
)
from perfdiag.diagnosis.significance import (
    claims_of,
    duration,
    fine,
    fix,
    percent,
    plain,
    thread_of,
    together,
    total_ns,
    waits,
    worth,
)
from perfdiag.model.model import Model, Row
from perfdiag.model.waits.postgres_waits import BUFFER_PIN, LWLOCK, ROW_LOCKS, TABLE_LOCKS, SessionWait
from perfdiag.recording.accounts import PARKED

ID = "SQL-LOCK-WAIT"
WITHOUT_EVENTS = (MARIADB, MYSQL)  # these publish no word on what a session waits for


@dataclass(frozen=True)
class Kind:
    """Locks with the same remedy."""

    name: str
    internal: bool = False  # no statement asks for it
    of_tables: bool = False  # taken by statements that name the table


ROWS, UNKNOWN = Kind("row locks"), Kind("locks of their database")


def _kind(wait: SessionWait) -> Kind:
    """Return the kind of lock of a wait event. A session that wants a changed row waits for the transaction that
    changed it."""
    if wait.class_ == LWLOCK:
        return Kind(f"the internal lock {wait.name or wait.event}", internal=True)
    if wait.class_ == BUFFER_PIN:
        return Kind("pages that others read", internal=True)
    if wait.name in ROW_LOCKS:
        return ROWS
    if wait.name in TABLE_LOCKS:
        return Kind(f"table locks ({wait.name})", of_tables=wait.name == "relation")
    return Kind(f"{wait.name or f'lock type {wait.event}'} locks")


@rule(
    ID,
    title="Sessions wait for locks of their database",
    accounts=(LOCK,),
    meaning="Sessions of PostgreSQL wait for a lock: on a row that another transaction changed, on a table, or on"
    " one of the server's own structures (LWLock). The finding names the holder and what it did meanwhile."
    " If it mostly waited for a disk or for its client, that has a finding of its own. Sessions that wait for each"
    " other are a deadlock, which the server ends after deadlock_timeout.",
    measured="The wait event that each session publishes (as in pg_stat_activity), at every switch; the holder and"
    " what it did meanwhile, from each wake-up, through queues of waiters.",
    alternatives="Many sessions change the same row in turn, each for a short time.",
    remedies="Against deadlocks, take rows in the same order in all transactions."
    " Commit soon after the first change, change the most wanted rows last, and do nothing slow between"
    " BEGIN and COMMIT. Instead of one counter, insert rows and add them up, or use several rows.",
    verify="lock.database is under 5 % of the time.",
    beats=("LOCK-CONTENTION",),
)
def lock_wait(model: Model) -> Iterable[Outcome]:
    """Yield one finding for each kind of lock that takes enough time; waits for the log are SQL-COMMIT-BOUND."""
    found = False
    for kind, rows in _by_kind(model).items():
        if worth(model, total_ns(rows)):
            found = True
            yield _finding(model, kind, rows)
    untold = next((each for each in model.applications if each.kind in WITHOUT_EVENTS), None)
    if untold and worth(model, model.ns(PARKED)):
        reason = f"what sessions of {untold.kind} are blocked for is not published by the server"
        yield Silence(ID, reason, "SELECT * FROM information_schema.INNODB_LOCK_WAITS, or sys.innodb_lock_waits")
    elif not found:
        yield fine(model, ID, "locks of databases", LOCK)


def _by_kind(model: Model) -> dict[Kind, list[Row]]:
    kinds: dict[Kind, list[Row]] = {}
    for row in model.rows_of(LOCK):
        wait = wait_of(model, row.key)
        if wait is None or not wait.is_for_wal:
            kinds.setdefault(_kind(wait) if wait else UNKNOWN, []).append(row)
    return dict(sorted(kinds.items(), key=lambda item: -total_ns(item[1])))


def _finding(model: Model, kind: Kind, rows: Sequence[Row]) -> Finding:
    if not kind.internal and (deadlock := deadlock_of(model, rows)):
        return _each_other(model, kind, rows, deadlock)
    ns, keys = total_ns(rows), sorted({row.key for row in rows})
    root = root_of(model, keys, ns)
    waiters = len({row.pid for row in rows})
    thread = thread_of(model, root.tid) if root and root.tid else None
    known = root is not None and (root.sleeps or root.said is not None)
    longest_ns = max(row.distribution.sum_ns for row in rows)  # of one session
    locker = table_locker(model, longest_ns // 2) if kind.of_tables and not known else None
    return conclude(
        model,
        claims_of(rows),
        headline=f"Sessions wait for {kind.name}{_headline(root, locker)}",
        claim=f"{plural(waiters, 'session')} waited {duration(ns)} for {kind.name}{_claim(root)}.",
        mechanism=Mechanism.SLEEP if root and root.sleeps else Mechanism.BUSY,
        doubts=["" if root else "only a small part is known of what the holders did meanwhile"],
        best=Confidence.MEDIUM if locker else Confidence.HIGH,
        evidence=[
            waits(together(rows), f"waits for {kind.name}", "wait event"),
            *([locker.evidence] if locker else []),
            *_shown(root),
        ],
        remedies=_remedies(model, kind, root, locker),
        ruled_out=[] if behind(model).claims else ["sessions that are idle in a transaction"],
        alternatives=["many sessions take the same lock in turn, each for a short time"],
        verify=time_under(model, LOCK),
        others=[Other(thread.pid, plain(thread.comm), Relation.HOLDER)] if thread else [],
        inside=True,
    )


def _each_other(model: Model, kind: Kind, rows: Sequence[Row], deadlock: Deadlock) -> Finding:
    sessions = plural(deadlock.sessions, "session")
    return conclude(
        model,
        claims_of(rows),
        headline=f"Sessions wait for {kind.name} of each other: deadlocks",
        claim=f"{sessions} waited {duration(total_ns(rows))} for {kind.name} of each other: deadlocks, each of which"
        " PostgreSQL ends after deadlock_timeout by an error in one of them.",
        mechanism=Mechanism.FAILED,
        evidence=[waits(together(rows), f"waits for {kind.name}", "wait event"), deadlock.evidence],
        remedies=[
            fix(
                "take locks in the same order in all transactions, for example by key: SELECT ... ORDER BY id"
                " FOR UPDATE before the first change"
            ),
            fix('find the statements of both sessions in the server\'s log, at "deadlock detected"'),
        ],
        alternatives=["a transaction that always commits just after the others have checked for a deadlock"],
        verify=time_under(model, LOCK),
        inside=True,
    )


def _headline(root: Root | None, locker: TableLocker | None) -> str:
    if locker:
        return f' held by "{locker.name}"'
    if root is None or not root.account:
        return ""
    return f", and {f'its holder, {root.name},' if root.tid else 'whoever holds them'} {root.in_brief}"


def _claim(root: Root | None) -> str:
    if root is None:
        return ""
    who = f"its holder, {root.name}," if root.tid else "their holders, in turn,"
    return f", because {who} mostly {root.does}" if root.account else f"; most had {root.name}"


def _shown(root: Root | None) -> list[Evidence]:
    if root is None or not root.account:
        return []
    text = f"{percent(root.part)} of the time that others waited, the holder {root.does}"
    return [Evidence(text, root.part, "share", "sched_waking, wait event")]


def _against(locker: TableLocker) -> list[Remedy]:
    """Return what to do about a statement that locks a table: it does no harm to cancel one, but for its work."""
    cancel = f"SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query ILIKE '{locker.verb}%'"
    return [fix(f'cancel it, or wait for its end: psql -c "{cancel}"'), fix("run it when nobody needs the table")]


def _remedies(model: Model, kind: Kind, root: Root | None, locker: TableLocker | None) -> list[Remedy]:
    if kind.internal:
        return [fix("use fewer sessions at the same time: a connection pool of a few sessions per CPU")]
    return [
        *(_against(locker) if locker else []),
        *([fix(root.remedy)] if root and root.remedy else []),
        fix(f"see who holds them, and why: {activity(model)}"),
        fix("commit soon after the first change, and change the most wanted rows last"),
    ]
