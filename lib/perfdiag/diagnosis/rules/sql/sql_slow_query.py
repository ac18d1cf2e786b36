"""SQL-SLOW-QUERY: statements of one kind compute for long, each time or in all."""

import re
from collections.abc import Iterable

from perfdiag.common.units import about_at_most
from perfdiag.diagnosis.evidence.cpu.main_work import MainWork, main_work
from perfdiag.diagnosis.evidence.cpu.stack_samples import FUNCTIONS, CpuSamples
from perfdiag.diagnosis.evidence.fix_checks import measured
from perfdiag.diagnosis.evidence.sql.statement_of import in_short
from perfdiag.diagnosis.evidence.sql.statement_work import WorkFound, work_of
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import sql_policy
from perfdiag.diagnosis.rule import Check, Evidence, EvidenceKind, Finding, Mechanism, Outcome, Remedy, rule
from perfdiag.diagnosis.significance import brief, duration, fix, percent, plain, top, worth
from perfdiag.model.model import Model
from perfdiag.model.statements import Statement, statements

ID, COMPUTES = "SQL-SLOW-QUERY", "cpu.user"
_EXPLAINS = {"postgresql": "EXPLAIN (ANALYZE, BUFFERS)", "mariadb": "ANALYZE FORMAT=JSON", "mysql": "EXPLAIN ANALYZE"}
_READS = re.compile(r"\W*(SELECT|WITH|UPDATE|DELETE)\b", re.IGNORECASE)
_SKIPS = re.compile(r"\bOFFSET\b|\bLIMIT \?, \?", re.IGNORECASE)  # rows by their number
_AFTER_THE_LAST = (
    "OFFSET reads all rows before its own, too, whatever index there is: ask for those after the last row that was seen"
    " (WHERE id > ... ORDER BY id LIMIT ...)"
)
_FILE = " ("  # in front of the file of a function


@rule(
    ID,
    title="SQL statements compute for long",
    accounts=(COMPUTES,),
    meaning="Statements of one text, literals aside, mostly compute in the server: for at least 100 ms each on average,"
    " for longer than the objective (--slo), or for most of the time of all requests. Disks, locks and commits that"
    " others wait for have findings of their own; waiting for a CPU does not count, it is for computing. Without an"
    " objective this is no fault: a report may take its time.",
    measured="The time of each statement in PostgreSQL, MariaDB and MySQL, and what its thread spent it in.",
    alternatives="The server computes for all at once: see CPU-CONTENTION, CPU-OVERSUBSCRIBED.",
    remedies="Look at the plan of the statement, and at what its samples stand in: rows read and thrown away want an"
    " index; sorts, procedures, subqueries and patterns have remedies of their own.",
    verify="With --full, the mean of the statement is shorter.",
    beats=("CPU-BOUND", "CPU-SINGLE-THREAD"),
    met=False,
)
def slow_query(model: Model) -> Iterable[Outcome]:
    """Yield a finding for each text whose statements compute for long, those that took most time first."""
    texts = [statement for statement in statements(model.statements) if statement.has_text]
    found = False
    for statement in texts:
        if _is_slow(model, statement) and worth(model, _computed_ns(statement)):
            found = True
            yield _finding(model, statement)
    if texts and not found:
        longest = max(texts, key=_mean_ns)
        text = f"statements take up to {duration(_mean_ns(longest))} on average, or wait for most of their time"
        yield Check(ID, text, float(_mean_ns(longest)), "ns", large=False)


def _is_slow(model: Model, statement: Statement) -> bool:
    computed_ns = statement.accounts.get(COMPUTES, 0)
    ready_ns = sum(ns for name, ns in statement.accounts.items() if name.startswith("runq."))  # to compute
    if computed_ns < sql_policy.computing_share * (statement.line.sum_ns - ready_ns):
        return False
    long = statement.over_slo > 0 or _mean_ns(statement) >= sql_policy.slow_statement_ns
    return long or _share_of_requests(model, computed_ns + ready_ns) >= sql_policy.most_of_requests_share


def _share_of_requests(model: Model, ns: int) -> float:
    return ns / model.request_time.ns if model.request_time and model.request_time.ns else 0.0


def _mean_ns(statement: Statement) -> int:
    return statement.line.sum_ns // max(1, statement.line.count)


def _computed_ns(statement: Statement) -> int:
    """Return what the slow ones computed: those over the objective, where there is one."""
    accounts = statement.over_slo_accounts if statement.over_slo else statement.accounts
    return accounts.get(COMPUTES, 0)


def _finding(model: Model, statement: Statement) -> Finding:
    latency, name = statement.latency, plain(statement.name)
    each, work, kind = duration(_mean_ns(statement)), _work(model, statement), _kind(model, statement)
    does = f"computes{f' {brief(work.where.partition(_FILE)[0])}' if work else ''}"
    return conclude(
        model,
        {COMPUTES: _computed_ns(statement)},
        headline=f"{in_short(name)} {kind.kind.words if kind else does}: {latency.count:,} times, {each} each",
        claim=f"{name} ran {latency.count:,} times for {each} on average; {top(statement.accounts)}.",
        mechanism=Mechanism.WORK,
        departs=statement.over_slo > 0,
        evidence=[
            Evidence(f"{latency.count:,} of {name}{_quantiles(statement)}", float(latency.sum_ns), "ns", "statements"),
            Evidence(
                f"its time: {top(statement.accounts)}", float(latency.sum_ns), "ns", "ledger", kind=EvidenceKind.NUMBER
            ),
            *([kind.evidence] if kind else []),
            *_extension(model, statement),
            *([work.evidence] if work else []),
        ],
        remedies=[_remedy(statement, work, kind)],
        alternatives=["all sessions compute at once, for too few CPUs"],
        verify=measured(model, f"a shorter mean for it under SQL STATEMENTS, now {each}", "--full"),
        inside=True,
    )


def _quantiles(statement: Statement) -> str:
    latency = statement.latency
    p50 = latency.quantile_ns(0.5)
    typical = f", p50 {about_at_most(p50, latency.max_ns)}" if p50 is not None else ""
    over = f", {percent(statement.over_slo / latency.count)} over the objective" if statement.over_slo else ""
    return f"{typical}, longest {duration(latency.max_ns)}{over}"


def _work(model: Model, statement: Statement) -> MainWork | None:
    """Return what the server mostly computes, where that is mostly for this statement."""
    work = main_work(model, CpuSamples(model)) if _has_most(model, statement) else None
    return work if work and work.samples == "CPU" else None


def _kind(model: Model, statement: Statement) -> WorkFound | None:
    """Return the same as a database calls it."""
    return work_of(statement.server, CpuSamples(model)) if _has_most(model, statement) else None


def _extension(model: Model, statement: Statement) -> list[Evidence]:
    """Return the library below which the server computes, as with auto_explain."""
    found = CpuSamples(model).through() if _has_most(model, statement) else None
    if found is None:
        return []
    text = f"{found.name} stands on the stacks of {found.part} of CPU samples"
    return [Evidence(text, found.part.share, "share", FUNCTIONS, found.part.error, kind=EvidenceKind.FUNCTIONS)]


def _has_most(model: Model, statement: Statement) -> bool:
    """Return whether the server computes mostly for this statement: samples do not tell statements apart."""
    return 2 * _computed_ns(statement) >= model.ns(COMPUTES)


def _remedy(statement: Statement, work: MainWork | None, kind: WorkFound | None) -> Remedy:
    explain = _EXPLAINS.get(statement.server, "EXPLAIN")
    reads = _READS.match(statement.name)
    if kind:
        where = f"; its plan shows where ({explain} ...)" if reads else ""
        return fix(f"it {kind.kind.words}: {kind.kind.remedy}{where}")
    why = f" and see why it computes {work.where}" if work else ""
    if _SKIPS.search(statement.name):
        return fix(f"{_AFTER_THE_LAST}; its plan shows how many ({explain} ...)")
    if not reads:
        return fix(
            f"look at what it does with each row{why}: triggers, indexes, constraints, and the size of its values"
        )
    return fix(f"look at its plan ({explain} ...){why}; an index helps where rows are read and thrown away")
