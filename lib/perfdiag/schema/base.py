"""What the lines of a recording have in common."""

from __future__ import annotations

from typing import Annotated

import msgspec

LARGEST = 2**63 - 1  # what is more has wrapped or was forged, and no sum of such lines would fit a float
Nanoseconds = Annotated[int, msgspec.Meta(ge=0, le=LARGEST)]
Count = Annotated[int, msgspec.Meta(ge=0, le=LARGEST)]
Buckets = list[tuple[Annotated[int, msgspec.Meta(ge=0, le=31)], Count]]  # (bucket index, count), empty ones left out


class Line(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    """Common base: unknown fields are ignored, so that an older reader reads a newer minor recording."""


class AccountSum(msgspec.Struct, frozen=True, array_like=True):
    """One account of one thread (or sum of threads): ``[account, sum_ns, count, max_ns]``."""

    account: str
    sum_ns: Nanoseconds
    count: Count
    max_ns: Nanoseconds


__all__ = ["LARGEST", "AccountSum", "Buckets", "Count", "Line", "Nanoseconds"]
