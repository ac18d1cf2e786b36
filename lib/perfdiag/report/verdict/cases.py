"""The frame of a verdict: an ordered table of what can be the case, of which the first that holds is said."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from perfdiag.report import contract

Situation = TypeVar("Situation")


@dataclass(frozen=True)
class Case(Generic[Situation]):
    """One thing that can be the case: when it is, and what is said then."""

    name: str
    holds: Callable[[Situation], bool]
    says: Callable[[Situation], contract.Verdict]


def decided(cases: Iterable[Case[Situation]], situation: Situation) -> contract.Verdict:
    """Return what the first case says that holds; the last of a table always does."""
    return next(case.says(situation) for case in cases if case.holds(situation))


__all__ = ["Case", "decided"]
