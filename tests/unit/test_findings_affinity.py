"""CPU-OVERSUBSCRIBED of threads that an affinity binds to few CPUs."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.rule import Severity
from perfdiag.facts.host_facts import Process

from unit.support import Builder
from unit.support.amounts import nanoseconds
from unit.support.judging import check, finding, knowing
from unit.support.known import blank


@pytest.mark.parametrize(
    ("cpus", "wait", "warns"), [("0", "1.4 ms", True), ("0-1", "1.4 ms", False), ("0", "300 us", False)]
)
def test_bursts_wait_on_the_cpus_that_an_affinity_allows(cpus: str, wait: str, warns: bool) -> None:
    """Four workers compute for 0.4 s each and wait 0.4 s for each other: on average 0.3 are runnable."""
    builder = Builder(cpus=2)
    for number in range(4):
        builder.thread("worker", tid=100 + number, cpu_user="400 ms")
        builder.row("runq.busy", "own:100:worker", durations={wait: 400_000_000 // nanoseconds(wait)})
    model = knowing(builder.model(), processes={100: blank(Process, pid=100, cpus_allowed=cpus, thread_cpus={})})
    if not warns:
        assert check(model, "CPU-OVERSUBSCRIBED").number == pytest.approx(0.5, abs=0.01)
        return
    found = finding(model, "CPU-OVERSUBSCRIBED")
    assert found.severity is Severity.WARNING and "1 of 2 CPUs" in found.headline
    assert found.remedies[0].text == "taskset -acp 0-1 100" and found.remedies[0].present_value.startswith(
        "CPUs 0 of 2"
    )
