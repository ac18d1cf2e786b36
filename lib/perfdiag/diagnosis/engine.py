"""`diagnose`: run every rule on a model, then settle which finding gets which time."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from perfdiag.diagnosis import claims
from perfdiag.diagnosis.evidence.locks.wait_paths import with_paths
from perfdiag.diagnosis.evidence.locks.waiting_code import with_waiting_code
from perfdiag.diagnosis.evidence.network.asked_calls import with_calls
from perfdiag.diagnosis.evidence.requests.loops_behind import with_loops
from perfdiag.diagnosis.evidence.requests.queued_behind import with_queues
from perfdiag.diagnosis.evidence.requests.slow_requests import with_remedies
from perfdiag.diagnosis.evidence.sql.statement_of import with_statements
from perfdiag.diagnosis.evidence.started_programs import with_programs
from perfdiag.diagnosis.other_causes import with_other_causes
from perfdiag.diagnosis.other_hands import with_other_hands
from perfdiag.diagnosis.policy import general_policy
from perfdiag.diagnosis.rule import Check, Confidence, Finding, Outcome, Rule, Silence
from perfdiag.diagnosis.rules import RULES
from perfdiag.diagnosis.sampled_requests import with_sample
from perfdiag.model.model import Model, NotRecorded

MOST_OUTCOMES = 100  # of one rule, which says the worst first: nobody reads that thousands of processes have one fault


@dataclass(frozen=True)
class Diagnosis:
    """What the rules say of a model; the shares of `findings` and `unclaimed_ns` make up all of its busy time."""

    findings: Sequence[Finding]  # as ranked: faults by share, then profile
    checks: Sequence[Check]  # looked at and fine
    silences: Sequence[Silence]  # could not decide
    unclaimed_ns: int  # busy time that no finding claims
    superseded: Sequence[Finding] = ()  # true, but (nearly) all of their time has a more specific name above
    unasked: Mapping[str, str] = field(default_factory=dict)  # account: what was not recorded, and a rule on it needs


def diagnose(model: Model, rules: Mapping[str, Rule] = RULES) -> Diagnosis:
    """Run every rule, settle who gets which time, and rank.

    A rule that fails takes only itself down: it becomes a Silence that says so.
    """
    findings: list[Finding] = []
    checks: list[Check] = []
    silences: list[Silence] = []
    unasked: dict[str, str] = {}
    for id, rule in sorted(rules.items()):
        if model.host and rule.one_process:
            silences.append(Silence(id, "it asks about one process, not about a host", "perfdiag latency --pid PID"))
            continue
        try:
            outcomes = list(islice(rule.function(model), MOST_OUTCOMES))
        except NotRecorded as error:
            unasked |= dict.fromkeys(rule.accounts, str(error))
            silences.append(Silence(id, str(error), "perfdiag record -o FILE --pid PID"))
            continue
        except Exception as error:  # any bug in one rule, or a fact no rule thought of: the others must still speak
            reason = f"the rule itself failed ({type(error).__name__}: {error})".replace("\n", " ")
            silences.append(Silence(id, reason, "please report this with the recording (perfdiag record)"))
            continue
        for outcome in _without_blind_checks(rule, outcomes, model):
            if isinstance(outcome, Finding):
                findings.append(outcome)
            elif isinstance(outcome, Check):
                checks.append(outcome)
            else:
                silences.append(outcome)
    coverage = model.coverage
    if (
        coverage.contradictions or coverage.closed_error > general_policy.closed_error_share
    ):  # nothing is sure, whatever a rule looked at
        findings = [replace(finding, confidence=Confidence.LOW) for finding in findings]
    for extend in (with_paths, with_loops, with_other_hands, with_queues, with_sample):
        findings = extend(model, findings)
    settled = claims.settle(model, findings, rules)
    remedied = with_remedies(model, settled.findings)
    ranked = with_waiting_code(model, with_calls(model, with_programs(model, with_statements(model, remedied))))
    return Diagnosis(
        with_other_causes(ranked, checks), checks, silences, settled.unclaimed_ns, settled.superseded, unasked
    )


def _without_blind_checks(rule: Rule, outcomes: Sequence[Outcome], model: Model) -> Iterator[Outcome]:
    """Yield what a rule says; that all is well with an account nobody could see, or with a target of which nothing was
    measured, becomes silence."""
    hidden = [account for account in rule.accounts if account in model.unseen]
    is_measured = any(thread.wall_ns for thread in model.threads)
    for outcome in outcomes:
        if not is_measured and isinstance(outcome, Check):
            yield Silence(outcome.id, "no thread was measured", "record it while it runs")
        elif hidden and isinstance(outcome, Check):
            yield Silence(outcome.id, f"{', '.join(hidden)}: not told apart by who recorded", "perfdiag record")
        else:
            yield outcome
