"""The budget of a recording: what was given up for it is said wherever it matters."""

from __future__ import annotations

import math

import msgspec
import pytest
from perfdiag.common.config import Config, parts_per_million
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Confidence
from perfdiag.model.requests.exchanges import Latencies
from perfdiag.recording import schema
from perfdiag.render.coverage import in_full
from perfdiag.render.head import head as head_of
from perfdiag.render.layout import Page
from perfdiag.render.requests import served_line
from perfdiag.report.assembly import make
from perfdiag.report.contract import Report

from unit.support import Builder
from unit.support.exchanges import exchange, latency
from unit.support.judging import silence
from unit.support.recording import START_NS
from unit.support.shown import folded, plain


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
    report = reported(
        given_up("stacks", one_of=4), given_up("failed_calls"), given_up("stacks", one_of=16, after_ns=10**9)
    )
    told = [item for item in report.not_measured if "(--max-cost)" in item.reason]
    assert [item.what for item in told] == [
        "all but one in 16 of functions behind CPU time and waits, after 1.00 s",
        "which system calls fail before threads sleep, after 500 ms",
    ]
    assert all("under 2% of the target's CPU time" in item.reason for item in told)


def test_a_rate_is_a_reason_of_its_own() -> None:
    line = msgspec.structs.replace(given_up("requests", one_of=4), per_second=41_984)
    (told,) = [item for item in reported(line).not_measured if item.fix == "--max-cost 100%"]
    assert (
        told.what == "all but one in 4 of connections: requests served and calls made, and how long they took, after"
        " 500 ms"
    )
    assert told.reason == "41,984 requests a second: one connection in 4 stands for all"


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


def sampled(one_of: int = 8, count_error: int = 600) -> Builder:
    """Requests on many connections, of which one in so many was followed after half a second."""
    builder = Builder().thread("app", cpu_user="5 s", wait_events="4 s").budget(20_000, "18 ms", "1 s")
    builder.reads(8000)
    builder.line(exchange(8000, 4_000_000_000, {"cpu.user": 4_000_000_000}, count_error=count_error, open=900))
    builder.line(latency([500_000] * 8000))
    return builder.line(given_up("requests", one_of=one_of))


def test_numbers_of_a_sample_have_their_error() -> None:
    model = sampled().model()
    report = make(model, diagnose(model), Config())
    assert report.sample and (report.sample.one_of, report.sample.after_ns) == (8, 500_000_000)
    assert report.sample.error == pytest.approx(0.075)
    (request,) = report.requests
    assert (request.whole.count, request.whole.count_error) == (8000, 600)
    assert request.whole.p50_range_ns and request.whole.p50_ns
    assert request.whole.p50_range_ns[0] <= request.whole.p50_ns <= request.whole.p50_range_ns[1]
    (note,) = [note for note in report.notes if note.startswith("SAMPLED")]
    assert "one connection in 8" in note and "+-7.5 %" in note
    head = " ".join(line.plain for line in head_of(report, Page(width=120)).lines())
    assert "8,000 requests +-600" in head
    assert "8,000 +-600, " in served_line(request)
    assert (request.unanswered, request.open, request.oldest_ns) == (None, None, None)


@pytest.mark.parametrize("id", ["ANSWER-OWED", "CONCURRENCY-LIMIT", "POOL-SATURATED", "READER-NOT-LISTENING"])
def test_what_needs_the_whole_is_not_measured_beside_a_sample(id: str) -> None:
    assert "needs all connections" in silence(sampled().model(), id).reason
    assert not [each for each in diagnose(sampled(one_of=1).model()).silences if "all connections" in each.reason]


def test_findings_beside_a_sample_are_less_sure() -> None:
    diagnosis = diagnose(sampled().model())
    assert diagnosis.findings
    for finding in diagnosis.findings:
        assert finding.confidence is not Confidence.HIGH
        assert any("one connection in 8" in limit and "+-8 %" in limit for limit in finding.limits), finding


def test_requests_that_were_given_up_are_not_measured() -> None:
    builder = Builder().thread("app", cpu_user="5 s").budget(0, "18 ms", "1 s").line(given_up("requests"))
    model = builder.model()
    assert not model.measured("requests")
    assert make(model, diagnose(model), Config()).sample is None


def calm(*lines: schema.GivenUp) -> Report:
    """Return the report of a server in which nothing is found."""
    builder = Builder(window="10 s").thread("app", cpu_user="90 ms", wait_events="9 s").budget(130_000, "18 ms", "1 s")
    for line in lines:
        builder.line(line)
    model = builder.model()
    return make(model, diagnose(model), Config())


def test_nothing_is_acquitted_whose_requests_were_given_up() -> None:
    """Answers may have been errors, and nobody has looked."""
    assert calm().verdict.status == "idle"
    report = calm(given_up("requests"))
    assert (report.verdict.status, report.verdict.kind) == ("cannot tell", "cannot tell")
    shown = folded(plain(report))
    assert "CANNOT TELL" in shown and "NO PROBLEM" not in shown and "Nothing abnormal" not in shown
    assert "NOT MEASURED requests served and calls made, and how long they took, after 500 ms: give it more" in shown
    assert "a larger --max-cost" in shown and "perfdiag check" not in shown
    model = Builder().thread("app", cpu_user="5 s").budget(0, "18 ms", "1 s").line(given_up("requests")).model()
    assert "a larger --max-cost" in silence(model, "REQUEST-ERRORS").fix


def test_what_keeps_a_target_busy_is_told_without_a_word_on_its_requests() -> None:
    report = reported(given_up("requests"))
    assert report.verdict.status == "busy" and "Nothing abnormal" not in report.verdict.text
    assert "NOT MEASURED requests served and calls made" in folded(plain(report))


def test_what_was_given_up_is_named_where_it_could_matter() -> None:
    """Also in the shortest report: who sleeps may do so because a call fails."""
    builder = Builder(window="10 s").thread("app", cpu_user="90 ms", wait_timer="9 s").budget(20_000, "18 ms", "1 s")
    model = builder.line(given_up("failed_calls")).model()
    report = make(model, diagnose(model), Config())
    assert "NOT MEASURED which system calls fail before threads sleep" in folded(plain(report))
    assert "NOT MEASURED" not in plain(calm(given_up("failed_calls")))
    assert "NOT MEASURED" not in plain(calm(given_up("stacks", one_of=16)))


def test_the_range_of_a_percentile_is_that_of_its_connections() -> None:
    """64 connections: the median of all lies between the 38th and the 62nd percentile of theirs."""
    even = {16 + index: 100 for index in range(100)}  # a distribution of 100 steps
    connections = 64
    error = round(1.96 * 10_000 / math.sqrt(2 * connections))
    times = Latencies(10_000, 10**9, 10**12, even, error)
    low, high = times.range_ns(0.5) or (0, 0)
    assert low == pytest.approx(times.quantile_ns(0.38), rel=0.05)
    assert high == pytest.approx(times.quantile_ns(0.62), rel=0.05)
    assert Latencies(10_000, 10**9, 10**12, even).range_ns(0.5) is None
    assert (times.range_ns(0.99) or (0, 0))[1] == 10**12


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
