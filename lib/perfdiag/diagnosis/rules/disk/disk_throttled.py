"""A rule on I/O limits of control groups, which hold requests back before any device sees them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from perfdiag.diagnosis.evidence.disk.backing_disks import DISK, Backing, device_of
from perfdiag.diagnosis.evidence.disk.device_load import hardly_waits
from perfdiag.diagnosis.evidence.disk.disk_waits import KINDS, Case, case_of
from perfdiag.diagnosis.evidence.target import again, setting, subject
from perfdiag.diagnosis.rule import Check, Confidence, Evidence, Finding, Mechanism, Outcome, Remedy, Silence, rule
from perfdiag.diagnosis.significance import (
    about,
    brief,
    by_key,
    duration,
    fault,
    fix,
    judged,
    percent,
    plain,
    size,
    total_ns,
    worth,
)
from perfdiag.facts.host_facts import IoGroup
from perfdiag.model.model import Model

# Limits that can hold a wait of each account back, with the counter that shows how much of it is used.
LIMITS: Mapping[str, Mapping[str, str]] = {
    "disk.read": {"rbps": "rbytes", "riops": "rios"},
    "disk.write": {"wbps": "wbytes", "wiops": "wios"},
    "disk.flush": {"wbps": "wbytes", "wiops": "wios"},
}
VERSION_1_FILES = {
    "rbps": "blkio.throttle.read_bps_device",
    "wbps": "blkio.throttle.write_bps_device",
    "riops": "blkio.throttle.read_iops_device",
    "wiops": "blkio.throttle.write_iops_device",
}
# A group that moves four fifths of what it may is at its limit: the kernel grants it in slices, not smoothly.
AT_LIMIT = 0.8
# A trial limit is twice the present one: enough to see the effect, not enough to starve the neighbours it protects.
LIMIT_FACTOR = 2


@dataclass(frozen=True)
class Limit:
    """One limit on one device that could hold the target back."""

    group: IoGroup
    device: str
    key: str  # rbps, wbps, riops, wiops
    value: int
    used: float | None  # part of it that was moved in the window; None: no counter


@rule(
    "DISK-THROTTLED",
    title="An I/O limit of the cgroup holds requests back",
    accounts=DISK,
    meaning="The target's cgroup (or one above it) may do only so many operations or bytes a second on this device, and"
    " has used them up. Requests wait before they reach the device: the device itself is not slow.",
    measured="Waits by device (ledger) that are far longer than the requests of its disks took, queue and service"
    " time together; joined by device number with the limits of the target's cgroups (io.max, blkio.throttle.*), and"
    " with what the group moved in the window (io.stat) against that limit.",
    alternatives="A device-mapper layer that delays; io.latency or io.cost of the cgroup (no limit shows then); the"
    " file system's journal waiting for others.",
    remedies="Raise the limit, or move less data.",
    verify="The wait comes down to what the device needs; io.stat moves on faster than the old limit.",
    beats=(
        "DISK-SATURATED",
        "DISK-QUEUEING",
        "DISK-FLUSH-SLOW",
        "DISK-READ-SLOW",
        "DISK-WRITE-SLOW",
        "DIR-HUGE",
        "STORAGE-LOOP",
    ),
)
def throttled(model: Model) -> Iterable[Outcome]:
    """Join waits that the device does not explain with I/O limits, by device."""
    groups = {
        pair: rows
        for pair, rows in by_key(model.rows_of(*DISK)).items()
        if device_of(rows[0]) and worth(model, total_ns(rows))
    }
    if not groups:
        yield hardly_waits(model, "DISK-THROTTLED", "I/O limits")
    for (account, _), rows in groups.items():
        case = case_of(model, KINDS[account], rows)
        limits = _limits(model, account, case.where)
        name = case.where.name
        if not limits:
            if model.facts.io_groups or not case.above:
                yield Check("DISK-THROTTLED", f"no I/O limit on {name} for {KINDS[account].nouns}", 0.0, "count")
            else:
                yield Silence(
                    "DISK-THROTTLED",
                    f"waits on {name} are longer than its requests, and whether the cgroup has an"
                    f" I/O limit is not known: {model.facts.reason('io_groups') or 'no group recorded'}",
                    f"cat io.max of {subject(model)}'s cgroup (/proc/PID/cgroup)",
                )
            continue
        tightest = max(limits, key=lambda limit: limit.used if limit.used is not None else 0.0)
        most = tightest.used if tightest.used is not None else _most(model, case, tightest)
        reached = most is None or most >= AT_LIMIT
        if not reached or (case.chain.count and not case.above):
            used = "unknown" if most is None else percent(most)
            felt = f", {KINDS[account].nouns} as long as the device needs" if reached else ""
            yield Check(
                "DISK-THROTTLED",
                f"I/O limit {tightest.key} on {name} used to {used}{felt}",
                most or 0.0,
                "share",
                large=reached,
            )
            continue
        yield _finding(model, account, case, tightest)


def _most(model: Model, case: Case, limit: Limit) -> float | None:
    """Return how much of a limit can have been used at most: by all requests of the disk, whoever asked."""
    seconds = model.window_ns / 1e9
    requests = case.chain
    if not requests.count or not seconds:
        return None
    return (requests.bytes if limit.key.endswith("bps") else requests.count) / seconds / limit.value


def _finding(model: Model, account: str, case: Case, limit: Limit) -> Finding:
    ns, kind = total_ns(case.rows), KINDS[account]
    claimed = case.lost_ns
    confidence, limits = judged(
        model,
        Confidence.HIGH,
        [
            "" if limit.used is not None else "how much of the limit was used is not counted here",
            "" if case.chain.count else "the device's own times are not known",
        ],
    )
    used = f", used to {percent(min(1.0, limit.used))}" if limit.used is not None else ""
    value = f"{size(limit.value)} a second" if limit.key.endswith("bps") else f"{limit.value:,} operations a second"
    device = f", the disk answers in {about(case.chain.typical_ns)}" if case.chain.count else ""
    return Finding(
        "DISK-THROTTLED",
        fault(model, claimed),
        confidence,
        f"The cgroup {plain(limit.group.path)} may do {value} ({limit.key}) on {case.where.name}: {kind.nouns} wait"
        f" {about(case.wait_ns)}{device}.",
        {(account, case.rows[0].key): claimed},
        [
            Evidence(f"{limit.key}={limit.value}{used}", float(limit.value), "1/s", f"{limit.group.path}/io.max"),
            Evidence(f"{case.wait.count:,} {kind.nouns} took {duration(ns)}", float(ns), "ns", "ledger"),
        ],
        [_raised(limit), fix(f"move less: {kind.fewer}")],
        alternatives=["a device-mapper layer that delays", "io.latency or io.cost of the cgroup"],
        limits=limits,
        verify=f"{again(model)}: {account} on {case.where.name}, p50",
        headline=f"io.max of cgroup {brief(plain(limit.group.path))} slows {kind.nouns} on {brief(case.where.name)}",
        mechanism=Mechanism.LIMIT,
    )


def _limits(model: Model, account: str, where: Backing) -> list[Limit]:
    seconds = model.window_ns / 1e9
    found = []
    for group in model.facts.io_groups:
        for device in where.paths & group.limits.keys():
            for key, counter in LIMITS[account].items():
                value = group.limits[device].get(key)
                moved = group.counters.get(device, {}).get(counter)
                if value:
                    used = moved / seconds / value if moved is not None and seconds else None
                    found.append(Limit(group, device, key, value, used))
    return found


def _raised(limit: Limit) -> Remedy:
    path, wanted = limit.group.path, LIMIT_FACTOR * limit.value
    if limit.group.version == 2:
        return setting(
            f"{path}/io.max", f"{limit.device} {limit.key}={wanted}", f"{limit.device} {limit.key}={limit.value}"
        )
    return setting(f"{path}/{VERSION_1_FILES[limit.key]}", f"{limit.device} {wanted}", f"{limit.device} {limit.value}")


__all__ = ["throttled"]
