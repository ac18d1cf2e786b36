"""Which CPUs the target had, and for how long: the same nanoseconds as in its threads' books, by CPU."""

from __future__ import annotations

import os

import pytest
from perfdiag import schema

from live.support.fixtures import Record, Start
from live.support.recording import ns_of

CPU = max(os.sched_getaffinity(0))


@pytest.mark.parametrize(("name", "options"), [("spin", ("--threads", 3)), ("pingpong", ("--count", 3001))])
def test_time_by_cpu_adds_up_to_the_books(start: Start, record: Record, name: str, options: tuple[object, ...]) -> None:
    recording, _ = record(start(name, *options))
    booked_ns = sum(ns_of(row, "cpu.") for row in recording.books)
    ran_ns = sum(line.ran_ns for line in recording.of(schema.Cpu))
    # A switch that the kernel does not announce is known to the books by the task's own clock, to no CPU.
    assert ran_ns == pytest.approx(booked_ns, rel=0.03)


def test_a_bound_thread_had_one_cpu(start: Start, record: Record) -> None:
    recording, truth = record(start("spin", "--duration-ms", 500, "--cpu", CPU))
    by_cpu = {line.cpu: line.ran_ns for line in recording.of(schema.Cpu)}
    assert by_cpu[CPU] >= 0.95 * truth["cpu_ns"], by_cpu
    assert all(line.clock_ns <= line.ran_ns for line in recording.of(schema.Cpu))
    for line in recording.of(schema.Cpu):
        window_ns = recording.footer.at_ns - recording.header.start_ns
        assert sum(entry[2] for entry in line.idle) <= window_ns - line.ran_ns + 1_000_000, line
