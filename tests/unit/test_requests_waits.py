"""Numbers of threads' waits beside the time of requests: each says what it is to the other."""

from __future__ import annotations

from dataclasses import replace

import pytest
from perfdiag.diagnosis.rule import Evidence, EvidenceKind, Mechanism, Severity
from perfdiag.model.model import Model
from perfdiag.report.assembly import Report

from unit.support import Builder
from unit.support.exchanges import served
from unit.support.reports import finding, made
from unit.support.shown import plain

S = 1_000_000_000
FLUSHED, REST = 4 * S, 2 * S  # of the requests' time


def serving() -> Model:
    builder = Builder(comm="server").thread("worker", disk_flush="8 s")
    for line in served(400, (FLUSHED + REST) // 400, {"disk.flush": FLUSHED}):
        builder.line(line)
    return builder.model()


def waited(ns: int, *, shared: bool = False) -> Report:
    """Return the report of a finding on the requests' flushes, whose evidence is so much of the threads' time."""
    first = finding("DISK-FLUSH-SLOW", {"disk.flush": 4 * S if shared else 8 * S}, "Flushes are slow.")
    wait = Evidence("80 waits", float(ns), "ns", "ledger", kind=EvidenceKind.WAITS)
    second = [finding("NET-PEER-SLOW", {"disk.flush": 4 * S})] if shared else []
    return made(serving(), replace(first, evidence=[wait]), *second)


@pytest.mark.parametrize(
    ("ns", "said"),
    [
        (8 * S, "80 waits, 4.00 s of it in requests"),
        (4 * S, "80 waits"),
        (1 * S, "80 waits, 4 requests at once on average"),
    ],
)
def test_waits_say_what_they_are_to_requests(ns: int, said: str) -> None:
    assert [each.text for each in waited(ns).findings[0].evidence] == [said]


def test_of_waits_of_several_kinds_nothing_is_said() -> None:
    """Of 4 s in requests, 1 s of one kind of wait would be four at once."""
    wait = Evidence("80 waits", float(S), "ns", "ledger", kind=EvidenceKind.WAITS)
    found = replace(finding("DISK-FLUSH-SLOW", {"disk.flush": 8 * S}), evidence=[wait, wait])
    assert [each.text for each in made(serving(), found).findings[0].evidence] == ["80 waits", "80 waits"]


def test_of_time_that_several_findings_share_nothing_is_said() -> None:
    said = {each.text for found in waited(8 * S, shared=True).findings for each in found.evidence}
    assert said == {"80 waits"}


def test_what_is_explained_of_an_unknown_account_is_not_called_unknown() -> None:
    report = made(serving(), finding("NET-PEER-SLOW", {"disk.flush": 8 * S, "request.rest": 3 * S // 2}))
    lines = plain(report, full=True).splitlines()
    rows = [line.strip().partition(" #")[0].rstrip() for line in lines if "request.rest" in line]
    assert rows[:2] == ["waiting, cause found", "not followed"]


def test_time_whose_cause_is_found_stands_in_the_row_of_that_cause() -> None:
    report = made(serving(), finding("NET-PEER-SLOW", {"disk.flush": 8 * S, "request.rest": 3 * S // 2}))
    (row,) = (line for line in plain(report).splitlines() if "-> 1" in line)
    assert "disk.flush +1" in row and row.split("#")[0].strip() == "flushing to disk"


def test_a_finding_without_a_cause_explains_nothing() -> None:
    claimed = {"disk.flush": 8 * S, "request.rest": 3 * S // 2}
    report = made(serving(), finding("NET-PEER-SLOW", claimed, mechanism=Mechanism.UNDETERMINED))
    assert "waiting, cause found" not in plain(report)


def test_a_row_of_several_findings_is_told_in_parts() -> None:
    first = finding("DISK-FLUSH-SLOW", {"disk.flush": 8 * S, "request.rest": S})
    second = finding("NET-PEER-SLOW", {"request.rest": S // 2})
    assert "\n  made up of 4.00 s flushing to disk, 1.00 s waiting\n" in plain(made(serving(), first, second))
    whole = finding("DISK-FLUSH-SLOW", {"disk.flush": 8 * S, "request.rest": 2 * S})
    assert "made up of" not in plain(made(serving(), whole))


def test_a_finding_on_part_of_a_row_says_of_what() -> None:
    text = plain(made(serving(), finding("DISK-FLUSH-SLOW", {"disk.flush": 3 * S})))
    assert "\n  1.50 s of 4.00 s flushing to disk\n" in text


def test_what_fix_names_is_not_called_no_fault() -> None:
    large = finding("CPU-BOUND", {"disk.flush": 8 * S}, severity=Severity.INFO)
    small = finding("NET-PEER-SLOW", {"request.rest": S})
    text = plain(made(serving(), large, small))
    assert "CPU-BOUND" in text and "no fault  " not in text
    assert "no fault  " in plain(made(serving(), large))
