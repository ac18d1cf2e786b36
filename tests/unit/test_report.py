"""The report as data: the verdict and its five kinds, closed shares, nothing hidden, nothing hostile."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfdiag.common.config import Config
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.evidence.target import again
from perfdiag.diagnosis.rule import Check, Silence
from perfdiag.model import builder as ledger
from perfdiag.render import terminal
from perfdiag.report import assembly

from unit.support import Builder
from unit.support.reports import CASES, RUNBOOKS, diagnosis, finding, made
from unit.support.strategies import builders, diagnoses

S = 1_000_000_000


@given(builders(), st.data())
def test_shares_of_findings_and_the_unclaimed_make_up_everything(builder: Builder, data: st.DataObject) -> None:
    model = builder.model()
    diagnosed = data.draw(diagnoses(model))
    made_report = assembly.make(model, diagnosed, Config())
    assert sum(each.ns for each in made_report.findings) + made_report.unclaimed_ns == made_report.busy_ns
    if made_report.busy_ns:
        assert sum(each.share for each in made_report.findings) + made_report.unclaimed_share == pytest.approx(1)
    assert sum(made_report.unclaimed.values()) == made_report.unclaimed_ns


@given(builders())
def test_accounts_by_object_add_up_to_the_accounts(builder: Builder) -> None:
    model = builder.model()
    sums: defaultdict[str, int] = defaultdict(int)
    for entry in made(model).accounts:
        sums[entry.account] += entry.ns
        assert (entry.share is None) == (entry.kind != "latency")
    assert dict(sums) == {name: total.ns for name, total in model.accounts.items() if total.ns}


@given(builders())
def test_the_real_rules_accept_any_recording(builder: Builder) -> None:
    model = builder.model()
    made_report = assembly.make(model, diagnose(model), Config())
    failed = [item for item in made_report.not_measured if "the rule itself failed" in item.reason]
    assert not failed
    assert sum(each.ns for each in made_report.findings) + made_report.unclaimed_ns == made_report.busy_ns


def test_that_names_of_requests_are_not_kept_is_said() -> None:
    for unnamed in (True, False):
        model = Builder(no_request_names=unnamed).thread("a", cpu_user="1 s").model()
        assert ("requests by name" in {item.what for item in made(model).not_measured}) is unnamed


@pytest.mark.parametrize(
    ("made_with", "heading"),
    [
        ({}, "perfdiag latency --pid 100"),
        ({"asked": "--port 8080"}, "perfdiag latency --port 8080"),
        ({"asked": "--port 8080", "slo": "1500 us"}, "perfdiag latency --port 8080 --slo 1500us"),
        ({"slo_names": {"GET /a": "2 s"}}, "perfdiag latency --pid 100 --slo 'GET /a=2s'"),
        ({"no_request_names": True}, "perfdiag latency --pid 100 --no-request-names"),
        ({"asked": "-- make", "slo": "2 s"}, "perfdiag latency --slo 2s -- make"),
        ({"asked": "-- tar ..."}, "perfdiag latency -- tar ..."),
        ({"asked": "-- make", "descendants": False}, "perfdiag latency --only -- make"),
        ({"asked": "--name \x1b[31m -- "}, "perfdiag latency --name '\\x1b[31m' --"),
        ({"asked": "--name 'a -- b'", "slo": "2 s"}, "perfdiag latency --name 'a -- b' --slo 2s"),
        ({"descendants": False}, "perfdiag latency --pid 100 --only"),
        ({"slo_names": {"GET /it's": "2 s"}}, """perfdiag latency --pid 100 --slo 'GET /it'"'"'s=2s'"""),
        ({"slo_names": {"syscall:read": "5 ms"}}, "perfdiag latency --pid 100 --slo syscall:read=5ms"),
    ],
)
def test_a_recording_is_headed_as_it_was_made(made_with: dict[str, Any], heading: str) -> None:
    model = Builder(**made_with).thread("a", cpu_user="1 s").model()
    assert made(model).target.command == heading
    assert again(model) == heading


@pytest.mark.parametrize(
    ("made_with", "command"),
    [
        ({}, "perfdiag latency --pid 100 --duration 60"),
        ({"asked": "-- make", "slo": "2 s"}, "perfdiag latency --slo 2s --duration 60 -- make"),
    ],
)
def test_further_options_stand_before_a_command(made_with: dict[str, Any], command: str) -> None:
    assert again(Builder(**made_with).thread("a", cpu_user="1 s").model(), "--duration 60") == command


def test_of_many_pids_the_first_four_are_named_whole() -> None:
    builder = Builder().thread("a", cpu_user="1 s")
    for pid in range(4_194_300, 4_194_304):
        builder.target(pid, "worker")
    pids = "--pid 100 --pid 4194300 --pid 4194301 --pid 4194302"
    assert made(builder.model()).target.command == f"perfdiag latency {pids}"


def test_no_p99_of_fewer_than_300() -> None:
    few, many = (
        Builder().thread("a").row("disk.read", "device:8:0", "1 s", count=n).operation("read", durations={"1 ms": n})
        for n in (299, 300)
    )
    for builder, known in ((few, False), (many, True)):
        made_report = made(builder.model())
        [row] = [entry for entry in made_report.accounts if entry.account == "disk.read"]
        assert (row.p99_ns is not None) is known and row.p50_ns is not None
        assert (made_report.operations[0].p99_ns is not None) is known
    assert made(few.model()).operations[0].rarity_unseen == pytest.approx(3 / 299)


def test_who_released_a_lock_and_what_that_thread_does() -> None:
    model = (
        Builder()
        .thread("waiter")
        .row("lock.file", "file:8:0:7", "3 s", count=40, waker_tid=101, waker_count=38)
        .because("lock.file", "file:8:0:7", "disk.flush", "2 s")
        .thread("holder", tid=101, rest="disk.flush", cpu_user="1 s")
        .model()
    )
    [entry] = [entry for entry in made(model).accounts if entry.account == "lock.file"]
    assert entry.released_by is not None
    assert (entry.released_by.comm, entry.released_by.count) == ("holder", 38)
    assert entry.released_by.accounts["disk.flush"] == pytest.approx(0.9)


def test_who_waits_since_before_the_window() -> None:
    model = (
        Builder()
        .thread("stuck", rest="disk.read", open=("disk.read", "device:254:0", "10 s"))
        .thread("new", disk_read="1 s", open=("disk.read", "device:254:0", "1 s"))
        .thread("idle", open=("wait.events", "", "10 s"))
        .thread("busy", rest="cpu.user", open=("cpu.user", "", "10 s"))
        .thread("pool", rest="wait.parked", open=("wait.parked", "futex:0x1", "10 s"))
        .model()
    )
    waiting = made(model).still_waiting
    assert sorted(wait.comm for wait in waiting) == ["pool", "stuck"]
    assert all(wait.at_least_ns == 10 * S for wait in waiting)


def notes(builder: Builder) -> str:
    return " | ".join(made(builder.model()).notes)


def test_the_head_hides_nothing() -> None:
    assert "ended after 2.00 s" in notes(Builder().ended("targets gone", "2 s").thread("a"))
    assert "CUT SHORT" in notes(Builder().thread("a").cut())
    assert "CUT SHORT" in notes(Builder().thread("a").ended("output closed", "2 s"))
    assert "ended early: 2.00 s of 10.0 s" in notes(Builder().ended("signal", "2 s").thread("a"))
    assert "2 processes: app, b" in notes(Builder().target(7, "b"))
    assert "6 processes: b (2), app, c, d and 1 more" in notes(
        Builder().target(7, "b").target(8, "b").target(9, "c").target(10, "d").target(11, "e")
    )
    assert "left out" in notes(Builder(descendants=False).thread("a"))
    assert "RESTARTED: 100 became sh after 4.00 s" in notes(Builder().thread("a").event("exec", "sh", at="4 s"))
    assert "RESTARTED" not in notes(Builder().thread("a").event("exec", "sh", at="1 ms"))
    assert "RESTARTED" not in notes(Builder(asked="-- ./run").thread("a").event("exec", "run", at="1 ms"))
    early = notes(Builder(asked="--pid 100").thread("a").event("exec", "sh", at="1 ms"))
    assert "RESTARTED: 100 became sh after 1.00 ms" in early, "a process that was there has no exec of its own"
    assert "RESTARTED" not in notes(Builder().thread("a").event("exec", "sh", at="4 s", pid=7))
    assert "3 threads ended" in notes(Builder().exited("sh", threads=3))
    assert notes(Builder().thread("a")) == ""


def test_threads_beyond_the_rows_that_there_are_may_live(monkeypatch: pytest.MonkeyPatch) -> None:
    """The recorder folds them with those that ended."""
    monkeypatch.setattr(assembly.header, "RECORDER", {"THREAD_ROWS": 2})
    few, all_rows = Builder().thread("a").exited("sh", threads=3), Builder().thread("a").thread("b")
    assert "3 threads ended in the window" in made(few.model()).notes
    told = made(all_rows.exited("sh", threads=3).model()).notes
    assert "3 threads ended in the window or had no room for a row of their own" in told


def test_threads_that_a_cut_recording_does_not_list_have_not_ended() -> None:
    recording = Builder().thread("a", wait_timer="7500 ms").cut().recording()
    recording.threads = {}
    cut = made(ledger.build(recording))
    assert "no threads are listed: the recording is cut off" in cut.notes
    assert not any("ended in the window" in note for note in cut.notes)
    assert not any(thread.exited for thread in cut.threads)
    drawn = "\n".join(line.plain for line in terminal.lines(cut, full=True))
    assert "A thread sleeps 7.50 s" in drawn and "A thread of" not in drawn and "1 ended" not in drawn
    assert not any("listed" in note for note in made(Builder().thread("a").cut().model()).notes)


def test_pids_of_both_namespaces() -> None:
    target = made(Builder(pid=4711, namespace_pid=12).thread("a").model()).target
    assert (target.pid, target.namespace_pid) == (4711, 12)


def test_work_is_what_was_counted_and_nothing_is_made_up() -> None:
    io = "rchar: {0}\nwchar: 20\nsyscr: 1\nsyscw: 1\nread_bytes: 4096\nwrite_bytes: 0\ncancelled_write_bytes: 0\n"
    builder = Builder().thread("a").fact("/proc/100/io", io.format(1000), io.format(6000))
    builder.fact("/proc/100/status", "Name:\ta\nThreads:\t1\n")
    work = {each.name: each.amount for each in made(builder.model()).work}
    assert work["read"] == 5000 and work["read from storage"] == 0
    assert made(Builder().thread("a").model()).work == []


def test_rules_silent_for_one_reason_stand_together() -> None:
    model = Builder().thread("a").without("block", "no such hook").model()
    silences = [Silence("A", "no clock", "look"), Silence("B", "no clock", "look"), Silence("C", "other", "x")]
    items = made(model, silences=silences).not_measured
    assert [item.ids for item in items] == [[], ["A", "B"], ["C"]]
    assert [item.reason for item in items] == ["no such hook", "no clock", "other"]
    assert all(item.fix for item in items)


def test_losses_of_a_recording_without_its_end_are_not_known() -> None:
    coverage = CASES["cut"]().coverage
    assert coverage.lost is None and not coverage.complete
    assert CASES["cut"]().cost is None


def test_runbook_links() -> None:
    assert CASES["flush"]().findings[0].runbook == "https://wiki.example/perfdiag/DISK-FLUSH-SLOW"
    assert RUNBOOKS.runbook("X") == "https://wiki.example/perfdiag/X"
    assert CASES["causes"]().findings[0].runbook is None


def test_models_stay_as_they_were() -> None:
    """A report is made from a model without changing it: two of them are equal."""
    model = Builder().thread("a", disk_read="1 s").model()
    diagnosed = diagnosis(model, finding("DISK-READ-SLOW", {"disk.read": S}), checks=[Check("A", "a", 1.0, "count")])
    assert assembly.make(model, diagnosed, Config()) == assembly.make(replace(model), diagnosed, Config())
