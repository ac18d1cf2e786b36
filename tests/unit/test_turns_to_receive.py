"""Locks of files that give the turn to wait for work: who waits for one is as idle as its holder."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Severity
from perfdiag.facts.file_locks import PATH, read_file_locks
from perfdiag.model.model import Model
from perfdiag.recording import schema

from unit.support import Builder
from unit.support.exchanges import exchange
from unit.support.facts import facts

MS = 1_000_000
FILE = "file:254:0:1234:accept.lock"
LOCKS = """1: FLOCK  ADVISORY  WRITE {pid} fe:00:1234 0 EOF
1: -> FLOCK  ADVISORY  WRITE 100 fe:00:1234 0 EOF
2: OFDLCK ADVISORY  READ  -1 fe:00:99 0 EOF
3: POSIX  ADVISORY  READ  12 00:1f:34 0 9
"""


def waits() -> Builder:
    """A worker waits ten seconds for the lock of a file."""
    return Builder(window="10 s").thread("worker", tid=100, open=("lock.file", FILE, "10 s"))


def is_idle(model: Model) -> bool:
    """Return whether that counts as idle; all of it must be in one account, and be a fault where it is not idle."""
    assert sorted([model.ns("wait.work"), model.ns("lock.file")]) == [0, 10_000_000_000]
    found = [each.id for each in diagnose(model).findings if each.severity is not Severity.INFO]
    assert ("LOCK-CONTENTION" in found) == bool(model.ns("lock.file")), found
    assert model.coverage.stack_agreement == 1
    return bool(model.ns("wait.work"))


@pytest.mark.parametrize(
    ("root", "root_object", "inside", "idle"),
    [
        ("net.accept", "", False, True),
        ("wait.events", "", False, True),
        ("wait.events", "peer:10.0.0.1:80", False, False),
        ("net.accept", "", True, False),
        ("net.request", "", False, False),
        ("disk.flush", "", False, False),
        ("wait.timer", "", False, False),
    ],
)
def test_who_waits_for_the_turn_to_wait_is_idle(root: str, root_object: str, inside: bool, idle: bool) -> None:
    builder = waits().row("lock.file", FILE, "10 s", count=20, waker_tid=101, waker_count=20)
    builder.stack("wait", "lock.file", object=FILE, kernel=["schedule", "flock_lock_inode_wait"], weight="10 s")
    builder.because("lock.file", FILE, root, "6 s", root_object, root_tid=101, inside=inside)
    builder.because("lock.file", FILE, "cpu.user", "3 s", root_tid=101)
    assert is_idle(builder.model()) == idle


@pytest.mark.parametrize(
    ("holder", "account", "since", "idle"),
    [
        (101, "net.accept", "10 s", True),
        (101, "net.accept", "4 s", False),
        (101, "disk.read", "10 s", False),
        (7, "net.accept", "10 s", False),
    ],
)
def test_of_waits_that_have_not_ended_the_holder_tells(holder: int, account: str, since: str, idle: bool) -> None:
    builder = waits().row("lock.file", FILE, "10 s", count=1)
    builder.stack("wait", "lock.file", object=FILE, kernel=["schedule", "flock_lock_inode_wait"], weight="10 s")
    builder.thread("holder", tid=101, pid=101, rest=account, open=(account, "", since))
    builder.fact(PATH, None, LOCKS.format(pid=holder))
    assert is_idle(builder.model()) == idle


@pytest.mark.parametrize(
    "line", [exchange(20, 20 * MS, open=1, oldest_ns=5_000 * MS), exchange(20, 9_000 * MS, {"lock.file": 9_000 * MS})]
)
def test_where_requests_wait_nobody_is_idle(line: schema.Exchange) -> None:
    """PHP's sessions: one request holds the file and polls for its backend, and another one waits for the file."""
    builder = waits().row("lock.file", FILE, "10 s", count=1)
    builder.stack("wait", "lock.file", object=FILE, kernel=["schedule", "flock_lock_inode_wait"], weight="10 s")
    builder.thread("holder", tid=101, pid=101, rest="wait.events", open=("wait.events", "", "10 s"))
    builder.fact(PATH, None, LOCKS.format(pid=101)).line(line)
    assert builder.model().ns("lock.file") == 10_000 * MS


def test_the_holders_of_locks_are_read() -> None:
    known = facts(end={PATH: LOCKS.format(pid=3217)}).file_locks
    assert known == {"file:254:0:1234": {3217}, "file:0:31:34": {12}}
    assert not read_file_locks(facts().texts)
