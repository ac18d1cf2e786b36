"""SQL statements over a limit of their own (--slo): part of SLO-BREACH, with what slow ones alone have."""

from collections.abc import Iterable, Mapping

from perfdiag.diagnosis.evidence.fix_checks import measured
from perfdiag.diagnosis.evidence.sql.statement_of import in_short
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.rule import Check, Evidence, Finding, Mechanism, Outcome, Severity
from perfdiag.diagnosis.significance import duration, fix, percent, plain, top
from perfdiag.model.model import Model
from perfdiag.model.statements import Statement, statements
from perfdiag.recording.accounts import phrase_of

ID = "SLO-BREACH"


def slow_statements(model: Model) -> Iterable[Outcome]:
    """Yield one finding for each statement with a limit of its own that was broken, the most broken first, else the
    check that all were kept."""
    limits = {each.name: each.limit_ns for each in model.header.options.slo_names if each.statement}
    limited = [each for each in statements(model.statements) if each.has_text and _key(each) in limits]
    broken = sorted((each for each in limited if each.over_slo), key=lambda each: -each.over_slo)
    for each in broken:
        yield _finding(model, each, limits[_key(each)])
    if limited and not broken:
        counted = sum(each.latency.count for each in limited)
        longest = duration(max(each.latency.max_ns for each in limited))
        yield Check(ID, f"0 of {counted:,} SQL statements over their limits, longest {longest}", 0.0, "count")


def _key(statement: Statement) -> str:
    return statement.line.name.rstrip(";")


def _finding(model: Model, statement: Statement, limit_ns: int) -> Finding:
    latency, name, over = statement.latency, plain(statement.name), statement.over_slo
    others = _others(statement)
    more = _more(statement, others)
    worst = max(more or statement.over_slo_accounts, key=lambda account: statement.over_slo_accounts[account])
    told, limit = f"{over:,} of {latency.count:,}", duration(limit_ns)
    return conclude(
        model,
        {},
        headline=f"{told} {in_short(name)} took over {limit}",
        claim=f"{told} {name} took longer than {limit}; most of that time is {phrase_of(worst)} ({worst}).",
        mechanism=Mechanism.MISSED,
        severity=Severity.WARNING,
        evidence=[
            Evidence(
                f"{percent(over / latency.count)} of {name} over {limit}, longest {duration(latency.max_ns)}",
                over / latency.count,
                "share",
                "statements",
            ),
            *_compared(statement, others, more),
        ],
        remedies=[fix(f"see the finding on {phrase_of(worst)} ({worst}): that is what slow ones wait in")],
        alternatives=["the limit is too tight for this statement"],
        verify=measured(model, f"no such statement over {limit}, now {told}"),
    )


def _compared(statement: Statement, others: Mapping[str, int], more: Mapping[str, int]) -> list[Evidence]:
    """Return what the slow ones spent their time in, what the others did, and what a slow one has more than these."""
    slow = statement.over_slo_accounts
    found = [Evidence(f"the slow ones: {top(slow)}", float(sum(slow.values())), "ns", "statements")]
    if others:
        each_ns = _mean_ns(others, statement.latency.count - statement.over_slo)
        text = f"the others, {duration(each_ns)} each: {top(others)}"
        found.append(Evidence(text, float(sum(others.values())), "ns", "statements"))
    if others and more:
        whole = sum(more.values())
        text = f"a slow one takes {duration(whole)} more than one of the others: {top(more)}"
        found.append(Evidence(text, float(whole), "ns", "statements"))
    return found


def _more(statement: Statement, others: Mapping[str, int]) -> dict[str, int]:
    """Return how much longer a slow one is in each account than one that kept the limit, on average."""
    slow, count = statement.over_slo, statement.latency.count - statement.over_slo
    means = {
        name: ns // slow - (others.get(name, 0) // count if count else 0)
        for name, ns in statement.over_slo_accounts.items()
    }
    return {name: ns for name, ns in means.items() if ns > 0}


def _others(statement: Statement) -> dict[str, int]:
    slow = statement.over_slo_accounts
    rest = {name: ns - slow.get(name, 0) for name, ns in statement.accounts.items()}
    return {name: ns for name, ns in rest.items() if ns > 0} if statement.latency.count > statement.over_slo else {}


def _mean_ns(accounts: Mapping[str, int], count: int) -> int:
    return sum(accounts.values()) // count if count else 0
