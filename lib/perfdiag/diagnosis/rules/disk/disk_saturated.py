"""A rule on disks at their limit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from perfdiag.diagnosis.evidence.disk.backing_disks import DISK, STREAM_BYTES, Requests
from perfdiag.diagnosis.evidence.disk.device_load import Waited, hardly_waits, waited
from perfdiag.diagnosis.evidence.disk.other_users import neighbours
from perfdiag.diagnosis.evidence.target import again
from perfdiag.diagnosis.rule import Check, Confidence, Evidence, Finding, Mechanism, Outcome, Severity, Silence, rule
from perfdiag.diagnosis.significance import (
    brief,
    duration,
    fault,
    fix,
    judged,
    percent,
    plain,
    size,
    together,
    typical_ns,
    worth,
)
from perfdiag.facts.host_facts import Disk, DiskActivity
from perfdiag.model.model import Model

# A disk with a request in flight 95 % of the time never rests; one that turns serves one at a time, others several.
BUSY = 0.95
IN_FLIGHT = {"rotational": 2.0, "solid": 4.0, "unknown": 4.0}
# Why a disk that never rests may yet do more.
_LIMITS = {
    "unknown": "what such a virtual or unknown disk can do is not known",
    "solid": "flash serves many requests at once: always busy is not yet full",
}


@rule(
    "DISK-SATURATED",
    title="A disk is at its limit",
    accounts=DISK,
    meaning="The disk never rests, several requests are always in flight, and each takes longer than it should: it does"
    " as much as it can. Waits come from the amount of work, whoever asks for it.",
    measured="Busy time and mean number of requests in flight of the disks below the device (diskstats, begin to end of"
    " the window), with the mean time of a request against the norm of the medium; joined by device with the target's"
    " exact waits, of which all but one request's part is claimed. One stream of large requests (256 KiB and more) is"
    " profile, if it is not known to be others': it is meant to use all there is.",
    alternatives="A provisioned limit of a network volume (operations or bytes a second stand at a round number); a"
    " member of an array that is slower than the others (DISK-MEMBER-SLOW).",
    remedies="Less work (cache, batch, other time of day), more or faster disks, a larger provisioned limit.",
    verify="iostat -x 1: %util and aqu-sz fall, r_await and w_await with them.",
    beats=(
        "DISK-QUEUEING",
        "DISK-FLUSH-SLOW",
        "DISK-READ-SLOW",
        "DISK-WRITE-SLOW",
        "DIR-HUGE",
        "STORAGE-LOOP",
    ),
)
def saturated(model: Model) -> Iterable[Outcome]:
    """Join diskstats of the disks with the target's waits, by device."""
    devices = waited(model)
    if not devices:
        yield hardly_waits(model, "DISK-SATURATED", "full disks")
    for item in devices:
        yield from _saturated(model, item)


@dataclass(frozen=True)
class _Load:
    """What one disk did over the window, whoever asked."""

    name: str
    busy: float  # share of the window
    in_flight: float  # mean
    requests: int
    bytes: int
    mean_ns: float  # of a request
    seconds: float

    @property
    def streams(self) -> bool:
        """Whether requests are large: then a disk is meant to be busy."""
        return self.bytes / self.requests >= STREAM_BYTES


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
            f"how busy the disks under {item.where.name} were is not known:"
            f" {model.facts.reason('disks') or 'no counters recorded'}",
            "iostat -x 1",
        )
    for load in loads:
        claims = item.claims((1 - 1 / load.in_flight) / len(item.where.disks)) if _full(item, load) else {}
        if worth(model, sum(claims.values())):
            yield _finding(model, item, load, claims)
        else:
            text = f"{load.name} busy {percent(min(1.0, load.busy))}, {load.in_flight:.1f} requests in flight"
            yield Check("DISK-SATURATED", text, load.busy, "share", large=load.busy >= BUSY)


def _full(item: Waited, load: _Load) -> bool:
    """Return whether a disk can do no more, and the target feels it."""
    norm_ns = item.where.norm_ns(Requests(load.requests, load.bytes, item.requests.queue, item.requests.service))
    felt = typical_ns(together(item.rows)) >= norm_ns  # others may fill a disk whose scheduler favours the target
    queued = load.busy >= BUSY and load.in_flight >= IN_FLIGHT[item.where.medium]
    return felt and queued and load.mean_ns >= norm_ns


def _finding(model: Model, item: Waited, load: _Load, claims: dict[str | tuple[str, str], int]) -> Finding:
    per_second, bytes_per_second = load.requests / load.seconds, load.bytes / load.seconds
    others = neighbours(model, item.where, item.rows)
    confidence, limits = judged(model, Confidence.HIGH, [_LIMITS.get(item.where.medium, "")])
    return Finding(
        "DISK-SATURATED",
        Severity.INFO if load.streams and not others else fault(model, sum(claims.values())),
        confidence,
        f"{load.name} is at its limit: busy {percent(min(1.0, load.busy))} of the time with {load.in_flight:.1f}"
        f" requests in flight, {duration(load.mean_ns)} each{f'; {others.words}' if others else ''}.",
        claims,
        [
            Evidence(
                f"{load.name}: {per_second:,.0f} requests and {size(bytes_per_second)} a second",
                per_second,
                "1/s",
                "diskstats",
            ),
            Evidence(f"{load.in_flight:.1f} requests in flight", load.in_flight, "count", "diskstats"),
            *([others.evidence] if others else []),
        ],
        [
            *([others.remedy] if others else []),
            fix("less work for this disk: a larger cache, batches, backups and scans at another time"),
            fix("more or faster disks; for a network volume a larger provisioned limit, if the rates stand at it"),
        ],
        alternatives=[
            "a provisioned limit of a network volume",
            *([] if others else ["other processes on the same disk"]),
        ],
        limits=limits,
        verify=f"{again(model)}; iostat -x 1: %util, aqu-sz, await",
        headline=f"Disk {brief(load.name)} is at its limit{', mostly for other processes' if others else ''}",
        mechanism=Mechanism.BUSY,
    )


__all__ = ["saturated"]
