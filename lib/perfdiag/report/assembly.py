"""The report of a model and its diagnosis, as data: verdict, accounts, findings, what was not measured, coverage, cost.

Names become printable here, and numbers are joined; nothing is left out: a renderer decides what it folds.
"""

from collections import Counter
from dataclasses import replace

from perfdiag import __version__
from perfdiag.common.by_key import sums_by_key
from perfdiag.common.config import Config
from perfdiag.common.text import printable
from perfdiag.common.units import first_of
from perfdiag.diagnosis import rule as found
from perfdiag.diagnosis.engine import Diagnosis
from perfdiag.diagnosis.policy import general_policy
from perfdiag.diagnosis.settings.unusual_settings import with_settings
from perfdiag.model.model import Model
from perfdiag.model.share_denominator import whole_accounts, whole_ns
from perfdiag.report import account_tables, contract, header, relevance, requests, stacks, thresholds
from perfdiag.report.contract import Report
from perfdiag.report.cost import cost
from perfdiag.report.evidence import evidence
from perfdiag.report.guest_host import host_side
from perfdiag.report.host_consumers import everyone
from perfdiag.report.java_machines import java_machines
from perfdiag.report.statements import sql_calls, statements
from perfdiag.report.status import with_host_side, with_status, without_given_up
from perfdiag.report.verdict.sentences import LONGEST_TEXT, uncertain_ns
from perfdiag.report.verdict.unsure_recording import with_doubt
from perfdiag.report.verdict.verdict import decide


def make(model: Model, diagnosis: Diagnosis, config: Config) -> Report:
    """Return the report of a model.

    Shares of its findings and `unclaimed_share` add up to all of the busy time.
    """
    diagnosis = replace(diagnosis, findings=with_settings(model, diagnosis.findings))
    side = host_side(model)
    return Report(
        schema=contract.SCHEMA_VERSION,
        verdict=with_host_side(_verdict(model, diagnosis), side),
        target=header.target(model),
        window=header.window(model),
        notes=[*header.notes(model), *thresholds.notes()],
        wall_ns=model.wall_ns,
        busy_ns=model.busy_ns,
        idle_ns=model.idle_ns,
        work=header.work(model),
        operations=account_tables.operations(model),
        answered=requests.answered(model),
        sample=requests.sample(model),
        few_timed=requests.few_timed(model),
        requests=requests.served(model),
        unread=requests.unread(model),
        silent=requests.silent(model),
        calls=requests.called(model),
        named_calls=requests.named_calls(model),
        request_time=requests.time(model),
        accounts=account_tables.accounts(model),
        still_waiting=account_tables.still_waiting(model),
        everyone=everyone(model),
        host_side=side,
        java_machines=java_machines(model),
        unusual_settings=header.unusual(model, diagnosis.findings),
        kernel_log=header.kernel_log(model),
        statements=statements(model),
        sql_calls=sql_calls(model),
        thresholds=thresholds.changed(),
        threads=account_tables.threads(model),
        stacks=stacks.stacks(model),
        findings=[_finding(model, each, config) for each in diagnosis.findings],
        unclaimed_ns=diagnosis.unclaimed_ns,
        unclaimed_share=diagnosis.unclaimed_ns / whole_ns(model) if whole_ns(model) else 0.0,
        unclaimed=_unclaimed(model, diagnosis),
        checked=_checked(diagnosis),
        not_measured=_not_measured(model, diagnosis),
        coverage=_coverage(model),
        cost=cost(model),
        host=header.host(model),
        versions=_versions(model),
    )


def _versions(model: Model) -> dict[str, str]:
    return {
        "report": __version__,
        "recording": _text(model.header.perfdiag),
        "engine": _text(model.header.engine),
        "recording_schema": str(model.header.schema),
    }


def _checked(diagnosis: Diagnosis) -> list[contract.Checked]:
    """Return what was looked at and is fine, objectives first: they were asked for."""
    checks = sorted(diagnosis.checks, key=lambda check: not found.is_objective(check.id))
    return [
        contract.Checked(id=check.id, number=check.number, unit=check.unit, text=_text(check.text), fine=_fine(check))
        for check in checks
    ]


def _verdict(model: Model, diagnosis: Diagnosis) -> contract.Verdict:
    decided = with_doubt(decide(model, diagnosis), model, diagnosis.unasked)
    return without_given_up(with_status(decided, model, diagnosis), model)


def _text(text: str) -> str:
    return printable(text, LONGEST_TEXT)


def _finding(model: Model, finding: found.Finding, config: Config) -> contract.Finding:
    return contract.Finding(
        id=finding.id,
        severity=finding.severity.value,
        share=finding.share,
        ns=finding.claimed_ns,
        confidence=finding.confidence.value,
        headline=_text(finding.headline),
        mechanism=finding.mechanism.value,
        others=[
            contract.Other(pid=each.pid, comm=_text(each.comm), relation=each.relation.value) for each in finding.others
        ],
        claim=_text(finding.claim + _suffered(finding)),
        evidence=evidence(model, finding),
        ruled_out=[_text(text) for text in finding.ruled_out],
        alternatives=[_text(text) for text in finding.alternatives],
        limits=[_text(text) for text in finding.limits],
        remedy=[
            contract.Remedy(
                kind=remedy.kind.value,
                text=_text(remedy.text),
                undo=_text(remedy.undo),
                present_value=_text(remedy.present_value),
                risk=_text(remedy.risk),
            )
            for remedy in finding.remedies
        ],
        verify=_text(finding.verify),
        runbook=config.runbook(finding.id),
        accounts=_by_account(finding),
        idle_ns=finding.idle_ns,
        name=finding.name if finding.name != finding.id else "",
    )


def _by_account(finding: found.Finding) -> dict[str, int]:
    sums = sums_by_key((found.account_of(claim), ns) for claim, ns in finding.claims.items())
    told: Counter[str] = Counter()
    for account, ns in sums.items():
        told[_text(account)] += ns  # two names can read the same
    return dict(told.most_common())


def _fine(check: found.Check) -> bool:
    """Return whether a check has no large number: a large one may be no fault, but it is not fine."""
    if check.large is not None:
        return not check.large
    return check.unit != "share" or check.number < general_policy.fault_share


def _suffered(finding: found.Finding) -> str:
    """Return why a finding may be below smaller ones, or ""."""
    if finding.role is not found.Role.BACKGROUND:
        return ""
    return f" Only background threads suffer it: {first_of(finding.threads, 2)}."


def _unclaimed(model: Model, diagnosis: Diagnosis) -> dict[str, int]:
    """Return the time that no finding claims, by account, the largest first."""
    left = whole_accounts(model)
    for finding in diagnosis.findings:
        for claim, ns in finding.claims.items():
            left[found.account_of(claim)] = left.get(found.account_of(claim), 0) - ns
    return {_text(name): ns for name, ns in sorted(left.items(), key=lambda item: -item[1]) if ns > 0}


def _not_measured(model: Model, diagnosis: Diagnosis) -> list[contract.NotMeasured]:
    """Return what the recording lacks, then the rules without an answer, grouped by reason."""
    tells, could_tell = relevance.judge(model, diagnosis), relevance.judge_given_up(model)
    found_missing = [
        contract.NotMeasured(
            what=_text(item.what),
            reason=_text(item.reason),
            fix=_text(item.fix),
            ids=[],
            matters=tells(item.feature) and (not item.given_up or could_tell(item.given_up)),
            given_up=bool(item.given_up),
        )
        for item in model.not_measured
    ]
    silent: dict[tuple[str, str], list[str]] = {}
    for silence in diagnosis.silences:
        ids = silent.setdefault((silence.reason, silence.fix), [])
        if silence.id not in ids:
            ids.append(silence.id)
    return found_missing + [
        contract.NotMeasured(
            what=", ".join(ids), reason=_text(reason), fix=_text(fix), ids=ids, matters=any(map(tells, ids))
        )
        for (reason, fix), ids in silent.items()
    ]


def _coverage(model: Model) -> contract.Coverage:
    coverage = model.coverage
    return contract.Coverage(
        closed_error=coverage.closed_error,
        worst_thread_error=coverage.worst_thread_error,
        unexplained_share=coverage.unexplained_share,
        cannot_tell_ns=model.parked_ns,
        uncertain_share=uncertain_ns(model) / model.busy_ns if model.busy_ns else 0.0,
        cpu_split_error=account_tables.cpu_split_error(model),
        records=sum(total.count for total in model.accounts.values()),
        lost={_text(name): number for name, number in coverage.lost.items()} if coverage.complete else None,
        stack_agreement=coverage.stack_agreement,
        stack_samples=coverage.stack_samples,
        disagreements=[
            (_text(a), b, ns) for (a, b), ns in sorted(coverage.disagreements.items(), key=lambda item: -item[1])
        ],
        complete=coverage.complete,
        contradictions=[_text(text) for text in coverage.contradictions],
    )


__all__ = ["Report", "make"]
