"""The frame of a verdict: an ordered table of cases, of which the first that holds decides."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from perfdiag.diagnosis.rule import Finding
from perfdiag.report import contract
from perfdiag.report.verdict.sentences import Kind, verdict

Situation = TypeVar("Situation")


@dataclass(frozen=True)
class Case(Generic[Situation]):
    """One case: when it holds, and what the verdict then says, of which findings."""

    name: str
    holds: Callable[[Situation], object]
    kind: Kind | Callable[[Situation], Kind]
    says: Callable[[Situation], Sequence[str]]
    about: Callable[[Situation], Sequence[Finding]] = lambda _: ()


def decided(cases: Iterable[Case[Situation]], it: Situation) -> contract.Verdict:
    """Return the verdict of the first case that holds; the last case of a table always holds."""
    case = next(case for case in cases if case.holds(it))
    kind = case.kind if isinstance(case.kind, Kind) else case.kind(it)
    return verdict(kind, case.says(it), case.about(it))
