"""What the lines of a recording have in common."""

from collections.abc import Sequence
from typing import Annotated

import msgspec

from perfdiag.recording.schema.limits import ACCOUNTS, RECORDER, Account, at_most

LARGEST = 2**63 - 1  # what is more has wrapped or was forged, and no sum of such lines would fit a float
Nanoseconds = Annotated[int, msgspec.Meta(ge=0, le=LARGEST)]
Count = Annotated[int, msgspec.Meta(ge=0, le=LARGEST)]
Buckets = Annotated[  # (bucket index, count), empty ones left out
    Sequence[tuple[Annotated[int, msgspec.Meta(ge=0, lt=RECORDER["BUCKETS"])], Count]], at_most(RECORDER["BUCKETS"])
]


class Line(msgspec.Struct, frozen=True, kw_only=True, gc=False, tag_field="type"):
    """Common base: unknown fields are ignored, so that an older reader reads a newer minor recording."""


class AccountSum(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One account of one thread (or sum of threads): ``[account, sum_ns, count, max_ns]``."""

    account: Account
    sum_ns: Nanoseconds
    count: Count
    max_ns: Nanoseconds


AccountSums = Annotated[Sequence[AccountSum], at_most(ACCOUNTS)]
