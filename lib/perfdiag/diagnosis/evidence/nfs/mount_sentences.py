"""Evidence for NFS rules: calls, options and round trip of a mount, and the server's own times."""

import shlex
from collections.abc import Iterable

from perfdiag.diagnosis.evidence.disk.backing_disks import requests_of
from perfdiag.diagnosis.evidence.nfs.mount_calls import Procedure
from perfdiag.diagnosis.evidence.nfs.wait_parts import COMMIT, Use
from perfdiag.diagnosis.policy import general_policy, nfs_policy
from perfdiag.diagnosis.rule import Evidence
from perfdiag.diagnosis.significance import about, duration, plain, size
from perfdiag.model.model import Model
from perfdiag.recording import schema
from perfdiag.recording.distribution import Distribution

# Options that decide how a mount behaves, as far as they are set.
TOLD = ("vers", "sync", "noac", "hard", "soft", "softerr", "nolock", "lookupcache", "rsize", "wsize", "nconnect")


def calls_evidence(use: Use, names: Iterable[str], most: int = 3) -> list[Evidence]:
    """Return the procedures that took most time: how often, and how long in the queue and on the wire."""
    known = {name: use.procedures[name] for name in names if use.procedures[name].count}
    largest = sorted(known.items(), key=lambda item: (-item[1].wire.sum_ns - item[1].queue.sum_ns, item[0]))[:most]
    return [_call(use, name, calls) for name, calls in largest]


def _call(use: Use, name: str, calls: Procedure) -> Evidence:
    wire = duration(calls.wire.sum_ns / calls.count)
    spread = ""
    if calls.wire.buckets and calls.count > 1:
        p99 = calls.wire.quantile_ns(0.99) if calls.count >= general_policy.waits_for_p99 else None
        spread = f" (p50 {about(calls.wire.quantile_ns(0.5) or 0)}{f', p99 {about(p99)}' if p99 else ''})"
    again = f", {calls.retransmits:,} sent again" if calls.retransmits else ""
    errors = f", {calls.errors:,} with an error" if calls.errors else ""
    return Evidence(
        f"{calls.count:,} {plain(name)}: queue {duration(calls.queue.sum_ns / calls.count)}, answer"
        f" {wire} each{spread}{again}{errors}",
        calls.wire.sum_ns / calls.count,
        "ns",
        use.probe,
    )


def trip_evidence(use: Use) -> list[Evidence]:
    """Return the round trip, with its error; nothing where it is not known."""
    trip = use.round_trip
    if trip is None:
        return []
    text = f"{duration(trip.ns)} +-{duration(trip.error_ns)} per round trip ({trip.words})"
    return [Evidence(text, trip.ns, "ns", trip.probe, error=trip.error_ns)]


def flush_evidence(use: Use) -> list[Evidence]:
    """Return what the target's flushes of files made the client send."""
    flushes = [flush for flush in use.flushes if flush.writes or flush.commits]
    count = sum(flush.count for flush in flushes)
    if not count:
        return []
    commits, writes = sum(flush.commits for flush in flushes), sum(flush.writes for flush in flushes)
    stable, bytes = sum(flush.stable_writes for flush in flushes), sum(flush.bytes for flush in flushes)
    causes = ", ".join(sorted({plain(flush.cause) for flush in flushes if flush.cause})) or "flush"
    whole = Distribution(0, 0, 0)
    for flush in flushes:
        whole = whole.merged(Distribution(flush.count, flush.sum_ns, flush.max_ns, dict(flush.buckets)))
    return [
        Evidence(
            f"{count:,} flushes ({causes}) of {duration(whole.sum_ns / count)} and {size(bytes / count)}: {commits:,}"
            f" COMMITs, {writes:,} WRITEs ({stable:,} FILE_SYNC)",
            float(count),
            "count",
            "nfs_fsync",
        )
    ]


def mount_evidence(use: Use) -> list[Evidence]:
    """Return the options that matter, and what was sent again or not answered."""
    found = []
    told = [f"{name}={value}" if (value := use.options[name]) else name for name in TOLD if name in use.options]
    if told:
        wsize = use.options.get("wsize", "")
        bytes = float(wsize) if wsize.isascii() and wsize.isdigit() and len(wsize) < 12 else 0.0
        found.append(Evidence(f"mounted with {plain(', '.join(told))}", bytes, "bytes", "mountinfo"))
    mount = use.mount
    if mount and (mount.retransmissions or mount.timeouts):
        found.append(
            Evidence(
                f"{mount.retransmissions:,} calls sent again, {mount.timeouts:,} major timeouts",
                float(mount.retransmissions),
                "count",
                "/proc/self/mountstats",
            )
        )
    return found


def own_program(use: Use) -> list[str]:
    """Return the procedures of NFS itself, without those of its lock manager and of calls back."""
    return [name for name in use.procedures if "." not in name]


def nfsd_part(use: Use) -> float | None:
    """Return the share of the calls' time that the server itself took, where it is this very host; None otherwise."""
    wire_ns, requests = use.calls(*own_program(use)).wire.sum_ns, use.nfsd.requests
    return min(1.0, requests.sum_ns / wire_ns) if requests.count and wire_ns else None


def nfsd_evidence(use: Use, names: Iterable[str] = ()) -> list[Evidence]:
    """Return what the server itself took, where it is this very host; of the procedures `names` also apart."""
    requests = use.nfsd.requests
    calls = use.calls(*own_program(use))
    if not requests.count or not calls.count:
        return []
    lines = [use.nfsd.parts[name] for name in names if name in use.nfsd.parts]
    apart = ", ".join(f"{plain(line.procedure)} {duration(line.sum_ns / line.count)}" for line in lines)
    mean_ns = requests.sum_ns / requests.count
    text = (
        f"{duration(mean_ns)} in nfsd per request (this host is the server; {requests.count:,} requests"
        f"{f': {apart}' if apart else ''}) of {duration(calls.wire.sum_ns / calls.count)} per answer"
    )
    return [Evidence(text, mean_ns, "ns", "svc_stats_latency")]


def server_of(use: Use) -> str:
    """Return the name or address of the server, as a command would have it."""
    return shlex.quote(plain(use.source.rpartition(":")[0].strip("[]"))) if use.source else "SERVER"


def disk_evidence(model: Model) -> list[Evidence]:
    """Return the flushes of this host's disks, for a server that is this host: the slowest disk's."""
    line = _flushed(model)
    if line is None:
        return []
    each_ns = requests_of([line]).mean_ns
    text = f"{line.count:,} flushes of {plain(model.facts.disk_name(line.device))}, {duration(each_ns)} each"
    return [Evidence(text, each_ns, "ns", "block_rq_complete")]


def above_disk(model: Model, use: Use) -> str:
    """Return what else it could be where this host's disks were flushed for less than half of its server's time."""
    line, requests = _flushed(model), use.nfsd.requests
    flushed_ns = line.queue_ns + line.service_ns if line else 0
    if not line or flushed_ns >= requests.sum_ns / 2:
        return ""
    name = plain(model.facts.disk_name(line.device))
    return (
        "layers between nfsd and its disks (file system, device-mapper), or its CPUs: flushes of"
        f" {name} took {duration(flushed_ns)} of nfsd's {duration(requests.sum_ns)}"
    )


def _flushed(model: Model) -> schema.Device | None:
    """Return the flushes of the disk that took most time for them."""
    flushes = [line for line in model.devices if line.operation == "flush" and line.count]
    return max(flushes, key=lambda each: (each.queue_ns + each.service_ns, each.device), default=None)


def doubts(model: Model, use: Use) -> list[str]:
    """Return what keeps the parts of this mount's time from being sure; empty texts for what does not."""
    lost = model.coverage.lost.get("rpc_full", 0)
    own = sum(flush.commits + flush.writes for flush in use.flushes)
    seen = use.calls("COMMIT", "WRITE").count
    return [
        "" if use.probe else "the calls of this mount were not counted: queue and server are not separated",
        f"the table of NFS calls was full for {lost:,} calls" if lost else "",
        "" if use.round_trip or not use.probe else "the round trip is unknown: no cheap call was seen",
        f"most of the {seen:,} WRITEs and COMMITs were for other processes"
        if use.flushes and use.rows.get(COMMIT) and own < nfs_policy.own_calls_share * seen
        else "",
        "calls are counted in milliseconds, without a distribution" if use.in_milliseconds else "",
    ]
