"""PROC-LIMIT: a user or a control group that may have no more tasks, one that may, or nothing known."""

from __future__ import annotations

import math

import pytest
from perfdiag.diagnosis.rule import Severity
from perfdiag.facts.cgroup import PidsGroup
from perfdiag.model.model import Model

from unit.support import Builder
from unit.support.judging import check, finding, findings, knowing, silence

ID = "PROC-LIMIT"
OTHER = "9 9 9 99999"  # no target
GROUP = "/sys/fs/cgroup/app.slice"


def target(*users: str, **group: float | None) -> Model:
    """Return a target, with what the recorder tells of users, or its control group."""
    model = (
        Builder().thread("app", cpu_user="1 s").fact("/user_tasks/1000", "".join(f"{line}\n" for line in users)).model()
    )
    return knowing(model, pids_groups=[PidsGroup(GROUP, 2, (100,), 7, 1, **group)]) if group else model


def test_a_user_at_the_limit() -> None:
    pid = target().threads[0].pid
    found = finding(target(f"60 50 64 {pid}", OTHER, f"60 61 64 {pid}", "x"), ID)
    assert found.severity is Severity.WARNING and not found.claims and found.headline.startswith("User 1000 can start")
    assert f"prlimit --pid {pid} --nproc=100:100" in [each.text for each in found.remedies]
    unlimited = finding(target(f"60 50 unlimited {pid}"), ID)
    assert unlimited.remedies[1].undo == f"prlimit --pid {pid} --nproc=50:unlimited"


@pytest.mark.parametrize(
    ("current", "refused", "severity"),
    [(10, 0, Severity.WARNING), (10, 3, Severity.CRITICAL), (9, 3, Severity.CRITICAL), (10, None, Severity.WARNING)],
)
def test_a_full_control_group(current: int, refused: int | None, severity: Severity) -> None:
    found = finding(target(limit=10, current=current, refused=refused), ID)
    assert found.severity is severity and found.evidence[0].text == f"{current} of 10 tasks"
    assert found.remedies[1].undo == f"echo 10 > {GROUP}/pids.max"


def test_a_group_whose_name_is_a_command_cannot_be_run() -> None:
    group = PidsGroup("/sys/fs/cgroup/a; reboot", 2, (100,), 7, 1, limit=10, current=10, refused=1)
    found = finding(knowing(target(), pids_groups=[group]), ID)
    commands = [*(text for each in found.remedies for text in (each.text, each.undo)), found.verify]
    assert all("a; reboot" not in text.replace("'/sys/fs/cgroup/a; reboot", "") for text in commands), commands


def test_who_has_given_up_starting_anything_misses_nothing() -> None:
    """dovecot lets some of its processes have one task each, as sandboxes do."""
    pid = target().threads[0].pid
    assert not findings(target(f"12 1 1 {pid}"), ID)


def test_room_for_more() -> None:
    assert not findings(target(OTHER), ID) and check(target(OTHER), ID).large is False
    assert check(target(limit=10, current=8, refused=0), ID).large is True


def test_root_is_held_to_none() -> None:
    model = Builder().thread("app", cpu_user="1 s").fact("/proc/100/status", "Name:\tapp\nUid:\t0\t0\t0\t0\n").model()
    assert check(model, ID).text == "no task limit applies to root"


def test_nobody_looked() -> None:
    assert silence(Builder().thread("app", cpu_user="1 s").model(), ID)
    assert silence(target(limit=math.inf, current=8, refused=0), ID)
