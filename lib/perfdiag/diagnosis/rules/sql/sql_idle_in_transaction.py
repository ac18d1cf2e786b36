"""SQL-IDLE-IN-TRANSACTION: a session keeps locks while it waits for its client."""

from collections.abc import Iterable

from perfdiag.common.units import plural
from perfdiag.diagnosis.evidence.fix_checks import time_under
from perfdiag.diagnosis.evidence.requests.awaited_threads import finding
from perfdiag.diagnosis.evidence.requests.unproven_futex_waits import parked_waits
from perfdiag.diagnosis.evidence.session_waits import LOCK, activity
from perfdiag.diagnosis.evidence.sql.idle_transactions import Behind, behind, idle, name_of
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import general_policy, sql_policy
from perfdiag.diagnosis.rule import (
    Check,
    Confidence,
    Evidence,
    Finding,
    Mechanism,
    Other,
    Outcome,
    Relation,
    Remedy,
    rule,
)
from perfdiag.diagnosis.significance import about, duration, fix, percent, plain, thread_of, typical_ns, waits, worth
from perfdiag.model.model import Model
from perfdiag.recording.accounts import PARKED

ID = "SQL-IDLE-IN-TRANSACTION"


@rule(
    ID,
    title="Sessions wait for locks of a session that is idle in a transaction",
    accounts=(LOCK, PARKED),
    meaning="A session of a database has changed a row or locked a table and not ended its transaction. It waits"
    " for its client, and every session that needs the same row or table waits for that client, too.",
    measured="The state each session publishes, at every switch: its wait event, and whether it is in a transaction. If"
    " the lock was released in the window, the wake-up shows what the holder did while others waited; otherwise the"
    " session idle in a transaction longest is taken to hold it. MariaDB publishes no state: statements wait on a"
    " futex until a session that waited for its client wakes them.",
    alternatives="Another session holds the lock, if it was not released in the window: pg_blocking_pids() shows it.",
    remedies="End the transaction before the client does anything else: computes, calls another service, waits for a"
    " person. Set idle_in_transaction_session_timeout as a safety net. If each wait is a network round trip, send"
    " fewer statements, or change the contended row last.",
    verify="lock.database is under 5 % of the time.",
    beats=("SQL-LOCK-WAIT", "SQL-COMMIT-BOUND", "LOCK-CONTENTION"),
)
def idle_in_transaction(model: Model) -> Iterable[Outcome]:
    """Yield one finding for all such sessions, because the remedy is the same."""
    found, parked = behind(model), list(_parked(model))
    yield from parked
    if worth(model, found.ns):
        yield _finding(model, found)
    if parked or worth(model, found.ns):
        return
    longest = idle(model)
    words = f", longest {duration(longest.max_ns)}" if longest.count else ""
    text = f"{percent(found.ns / model.busy_ns if model.busy_ns else 0.0)} of busy time behind transactions that wait"
    yield Check(ID, f"{text} for their client{words}", float(found.ns), "ns")


def _parked(model: Model) -> Iterable[Finding]:
    """Yield the finding of each session of a server that does not publish what its sessions wait for."""
    if time := model.request_time:
        for waits in parked_waits(model, time):
            if waits.holds_locks and waits.ns >= general_policy.fault_share * time.ns:
                yield finding(model, time, waits)


def _finding(model: Model, found: Behind) -> Finding:
    pid = max(found.holders, key=lambda each: found.holders[each], default=0)
    one = bool(pid) and found.holders[pid] >= sql_policy.idle_session_share * found.ns
    several = "several sessions in turn" if 0 in found.holders else plural(len(found.holders), "session")
    who = name_of(model, pid) if one else several
    thread = thread_of(model, pid) if one else None
    each_ns = typical_ns(idle(model))
    short = each_ns < sql_policy.client_round_trip_ns
    times = f", half of that time in waits of about {about(each_ns)}" if idle(model).count > 1 else ""
    claim = (
        f"{plural(found.waiters, 'session')} waited {duration(found.ns)} for locks of {who}, which"
        f" {'kept its' if one else 'kept their'} transaction open and waited for {'its' if one else 'their'} client"
        f"{times}."
    )
    return conclude(
        model,
        found.claims,
        headline=f"{who} holds locks in a transaction and waits for its client"
        if one
        else "Sessions hold locks in transactions and wait for their clients",
        claim=claim,
        mechanism=Mechanism.MANY if short else Mechanism.OTHERS,
        best=Confidence.HIGH if not found.open_ns or found.candidates == 1 else Confidence.MEDIUM,
        doubts=[_doubt(found), _unseen(found)],
        evidence=[
            *(
                [waits(idle(model), "waits for a client inside a transaction", "wait event")]
                if idle(model).count
                else []
            ),
            *_shown(found),
        ],
        remedies=_remedies(model, short=short),
        alternatives=["another session holds the lock: pg_blocking_pids() shows it"] if found.open_ns else [],
        verify=time_under(model, LOCK),
        others=[Other(pid, plain(thread.comm), Relation.HOLDER)] if thread else [],
        inside=True,
    )


def _doubt(found: Behind) -> str:
    if not found.open_ns:
        return ""
    if found.candidates > 1:
        return (
            f"{duration(found.open_ns)} was for locks that nobody released in the window, and"
            f" {plural(found.candidates, 'session')} were idle in a transaction"
        )
    return f"{duration(found.open_ns)} was for locks that nobody released in the window"


def _unseen(found: Behind) -> str:
    rest_ns = found.ns - found.seen_ns - found.open_ns
    if rest_ns < sql_policy.unseen_share * found.ns:
        return ""
    return f"nothing was seen of {duration(rest_ns)} of these waits: they are taken to be like the others"


def _shown(found: Behind) -> list[Evidence]:
    if not found.seen_ns:
        return []
    text = f"{duration(found.seen_ns)} until the holder ended its transaction; meanwhile it waited for its client"
    return [Evidence(text, float(found.seen_ns), "ns", "sched_waking, wait event")]


def _remedies(model: Model, *, short: bool) -> list[Remedy]:
    if short:
        return [
            fix("send the statements of a transaction together, or in a function: each is a wait with locks held"),
            fix("change the most wanted row last in the transaction"),
        ]
    return [
        fix(f"see what it did last, and whose client it is: {activity(model)}"),
        fix("end the transaction (COMMIT) before the client computes, calls a service or waits for a person"),
        fix("ALTER SYSTEM SET idle_in_transaction_session_timeout = '10s' ends such sessions; clients must retry"),
    ]
