"""The kernel side counts a duration in the bucket whose bounds the report takes it to have."""

from __future__ import annotations

import subprocess

import pytest
from perfdiag.model.requests.exchanges import fine_edges_ns
from perfdiag.recording import schema
from perfdiag.recording.distribution import edges_ns

from unit.support.c_programs import FLAVOURS, build, environment

LONGEST_NS = 2**64 - 1
BUCKETS = 32


def counted(flavour: str, durations: list[int]) -> list[tuple[int, int]]:
    """Return the buckets of the kernel side: those that double, and the fine ones."""
    lines = "".join(f"{ns}\n" for ns in durations)
    run = subprocess.run([build("bucket", flavour)], input=lines, capture_output=True, text=True, env=environment())
    assert run.returncode == 0, run.stderr
    pairs = [line.split() for line in run.stdout.splitlines()]
    assert len(pairs) == len(durations)
    return [(int(double), int(fine)) for double, fine in pairs]


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_every_boundary_of_fine_buckets(flavour: str) -> None:
    bounds = [fine_edges_ns(index) for index in range(schema.LATENCY_BUCKETS)]
    first = counted(flavour, [low for low, _ in bounds])
    last = counted(flavour, [high - 1 for _, high in bounds])
    assert [fine for _, fine in first] == [fine for _, fine in last] == list(range(schema.LATENCY_BUCKETS))
    ends = [0, 1, bounds[-1][1], 2**63 - 1, 2**63, LONGEST_NS]
    assert [fine for _, fine in counted(flavour, ends)] == [0, 0, *[schema.LATENCY_BUCKETS - 1] * 4]


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_every_power_of_two_in_either_row_of_buckets(flavour: str) -> None:
    durations = [each for power in range(64) for each in (2**power - 1, 2**power, 2**power + 1)]
    for ns, (double, fine) in zip(durations, counted(flavour, durations), strict=True):
        assert double == next((i for i in range(BUCKETS - 1) if edges_ns(i)[0] <= ns < edges_ns(i)[1]), BUCKETS - 1)
        low, high = fine_edges_ns(fine)
        assert low <= ns < high or (fine == schema.LATENCY_BUCKETS - 1 and ns >= high), ns
