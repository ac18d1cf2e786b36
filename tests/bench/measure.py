"""Alternating measurements, medians, and ratios with their spread.

A shared machine is never the same twice, so nothing here is compared across time: the variants of an experiment take
turns, every round begins with another one, and what is compared are differences within a round.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

RESAMPLES = 2000
UNTRACED = "untraced"

Rounds = dict[str, list[float]]


@dataclass(frozen=True)
class Estimate:
    """A median with the range that 90 % of resampled medians fall into."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Context:
    """What every section is given."""

    quick: bool
    scratch: Path  # on a local file system, removed at the end
    say: Callable[[str], None]
    output: Path  # where the table goes

    def choose(self, quick: int, full: int) -> int:
        """Return a number of rounds, seconds or threads: fewer when in a hurry."""
        return quick if self.quick else full


def alternate(variants: Mapping[str, Callable[[], T]], rounds: int, seconds: float) -> dict[str, list[T]]:
    """Let the variants take turns until `rounds` are complete or `seconds` are over (then with what there is)."""
    found: dict[str, list[T]] = {name: [] for name in variants}
    names = list(variants)
    end = time.monotonic() + seconds
    for number in range(rounds):
        if number >= 2 and time.monotonic() > end:
            break
        first = number % len(names)
        values = {name: variants[name]() for name in names[first:] + names[:first]}
        for name, value in values.items():
            found[name].append(value)
    return found


def resample(count: int, statistic: Callable[[Sequence[int]], float]) -> Estimate:
    """Estimate a statistic of `count` rounds, and how it moves when rounds are drawn anew (the same way each run)."""
    draw = random.Random(1)
    moved = sorted(statistic(draw.choices(range(count), k=count)) for _ in range(RESAMPLES))
    return Estimate(statistic(range(count)), moved[RESAMPLES // 20], moved[-RESAMPLES // 20])


def median(values: Sequence[float]) -> Estimate:
    """The median of independent values."""
    return resample(len(values), lambda rounds: statistics.median(values[i] for i in rounds))


def added(found: Rounds, name: str, base: str = UNTRACED) -> Estimate:
    """How much more a variant takes than `base`, round by round."""
    return median([mine - bare for mine, bare in zip(found[name], found[base], strict=True)])


def ratio(found: Rounds, name: str, other: str) -> Estimate:
    """A variant in parts of another, round by round."""
    return median([mine / theirs for mine, theirs in zip(found[name], found[other], strict=True)])


def ratio_of_added(found: Rounds, name: str, other: str, base: str = UNTRACED) -> Estimate:
    """What one variant adds to `base` in parts of what another adds: medians first, since a round's can be zero."""
    mine = [value - bare for value, bare in zip(found[name], found[base], strict=True)]
    theirs = [value - bare for value, bare in zip(found[other], found[base], strict=True)]

    def statistic(rounds: Sequence[int]) -> float:
        divisor = statistics.median(theirs[i] for i in rounds)
        return statistics.median(mine[i] for i in rounds) / divisor if divisor > 0 else float("inf")

    return resample(len(mine), statistic)


__all__ = ["UNTRACED", "Context", "Estimate", "Rounds", "added", "alternate", "median", "ratio", "ratio_of_added"]
