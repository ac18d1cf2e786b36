"""A rule on disks that fail: requests that came back with an error, the kernel log, arrays that lack a member."""

from __future__ import annotations

from collections.abc import Iterable

from perfdiag.diagnosis.evidence.disk.backing_disks import DISK, Backing, backing, device_of
from perfdiag.diagnosis.evidence.disk.device_load import hardly_waits
from perfdiag.diagnosis.rule import (
    Check,
    Confidence,
    Evidence,
    Finding,
    Mechanism,
    Outcome,
    Remedy,
    Severity,
    Silence,
    rule,
)
from perfdiag.diagnosis.significance import brief, duration, fix, judged, plain, share_above
from perfdiag.facts.host_facts import Disk, LogLine
from perfdiag.model.model import Model, once
from perfdiag.recording import schema

# Waits over a second (a bucket's edge) are retries and timeouts, never a healthy disk.
TIMEOUT_NS = 1_073_741_824
# A discard or a query of the device that is refused says nothing about its health.
FAILING = ("read", "write", "flush")


@rule(
    "DISK-ERRORS",
    title="A disk reports errors",
    accounts=DISK,
    meaning="Requests of a disk the target waits on failed in the window, the kernel log names it with timeouts, resets"
    " or media errors, or its array runs without a member. Look at this before any tuning: data may be at stake.",
    measured="Failed reads, writes and flushes of the disks below the device (from the requests), lines of the kernel"
    " log in the window that name one of them, and the degraded count of its array; joined by device. Waits over 1 s on"
    " the device, which only retries and timeouts make, are claimed.",
    alternatives="A removed device, a path that failed over, a network volume that was detached, an error injected by a"
    " test.",
    remedies="Save the data, replace disk, cable or volume; re-add the member.",
    verify="No new line in the kernel log, no failed request, degraded 0.",
    beats=(
        "DISK-MEMBER-SLOW",
        "DISK-SATURATED",
        "DISK-QUEUEING",
        "DISK-THROTTLED",
        "DISK-FLUSH-SLOW",
        "DISK-READ-SLOW",
        "DISK-WRITE-SLOW",
        "DIR-HUGE",
        "MEM-CACHE-MISSES",
        "STORAGE-LOOP",
    ),
)
def errors(model: Model) -> Iterable[Outcome]:
    """Join failed requests, kernel log and array state with the devices the target waits on."""
    devices = list(dict.fromkeys(device for row in model.rows_of(*DISK) if (device := device_of(row))))
    if not devices:
        yield hardly_waits(model, "DISK-ERRORS", "disk errors")
        return
    found = False
    for device in devices:
        for finding in _errors(model, backing(model, device)):
            found = True
            yield finding
    log = model.facts.kernel_log
    if found:
        return
    if not model.measured("block") and log is None:
        yield Silence(
            "DISK-ERRORS",
            "failed requests were not measured and the kernel log could not be read",
            "dmesg --level err,warn",
        )
        return
    requests = sum(line.count for line in model.devices if line.operation in FAILING)
    looked = [f"{requests:,} requests, none failed"] if model.measured("block") else []
    said = "kernel log silent" + (", as far as it was kept" if log and log.incomplete else "")
    looked.append(said if log is not None else "kernel log not readable")
    yield Check("DISK-ERRORS", "; ".join(looked), 0.0, "count")


def _errors(model: Model, where: Backing) -> Iterable[Finding]:
    lines = [line for line in model.devices if line.device in where.disks and line.operation in FAILING and line.errors]
    failed = sum(line.errors for line in lines)
    names = {name for device in where.paths if (disk := model.facts.disks.get(device)) for name in _names(disk)}
    log = [line for line in _trouble(model) if line.device in names]
    recent = [line for line in log if line.in_window]
    array = model.facts.disks.get(where.device)
    missing = array.degraded if array is not None and array.degraded else 0
    if not (failed or log or missing):
        return
    claims = _timeouts(model, where)
    timeouts, now = sum(claims.values()), bool(failed or recent)
    severity = Severity.CRITICAL if now else Severity.WARNING if missing else Severity.INFO
    confidence, limits = judged(
        model,
        Confidence.HIGH,
        [
            "" if model.facts.kernel_log is not None else "the kernel log could not be read",
            "" if model.measured("block") else "failed requests were not measured",
        ],
    )
    what = [f"{failed:,} of its requests failed"] if failed else []
    what += [f"{len(recent)} lines in the kernel log name it"] if recent else []
    what += [f"its array lacks {missing} member{'s' * (missing > 1)}"] if missing else []
    what += [] if now or missing else [f"{len(log)} lines in the kernel log named it before this window"]
    yield Finding(
        "DISK-ERRORS",
        severity,
        confidence,
        f"The disk under {where.name} is in trouble: {', '.join(what)}.",
        claims,
        [
            *(_failed(model, line) for line in lines[:3]),
            *(
                Evidence(f"kernel log: {plain(line.text)[:160]}", 1.0, "count", "/dev/kmsg")
                for line in (recent or log)[-2:]
            ),
            *(
                [Evidence(f"waits over 1 s took {duration(timeouts)}", float(timeouts), "ns", "ledger")]
                if timeouts
                else []
            ),
        ],
        _remedies(missing),
        alternatives=["a path that failed over", "a volume that was detached"],
        limits=limits,
        verify="dmesg shows no new line; no failed request in the next report",
        headline=f"The disk under {brief(where.name)} {'fails requests' if now else 'is in trouble'}",
        mechanism=Mechanism.FAILED,
    )


def _timeouts(model: Model, where: Backing) -> dict[str | tuple[str, str], int]:
    """Return the waits for the device that lasted until a command timed out."""
    claims: dict[str | tuple[str, str], int] = {}
    for row in model.rows_of(*DISK):
        if device_of(row) == where.device:
            ns = round(row.distribution.sum_ns * share_above(row.distribution, TIMEOUT_NS))
            if ns:
                claims[row.account, row.key] = claims.get((row.account, row.key), 0) + ns
    return claims


def _failed(model: Model, line: schema.Device) -> Evidence:
    disk = plain(model.facts.disk_name(line.device))
    text = f"{line.errors:,} of {line.count:,} {line.operation} requests of {disk} failed"
    return Evidence(text, float(line.errors), "count", "block_rq_complete")


def _remedies(missing: int) -> list[Remedy]:
    found = [
        fix(
            "save the data first; then smartctl -a on the disk, its cable and port, or the provider's state of the"
            " volume; replace what fails"
        )
    ]
    if missing:
        found.append(fix("check the missing member (mdadm --detail names it, smartctl -a) before it is added again"))
    return found


def _names(disk: Disk) -> tuple[str, ...]:
    return (disk.name, disk.whole)


@once
def _trouble(model: Model) -> list[LogLine]:
    log = model.facts.kernel_log
    if log is None:
        return []
    found = {
        id(line): line
        for lines in (log.io_errors, log.device_errors, log.resets, log.filesystem_errors)
        for line in lines
    }
    return sorted(found.values(), key=lambda line: line.at_ns)


__all__ = ["errors"]
