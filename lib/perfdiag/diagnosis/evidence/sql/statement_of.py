"""The statement that a fault falls on: of a database somebody on call knows the queries, not the threads.

Not for CPUs: who has them keeps all statements waiting, and what computes for long is SQL-SLOW-QUERY.
"""

from collections.abc import Sequence
from dataclasses import replace

from perfdiag.common.by_key import sums_by_key
from perfdiag.diagnosis.evidence.sql import waiting_statements
from perfdiag.diagnosis.policy import sql_policy
from perfdiag.diagnosis.rule import Evidence, Finding, Severity, account_of
from perfdiag.diagnosis.significance import fix, percent, plain, with_room
from perfdiag.model.model import Model
from perfdiag.model.statements import SqlCall, Statement, statements
from perfdiag.recording.accounts import OF_CPUS, TIMER

EVENTS, READ = "wait.events", "disk.read"
_PUTS_ROWS = ("INSERT ", "REPLACE ")
_NEW_ROWS = (
    "see where new rows go: keys in no order (random UUIDs) have a page read for each; let keys grow, or give the"
    " server a larger buffer pool"
)
LONGEST_STATEMENT = 48
_OF_END = 18  # characters of it for the end


def with_statements(model: Model, findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings; a fault that falls on one statement for most of its time says so."""
    most = _by_account(statements(model.statements))
    return [_on_one(finding, most) for finding in findings] if most else list(findings)


def shown(statement: Statement | SqlCall) -> str:
    """Return the text of a statement as people are shown it."""
    return plain(statement.name).rstrip(";")


def in_short(statement: str) -> str:
    """Return a statement as a headline has room for it: what it selects or sets tells less than from where, and what
    stands in the middle less than its conditions and its limit."""
    changed, sets, values = statement.partition(" SET ")
    _, condition, rows = values.partition(" WHERE ")
    if sets and condition and changed.startswith("UPDATE ") and len(statement) > LONGEST_STATEMENT:
        statement = f"{changed} ... WHERE {rows}"
    inserts, values, _ = statement.partition(" VALUES ")
    if values and statement.startswith(_PUTS_ROWS) and len(statement) > LONGEST_STATEMENT:
        statement = inserts.partition(" (")[0]
    verb, selected, source = statement.partition(" FROM ")
    first, columns, _ = verb.partition(" ")
    if selected and columns and len(statement) > LONGEST_STATEMENT:
        statement = f"{first} ... FROM {source}"
    if len(statement) <= LONGEST_STATEMENT:
        return statement
    end = statement[-_OF_END:].partition(" ")[2]
    room = LONGEST_STATEMENT - len(end) - len(" ... ")
    begin = statement[: room + 1].rpartition(" ")[0].removesuffix(" ...")
    if len(begin) < room // 2:
        begin = statement[:room]
    return f"{begin} ... {end}" if end else f"{begin} ..."


def _by_account(known: Sequence[Statement]) -> dict[str, tuple[int, Statement]]:
    """Return by account the statement with most of it, and how long that is.

    A session that sleeps until a timeout of its own, in a wait for events, is in that account here, and in the timer's
    where its requests are told.
    """
    most: dict[str, tuple[int, Statement]] = {}
    for statement in known:
        if not statement.has_text:
            continue
        accounts = dict(statement.accounts)
        accounts[TIMER] = accounts.get(TIMER, 0) + accounts.get(EVENTS, 0)
        for account, ns in accounts.items():
            if not account.startswith(OF_CPUS) and (account not in most or ns > most[account][0]):
                most[account] = ns, statement
    return most


def _on_one(finding: Finding, most: dict[str, tuple[int, Statement]]) -> Finding:
    claimed = sums_by_key((account_of(claim), ns) for claim, ns in finding.claims.items())
    account = max(claimed, key=lambda name: claimed[name], default="")
    if account not in most or finding.severity is Severity.INFO or not finding.claimed_ns:
        return finding
    ns, statement = most[account]
    part, name = min(ns, claimed[account]) / finding.claimed_ns, shown(statement)
    waits = finding.id == waiting_statements.ID  # of other rules on SQL each tells of statements already
    if part < sql_policy.one_statement_share or (finding.id.startswith("SQL-") and not waits):
        return finding
    in_it = Evidence(f"{percent(part)} of it in {name}", part, "share", "statements")
    if waits:
        return waiting_statements.with_waiting(finding, name, in_short(name), statement.server, in_it)
    headline, remedies = f"{finding.headline}, mostly in {in_short(name)}", list(finding.remedies)
    if account == READ and name.startswith(_PUTS_ROWS):
        remedies.insert(0, fix(_NEW_ROWS))
    if account == TIMER:
        why = "a pause in a function of its own, as pg_sleep and SLEEP make, or a cost-based delay of the server"
        remedies.insert(0, fix(f"see why {in_short(name)} sleeps: {why}"))
    return replace(
        finding,
        headline=with_room(headline, finding.headline),
        evidence=[*finding.evidence, in_it],
        remedies=remedies,
    )
