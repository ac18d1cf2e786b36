"""The tables of what is said of a target, with faults that take time and without."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.model.model import Model
from perfdiag.report.verdict import fault_cases, host_cases, request_cases
from perfdiag.report.verdict.calm_cases import cases
from perfdiag.report.verdict.situation import Situation

from unit.support import Builder


def situation(model: Model) -> Situation:
    """Return the situation of a model in which no fault takes time."""
    found = Situation(model, diagnose(model))
    assert not found.timed
    return found


def test_every_case_has_a_name_of_its_own_and_the_last_always_holds() -> None:
    busy = situation(Builder().thread("a", cpu_user="9 s").model())
    idle = situation(Builder().thread("a", cpu_user="20 ms").model())
    for table in (cases(busy), cases(idle), fault_cases.CASES, host_cases.CASES, request_cases.CASES):
        assert len({case.name for case in table}) == len(table)
        assert table[-1].holds(busy)


@pytest.mark.parametrize(
    ("builder", "name"),
    [
        (Builder().thread("a", cpu_user="9 s"), "it is busy"),
        (Builder().thread("a", cpu_user="500 ms", rest="net.accept"), "it is hardly busy"),
        (Builder().thread("a", cpu_user="500 ms", rest="wait.timer"), "it sleeps for longer than it works"),
        (Builder().thread("a", cpu_user="20 ms", rest="wait.timer"), "idle: it sleeps"),
        (Builder().thread("a", cpu_user="20 ms", rest="wait.parked"), "idle: threads may be stuck"),
        (Builder().thread("a", cpu_user="20 ms", rest="wait.child"), "idle: it waits for no work"),
        (Builder().thread("a", cpu_user="20 ms", rest="net.accept"), "idle: nothing shows that it answers"),
        (Builder().thread("a", cpu_user="1 s", wait_parked=("6 s", 60), rest="net.accept"), "most is unknown"),
    ],
)
def test_the_first_case_that_holds_is_the_one(builder: Builder, name: str) -> None:
    found = situation(builder.model())
    assert next(case.name for case in cases(found) if case.holds(found)) == name
