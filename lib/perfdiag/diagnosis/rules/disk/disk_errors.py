"""DISK-ERRORS: failed requests, disk errors in the kernel log, arrays with a missing member."""

import shlex
from collections.abc import Iterable, Sequence

from perfdiag.common.units import plural
from perfdiag.diagnosis.evidence.disk.backing_disks import DISK, Backing, backing, device_of
from perfdiag.diagnosis.evidence.disk.device_load import hardly_waits
from perfdiag.diagnosis.evidence.disk.health_checks import health_of
from perfdiag.diagnosis.evidence.fix_checks import checked, measured
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import disk_policy
from perfdiag.diagnosis.rule import Check, Claim, Evidence, Finding, Mechanism, Outcome, Remedy, Severity, Silence, rule
from perfdiag.diagnosis.significance import brief, duration, fix, plain, share_above
from perfdiag.facts.host_facts import Disk, LogLine
from perfdiag.model.model import Model, once
from perfdiag.recording import schema

# A refused discard or device query says nothing about health.
FAILING = ("read", "write", "flush")


@rule(
    "DISK-ERRORS",
    title="A disk reports errors",
    accounts=DISK,
    meaning=(
        "Requests to a disk failed, the kernel log reports timeouts, resets or media errors of it, or its array runs"
        " without a member. Look at this before any tuning: data may be at risk."
    ),
    measured=(
        "Failed reads, writes and flushes per disk, kernel log lines in the window, and the array's degraded count."
        " Waits over 1 s on the device are claimed: only retries and timeouts take that long."
    ),
    alternatives="A removed device, a multipath failover, a detached network volume, or an injected test error.",
    remedies="Save the data, replace the disk, cable or volume, and re-add the member.",
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
    met=False,
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
            "failed requests were not measured, and the kernel log could not be read",
            "dmesg --level err,warn",
        )
        return
    requests = sum(line.count for line in model.devices if line.operation in FAILING)
    looked = [f"{requests:,} requests, none failed"] if model.measured("block") else []
    said = "no error in the kernel log" + (", which is incomplete" if log and log.incomplete else "")
    looked.append(said if log is not None else "kernel log not readable")
    yield Check("DISK-ERRORS", "; ".join(looked), 0.0, "count")


def _errors(model: Model, where: Backing) -> Iterable[Finding]:
    lines = [
        line for disk in where.disks for line in model.devices_of(disk) if line.operation in FAILING and line.errors
    ]
    failed = sum(line.errors for line in lines)
    disks = model.facts.disks
    names = {name for device in where.paths if (disk := disks.get(device)) for name in _names(disk)}
    log = [line for line in _trouble(model) if line.device in names]
    recent = [line for line in log if line.in_window]
    array = disks.get(where.device)
    missing = array.degraded if array is not None and array.degraded else 0
    if not (failed or log or missing):
        return
    claims = _timeouts(model, where)
    timeouts, now = sum(claims.values()), bool(failed or recent)
    severity = Severity.CRITICAL if now else Severity.WARNING if missing else Severity.INFO
    what = [f"{failed:,} requests failed"] if failed else []
    what += [f"errors in {plural(len(recent), 'kernel log line')}"] if recent else []
    what += [f"its array has {plural(missing, 'missing member')}"] if missing else []
    what += [] if now or missing else [f"errors in {plural(len(log), 'kernel log line')} before this window"]
    state = "reports errors" if now else "runs without all members" if missing else "had errors before"
    yield conclude(
        model,
        claims,
        headline=f"Disk {brief(where.name)} {state}",
        claim=f"Disk {where.name}: {', '.join(what)}.",
        mechanism=Mechanism.FAILED,
        severity=severity,
        doubts=[
            "" if model.facts.kernel_log is not None else "the kernel log could not be read",
            "" if model.measured("block") else "failed requests were not measured",
        ],
        evidence=[
            *(_failed(model, line) for line in lines[:3]),
            *(
                Evidence(f"kernel log: {plain(line.text)[:160]}", 1.0, "count", "/dev/kmsg")
                for line in (recent or log)[-2:]
            ),
            *(
                [Evidence(f"{duration(timeouts)} in waits over 1 s", float(timeouts), "ns", "ledger")]
                if timeouts
                else []
            ),
        ],
        remedies=_remedies(_failing(model, where, [line.device for line in lines]), missing),
        alternatives=["a multipath failover", "a detached volume"],
        verify=_check(model, where, missing),
    )


def _check(model: Model, where: Backing, missing: int) -> str:
    array = model.facts.disks.get(where.device)
    if missing and array:
        return checked(f"cat /sys/block/{shlex.quote(array.whole)}/md/degraded", f"0, now {missing}")
    names = (plain(disk.name) for device in where.disks if (disk := model.facts.disks.get(device)))
    patterns = " ".join(f"-e {shlex.quote(name)}" for name in names)
    if not patterns:
        return measured(model, "no request fails")
    return checked(f"dmesg -T | grep -w {patterns} | tail", "no line later than the repair")


def _timeouts(model: Model, where: Backing) -> dict[Claim, int]:
    """Return the waits for the device long enough for a command timeout."""
    claims: dict[Claim, int] = {}
    for row in model.rows_of(*DISK):
        if device_of(row) == where.device:
            ns = round(row.distribution.sum_ns * share_above(row.distribution, disk_policy.timeout_ns))
            if ns:
                claims[row.account, row.key] = claims.get((row.account, row.key), 0) + ns
    return claims


def _failed(model: Model, line: schema.Device) -> Evidence:
    disk = plain(model.facts.disk_name(line.device))
    text = f"{line.errors:,} of {line.count:,} {line.operation} requests of {disk} failed"
    return Evidence(text, float(line.errors), "count", "block_rq_complete")


def _failing(model: Model, where: Backing, devices: Sequence[str]) -> Disk | None:
    """Return the disk that failed requests, else the only one that may be meant."""
    if not devices and len(where.disks) > 1:
        return None
    return model.facts.disks.get((*devices, *where.disks)[0]) if devices or where.disks else None


def _remedies(disk: Disk | None, missing: int) -> list[Remedy]:
    found = [fix(f"save the data first; then check {health_of(disk)}; replace what fails")]
    if missing:
        found.append(fix(f"before you re-add the missing member (mdadm --detail), check {health_of(None)}"))
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
