"""The calls of an NFS mount, of all processes: time in the client's queue, on the wire and in the server."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from perfdiag.common.by_key import groups_by_key
from perfdiag.diagnosis.policy import nfs_policy
from perfdiag.diagnosis.significance import typical_ns
from perfdiag.facts.host_facts import NfsMount
from perfdiag.facts.mountstats import Calls
from perfdiag.model.model import Model, once
from perfdiag.recording import schema
from perfdiag.recording.distribution import Distribution, merged
from perfdiag.recording.packed_numbers import Counts

# Calls that a server answers from memory: a round trip, and next to nothing else.
CHEAP = (
    *("GETATTR", "ACCESS", "LOOKUP", "LOOKUPP", "FSSTAT", "STATFS", "FSINFO", "PATHCONF"),
    *("CLOSE", "DELEGRETURN", "OPEN_DOWNGRADE", "LOCKT", "LOCKU", "FREE_STATEID", "TEST_STATEID", "SEQUENCE", "RENEW"),
)
# Calls that change names or attributes: a server that keeps its word has them safe on disk before it answers.
MODIFYING = ("OPEN", "CREATE", "MKDIR", "SYMLINK", "MKNOD", "REMOVE", "RMDIR", "RENAME", "LINK", "SETATTR")


@dataclass(frozen=True)
class Procedure:
    """The calls of one procedure on one mount; without buckets where only /proc/self/mountstats counted them."""

    count: int
    errors: int
    retransmits: int
    sent_bytes: int
    received_bytes: int
    queue: Distribution
    wire: Distribution  # sent to answered: the network both ways and the server
    reply_ns: int

    def above_ns(self, trip_ns: float) -> float:
        """Return how much longer than a round trip all calls together took to be answered."""
        return max(0.0, self.wire.sum_ns - self.count * trip_ns)

    def merged(self, other: Procedure) -> Procedure:
        """Return both together."""
        return Procedure(
            self.count + other.count,
            self.errors + other.errors,
            self.retransmits + other.retransmits,
            self.sent_bytes + other.sent_bytes,
            self.received_bytes + other.received_bytes,
            self.queue.merged(other.queue),
            self.wire.merged(other.wire),
            self.reply_ns + other.reply_ns,
        )


NOTHING = Procedure(0, 0, 0, 0, 0, Distribution(0, 0, 0), Distribution(0, 0, 0), 0)


@dataclass(frozen=True)
class RoundTrip:
    """The time of a call answered from the server's memory."""

    ns: float
    error_ns: float
    words: str  # "LOOKUP, mean of 312"
    probe: str
    measured: bool = False  # by enough cheap calls in the window; else it is an estimate


@once
def _by_object(model: Model) -> Mapping[str, Sequence[schema.Rpc]]:
    return groups_by_key((line.object, line) for line in model.rpcs if line.count)


def procedures(model: Model, key: str, address: str) -> dict[str, Procedure]:
    """Sum the calls of a mount by procedure, and those to its server of which the mount is not known."""
    found: dict[str, Procedure] = {}
    lines = _by_object(model)
    for line in (line for object in dict.fromkeys((key, f"server:{address}")) for line in lines.get(object, ())):
        name = line.procedure if line.program == "nfs" else f"{line.program}.{line.procedure}"
        each = Procedure(
            line.count,
            line.errors,
            line.retransmits,
            line.bytes_sent,
            line.bytes_received,
            Distribution(line.count, line.queue_ns, line.max_ns, dict(line.queue_buckets)),
            Distribution(line.count, line.wire_ns, line.max_ns, dict(line.wire_buckets)),
            line.reply_ns,
        )
        found[name] = found[name].merged(each) if name in found else each
    return found


def counted(calls: Calls) -> Procedure:
    """Return calls as /proc/self/mountstats counts them: their sums are known, how they are distributed is not."""
    return Procedure(
        calls.count,
        calls.errors or 0,
        max(0, calls.transmissions - calls.count),
        calls.sent_bytes,
        calls.received_bytes,
        Distribution(calls.count, calls.queue_ns, calls.queue_ns),
        Distribution(calls.count, calls.answer_ns, calls.answer_ns),
        max(0, calls.whole_ns - calls.queue_ns - calls.answer_ns),
    )


def usual_ns(distribution: Distribution) -> float:
    """Return the time of the call in which half of the time was spent; the mean where only that is known."""
    if distribution.buckets:
        return typical_ns(distribution)
    return distribution.sum_ns / distribution.count if distribution.count else 0.0


def late(distribution: Distribution, norm_ns: float) -> bool:
    """Return whether calls take longer than they should: most of them, or some so long that most time is theirs.

    Half of the time in calls that are a little late, while most are in time, is how any busy server answers.
    """
    usual, median = usual_ns(distribution), distribution.quantile_ns(0.5)
    return usual >= norm_ns and (median is None or median >= norm_ns or usual >= nfs_policy.stalled_factor * norm_ns)


@dataclass(frozen=True)
class Served:
    """What this host's own server did, where it is the one that answered the calls of a mount."""

    requests: Distribution  # none where it is not
    parts: Mapping[str, schema.NfsServer]  # by procedure, as calls have them


NOT_HERE = Served(Distribution(0, 0, 0), {})


def requests(model: Model, version: str = "") -> Distribution:
    """Return the requests of this host's own server, of one version of NFS or all.

    Of NFS 4 a request is a COMPOUND, and what is in it stands beside it.
    """
    return _requests(model).get(version, Distribution(0, 0, 0))


@once
def _requests(model: Model) -> dict[str, Distribution]:
    """Return the requests by version of NFS, and all under ""."""
    parts: defaultdict[str, list[Distribution]] = defaultdict(list)
    for line in model.nfs_server:
        alone = line.version != 4 or line.procedure in ("COMPOUND", "NULL")
        if alone and line.program == "nfs":
            for version in ("", str(line.version)):
                parts[version].append(Distribution(line.count, line.sum_ns, line.max_ns, Counts(line.buckets)))
    return {version: merged(several) for version, several in parts.items()}


@once
def _by_procedure(model: Model) -> dict[str, dict[str, schema.NfsServer]]:
    """Return what was served of each version of NFS, and of all under "", by procedure."""
    found: defaultdict[str, dict[str, schema.NfsServer]] = defaultdict(dict)
    for line in model.nfs_server:
        if line.program == "nfs" and line.count:
            for version in ("", str(line.version)):
                found[version][line.procedure] = line
    return dict(found)


def served(model: Model, version: str, calls: int) -> Served:
    """Return what this host's own server did for these calls: it is theirs if it served as many, within a tenth."""
    whole = requests(model, version)
    same = calls > 0 and abs(whole.count - calls) <= nfs_policy.local_server_calls_share * calls
    return Served(whole, _by_procedure(model).get(version, {})) if same else NOT_HERE


def round_trip(known: Mapping[str, Procedure], mount: NfsMount | None, probe: str, nfsd: Served) -> RoundTrip | None:
    """Return the round trip: of the fastest of the cheap calls; else what calls took longer than this host's own
    server (`nfsd`), or what cheap ones took since the mount; None: unknown.

    No call takes less than a round trip: the median of any other bounds it.
    """
    found = _seen(known, probe)
    if found is None or not found.measured:
        found = _besides_server(known, nfsd) or _since_mount(mount) or found
    if found is None:
        return None
    medians = [each.wire.quantile_ns(0.5) for each in known.values() if each.count >= nfs_policy.calls_for_median]
    ns = min([found.ns, *(float(median) for median in medians if median is not None)])
    return replace(found, ns=ns, error_ns=max(found.error_ns, found.ns - ns))


def _seen(known: Mapping[str, Procedure], probe: str) -> RoundTrip | None:
    found = []
    for name in CHEAP:
        each = known.get(name)
        if each is None or not each.count:
            continue
        mean, median = each.wire.sum_ns / each.count, each.wire.quantile_ns(0.5)
        words = f"mean of {each.count:,} {name}"
        if each.count < nfs_policy.calls_for_median or median is None:
            found.append(RoundTrip(mean, mean / 2, words, probe, measured=each.count >= nfs_policy.calls_for_median))
        elif mean <= nfs_policy.stalls_mean_factor * median:
            found.append(
                RoundTrip(
                    mean, max(_doubt_ns(each.wire), nfs_policy.bucket_error_share * mean), words, probe, measured=True
                )
            )
        else:
            error_ns = max(_doubt_ns(each.wire), nfs_policy.bucket_error_share * median)
            found.append(RoundTrip(median, error_ns, f"p50 of {each.count:,} {name}", probe, measured=True))
    measured = [each for each in found if each.measured]
    return min(measured or found, key=lambda each: each.ns, default=None)


def _doubt_ns(distribution: Distribution) -> float:
    """Return how far the middle of so many calls may be from that of all such: their spread, by the root of n."""
    low, high = distribution.quantile_ns(0.1), distribution.quantile_ns(0.9)
    return ((high or 0) - (low or 0)) / 2 / math.sqrt(distribution.count)


def _besides_server(known: Mapping[str, Procedure], nfsd: Served) -> RoundTrip | None:
    """Estimate the round trip by the calls of which the least time was outside of the server."""
    found = []
    for name, each in known.items():
        part = nfsd.parts.get(name)
        if part and min(part.count, each.count) >= nfs_policy.calls_for_median:
            outside_ns = max(0.0, each.wire.sum_ns / each.count - part.sum_ns / part.count)
            words = f"mean of {each.count:,} {name} less nfsd's time"
            found.append(RoundTrip(outside_ns, outside_ns / 2, words, "svc_stats_latency"))
    return min(found, key=lambda each: each.ns, default=None)


def _since_mount(mount: NfsMount | None) -> RoundTrip | None:
    calls = [mount.since_mount[name] for name in CHEAP if name in mount.since_mount] if mount else []
    count = sum(each.count for each in calls)
    if count < nfs_policy.calls_for_median:
        return None
    mean = sum(each.answer_ns for each in calls) / count
    return RoundTrip(mean, mean / 2, f"mean of {count:,} cheap calls since the mount", "/proc/self/mountstats")
