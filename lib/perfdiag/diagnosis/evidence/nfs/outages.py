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
    if found is None:
        return None
    parts = {}
    for account in ANSWERED:
        of = together(use.rows.get(account, ()))
        parts[account] = share_above(of, general_policy.outage_ns) * of.sum_ns
    return Gone(found, {account: ns for account, ns in parts.items() if ns >= 1})
