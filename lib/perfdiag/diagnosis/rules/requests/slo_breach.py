"""SLO-BREACH: operations took longer than their limit (--slo), and what their time consisted of."""

from collections.abc import Iterable, Sequence

from perfdiag.diagnosis.evidence.fix_checks import measured
from perfdiag.diagnosis.evidence.requests.kept_objectives import kept_operations, kept_requests
from perfdiag.diagnosis.evidence.requests.objectives import times_operations
from perfdiag.diagnosis.evidence.requests.slow_requests import slow_requests
from perfdiag.diagnosis.evidence.sql.slow_statements import slow_statements
from perfdiag.diagnosis.evidence.target import subject
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import requests_policy
from perfdiag.diagnosis.rule import Check, Evidence, Finding, Mechanism, Outcome, Severity, Silence, rule
from perfdiag.diagnosis.significance import brief, duration, fix, percent, plain, top
from perfdiag.model.model import Model
from perfdiag.recording import schema
from perfdiag.recording.accounts import Kind, kind_of, phrase_of


@rule(
    "SLO-BREACH",
    title="Operations took longer than their limit",
    accounts=(),
    meaning="Requests, blocking system calls or SQL statements took longer than the limit given with --slo. Other"
    " findings are ranked by the time that these slow requests lost. Where the target serves requests, a system call"
    " over a limit without a name is no fault of its own: it may be of a thread that serves nobody.",
    measured="Operations over the limit, by name, and where exactly these spent their time. Waiting for work (poll,"
    " accept, sleep) is left out.",
    alternatives="The limit is too tight for this operation.",
    remedies="Fix the finding where slow operations spent most of their time.",
    verify="The same command with the same --slo counts none over it.",
    objective=True,
)
def slo_breach(model: Model) -> Iterable[Outcome]:
    """Yield one finding for each name with operations over the limit, the most broken first."""
    of_requests: list[Outcome] = [*slow_requests(model)] or [*kept_requests(model)]
    yield from of_requests
    yield from slow_statements(model)
    if not times_operations(model):
        return
    if not model.measured("operations"):
        yield Silence("SLO-BREACH", "operations were not measured", "see perfdiag check, feature operations")
        return
    lost = model.coverage.lost.get("operations_full", 0)
    broken = [operation for operation in model.operations if operation.over_slo and not _idle(operation)]
    if not broken and lost:
        reason = f"the table of operations was full: {lost:,} were not counted; the others kept the limit"
        yield Silence("SLO-BREACH", reason, f"strace -f -T -p PID shows how long each call of {subject(model)} takes")
        return
    general = model.header.options.slo_ns is not None
    if not broken and general and not all(isinstance(each, Check) for each in of_requests):
        return  # requests are what a limit is for, and these do not all keep it, as far as is known
    if not broken:
        limited = [each for each in model.operations if model.limit_ns(each.name) is not None]
        yield kept_operations(model, [operation for operation in limited if not _waits_for_work(operation)])
        return
    for operation in sorted(broken, key=lambda each: -each.over_slo):
        yield _finding(model, operation, model.limit_ns(operation.name) or 0)


def _finding(model: Model, operation: schema.Operation, limit_ns: int) -> Finding:
    name, over = plain(operation.name), operation.over_slo
    lost = model.coverage.lost.get("operations_full", 0)
    sums = _busy(operation.over_slo_accounts)
    part = over / operation.count if operation.count else 1.0
    of_all = f" ({percent(part)})" if operation.count >= requests_policy.operations_for_share else ""
    evidence = [
        Evidence(
            f"{over:,} of {operation.count:,} {name} over"
            f" {duration(limit_ns)}{of_all}, longest {duration(operation.max_ns)}",
            part,
            "share",
            "operations",
        )
    ]
    if sums:
        evidence.append(Evidence(f"the slow ones: {top(sums)}", float(sum(sums.values())), "ns", "operations"))
        evidence.append(
            Evidence(f"all of them: {top(_busy(operation.accounts))}", float(operation.sum_ns), "ns", "operations")
        )
    worst = max(sums, key=lambda account: sums[account], default="")
    return conclude(
        model,
        {},
        headline=(
            f"{over:,} of {operation.count:,} {brief(name.removeprefix('syscall:'))} took over {duration(limit_ns)}"
        ),
        claim=(
            f"{over:,} of {operation.count:,} {name} took longer than"
            f" {duration(limit_ns)}{f'; most of that time is {phrase_of(worst)} ({worst})' if worst else ''}."
        ),
        mechanism=Mechanism.MISSED,
        severity=_severity(model, operation),
        doubts=[
            "" if sums else "it is unknown where the slow operations spent their time",
            f"the table of operations was full: {lost:,} of other names were not counted" if lost else "",
        ],
        evidence=evidence,
        remedies=[
            fix(
                f"see the finding on {phrase_of(worst)} ({worst}); with --record, perfdiag report shows these"
                " operations again"
                if worst
                else "perfdiag latency --full shows the operations"
            )
        ],
        alternatives=["the limit is too tight for this operation"],
        verify=measured(model, f"no operation over {duration(limit_ns)}, now {over:,} of {operation.count:,}"),
    )


def _severity(model: Model, operation: schema.Operation) -> Severity:
    """Return the severity: where requests are known, they are what a limit without a name is for. A call of a thread
    that serves nobody may take its time, and one inside a request is part of it."""
    named = any(each.name == operation.name for each in model.header.options.slo_names)
    served = any(each.served and each.line.count for each in model.exchanges)
    return Severity.INFO if served and not named else Severity.WARNING


def _busy(parts: Iterable[schema.AccountSum]) -> dict[str, int]:
    return {part.account: part.sum_ns for part in parts if part.sum_ns and kind_of(part.account) is Kind.LATENCY}


def _idle(operation: schema.Operation) -> bool:
    return _mostly_idle(operation.over_slo_accounts) if operation.over_slo_accounts else _waits_for_work(operation)


def _waits_for_work(operation: schema.Operation) -> bool:
    return _mostly_idle(operation.accounts)


def _mostly_idle(parts: Sequence[schema.AccountSum]) -> bool:
    whole = sum(part.sum_ns for part in parts)
    return bool(whole) and sum(_busy(parts).values()) < (1 - requests_policy.polling_share) * whole
