"""SQL-CHATTY: requests ask a database for the same statement again and again."""

from collections.abc import Iterable, Sequence

from perfdiag.common.by_key import groups_by_key
from perfdiag.common.units import plural
from perfdiag.diagnosis.evidence.fix_checks import measured
from perfdiag.diagnosis.evidence.network.chatty_calls import ACCOUNTS, ChattyCalls
from perfdiag.diagnosis.evidence.peers import name_of
from perfdiag.diagnosis.evidence.requests.calls import by_peer, not_followed
from perfdiag.diagnosis.evidence.sql.statement_of import in_short
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import network_policy
from perfdiag.diagnosis.rule import Check, Evidence, Finding, Mechanism, Outcome, rule
from perfdiag.diagnosis.significance import about, brief, duration, fix, percent, plain
from perfdiag.model.model import Model
from perfdiag.model.requests.exchanges import Exchange, together
from perfdiag.model.statements import SqlCall, sql_calls

ID = "SQL-CHATTY"


@rule(
    ID,
    title="Requests ask the database for the same statement many times",
    accounts=ACCOUNTS,
    meaning="Each request sends the same statement to the database many times, as a loop over rows does, or an"
    " ORM that loads them one by one (N+1 queries). No answer is slow: their number takes the time.",
    measured="Statements on connections that are not encrypted, by digest and by the request that sends them, from the"
    " last byte sent to the first byte of the answer."
    " Thresholds are those of NET-CHATTY, but a quarter of the time is a warning, as it is known what to change.",
    alternatives="A job that has to write row by row; statements that each depend on the one before.",
    remedies="One statement instead of many: a join, a list of keys, eager loading in the ORM, a batch of rows.",
    verify="Each request sends the statement fewer times.",
    beats=("NET-CHATTY", "NET-PEER-SLOW", "IPC-PEER-SLOW", "NET-SELF-SLOW"),
)
def sql_chatty(model: Model) -> Iterable[Outcome]:
    """Yield one finding for each database that requests ask for the same thing many times."""
    if model.request_time is None or not model.sql_calls or not_followed(model):
        return
    by_database = groups_by_key((each.line.object, each) for each in sql_calls(model.sql_calls))
    peers = by_peer(model, "connected")
    found = [
        finding
        for key, asked in by_database.items()
        if key in peers and (finding := _judged(model, peers[key], asked)) is not None
    ]
    yield from found
    if not found:
        most = max(each.times for asked in by_database.values() for each in asked)
        yield Check(ID, f"a request sends the same statement {most:.1f} times at most", most, "count")


def _judged(model: Model, call: Exchange, asked: Sequence[SqlCall]) -> Finding | None:
    """Return the finding of one database, of all statements together that are sent many times."""
    again = [each for each in asked if each.times >= network_policy.chatty_calls]
    if not again:
        return None
    times = max(each.times for each in again)
    calls = ChattyCalls(call, times, together(each.latency for each in again))
    return _finding(model, calls, again) if calls.are_too_many(model) else None


def _finding(model: Model, calls: ChattyCalls, again: Sequence[SqlCall]) -> Finding:
    most, others = again[0], len(again) - 1
    name = name_of(calls.call.line.object, calls.call.object)
    text, request = plain(most.name), plain(most.line.request) or "each request"
    middle = calls.latencies.quantile_ns(0.5) or 0
    beside = f", and {plural(others, 'other statement')} as often" if others else ""
    return conclude(
        model,
        calls.claims(model),
        headline=f"{_capital(request)} asks {brief(name)} {most.times:.0f} times: {in_short(text)}",
        claim=(
            f"{_capital(request)} sends this statement {most.times:.0f} times to {name}{beside}, {about(middle)} each:"
            f" together {percent(calls.part(model))} of the requests' time. No answer is slow; there are too many."
        ),
        mechanism=Mechanism.MANY,
        severity=calls.severity(model, network_policy.chatty_share),
        evidence=[_sent(each) for each in again[:3]],
        remedies=[
            fix(
                "load the rows with one statement: a join, a list of keys (IN), or eager loading in the ORM; insert"
                " many rows at once"
            )
        ],
        alternatives=["each statement needs the answer of the one before"],
        verify=measured(model, f"{request} sends it fewer times, now {most.times:.0f}"),
    )


def _sent(statement: SqlCall) -> Evidence:
    line = statement.line
    text = (
        f"{line.count:,} times, {statement.times:.0f} a request, {duration(line.sum_ns)} in all:"
        f" {plain(statement.name)}"
    )
    return Evidence(text, statement.times, "count", "sockets")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
