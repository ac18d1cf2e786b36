"""The frame of a verdict: an ordered table of cases, of which the first that holds decides."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from perfdiag.report import contract

Situation = TypeVar("Situation")


@dataclass(frozen=True)
class Case(Generic[Situation]):
    """One case: when it holds, and what the verdict then is."""

    name: str
    holds: Callable[[Situation], bool]
    says: Callable[[Situation], contract.Verdict]


def decided(cases: Iterable[Case[Situation]], situation: Situation) -> contract.Verdict:
    """Return the verdict of the first case that holds; the last case of a table always holds."""
    return next(case.says(situation) for case in cases if case.holds(situation))


__all__ = ["Case", "decided"]
