"""An NFS server that was gone for a while: some waits are longer by far than all others, whatever they were for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from perfdiag.diagnosis.evidence.nfs.wait_parts import LOCK, NFS, Use
from perfdiag.diagnosis.policy import nfs_policy
from perfdiag.diagnosis.significance import share_above, together
from perfdiag.recording.distribution import Distribution, edges_ns

# Lock waits are left out: a held lock is no late answer.
ANSWERED: Sequence[str] = tuple(account for account in NFS if account != LOCK)


@dataclass(frozen=True)
class Outage:
    """Time without answers on one mount."""

    waits: Distribution  # all waits for the mount
    long_count: int  # of them that fell into it
    parts: Mapping[str, float]  # by account: the time of these


def outage(use: Use) -> Outage | None:
    """Return the outage of a mount's server, or of the network to it; None where waits are long now and again.

    A slow server is slow at many calls; one that is gone keeps those that are under way, one or a few for each thread.
    """
    waits, long_ns = together(use.rows_of(ANSWERED)), nfs_policy.outage_ns
    usual_ns = waits.quantile_ns(1 - nfs_policy.outage_waits_share) or waits.max_ns
    if usual_ns * nfs_policy.outage_factor > long_ns or share_above(waits, long_ns) < nfs_policy.outage_time_share:
        return None
    parts = {}
    for account in ANSWERED:
        of = together(use.rows.get(account, ()))
        parts[account] = share_above(of, long_ns) * of.sum_ns
    long_count = sum(count for bucket, count in waits.buckets.items() if edges_ns(bucket)[0] >= long_ns // 2)
    return Outage(waits, long_count, {account: ns for account, ns in parts.items() if ns >= 1})
