"""Servers that compute to tell those who listen what nobody asked for."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.evidence.requests.unasked_sends import mostly_unasked
from perfdiag.diagnosis.rule import Severity
from perfdiag.model.model import Model
from perfdiag.recording import schema

from unit.support import Builder
from unit.support.exchanges import served
from unit.support.judging import check, finding
from unit.support.reports import made

S, MS = 1_000_000_000, 1_000_000


def telling(unasked: int | None) -> Model:
    """A server whose requests spend as much in own code as in the kernel, and that sends news meanwhile."""
    builder = Builder(comm="server").thread("server", cpu_user="3 s", cpu_kernel="3 s", runq_waking="3 s")
    for line in served(400, 22 * MS, {"cpu.user": 6 * S, "runq.waking": 2 * S}, bytes_out=4000):
        builder.line(line)
    sends = {"unasked": unasked, "unasked_bytes": 1 << 30, "unasked_connections": 60} if unasked is not None else {}
    return builder.line(schema.RequestsInside(1, [], 0, **sends)).model()


def test_most_of_what_it_sends_nobody_asked_for() -> None:
    """Each command that Redis got was told to 60 clients in MONITOR: nothing abnormal was found."""
    model = telling(24_000)
    found = finding(model, "CPU-BOUND")
    assert "60 connections that asked nothing get most of what it sends" in found.headline
    assert found.severity is Severity.INFO
    assert (
        "24,000 sends of 1.00 GiB to 60 connections" in str(found.evidence) and "who listens" in found.remedies[0].text
    )
    text = made(model, *diagnose(model).findings).verdict.text
    assert "60 connections that asked nothing get most of what it sends" in text


@pytest.mark.parametrize("unasked", [300, 0, None])
def test_a_server_that_mostly_answers_tells_nobody_else(unasked: int | None) -> None:
    """Fewer greetings than answers, none, and a recording that does not say."""
    assert mostly_unasked(telling(unasked)) is None and check(telling(unasked), "CPU-BOUND")
