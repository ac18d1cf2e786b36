"""What measuring may take of the target's CPU time: measured in the window, and kept as far as it goes."""

from __future__ import annotations

import time

import pytest
from perfdiag.common.config import DEFAULT_MAX_COST_PPM
from perfdiag.recording import schema

from bench.processes import children, running
from live.support import laws
from live.support.fixtures import Attach, Cleanup
from live.support.recording import Recording, ns_of
from live.support.workload import WORKLOADS

pytestmark = pytest.mark.quiet  # others' switches and calls cost, too

WINDOW_NS = 4_000_000_000


def ping_pong(cleanup: Cleanup) -> list[int]:
    """Two processes that do nothing but wake each other."""
    process = cleanup.enter_context(running([WORKLOADS / "pingpong", "--cpu", 0, "--count", 10**9]))
    while not (other := children(process.pid)):
        time.sleep(0.01)
    return [process.pid, *other]


def recorded(attach: Attach, pids: list[int], ppm: int) -> Recording:
    return attach(*pids, first=[f"max-cost {ppm}"], duration_ns=WINDOW_NS).wait()


def test_without_a_budget_all_is_kept(cleanup: Cleanup, attach: Attach) -> None:
    recording = recorded(attach, ping_pong(cleanup), 1_000_000)
    assert not recording.of(schema.GivenUp)
    cost = recording.footer.cost
    assert cost.kept_ns is not None and cost.kept_of_ns is not None
    measured = {program.name: program.ns or 0 for program in cost.programs}
    own, kernels = cost.kept_ns / cost.kept_of_ns, sum(measured.values()) / ran_ns(recording)
    assert 0.5 < own / kernels < 1.5, "the kernel's statistics, of one interval, tell about the same"


def ran_ns(recording: Recording) -> int:
    return sum(ns_of(row, "cpu.") for row in recording.books)


@pytest.mark.parametrize("ppm", [0, 5_000])
def test_who_does_nothing_but_switch_costs_more_than_any_small_budget(
    ppm: int, cleanup: Cleanup, attach: Attach
) -> None:
    """All that is optional is given up, each step once; the ledger stays whole."""
    recording = recorded(attach, ping_pong(cleanup), ppm)
    steps = recording.of(schema.GivenUp)
    last = {step.feature: step.one_of for step in steps}
    assert last["stacks"] == 0, steps
    # That many calls a second end the watch on their results by themselves, if they are the first to.
    assert last.get("failed_calls", 0) == 0 and recording.footer.calls_watched_until_ns is not None
    assert all(step.cost_ns * 1_000_000 > ppm * step.of_ns for step in steps), "only what is over is cut"
    assert [step.at_ns for step in steps] == sorted(step.at_ns for step in steps)
    assert all(step.cost_after_ns is not None for step in steps[:-1])
    cost = recording.footer.cost
    assert cost.kept_ns and cost.kept_of_ns and cost.kept_ns * 1_000_000 > ppm * cost.kept_of_ns, "and that is said"
    laws.check(recording)


def test_who_sleeps_keeps_all(cleanup: Cleanup, attach: Attach) -> None:
    """A small part of next to nothing would be nothing: such a target counts as one that uses a tenth of a CPU."""
    process = cleanup.enter_context(running(["sleep", "60"]))
    recording = recorded(attach, [process.pid], DEFAULT_MAX_COST_PPM)
    assert not recording.of(schema.GivenUp)
