"""Threads that ask for work in a loop, and their twins that work, find something, or wait for a flag in memory."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.engine import diagnose

from live.support.fixtures import Record, Start
from live.support.model import model_of

ID = "CPU-SPINNING"
INSTEAD = {"CPU-BOUND", "CPU-KERNEL-HEAVY", "CPU-SINGLE-THREAD"}


@pytest.mark.parametrize("how", ["yield", "recv", "poll", "epoll"])
def test_who_only_asks_burns_its_time(how: str, start: Start, record: Record) -> None:
    recording, truth = record(start("busy_poll", "--how", how, "--cpu-ms", 450))
    assert truth["asked"] % 101 == 0 and truth["found"] == 0
    found = {finding.id: finding for finding in diagnose(model_of(recording)).findings}
    assert ID in found and not INSTEAD & found.keys(), found
    assert 0.5 * truth["cpu_ns"] < found[ID].claimed_ns < 1.1 * truth["cpu_ns"], found[ID]
    assert how in found[ID].evidence[0].text


@pytest.mark.parametrize("how", ["work", "served", "flag"])
def test_who_works_or_may_work_is_not_blamed(how: str, start: Start, record: Record) -> None:
    """A loop on a flag cannot be told from one that computes: it is not claimed to wait."""
    recording, truth = record(start("busy_poll", "--how", how, "--cpu-ms", 450))
    assert truth["found"] == (truth["asked"] if how == "served" else 0)
    model = model_of(recording)
    assert ID not in {finding.id for finding in diagnose(model).findings}
    assert ID in {said.id for said in diagnose(model).checks}, "it was looked at"
