"""DISK-SATURATED: a disk is at its limit."""

import shlex
from collections.abc import Iterable
from dataclasses import dataclass

from perfdiag.diagnosis.evidence.disk.backing_disks import DISK, Requests
from perfdiag.diagnosis.evidence.disk.device_load import Waited, hardly_waits, waited
from perfdiag.diagnosis.evidence.disk.other_users import Neighbours, neighbours
from perfdiag.diagnosis.evidence.fix_checks import checked
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import disk_policy
from perfdiag.diagnosis.rule import Check, Claim, Evidence, Finding, Mechanism, Outcome, Severity, Silence, rule
from perfdiag.diagnosis.significance import (
    brief,
    duration,
    fault,
    fix,
    percent,
    plain,
    size,
    together,
    typical_ns,
    worth,
)
from perfdiag.facts.host_facts import Disk, DiskActivity
from perfdiag.model.model import Model

IN_FLIGHT = {"rotational": 2.0, "solid": 4.0, "unknown": 4.0}
# Why an always busy disk may still do more.
_LIMITS = {
    "unknown": "the limit of this virtual or unknown disk is unknown",
    "solid": "flash serves many requests at once: always busy does not mean full",
}


@rule(
    "DISK-SATURATED",
    title="A disk is at its limit",
    accounts=DISK,
    meaning=(
        "The disk is always busy, several requests are in flight, and each takes longer than usual for such a disk."
        " Waits come from the amount of work of all processes."
    ),
    measured=(
        "Busy time and mean requests in flight (diskstats), and the mean request time against the usual one of the"
        " medium. All but one request's part of the target's waits is claimed. One stream of large requests (256 KiB"
        " or more) is a profile unless it is known to be another process."
    ),
    alternatives=(
        "A provisioned limit of a network volume (a round number of operations or bytes per second), or a slow array"
        " member (DISK-MEMBER-SLOW)."
    ),
    remedies=(
        "Do less work (cache, batch, other time of day), add disks, use faster ones, or raise the provisioned limit."
    ),
    verify="In iostat -x 1, %util is under 95 and aqu-sz is smaller.",
    beats=(
        "DISK-QUEUEING",
        "DISK-FLUSH-SLOW",
        "DISK-READ-SLOW",
        "DISK-WRITE-SLOW",
        "DIR-HUGE",
        "STORAGE-LOOP",
    ),
    met=False,
)
def saturated(model: Model) -> Iterable[Outcome]:
    """Judge the target's waits by diskstats of the disks."""
    devices = waited(model)
    if not devices:
        yield hardly_waits(model, "DISK-SATURATED", "saturated disks")
    for item in devices:
        yield from _saturated(model, item)


@dataclass(frozen=True)
class _Load:
    """What one disk did over the window, for all processes."""

    name: str
    busy: float  # share of the window
    in_flight: float  # mean
    requests: int
    bytes: int
    mean_ns: float  # of a request
    seconds: float

    @property
    def streams(self) -> bool:
        """Whether requests are large: a streaming disk should be busy."""
        return self.bytes / self.requests >= disk_policy.stream_request_bytes


def _load(disk: Disk, activity: DiskActivity, window_ns: int) -> _Load:
    requests = activity.reads + activity.writes
    return _Load(
        name=plain(disk.name),
        busy=activity.busy_ns / window_ns,
        in_flight=activity.weighted_ns / window_ns,
        requests=requests,
        bytes=activity.read_bytes + activity.written_bytes,
        mean_ns=(activity.read_ns + activity.write_ns) / requests if requests else 0.0,
        seconds=window_ns / 1e9,
    )


def _saturated(model: Model, item: Waited) -> Iterable[Outcome]:
    disks = [disk for device in item.where.disks if (disk := model.facts.disks.get(device))]
    loads = [_load(disk, disk.activity, model.window_ns) for disk in disks if disk.activity and model.window_ns]
    if not loads:
        yield Silence(
            "DISK-SATURATED",
            f"the utilization of the disks under {item.where.name} is unknown:"
            f" {model.facts.reason('disks') or 'no counters recorded'}",
            "iostat -x 1",
        )
    others = neighbours(model, item.where, item.rows)
    for load in loads:
        claims = item.claims((1 - 1 / load.in_flight) / len(item.where.disks)) if _full(item, load) else {}
        # A target that comes last by its I/O class waits at any disk that others keep busy.
        if worth(model, sum(claims.values())) and not (others and others.held_back):
            yield _finding(model, item, load, claims, others)
        else:
            text = f"{load.name} busy {percent(min(1.0, load.busy))}, {load.in_flight:.1f} requests in flight"
            yield Check("DISK-SATURATED", text, load.busy, "share", large=load.busy >= disk_policy.saturated_share)


def _full(item: Waited, load: _Load) -> bool:
    """Return whether a disk is at its limit and the target suffers."""
    norm_ns = item.where.norm_ns(Requests(load.requests, load.bytes, item.requests.queue, item.requests.service))
    felt = typical_ns(together(item.rows)) >= norm_ns  # the scheduler may favour the target on a full disk
    queued = load.busy >= disk_policy.saturated_share and load.in_flight >= IN_FLIGHT[item.where.medium]
    return felt and queued and load.mean_ns >= norm_ns


def _finding(model: Model, item: Waited, load: _Load, claims: dict[Claim, int], others: Neighbours | None) -> Finding:
    per_second, bytes_per_second = load.requests / load.seconds, load.bytes / load.seconds
    return conclude(
        model,
        claims,
        headline=f"Disk {brief(load.name)} is at its limit{f', mostly for {others.who}' if others else ''}",
        claim=(
            f"{load.name} is busy {percent(min(1.0, load.busy))} of the time with {load.in_flight:.1f} requests in"
            f" flight, {duration(load.mean_ns)} each.{f' {others.sentence}' if others else ''}"
        ),
        mechanism=Mechanism.BUSY,
        severity=Severity.INFO if load.streams and not others else fault(model, sum(claims.values())),
        doubts=[_LIMITS.get(item.where.medium, "")],
        evidence=[
            *([others.evidence] if others else []),
            Evidence(
                f"{per_second:,.0f} requests/s, {size(bytes_per_second)}/s on {load.name}",
                per_second,
                "1/s",
                "diskstats",
            ),
            Evidence(f"{load.in_flight:.1f} requests in flight", load.in_flight, "count", "diskstats"),
        ],
        remedies=[
            *([others.remedy] if others else []),
            fix("give this disk less work: fewer, larger requests, backups and scans at another time"),
            fix("use more or faster disks; raise the provisioned limit of a network volume if the rates match it"),
        ],
        others=others.others if others else (),
        alternatives=[
            "a provisioned limit of a network volume",
            *([] if others else ["other processes on the same disk"]),
        ],
        verify=checked(
            f"iostat -x 1 {shlex.quote(load.name)}",
            f"%util under {percent(disk_policy.saturated_share)}, now {percent(min(1.0, load.busy))};"
            f" aqu-sz under {IN_FLIGHT[item.where.medium]}, now {load.in_flight:.1f}",
        ),
    )
