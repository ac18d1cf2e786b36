"""The budget of a recording: what was given up for it is said wherever it matters."""

from __future__ import annotations

import pytest
from perfdiag.common.config import Config, parts_per_million
from perfdiag.diagnosis.engine import diagnose
from perfdiag.recording import schema
from perfdiag.render.coverage import in_full
from perfdiag.render.layout import Page
from perfdiag.report.assembly import make
from perfdiag.report.contract import Report

from unit.support import Builder
from unit.support.recording import START_NS


def given_up(feature: str, *, one_of: int = 0, after_ns: int = 500_000_000) -> schema.GivenUp:
    return schema.GivenUp(
        at_ns=START_NS + after_ns,
        feature=feature,
        one_of=one_of,
        cost_ns=30_000_000,
        of_ns=1_000_000_000,
        cost_after_ns=18_000_000,
        of_after_ns=1_000_000_000,
    )


def reported(*lines: schema.GivenUp, ppm: int = 20_000) -> Report:
    builder = Builder().thread("app", cpu_user="5 s").budget(ppm, "18 ms", "1 s")
    for line in lines:
        builder.line(line)
    model = builder.model()
    return make(model, diagnose(model), Config())


def full(report: Report) -> str:
    return " ".join(
        line.plain for section in in_full(report, Page(width=200, full=True)) for line in section.lines()
    ).replace("       ", "")


def test_what_was_given_up_is_not_measured() -> None:
    report = reported(given_up("failed_calls"), given_up("stacks", one_of=4), given_up("stacks", one_of=16))
    told = [item for item in report.not_measured if "(--max-cost)" in item.reason]
    assert [item.what for item in told] == [
        "which system calls fail before threads sleep, after 500 ms",
        "all but one in 16 of functions behind CPU time and waits, after 500 ms",
    ]
    assert all("under 2% of the target's CPU time" in item.reason and item.matters for item in told)


def test_the_cost_says_from_what_to_what() -> None:
    report = reported(given_up("failed_calls"))
    assert report.cost and report.cost.kept and [step.feature for step in report.cost.given_up] == ["failed_calls"]
    assert "budget 2 % of the target's CPU time: kept at 1.8 %" in full(report)
    assert "fail before threads sleep after 500 ms (3.0 % -> 1.8 %)" in full(report)
    assert not [note for note in report.notes if "BUDGET" in note]


def test_a_budget_that_is_not_kept_is_said_first() -> None:
    report = reported(given_up("failed_calls"), ppm=0)
    assert report.cost and report.cost.kept is False
    assert "NOT KEPT at 1.8 %" in full(report)
    (note,) = [note for note in report.notes if note.startswith("OVER BUDGET")]
    assert "1.8 %" in note and "--max-cost 0%" in note
    assert "--max-cost 0%" in report.target.command


def test_without_a_budget_nothing_is_said() -> None:
    model = Builder().thread("app", cpu_user="5 s").model()
    report = make(model, diagnose(model), Config())
    assert report.cost and report.cost.kept is None and "budget" not in full(report)


@pytest.mark.parametrize(
    ("text", "ppm"), [("2%", 20_000), ("0", 0), ("0.5 %", 5_000), (".0001%", 1), ("100%", 1_000_000), ("12.5", 125_000)]
)
def test_percentages(text: str, ppm: int) -> None:
    assert parts_per_million(text) == ppm


@pytest.mark.parametrize(
    "text", ["", "%", "-1%", "100.1%", "1e1", "nan", "2%%", "two", "1,5%", "0.00001%", "٢%", "2\n"]
)
def test_what_is_no_percentage(text: str) -> None:
    with pytest.raises(ValueError, match="not a percentage"):
        parts_per_million(text)
