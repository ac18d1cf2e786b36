"""From the SQL statements in a model to their part of the report."""

from collections.abc import Mapping

from perfdiag.common.text import printable
from perfdiag.diagnosis.evidence.peers import name_of
from perfdiag.model import statements as found
from perfdiag.model.model import Model
from perfdiag.report.contract.statements import LongestStatement, SqlCall, Statement
from perfdiag.report.requests import percentiles


def statements(model: Model) -> list[Statement]:
    """Return the statements by digest, those that took most time in all first."""
    return [_statement(model, each) for each in found.statements(model.statements)]


def sql_calls(model: Model) -> list[SqlCall]:
    """Return the statements that the target sent, by digest, peer and request, those that took most time first."""
    return [
        SqlCall(
            server=printable(each.line.server),
            name=printable(each.name),
            peer=name_of(each.line.object, printable(each.line.object)),
            request=printable(each.line.request),
            whole=percentiles(each.latency),
            ns=each.line.sum_ns,
            times=each.times,
        )
        for each in found.sql_calls(model.sql_calls)
    ]


def _statement(model: Model, statement: found.Statement) -> Statement:
    line = statement.line
    return Statement(
        server=printable(statement.server),
        name=printable(statement.name),
        whole=percentiles(statement.latency),
        ns=statement.latency.sum_ns,
        per_second=statement.latency.count * 1e9 / model.window_ns if model.window_ns else 0.0,
        accounts=_largest_first(statement.accounts),
        over_slo=statement.over_slo,
        slowest=_largest_first(statement.over_slo_accounts),
        longest=LongestStatement(
            pid=line.max_pid,
            tid=line.max_tid,
            begun_ns=line.max_begun_ns,
            ns=line.max_ns,
            accounts=_largest_first({part.account: part.sum_ns for part in line.max_accounts}),
        ),
    )


def _largest_first(accounts: Mapping[str, int]) -> dict[str, int]:
    return {printable(name): ns for name, ns in sorted(accounts.items(), key=lambda item: -item[1])}
