"""By how much a part may be longer than its whole, and a recording still be sound."""

# Requests that are under way are counted while they are read; older recorders read rows a moment after their accounts.
TOLERATED_SHARE = 0.02
TOLERATED_NS = 5_000_000


def exceeds(part_ns: int, whole_ns: int) -> bool:
    """Return whether a part is surely longer than its whole."""
    return part_ns > whole_ns * (1 + TOLERATED_SHARE) + TOLERATED_NS
