"""A threshold: one number that rules judge by, with its unit, the reason for its value, and what a user set instead."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import ClassVar, Generic, TypeVar, cast, overload

Number = TypeVar("Number", bound=float)  # int or float


class Threshold(Generic[Number]):
    """One number of a family. Read from the family it is the number in force; read from the class it is this object."""

    name: str  # as the family calls it, "slow_answer_ns"

    def __init__(self, value: Number, unit: str, reason: str, most: float = math.inf) -> None:
        self.value = value
        self.unit = unit
        self.reason = reason
        self.most = most

    def __set_name__(self, owner: type[Family], name: str) -> None:
        self.name = name

    @overload
    def __get__(self, family: None, owner: type[Family]) -> Threshold[Number]: ...
    @overload
    def __get__(self, family: Family, owner: type[Family]) -> Number: ...
    def __get__(self, family: Family | None, owner: type[Family]) -> Threshold[Number] | Number:
        if family is None:
            return self
        return cast(Number, family.set_by_user.get(self.name, self.value))

    def accepted(self, value: object) -> Number:
        """Return a user's value. Raises ValueError with the reason if the threshold cannot have it."""
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise ValueError("must be a number")
        if isinstance(self.value, int) and value != int(value):
            raise ValueError("must be a whole number")
        if not 0 <= value <= self.most:
            raise ValueError(f"must be from 0 to {self.most:g}" if self.most < math.inf else "must not be negative")
        return type(self.value)(value)


class Family:
    """The thresholds of one field. `set_by_user` holds what the configuration sets, by name."""

    title: ClassVar[str]  # "block devices and their queues"

    def __init__(self) -> None:
        self.set_by_user: dict[str, int | float] = {}

    @property
    def name(self) -> str:
        """The name of the family in the configuration: "disk"."""
        return type(self).__name__.removesuffix("Policy").lower()

    def thresholds(self) -> Iterator[Threshold[int] | Threshold[float]]:
        """Yield the thresholds in the order of the source."""
        yield from (each for each in vars(type(self)).values() if isinstance(each, Threshold))


def share(value: float, reason: str) -> Threshold[float]:
    """A part of a whole, 0 to 1."""
    return Threshold(float(value), "share", reason, most=1.0)


def factor(value: Number, reason: str) -> Threshold[Number]:
    """How many times one number is another."""
    return Threshold(value, "times", reason)


def count(value: int, reason: str) -> Threshold[int]:
    """So many waits, samples, calls or segments."""
    return Threshold(value, "count", reason)


def rate(value: Number, reason: str) -> Threshold[Number]:
    """So many events or bytes a second."""
    return Threshold(value, "per second", reason)


def duration_ns(value: int, reason: str) -> Threshold[int]:
    """A time in nanoseconds."""
    return Threshold(value, "ns", reason)


def duration_s(value: float, reason: str) -> Threshold[float]:
    """A time in seconds."""
    return Threshold(float(value), "s", reason)


def size_bytes(value: int, reason: str) -> Threshold[int]:
    """A size in bytes."""
    return Threshold(value, "bytes", reason)
