"""Where most of the time is, if no named finding takes it."""

from collections.abc import Sequence

from perfdiag.common.units import duration, first_of, share
from perfdiag.diagnosis.engine import Diagnosis
from perfdiag.diagnosis.evidence.virtual.virtual_cpus import reasonless_ns
from perfdiag.diagnosis.rule import Finding, Role, Severity, account_of
from perfdiag.diagnosis.significance import rowless_ns
from perfdiag.model.model import Model, once
from perfdiag.model.share_denominator import counted
from perfdiag.recording.accounts import ACCOUNTS, phrase_of

SHOWN = 3
# Whose norm is that of what they wait for; those of CPU time are its own.
_NORMS = frozenset(each.name for each in ACCOUNTS if each.object and not each.name.startswith("cpu."))


def most_time(model: Model, diagnosis: Diagnosis, named: Sequence[Finding]) -> str:
    """Return the sentence on what takes more time than all named findings, though it is no fault."""
    named_ns = sum(finding.claimed_ns for finding in named)
    left = {name: total.ns for name, total in model.accounts.items() if counted(name)}
    for finding in named:
        for account in left:
            left[account] -= _claimed(finding, account)
    largest = max(left, key=lambda name: left[name], default="")
    if not largest or left[largest] <= named_ns:
        return ""
    others = [f for f in diagnosis.findings if f not in named and 2 * _claimed(f, largest) > left[largest]]
    why = "no finding explains it"
    if others:
        background = ", of background threads" if others[0].role is Role.BACKGROUND else ""
        why = f"{others[0].name}{', no fault' if others[0].severity is Severity.INFO else background}"
    return f"Most time: {phrase_of(largest)} ({largest} {share(left[largest] / model.busy_ns)}; {why})."


def _claimed(finding: Finding, account: str) -> int:
    return sum(ns for claim, ns in finding.claims.items() if account_of(claim) == account)


@once
def without_rows(model: Model) -> tuple[int, str]:
    """Return how long the target waited for things that the recording does not name, which the rules would need, and
    the sentence on it."""
    left = {name: rowless_ns(model, name) for name in model.accounts if counted(name) and name in _NORMS}
    left["vm.exit"] = max(left.get("vm.exit", 0), reasonless_ns(model))
    left = {name: ns for name, ns in left.items() if ns}
    ns, names = sum(left.values()), first_of(sorted(left, key=lambda name: -left[name]), SHOWN)
    return ns, f"the recording does not show what it waited {duration(ns)} for ({names})." if left else ""
