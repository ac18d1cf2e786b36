"""Holds a report against what was really done to its target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from perfdiag.report.contract import Report

from incidents.support.expressions import evaluate
from incidents.support.incident import Case

HARMLESS = "info"
NONE = "(none)"  # in place of a finding
NEAR_ENOUGH = 0.10  # how far a measured share may be from the injected one


class Share(msgspec.Struct, frozen=True):
    """A part of the target's time: as it was made, and as it was measured; of 1."""

    of: str  # a finding or an account
    injected: float
    measured: float

    @property
    def apart(self) -> float:
        """How far they are from one another."""
        return self.measured - self.injected


class Result(msgspec.Struct, frozen=True):
    """What came of one case."""

    incident: str
    case: str
    kind: str
    first: str  # expected; NONE for a healthy one
    then: list[str]
    found: list[str]  # findings above info, in their order
    informed: list[str]  # the others
    says: bool = True  # whether the first finding says what it must
    shares: list[Share] = []
    failure: str = ""  # why there is no report; "" if there is one
    seconds: float = 0.0
    withheld: float = 0.0  # of the time that its CPUs wanted to run, this host gave so much to others

    @property
    def found_first(self) -> str:
        """What the report ranks first."""
        return self.found[0] if self.found else NONE

    @property
    def first_right(self) -> bool:
        """Whether what is expected stands first: on a healthy one nothing."""
        return not self.failure and self.found_first == self.first

    @property
    def false_alarm(self) -> bool:
        """Whether something is found on a healthy one."""
        return self.kind != "fault" and bool(self.found)

    @property
    def right(self) -> bool:
        """Whether the diagnosis is: the first finding with what it says, and those that must follow in their order."""
        rest = iter(self.found[1:])
        return self.first_right and self.says and all(wanted in rest for wanted in self.then)

    @property
    def far_off(self) -> list[Share]:
        """Shares that are not as they were made."""
        return [share for share in self.shares if abs(share.apart) > NEAR_ENOUGH]


def judge(case: Case, report: Report, truth: Mapping[str, float], twin: Mapping[str, float]) -> Result:
    """Judge one report; `truth` and `twin` are what the target said of itself, here and without the fault.

    Raises ExpressionError where incident.toml asks for a number that nobody said.
    """
    settings = {name: float(value) for name, value in case.settings.items() if isinstance(value, int)}
    names = {**settings, **truth, **{f"twin_{name}": value for name, value in twin.items()}}
    shares = [
        Share(account, evaluate(text, names), _account_share(report, account))
        for account, text in case.accounts.items()
    ]
    if case.share:
        shares.insert(0, Share(case.first, evaluate(case.share, names), _finding_share(report, case.first)))
    return Result(
        case.incident,
        case.name,
        case.kind,
        case.first or NONE,
        case.then,
        [finding.id for finding in report.findings if finding.severity != HARMLESS],
        [finding.id for finding in report.findings if finding.severity == HARMLESS],
        not case.says or any(case.says in finding.claim for finding in report.findings[:1]),
        shares,
    )


def failed(case: Case, reason: str) -> Result:
    """Return the result of a case that could not be made or reported."""
    return Result(case.incident, case.name, case.kind, case.first or NONE, case.then, [], [], failure=reason)


def _finding_share(report: Report, id: str) -> float:
    return sum(finding.share for finding in report.findings if finding.id == id)


def _account_share(report: Report, account: str) -> float:
    return sum(row.share or 0.0 for row in report.accounts if row.account == account)


def correct(results: Sequence[Result]) -> bool:
    """Whether all is as it should be: every fault named, nothing found on a healthy one, nothing left out."""
    return bool(results) and all(result.right for result in results)


__all__ = ["NEAR_ENOUGH", "NONE", "Result", "Share", "correct", "failed", "judge"]
