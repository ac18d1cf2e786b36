"""TTY-NOT-READ: writers that wait for the reader of a terminal."""

from __future__ import annotations

from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Confidence, Severity

from unit.support import Builder
from unit.support.judging import check, finding, outcomes

ID = "TTY-NOT-READ"
TERMINAL = ["schedule", "wait_woken", "n_tty_write", "file_tty_write", "vfs_write"]


def printing(*kernel: str, time: str = "8 s") -> Builder:
    builder = Builder().thread("logs", cpu_user="100 ms").row("kernel.other", "syscall:write", time, count=6)
    return (
        builder.stack("wait", "kernel.other", object="syscall:write", kernel=kernel, weight="7 s")
        if kernel
        else builder
    )


def test_a_terminal_that_is_not_read_is_named() -> None:
    model = printing(*TERMINAL).model()
    found = finding(model, ID)
    assert found.severity is Severity.WARNING and "a terminal takes" in found.claim
    assert "/proc/100/fd" in found.remedies[0].text and dict(found.claims) == {
        ("kernel.other", "syscall:write"): 8_000_000_000
    }
    assert [each.id for each in diagnose(model).findings] == [ID]  # not once more as KERNEL-OTHER


def test_another_write_is_not_a_terminals() -> None:
    assert not outcomes(printing("schedule", "some_driver_write", "vfs_write").model(), ID)
    mixed = printing(*TERMINAL).stack("wait", "kernel.other", object="syscall:write", kernel=["driver"], weight="2 s")
    assert not outcomes(mixed.model(), ID)


def test_a_moment_at_a_terminal_is_fine() -> None:
    assert check(printing(*TERMINAL, time="10 ms").model(), ID).number < 0.1


def test_without_stacks_nothing_is_said_of_terminals() -> None:
    assert not outcomes(printing().model(), ID)


def test_lost_records_lower_the_confidence() -> None:
    assert finding(printing(*TERMINAL).lost(storage_failed=50).model(), ID).confidence is Confidence.LOW


def test_a_write_that_never_ends_weighs_as_much_as_any() -> None:
    """A stack is taken when a wait begins, and weighs what was waited before: nothing, of the first one."""
    builder = Builder().thread("logs", open=("kernel.other", "syscall:write", "10 s"))
    builder.row("kernel.other", "syscall:write", "10 s", count=1)
    builder.stack("wait", "kernel.other", object="syscall:write", kernel=TERMINAL, weight="0 ns")
    assert finding(builder.model(), ID).severity is Severity.WARNING
    assert not outcomes(builder.stack("wait", "kernel.other", object="syscall:write", kernel=["driver"]).model(), ID)
