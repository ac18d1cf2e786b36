"""An NFS server that was gone for a while, or the network to it: whatever threads waited for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from perfdiag.diagnosis.evidence.nfs.wait_parts import LOCK, NFS, Use
from perfdiag.diagnosis.evidence.outages import Outage, outage
from perfdiag.diagnosis.policy import general_policy
from perfdiag.diagnosis.significance import share_above, together

# Lock waits are left out: a held lock is no late answer.
ANSWERED: Sequence[str] = tuple(account for account in NFS if account != LOCK)


@dataclass(frozen=True)
class Gone:
    """Time without answers on one mount."""

    outage: Outage
    parts: Mapping[str, float]  # by account: the time of the long waits


def gone(use: Use) -> Gone | None:
    """Return the time in which a mount had no answers, None if it had."""
    found = outage(together(use.rows_of(ANSWERED)))
    if found is None or _in_many_calls(use, found.waits.max_ns):
        return None
    parts = {}
    for account in ANSWERED:
        of = together(use.rows.get(account, ()))
        parts[account] = share_above(of, general_policy.outage_ns) * of.sum_ns
    return Gone(found, {account: ns for account, ns in parts.items() if ns >= 1})


def _in_many_calls(use: Use, longest_ns: int) -> bool:
    """Return whether the longest wait was for calls that were all answered in less than half of it: a flush of much
    data."""
    calls = [] if use.in_milliseconds else [each for each in use.procedures.values() if each.count]
    return bool(calls) and all(2 * each.wire.max_ns < longest_ns for each in calls)
