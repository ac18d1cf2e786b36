"""NFS in tests: mounts as facts show them, calls, flushes and what a server served, as lines of a recording."""

from __future__ import annotations

from collections.abc import Mapping

from perfdiag.recording import schema

from unit.support.amounts import bucket_of, nanoseconds
from unit.support.recording import Builder

MOUNT = "mount:0:52"
OPTIONS = "rw,vers=4.2,rsize=1048576,wsize=1048576,hard,proto=tcp,timeo=600,addr=10.0.0.5"


def spread(durations: Mapping[str, int]) -> tuple[int, int, int, list[tuple[int, int]]]:
    """Return count, sum, longest and buckets of durations: {"50 ms": 99}."""
    buckets: dict[int, int] = {}
    for text, number in durations.items():
        bucket = bucket_of(nanoseconds(text))
        buckets[bucket] = buckets.get(bucket, 0) + number
    each = [(nanoseconds(text), number) for text, number in durations.items()]
    return (
        sum(number for _, number in each),
        sum(ns * number for ns, number in each),
        max(ns for ns, _ in each),
        sorted(buckets.items()),
    )


def mounted(builder: Builder, options: str = OPTIONS, source: str = "nas1:/jobs") -> Builder:
    """Let the host have an NFS mount on /srv with the device 0:52."""
    return builder.fact("/proc/self/mountinfo", f"30 1 0:52 / /srv rw,relatime - nfs4 {source} {options}\n")


def rpc(
    builder: Builder,
    procedure: str,
    wire: Mapping[str, int],
    *,
    queue: str = "0 us",
    object: str = MOUNT,
    program: str = "nfs",
    bytes: int = 200,
    received: int = 100,
    errors: int = 0,
    retransmits: int = 0,
) -> Builder:
    """Add the calls of one procedure: how long away, in the queue before; bytes sent and received of each."""
    count, wire_ns, longest, buckets = spread(wire)
    queued = nanoseconds(queue)
    return builder.line(
        schema.Rpc(
            object=object,
            program=program,
            version=4,
            procedure=procedure,
            count=count,
            errors=errors,
            retransmits=retransmits,
            bytes_sent=bytes * count,
            bytes_received=received * count,
            queue_ns=queued * count,
            wire_ns=wire_ns,
            reply_ns=5_000 * count,
            max_ns=longest + queued,
            queue_buckets=[(bucket_of(queued), count)],
            wire_buckets=buckets,
        )
    )


def flush(
    builder: Builder,
    durations: Mapping[str, int],
    *,
    commits: int = 0,
    writes: int = 0,
    stable: int = 0,
    bytes: int = 0,
    cause: str = "fsync",
    object: str = MOUNT,
) -> Builder:
    """Add flushes of the target, with all the COMMITs, WRITEs and bytes they made."""
    count, sum_ns, longest, buckets = spread(durations)
    return builder.line(
        schema.NfsFlush(
            object=object,
            cause=cause,
            count=count,
            sum_ns=sum_ns,
            max_ns=longest,
            buckets=buckets,
            commits=commits,
            writes=writes,
            stable_writes=stable,
            bytes=bytes,
        )
    )


def served(builder: Builder, durations: Mapping[str, int], procedure: str = "COMPOUND", version: int = 4) -> Builder:
    """Let this host's own server have served requests."""
    count, sum_ns, longest, buckets = spread(durations)
    return builder.line(
        schema.NfsServer(
            program="nfs",
            version=version,
            procedure=procedure,
            count=count,
            sum_ns=sum_ns,
            max_ns=longest,
            buckets=buckets,
        )
    )


__all__ = ["MOUNT", "OPTIONS", "flush", "mounted", "rpc", "served", "spread"]
