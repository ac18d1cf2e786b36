"""DISK-THROTTLED: an I/O limit of the cgroup delays requests before the device."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from perfdiag.diagnosis.evidence.disk.backing_disks import DISK, Backing, device_of
from perfdiag.diagnosis.evidence.disk.device_load import hardly_waits
from perfdiag.diagnosis.evidence.disk.disk_waits import KINDS, Case, case_of
from perfdiag.diagnosis.evidence.fix_checks import shorter
from perfdiag.diagnosis.evidence.target import setting, subject
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import disk_policy
from perfdiag.diagnosis.rule import Check, Evidence, Finding, Mechanism, Outcome, Remedy, Silence, rule
from perfdiag.diagnosis.significance import (
    about,
    brief,
    by_key,
    duration,
    fix,
    percent,
    plain,
    size,
    total_ns,
    worth,
)
from perfdiag.facts.host_facts import IoGroup
from perfdiag.model.model import Model

# The limits for each kind of wait, with the counter of their use.
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


@dataclass(frozen=True)
class Limit:
    """One limit on one device."""

    group: IoGroup
    device: str
    key: str  # rbps, wbps, riops, wiops
    value: int
    used: float | None  # part used in the window; None: no counter


@rule(
    "DISK-THROTTLED",
    title="An I/O limit of the cgroup delays requests",
    accounts=DISK,
    meaning=(
        "The target's cgroup (or a parent) has used up its limit of operations or bytes per second on this device."
        " Requests wait before they reach the device; the device is not slow."
    ),
    measured=(
        "Waits far longer than the requests of the disks, joined with the limits of the target's cgroups (io.max,"
        " blkio.throttle.*) and their use in the window (io.stat)."
    ),
    alternatives=(
        "A device-mapper layer delays requests, io.latency or io.cost of the cgroup (no limit shows), or the file"
        " system's journal waits for other writers."
    ),
    remedies="Raise the limit, or move less data.",
    verify="The wait falls to the device's own time, and io.stat grows faster than the old limit.",
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
    """Judge waits beyond the device's own time by the I/O limits."""
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
                    f"waits on {name} are longer than its requests, and the cgroup's I/O limit is unknown:"
                    f" {model.facts.reason('io_groups') or 'no group recorded'}",
                    f"read io.max of {subject(model)}'s cgroup (/proc/PID/cgroup)",
                )
            continue
        tightest = max(limits, key=lambda limit: limit.used if limit.used is not None else 0.0)
        most = tightest.used if tightest.used is not None else _most(model, case, tightest)
        reached = most is None or most >= disk_policy.at_limit_share
        if not reached or (case.chain.count and not case.above):
            used = "unknown" if most is None else percent(most)
            felt = f", but {KINDS[account].nouns} are as fast as the device" if reached else ""
            yield Check(
                "DISK-THROTTLED",
                f"I/O limit {tightest.key} on {name}: {used} used{felt}",
                most or 0.0,
                "share",
                large=reached,
            )
            continue
        yield _finding(model, account, case, tightest)


def _most(model: Model, case: Case, limit: Limit) -> float | None:
    """Return the largest possible use of a limit: by all requests to the disk."""
    seconds = model.window_ns / 1e9
    requests = case.chain
    if not requests.count or not seconds:
        return None
    return (requests.bytes if limit.key.endswith("bps") else requests.count) / seconds / limit.value


def _finding(model: Model, account: str, case: Case, limit: Limit) -> Finding:
    ns, kind = total_ns(case.rows), KINDS[account]
    claimed = case.lost_ns
    used = f", {percent(min(1.0, limit.used))} used" if limit.used is not None else ""
    value = f"{size(limit.value)}/s" if limit.key.endswith("bps") else f"{limit.value:,} operations/s"
    device = f"; the disk answers in {about(case.chain.typical_ns)}" if case.chain.count else ""
    return conclude(
        model,
        {(account, case.rows[0].key): claimed},
        headline=f"io.max of cgroup {brief(plain(limit.group.path))} slows {kind.nouns} on {brief(case.where.name)}",
        claim=(
            f"Cgroup {plain(limit.group.path)} is limited to {value} ({limit.key}) on {case.where.name}."
            f" Its {kind.nouns} wait {about(case.wait_ns)}{device}."
        ),
        mechanism=Mechanism.LIMIT,
        doubts=[
            "" if limit.used is not None else "the use of the limit is not counted here",
            "" if case.chain.count else "the device's own times are unknown",
        ],
        evidence=[
            Evidence(f"limit {limit.key}={limit.value}{used}", float(limit.value), "1/s", f"{limit.group.path}/io.max"),
            Evidence(f"{duration(ns)} in {case.wait.count:,} {kind.counted}", float(ns), "ns", "ledger"),
        ],
        remedies=[_raised(limit), fix(kind.fewer)],
        alternatives=["a device-mapper layer delays requests", "io.latency or io.cost of the cgroup"],
        verify=shorter(
            model,
            f"{kind.nouns} on {case.where.name}",
            case.wait_ns,
            disk_policy.above_device_ns + case.chain.typical_ns,
        ),
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
    path, wanted = limit.group.path, disk_policy.trial_limit_factor * limit.value
    if limit.group.version == 2:
        return setting(
            f"{path}/io.max", f"{limit.device} {limit.key}={wanted}", f"{limit.device} {limit.key}={limit.value}"
        )
    return setting(f"{path}/{VERSION_1_FILES[limit.key]}", f"{limit.device} {wanted}", f"{limit.device} {limit.value}")
