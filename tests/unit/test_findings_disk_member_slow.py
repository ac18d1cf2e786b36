"""DISK-MEMBER-SLOW and DISK-ERRORS: disks that hold their array back, disks that fail."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Confidence, Severity
from perfdiag.facts.host_facts import Disk, KernelLog, LogLine
from perfdiag.model.model import Model

from unit.support import Builder
from unit.support.disks import disk, disks
from unit.support.judging import check, finding, findings, knowing, silence
from unit.support.known import blank

MEMBER, ERRORS = "DISK-MEMBER-SLOW", "DISK-ERRORS"
NAMES = {"8:0": "sda", "8:16": "sdb", "8:32": "sdc", "8:48": "sdd"}


def array(
    times: dict[str, str],
    *,
    account: str = "disk.read",
    count: int = 200,
    wait: str = "20 ms",
    label: str = "raid0",
    block: bool = True,
    **kinds: Any,
) -> Model:
    """An array of these disks, each taking so long per request; the target waits 400 times on it."""
    builder = Builder(window="20 s").thread("db", cpu_user="1 s").row(account, "device:9:0", durations={wait: 400})
    operation = "read" if account == "disk.read" else "write"
    for device, service in times.items():
        builder.device(device, operation, count=count, service=service, queue="1 us")
    if not block:
        builder.without("block")
    known: list[Disk] = [disk(device, NAMES[device], rotational=True, kind="physical", **kinds) for device in times]
    return knowing(
        builder.model(), disks=disks(*known, disk("9:0", "md0", kind="stacked", members=tuple(times), label=label))
    )


def test_one_slow_member_is_named() -> None:
    found = finding(array({"8:0": "5 ms", "8:16": "5 ms", "8:32": "40 ms", "8:48": "6 ms"}), MEMBER)
    assert found.severity is Severity.WARNING and found.confidence is Confidence.HIGH
    assert "sdc" in found.claim or "8:32" in found.claim
    # of 56 ms in all (one request each) 35 ms are too long
    assert found.claims["disk.read", "device:9:0"] == pytest.approx(8e9 * 35 / 56, rel=0.01)


@pytest.mark.parametrize(("peers", "severity"), [("5 ms", Severity.INFO), ("30 ms", Severity.WARNING)])
def test_what_its_peers_take_is_judged_by_their_own_time(peers: str, severity: Severity) -> None:
    """Once the slow one is replaced the others are as fast as they are: within the norm that is no second fault."""
    model = array({"8:0": peers, "8:16": peers, "8:32": "90 ms"}, wait="45 ms")
    ranked = {found.id: found for found in diagnose(model).findings}
    assert ranked[MEMBER].severity is Severity.WARNING and ranked["DISK-READ-SLOW"].severity is severity


def test_a_write_to_a_mirror_waits_for_the_slowest() -> None:
    found = finding(array({"8:0": "5 ms", "8:16": "40 ms"}, account="disk.write", label="raid1"), MEMBER)
    assert found.claims["disk.write", "device:9:0"] == pytest.approx(8e9 * 35 / 40, rel=0.01)
    assert found.confidence is Confidence.MEDIUM and "only one other disk" in found.limits[0]


@pytest.mark.parametrize(
    "times",
    [
        {"8:0": "5 ms", "8:16": "8 ms", "8:32": "6 ms"},
        {"8:0": "100 us", "8:16": "400 us"},
    ],
    ids=["less than twice", "under a millisecond"],
)
def test_members_differ_by_some_percent(times: dict[str, str]) -> None:
    assert check(array(times), MEMBER).number < 5


def test_too_few_requests_compare_nothing() -> None:
    assert "too few" in silence(array({"8:0": "5 ms", "8:16": "40 ms"}, count=20), MEMBER).reason


def test_no_array_no_member() -> None:
    assert "no array" in check(array({"8:0": "40 ms"}), MEMBER).text


def test_without_requests_or_facts_it_cannot_tell() -> None:
    assert "not measured" in silence(array({"8:0": "5 ms", "8:16": "40 ms"}, block=False), MEMBER).reason
    unknown = knowing(array({"8:0": "5 ms", "8:16": "40 ms"}), disks={})
    assert "whether the disks are arrays" in silence(unknown, MEMBER).reason


# DISK-ERRORS


def line(text: str, device: str | None = "sda", in_window: bool = True) -> LogLine:
    return blank(LogLine, at_ns=5, level=3, text=text, in_window=in_window, device=device)


def log(*io_errors: LogLine) -> KernelLog:
    empty: tuple[LogLine, ...] = ()
    none = {name: empty for name in KernelLog.__dataclass_fields__ if name != "incomplete"}
    return KernelLog(**(none | {"io_errors": io_errors}))


def failing(
    errors: int = 0,
    *,
    kernel_log: KernelLog | None = None,
    block: bool = True,
    wait: str = "20 ms",
    operation: str = "read",
    degraded: int | None = None,
) -> Model:
    builder = Builder().thread("db", cpu_user="1 s").row("disk.read", "device:8:0", durations={wait: 3})
    builder.device("8:0", operation, count=300, service="5 ms", errors=errors)
    if not block:
        builder.without("block")
    return knowing(builder.model(), kernel_log=kernel_log, disks=disks(disk("8:0", "sda", degraded=degraded)))


def test_failed_requests_are_critical_and_claim_what_only_timeouts_take() -> None:
    found = finding(failing(3, kernel_log=log(), wait="2 s"), ERRORS)
    assert found.severity is Severity.CRITICAL
    assert found.claims["disk.read", "device:8:0"] == 6_000_000_000
    assert not finding(failing(3, kernel_log=log()), ERRORS).claims


def test_the_kernel_log_names_the_disk_harmlessly() -> None:
    found = finding(failing(kernel_log=log(line("I/O error, dev sda\x1b[2J"))), ERRORS)
    assert found.severity is Severity.CRITICAL
    assert any("sda\\x1b[2J" in evidence.text for evidence in found.evidence)


def test_a_silent_log_is_told_from_what_is_left_of_one() -> None:
    assert check(failing(kernel_log=log()), ERRORS)
    partly = replace(log(), incomplete=True)
    assert check(failing(kernel_log=partly), ERRORS)


def test_errors_of_yesterday_are_a_fact() -> None:
    assert finding(failing(kernel_log=log(line("I/O error", in_window=False))), ERRORS).severity is Severity.INFO


def test_a_degraded_array_is_a_warning() -> None:
    found = finding(failing(kernel_log=log(), degraded=1), ERRORS)
    assert found.severity is Severity.WARNING


def test_errors_of_another_disk_or_of_a_discard_are_not_its() -> None:
    assert "none failed" in check(failing(kernel_log=log(line("I/O error", "sdb"))), ERRORS).text
    check(failing(5, kernel_log=log(), operation="discard"), ERRORS)


def test_what_was_not_looked_at_is_said() -> None:
    assert "could not be read" in silence(failing(block=False), ERRORS).reason
    assert "kernel log not readable" in check(failing(), ERRORS).text
    assert finding(failing(3), ERRORS).confidence is Confidence.MEDIUM


def test_errors_come_before_any_slow_disk() -> None:
    diagnosis = diagnose(failing(3, kernel_log=log(), wait="2 s"))
    assert diagnosis.findings[0].id == ERRORS


@pytest.mark.parametrize("kind", ["paravirtual", "emulated", "network", "loop", "ram", "stacked"])
def test_smart_is_advised_for_no_virtual_disk(kind: str) -> None:
    for id, model in ((MEMBER, of_kind(kind)), (ERRORS, failing_kind(kind))):
        text = finding(model, id).remedies[0].text
        assert "smartctl" not in text and "sdb" in text, text


def test_smart_is_advised_for_a_real_disk_and_both_commands_where_the_kind_is_unknown() -> None:
    for model, id in ((of_kind("physical"), MEMBER), (failing_kind("physical"), ERRORS)):
        assert "smartctl -a /dev/sdb" in finding(model, id).remedies[0].text
    for model, id in ((of_kind(None), MEMBER), (failing_kind(None), ERRORS)):
        text = finding(model, id).remedies[0].text
        assert "smartctl -a /dev/sdb" in text and "provider" in text


def of_kind(kind: str | None) -> Model:
    model = array({"8:0": "5 ms", "8:16": "40 ms", "8:32": "6 ms"})
    return knowing(model, disks={key: replace(each, kind=kind) for key, each in model.facts.disks.items()})


def failing_kind(kind: str | None) -> Model:
    builder = (
        Builder(window="20 s").thread("db", cpu_user="1 s").row("disk.read", "device:8:16", durations={"20 ms": 9})
    )
    builder.device("8:16", "read", count=200, service="5 ms", queue="1 us", errors=3)
    return knowing(builder.model(), disks=disks(disk("8:16", "sdb", kind=kind)))


def test_disks_for_different_things_are_no_members_of_an_array() -> None:
    """The disk for data of a thin pool was "slower than the other disks": that is for the pool's own records."""
    builder = (
        Builder(window="20 s").thread("db", cpu_user="1 s").row("disk.write", "device:9:0", durations={"20 ms": 400})
    )
    builder.device("8:0", "write", count=1200, service="40 ms", queue="1 us", bytes=1200 << 16)
    builder.device("8:16", "write", count=200, service="200 us", queue="1 us", bytes=200 << 12)
    known = [disk(device, NAMES[device], rotational=True, kind="physical") for device in ("8:0", "8:16")]
    volume = disk("9:0", "dm-1", kind="stacked", members=("8:0", "8:16"))
    assert not findings(knowing(builder.model(), disks=disks(*known, volume)), MEMBER)
