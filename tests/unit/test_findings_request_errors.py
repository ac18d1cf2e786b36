"""REQUEST-ERRORS: a server that answers with errors is told so, however fast it does."""

from __future__ import annotations

from typing import Any

import pytest
from perfdiag.common.config import Config
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Finding, Severity
from perfdiag.recording import schema
from perfdiag.report.assembly import Report, make

from unit.support import Builder
from unit.support.judging import assert_headline, silence
from unit.support.recording import START_NS
from unit.support.shown import folded, plain

ID = "REQUEST-ERRORS"
PORT, NAME = "port:80", "GET /cart"


def answer(status: str, count: int, **fields: Any) -> schema.Answer:
    """Return errors that the target answers with."""
    of = {"object": PORT, "name": NAME, "direction": "accepted", "sum_ns": count * 1_000_000}
    return schema.Answer(status=status, count=count, **{**of, **fields})


def server(*answers: schema.Answer, requests: int = 20) -> Builder:
    """Return a server that answers at once."""
    builder = Builder(window="10 s").thread("worker", cpu_user="20 ms", net_request="9 s")
    builder.exchange(PORT, "accepted", {"1 ms": requests}, name=NAME, accounts={"cpu.user": "20 ms"})
    for each in answers:
        builder.line(each)
    return builder


def found_in(builder: Builder) -> Finding | None:
    return next((each for each in diagnose(builder.model()).findings if each.id == ID), None)


def report(builder: Builder) -> Report:
    model = builder.model()
    return make(model, diagnose(model), Config())


def test_a_server_most_of_whose_answers_are_errors_is_a_problem() -> None:
    found = found_in(server(answer("500", 10), answer("503", 2)))
    assert found and found.severity is Severity.WARNING and not found.claims
    assert found.headline == "60 % of the answers on port 80 are 500, 503 (12 of 20)"
    assert_headline(found.headline)
    assert [each.text for each in found.evidence] == ["GET /cart: 10 times 500", "GET /cart: 2 times 503"]
    shown = plain(report(server(answer("500", 12))))
    assert "NO PROBLEM" not in shown and "60 % of the answers on port 80 are 500 (12 of 20)" in folded(shown)


@pytest.mark.parametrize(
    "answers",
    [
        [],
        [answer("500", 1)],  # by chance
        [answer("404", 9)],
        [answer("500", 20, direction="connected", object="peer:10.0.0.5:80")],  # it passes on nothing of that
        [answer("503", 20, object="port:81")],  # nothing is known to be answered there
    ],
)
def test_few_errors_and_those_of_others_are_no_fault(answers: list[schema.Answer]) -> None:
    assert found_in(server(*answers)) is None


def test_the_verdict_is_on_the_errors_where_nothing_else_is_wrong() -> None:
    """Also in the document: what no request waits for is wrong all the same."""
    made = report(server(answer("500", 12)))
    assert (made.verdict.kind, made.verdict.status) == ("cause", "warning")
    assert made.verdict.ids == [ID]
    assert made.verdict.sentences[0] == "60 % of the answers on port 80 are 500 (12 of 20)."
    assert "Nothing abnormal" not in made.verdict.text
    lines = plain(made).splitlines()
    (first,) = [line for line in lines if line.startswith("FIX")]
    assert "the server's log" in first


def test_numbers_of_a_sample_have_their_error() -> None:
    builder = server(answer("500", 12, count_error=4), answer("503", 5, count_error=3))
    step = schema.GivenUp(at_ns=START_NS + 1, feature="requests", one_of=2, cost_ns=1, of_ns=1)
    found = found_in(builder.line(step))
    assert found and "(17 +-5 of 20)" in found.headline
    assert found.evidence[0].text == "GET /cart: 12 times +-4 500"


def test_errors_of_clients_are_told_without_a_fault() -> None:
    builder = server(answer("429", 15))
    found = found_in(builder)
    assert found and found.severity is Severity.INFO, found
    assert "75 % of the answers on port 80 are 429 (15 of 20)" in folded(plain(report(builder), full=True))


def test_an_answer_that_has_just_begun_makes_no_more_errors_than_answers() -> None:
    found = found_in(server(answer("502", 21)))
    assert found and found.headline == "100 % of the answers on port 80 are 502 (20 of 20)"


def test_where_requests_were_not_looked_at_nothing_is_ruled_out() -> None:
    silence(Builder(window="10 s").thread("worker", cpu_user="1 s").without("requests").model(), ID)


def test_the_table_of_requests_has_the_errors_of_each_name() -> None:
    told = report(server(answer("500", 12), answer("404", 1)))
    assert [each.errors for each in told.requests] == [{"500": 12, "404": 1}]
    assert "12 answered with 500, 1 answered with 404" in folded(plain(told, full=True))
