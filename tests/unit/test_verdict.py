"""Which numbers stand in a verdict: what takes more time than the cause, what a fix returns."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from perfdiag.diagnosis.rule import Mechanism, Role, Severity
from perfdiag.report.verdict.sentences import Kind

from unit.support import Builder
from unit.support.reports import diagnosis, finding, made, verdict

S = 1_000_000_000


def test_what_takes_more_time_than_the_cause_is_named() -> None:
    """A warning of 5 % is not what a program waits for that flushes for 60 %, nor is it no fault."""
    model = Builder().thread("dd", disk_flush="6 s", disk_write="500 ms", cpu_kernel="2500 ms").model()
    write = finding("DISK-WRITE-SLOW", {"disk.write": S // 2}, "A write takes long.")
    flush = finding("DISK-FLUSH-SLOW", {"disk.flush": 6 * S}, "Many flushes.", severity=Severity.INFO)
    _, text = verdict(model, write, flush)
    assert text.startswith("Many flushes (67 %), no fault in itself. A smaller fault: A write takes long (6 %).")
    assert made(model, write, flush).verdict.ids == [write.id, flush.id], "its remedy is offered, too"
    much = finding("CPU-KERNEL-HEAVY", {"cpu.kernel": 5 * S // 2}, "The kernel works.")
    assert "(disk.flush 67 %; DISK-FLUSH-SLOW, no fault)." in verdict(model, much, flush)[1]
    assert "(disk.flush 67 %; no finding explains it)." in verdict(model, write)[1]
    little = finding("DISK-FLUSH-SLOW", {"disk.flush": S}, "Some flushes.", severity=Severity.INFO)
    assert "(disk.flush 67 %; no finding explains it)" in verdict(model, write, little)[1]


def test_what_is_no_fault_stands_first_only_where_it_is_most_of_the_time() -> None:
    """A mount without caches, which somebody can change, stood behind commits that were "no fault in itself"."""
    model = Builder().thread("cc", nfs_metadata="4 s", nfs_commit="3500 ms", cpu_user="1 s").model()
    calls = finding("NFS-METADATA-CHATTY", {"nfs.metadata": S}, "Nothing is cached.")
    commits = finding("NFS-COMMIT-SLOW", {"nfs.commit": 3_500_000_000}, "Many commits.", severity=Severity.INFO)
    _, text = verdict(model, calls, commits)
    assert text.startswith("Nothing is cached (12 % of busy time). More time: Many commits (41 %), no fault in itself.")


def test_what_is_done_that_often_stands_before_a_fault_of_a_fifth_of_its_time() -> None:
    """A child is started for each log: discards of 7 % came first, and a remedy that hardly helps."""
    model = Builder().thread("sh", cpu_user="4 s", disk_write="700 ms", runq_busy="5 s").model()
    fault = finding("DISK-WRITE-SLOW", {"disk.write": S // 2}, "A write takes long.")
    many = finding("PROC-CHILD-SLOW", {"cpu.user": 3 * S}, "Many processes.", severity=Severity.INFO)
    first = verdict(model, fault, replace(many, mechanism=Mechanism.MANY))[1]
    assert first.startswith("Many processes (31 %), no fault in itself. A smaller fault: A write takes long (5 %).")
    assert verdict(model, fault, replace(many, mechanism=Mechanism.WORK))[1].startswith("A write takes long (5 %")


def test_what_only_background_threads_suffer_is_no_rival() -> None:
    model = (
        Builder()
        .thread("worker", disk_read="1 s")
        .thread("cleaner", disk_write="8 s", rest="wait.timer")
        .model()
    )  # fmt: skip
    read = finding("DISK-READ-SLOW", {"disk.read": S}, "Reads are slow.")
    write = finding("DISK-WRITE-SLOW", {"disk.write": 8 * S}, "Writes are slow.")
    diagnosed = diagnosis(model, read, write)
    assert [(each.id, each.role) for each in diagnosed.findings[:2]] == [
        ("DISK-READ-SLOW", Role.SERVING),
        ("DISK-WRITE-SLOW", Role.BACKGROUND),
    ]
    kind, text = verdict(model, read, write)
    assert kind == Kind.CAUSE.value and text.startswith("Reads are slow.")
    assert "(disk.write 89 %; DISK-WRITE-SLOW, of background threads)." in text


def test_the_largest_found_is_the_largest() -> None:
    """No "largest found: 6 %" above a list with 14 %."""
    model = Builder().thread("a", lock_file="600 ms", runq_busy="1400 ms", unexplained="2 s").model()
    lock = finding("LOCK-CONTENTION", {"lock.file": 600_000_000}, "A lock.")
    queue = finding("CPU-CONTENTION", {"runq.busy": 1_400_000_000}, "Neighbours.", severity=Severity.INFO)
    kind, text = verdict(model, lock, queue)
    assert kind == Kind.CANNOT_TELL.value
    assert "Known: A lock (15 %). Larger: Neighbours (35 %, no fault)." in text


@pytest.mark.parametrize(("others", "told"), [("1 ms", ">99 %"), ("1 s", "91 %")])
def test_what_a_fix_returns_is_one_number(others: str, told: str) -> None:
    model = Builder().thread("a", disk_read="9800 ms").thread("b", cpu_user=others).model()
    _, text = verdict(model, finding("DISK-READ-SLOW", {"disk.read": 10 * S}, "Reads are slow."))
    assert re.findall(r"\S+ %", text) == [told]


def test_a_finding_may_know_better_what_a_fix_returns() -> None:
    model = Builder().thread("a", runq_busy="5 s", cpu_user="5 s").model()
    queue = finding("CPU-OVERSUBSCRIBED", {"runq.busy": 5 * S}, "Processes queue.")
    _, text = verdict(model, replace(queue, returns="Only more CPUs do."))
    assert text == "Processes queue. Only more CPUs do."


def test_functions_are_named_where_the_claim_has_none() -> None:
    model = Builder().thread("a", cpu_user="9 s").model()
    functions = "sha512_block (node) 70 % +-4 % of 420 CPU samples"
    full = finding("CPU-SINGLE-THREAD", {"cpu.user": 9 * S}, "a is full.", severity=Severity.INFO, functions=functions)
    assert "Hottest: sha512_block (node) 70 %" in verdict(model, full)[1]
