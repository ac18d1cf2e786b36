"""What was forged of failures and of the budget is noticed: answers, failed calls, steps, estimates and costs."""

from __future__ import annotations

from typing import Any

import pytest
from perfdiag.recording import schema

from unit.support import Builder
from unit.support.exchanges import PORT, exchange
from unit.support.recording import START_NS

S = 1_000_000_000
ANSWER: dict[str, Any] = {
    "object": PORT, "name": "", "direction": "accepted", "status": "500", "count": 5, "sum_ns": 10**6,
}  # fmt: skip
FAILED: dict[str, Any] = {"comm": "app", "pid": 100, "sleeps": 30, "sum_ns": S, "max_ns": S // 10}
STEP: dict[str, Any] = {"at_ns": START_NS + S, "feature": "requests", "one_of": 2, "cost_ns": 10**7, "of_ns": S}


def said(*lines: schema.Line, budget: tuple[str, str] = ("18 ms", "1 s"), **fields: Any) -> str:
    """Return the contradictions of a server with such lines."""
    builder = Builder(window="5 s").thread("app", cpu_user="4 s", wait_events="1 s").budget(20_000, *budget)
    builder.line(exchange(20, S, {"cpu.user": S}, **fields))
    for line in lines:
        builder.line(line)
    return "; ".join(builder.model().coverage.contradictions)


@pytest.mark.parametrize(
    "lines",
    [
        [],
        [schema.Answer(**ANSWER), schema.Answer(**{**ANSWER, "status": "LOADING"})],
        [schema.FailedCall(**FAILED, call="syscall:flock", error=11)],
        [schema.FailedCall(**FAILED, command="mkdir", exit_code=256)],
        [schema.FailedCall(**FAILED, command="mkdir", exit_code=9)],
        [schema.GivenUp(**STEP), schema.GivenUp(**{**STEP, "one_of": 8})],
        [schema.GivenUp(**{**STEP, "feature": "stacks", "one_of": 16})],
    ],
)
def test_what_a_recorder_says_contradicts_nothing(lines: list[schema.Line]) -> None:
    assert not said(*lines)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"count": 10**12}, "1,000,000,000,000 answers are errors, of 20 to requests"),
        ({"object": "port:81"}, "5 answers are errors, of 0 to requests"),
        ({"status": ""}, "a status that is none"),
        ({"status": "200"}, "a status that is none"),
        ({"status": "5e2"}, "a status that is none"),
    ],
)
def test_forged_answers(change: dict[str, Any], told: str) -> None:
    assert told in said(schema.Answer(**{**ANSWER, **change}))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"sleeps": 0}, "and no sleep"),
        ({"max_ns": 2**62}, "longer than all"),
        ({"command": "mkdir"}, "a child failed with 0"),
        ({"command": "mkdir", "exit_code": 2**62}, "which wait(2) does not say"),
        ({"call": "syscall:flock", "error": 10**9}, "which is no error"),
    ],
)
def test_forged_failures(change: dict[str, Any], told: str) -> None:
    assert told in said(schema.FailedCall(**{**FAILED, **change}))


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        ([{"one_of": 0}], "requests and calls were given up, and 20 are told"),
        ([{"one_of": 1}], "one in 1 is from then on"),
        ([{"one_of": 77}], "one in 77 is from then on"),
        ([{"one_of": 8}, {"one_of": 4}], "of what one in 8 was followed, one in 4"),
        ([{"at_ns": 2**62}], "something was given up"),
        ([{"at_ns": 0}], "something was given up"),
        ([{"cost_ns": 2**62}], "programs took, or had"),
    ],
)
def test_forged_steps(steps: list[dict[str, Any]], told: str) -> None:
    assert told in said(*(schema.GivenUp(**{**STEP, **step}) for step in steps))


def test_forged_estimates_and_costs() -> None:
    assert "numbers of requests are estimates, and all were followed" in said(count_error=7)
    assert not said(schema.GivenUp(**STEP), count_error=7)
    assert "programs took, or had" in said(budget=("4000 s", "1 s"))
