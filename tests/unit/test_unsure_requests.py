"""Messages of which nothing tells whether they are requests: what a client acknowledges looks the same."""

from __future__ import annotations

import pytest
from perfdiag.common.config import Config
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Mechanism, Severity
from perfdiag.model.model import Model
from perfdiag.recording import schema
from perfdiag.render.requests import served_line
from perfdiag.report import assembly

from unit.support import Builder
from unit.support.exchanges import exchange, latency
from unit.support.judging import findings

MS = 1_000_000
SLEPT = 300 * MS


def sleeping(unsure: int, count: int = 20, **fields: int) -> Model:
    """A thread that sleeps for 300 ms before each of 20 messages, `unsure` of which may be no answers."""
    builder = Builder(slo="250 ms").thread("broker", cpu_user="100 ms", wait_timer="6 s")
    parts = [schema.PartSum("wait.timer", count * SLEPT)]
    over = {"over_slo": count, "over_slo_ns": count * SLEPT, "over_slo_whole_ns": count * SLEPT}
    unsures: dict[str, int] = {"unsure": unsure, "over_slo_unsure": unsure, **fields}
    builder.line(
        exchange(count, count * SLEPT, {"wait.timer": count * SLEPT}, over_slo_accounts=parts, **over, **unsures)
    )
    return builder.line(latency([SLEPT] * count)).model()


def test_what_may_be_acknowledged_breaks_no_objective_for_sure() -> None:
    model = sleeping(20)
    [found] = findings(model, "SLO-BREACH")
    assert (found.severity, found.mechanism) == (Severity.INFO, Mechanism.UNDETERMINED)
    assert model.request_time is None and not findings(model, "WAIT-TIMER-IN-REQUEST")
    assert all(each.severity is Severity.INFO for each in diagnose(model).findings)


@pytest.mark.parametrize("unsure", [0, 9])
def test_most_of_them_are_requests(unsure: int) -> None:
    model = sleeping(unsure)
    [found] = findings(model, "SLO-BREACH")
    assert found.severity is Severity.WARNING and model.request_time is not None
    assert findings(model, "WAIT-TIMER-IN-REQUEST")


def test_they_are_counted_and_said() -> None:
    model = sleeping(3, untimed=7)
    [request] = assembly.make(model, diagnose(model), Config()).requests
    said = served_line(request)
    assert (request.untimed, request.unsure) == (7, 3)
    assert "7 messages not timed" in said and "3 may be acknowledgements" in said
