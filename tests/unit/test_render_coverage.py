"""The last lines of a report: what was measured and lost, what it cost, and what is said of it when nobody knows."""

from __future__ import annotations

import re

import msgspec
import pytest
from perfdiag.render import json_document, lost_records
from perfdiag.report import assembly

from unit.support import Builder
from unit.support.recording import COUNTERS
from unit.support.reports import RUNBOOKS, diagnosis
from unit.support.shown import plain


def test_coverage_gives_up_whole_statements() -> None:
    builder = Builder().thread("a", disk_read="9 s", cpu_user="500 ms")
    builder.stack("wait", "disk.read", kernel=["tcp_recvmsg"], weight="1 s")
    model = builder.lost(ring_buffer=123456, storage_failed=1234, output_lines=12, wakeups_missing=3).model()
    shown = plain(assembly.make(model, diagnosis(model), RUNBOOKS)).partition("COVERAGE")[2].partition("\nCOST")[0]
    shown = " ".join(shown.split())
    assert (
        "..." not in shown
        and "lost (123,456 events that found the ring full" in shown
        and "stack says net.receive" in shown
    )


def test_what_is_wrong_with_the_books_is_said() -> None:
    model = (
        Builder()
        .thread("a", disk_read="9 s", open_books=True)
        .stack("wait", "disk.read", kernel=["tcp_recvmsg"], weight="1 s")
        .model()
    )
    coverage = re.sub(r"\s+", " ", plain(assembly.make(model, diagnosis(model), RUNBOOKS)).partition("COVERAGE")[2])
    assert "BOOKS DO NOT CLOSE: 10.0 % too much or too little is booked (worst thread 10.0 %)" in coverage
    assert "for 0.0 % of their time (most: disk.read booked, stack says net.receive)" in coverage


def test_the_books_of_one_thread_that_do_not_close_are_told_beside_those_that_do() -> None:
    builder = Builder().thread("a", disk_read="9 s", open_books=True)
    for name in "bcdefghijklmnopqrstuvwxyz":
        builder.thread(name, disk_read="9 s")
    model = builder.model()
    shown = " ".join(plain(assembly.make(model, diagnosis(model), RUNBOOKS)).split())
    assert "books close to 0.4 %, BUT NOT THOSE OF EACH THREAD: 10.0 % of the worst; unexplained" in shown


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("0 ns", "for 100.0 % of their time COST"),
        ("1 ns", "for >99.9 % of their time (most: disk.read booked, stack says net.receive)"),
        ("10 s", "for 50.0 % of their time (most: disk.read booked, stack says net.receive)"),
    ],
)
def test_nothing_agrees_for_all_time_beside_what_does_not(wrong: str, told: str) -> None:
    builder = Builder().thread("a", disk_read="9 s").stack("wait", "disk.read", kernel=["io_schedule"], weight="10 s")
    model = builder.stack("wait", "disk.read", kernel=["tcp_recvmsg"], weight=wrong).model()
    assert told in " ".join(plain(assembly.make(model, diagnosis(model), RUNBOOKS), full=True).split())


@pytest.mark.parametrize(
    ("programs", "told"),
    [
        ({}, "BPF programs not measured;"),
        ({"a": (1, 2_000_000), "b": (3, 5_000_000)}, "BPF programs 0.1 %;"),
        ({"a": (1, 7_000_000), "b": (None, None)}, "BPF programs 0.1 % (1 of 2 not measured);"),
        ({"a": (None, None), "b": (None, None)}, "BPF programs not measured;"),
    ],
)
def test_a_cost_that_was_not_measured_is_not_none(
    programs: dict[str, tuple[int | None, int | None]], told: str
) -> None:
    model = Builder().thread("a", cpu_user="1 s").cost("40 ms", programs=programs).model()
    made = assembly.make(model, diagnosis(model), RUNBOOKS)
    assert told in " ".join(plain(made, full=True).split())
    assert all((ns is None) == bool(re.search(rf"^  {name} +not measured$", plain(made, full=True), re.MULTILINE))
               for name, (_runs, ns) in programs.items())  # fmt: skip


def test_memory_that_was_not_measured_is_not_none() -> None:
    model = Builder().thread("a", cpu_user="1 s").cost("40 ms", resident_bytes=None).model()
    made = assembly.make(model, diagnosis(model), RUNBOOKS)
    assert "memory not measured" in " ".join(plain(made).split())
    assert msgspec.json.decode(json_document.render(made))["cost"]["rss_bytes"] is None


@pytest.mark.parametrize("counter", [*COUNTERS, "bad_lines"])
def test_every_loss_is_told_in_words(counter: str) -> None:
    assert lost_records.told(counter, 5).startswith("5 ") and "_" not in lost_records.told(counter, 5)
    assert lost_records.told("novel", 5) == "novel 5", "of a newer recorder"
