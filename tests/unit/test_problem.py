"""PROBLEM: every fault is named there or counted, and what takes most is named in words where it has room."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Mechanism, Severity
from perfdiag.recording import schema
from perfdiag.render.layout import COLUMNS, WIDEST
from perfdiag.report import assembly as report

from conftest import ROOT
from unit.support import Builder
from unit.support.exchanges import PORT, served
from unit.support.reports import RUNBOOKS, diagnosis, finding, made, recorded
from unit.support.shown import folded, plain

S, MS = 1_000_000_000, 1_000_000
EVERY_RECORDING = sorted((ROOT / "tests/data").glob("*/*.jsonl.gz"))


@pytest.mark.parametrize("path", EVERY_RECORDING, ids=lambda path: path.name.removesuffix(".jsonl.gz"))
def test_every_fault_of_a_recording_is_named_in_its_problem(path: Path) -> None:
    """In words or by id, or how many more there are; what takes most is named in any case."""
    whole = recorded(path.name.removesuffix(".jsonl.gz"), path.parent)
    found = [each for each in whole.findings if each.severity != "info"]
    for width in (60, COLUMNS, WIDEST):
        below = re.split(r"\n(?:PROBLEM|CANNOT TELL) ", plain(whole, width=width))[-1]
        said = folded(re.split(r"\n(?=FIX |TO TELL )|\n\n", below)[0])
        missing = [each for each in found if each.id not in said and each.headline not in said]
        assert not missing or f"{len(missing)} more finding" in said, (width, said)
        assert not missing or found[0] not in missing, (width, said)


def test_many_faults_of_one_kind_are_one_in_words_and_a_number() -> None:
    """Ten objectives that were missed stood there as "SLO-BREACH."."""
    model = Builder().thread("a", cpu_user="3 s").model()
    missed = [
        replace(finding("SLO-BREACH", {}, "A claim."), headline=f"9 of 10 requests GET /page/{name} took over 5 ms")
        for name in "abcdefghij"
    ]
    said = folded(plain(made(model, *missed)))
    assert "Also: 9 of 10 requests GET /page/c took over 5 ms; 7 more SLO-BREACH." in said, said


def test_a_sleep_said_first_leaves_room_for_the_cause_in_words() -> None:
    """Of the faults behind a long first sentence only ids were left."""
    model = Builder().thread("a", memory_major_fault="3 s", runq_busy="2 s").model()
    accounts = {"MEM-MAJOR-FAULTS": ("memory.major_fault", 3), "CPU-CONTENTION": ("runq.busy", 2)}
    first, second = (
        replace(
            finding(id, {account: seconds * 10**9}, "A claim."),
            headline=f"{id[:3]} waits, a cause in words, and more of it in words",
        )
        for id, (account, seconds) in accounts.items()
    )
    made = report.make(model, diagnosis(model, first, second), RUNBOOKS)
    sentence = f"{'A thread sleeps on a timer, ' * 4}as stacks show."
    made = msgspec.structs.replace(made, verdict=msgspec.structs.replace(made.verdict, sentences=[sentence]))
    said = folded(plain(made).partition("PROBLEM ")[2].partition("FIX ")[0])
    assert said == f"{sentence} Also: {first.headline}; CPU-CONTENTION."


@pytest.mark.parametrize(
    ("cpu", "rest", "advised"), [("3 s", "1 s", True), ("3 s", "4 s", False), ("300 ms", "10 ms", False)]
)
def test_what_is_most_of_the_time_and_no_fault_can_be_made_faster(cpu: str, rest: str, advised: bool) -> None:
    model = Builder().thread("app", cpu_kernel=cpu, runq_busy=rest).model()
    ns = model.ns("cpu.kernel")
    heavy = finding(
        "CPU-KERNEL-HEAVY", {"cpu.kernel": ns}, severity=Severity.INFO, headline="It computes in the kernel"
    )
    shown = plain(made(model, heavy)).splitlines()
    assert any(line.startswith("FASTER   turn CPU-KERNEL-HEAVY off") for line in shown) is advised


@pytest.mark.parametrize(("waits", "advised"), [("2 ms", False), ("2 s", True)])
def test_what_nobody_would_feel_is_no_remedy_of_a_missed_objective(waits: str, advised: bool) -> None:
    """The only FIX was to renice the very peer that the target waited for, because of <1 % of CPU contention."""
    model = Builder().thread("app", runq_busy=waits, cpu_user="3 s").model()
    missed = finding("SLO-BREACH", {}, remedies=[], mechanism=Mechanism.MISSED)
    contention = finding("CPU-CONTENTION", {"runq.busy": model.ns("runq.busy")}, severity=Severity.INFO)
    whole = made(model, missed, contention)
    verdict = msgspec.structs.replace(whole.verdict, ids=[contention.id])
    shown = plain(msgspec.structs.replace(whole, verdict=verdict))
    assert ("turn CPU-CONTENTION off" in shown.partition("BUSY TIME")[0]) is advised, shown


def test_the_remedy_of_what_the_problem_names_first_stands_first() -> None:
    """A loop to renice neighbours of 5 % stood eight lines long above the statement that was 91 % of the time."""
    model = Builder().thread("app", cpu_user="9 s", runq_busy="500 ms").model()
    behind = finding("CPU-CONTENTION", {"runq.busy": 500 * MS})
    statement = finding("SQL-SLOW-QUERY", {"cpu.user": 9 * S}, severity=Severity.INFO)
    whole = made(model, behind, statement)
    ids = [statement.id, behind.id]
    shown = plain(msgspec.structs.replace(whole, verdict=msgspec.structs.replace(whole.verdict, ids=ids)))
    assert shown.index("FIX      1  turn SQL-SLOW-QUERY off") < shown.index("2  turn CPU-CONTENTION off")


def test_the_table_points_only_to_what_is_printed() -> None:
    """ "-> 1" and "-> 2" stood in reports whose findings were all folded."""
    model = Builder(window="10 s").thread("app", cpu_user="9 s", runq_busy="500 ms").model()
    computes = finding("CPU-BOUND", {"cpu.user": 9 * S}, severity=Severity.INFO)
    behind = finding("CPU-CONTENTION", {"runq.busy": 500 * MS}, severity=Severity.INFO)
    shown = plain(made(model, computes, behind))
    assert "-> 1" in shown and "\n1 CPU-BOUND" in shown and "-> 2" not in shown
    assert "-> 2" in plain(made(model, computes, behind), full=True)


def test_requests_that_nobody_has_read_are_counted_apart() -> None:
    """The first line counts those that were answered; another number below, without a word, was taken for an error."""
    builder = Builder(comm="app", window="3 s").thread("app", lock_file="3 s", open=("lock.file", "", "3 s"))
    for line in served(40, 50 * MS, {"lock.file": 2 * S}):
        builder.line(line)
    parts = [schema.LeftPart("lock.file", "lock.file", False, 3 * S)]
    builder.line(schema.RequestLeft(PORT, False, 3, 3 * S, 2 * S, parts))
    model = builder.model()
    shown = folded(plain(made(model, *diagnose(model).findings)))
    assert (
        "40 requests on :8080 " in shown and "REQUEST TIME 5.00 s, 40 requests and 3 still unread at the end" in shown
    )
    assert "3 requests on port 8080 were still unread at the end, the oldest for 2.00 s." in shown
