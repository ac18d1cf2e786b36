"""Waits of which a few are longer by far than all others: what they are for was gone for a while, and is not slow."""

from dataclasses import dataclass

from perfdiag.diagnosis.policy import general_policy
from perfdiag.diagnosis.significance import midpoint_ns, share_above
from perfdiag.recording.distribution import Distribution


@dataclass(frozen=True)
class Outage:
    """The long waits of a distribution that is fast else."""

    waits: Distribution  # all of them
    count: int  # the long ones
    ns: int  # and their time


def outage(waits: Distribution) -> Outage | None:
    """Return the outage that some waits fell into; None where waits are long now and again, or all of them short.

    What is slow is slow at many waits; what is gone keeps those that are under way, one or a few for each thread.
    """
    long_ns = general_policy.outage_ns
    usual_ns = waits.quantile_ns(1 - general_policy.outage_waits_share) or waits.max_ns
    part = share_above(waits, long_ns)
    if usual_ns * general_policy.outage_factor > long_ns or part < general_policy.outage_time_share:
        return None
    count = sum(count for bucket, count in waits.buckets.items() if midpoint_ns(bucket) > long_ns)
    return Outage(waits, count, waits.max_ns if count == 1 else round(part * waits.sum_ns))
