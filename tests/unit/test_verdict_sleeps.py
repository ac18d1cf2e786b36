"""Verdicts on targets that sleep by their own choice and suffer a fault in the little time that they are awake."""

from __future__ import annotations

from perfdiag.findings.base import Finding
from perfdiag.model import Model

from unit.support import Builder
from unit.support.reports import finding, made

S = 1_000_000_000


def verdict(model: Model, *findings: Finding) -> str:
    return made(model, *findings).verdict.text


def test_a_sleep_that_is_most_of_the_window_leads_whatever_the_thread_suffers_besides() -> None:
    """A server slept for 2.65 of 3 s, and the verdict spoke of the 310 ms in which it waited for a CPU."""

    def told(others: str = "0 ms", faults: int = S) -> str:
        queued = finding("CPU-CONTENTION", {"runq.busy": faults}, "Threads waited for CPUs.")
        builder = Builder().thread("server", runq_busy=f"{faults} ns", net_receive="200 ms", rest="wait.timer")
        return verdict(builder.thread("worker", disk_flush=others).model(), queued)

    assert told().startswith("Thread server (100) sleeps 8.80 s of 10.0 s by its own choice")
    assert told().index("sleeps") < told().index("is CPU-CONTENTION")
    for other in (told("9 s"), told(faults=45 * S // 10)):  # others work; it suffers half as long as it sleeps
        assert other.startswith("Threads waited for CPUs.") and "Thread server (100) sleeps" in other


def test_children_that_sleep_one_after_the_other_are_a_sleep_of_their_parents() -> None:
    """A parent waited for them for 3.94 of 4 s, and the verdict spoke of CPUs only."""
    queued = finding("CPU-CONTENTION", {"runq.busy": 3 * S // 2}, "Threads waited for CPUs.")

    def told(parent: str) -> str:
        builder = Builder().thread("make", runq_busy="1500 ms", rest=parent)
        for pid in range(200, 220):
            builder.thread("job", pid=pid, wall="420 ms", exited=True, rest="wait.timer")
        return verdict(builder.model(), queued)

    assert told("wait.child").startswith("20 threads (job) sleep 8.40 s of 8.40 s by their own choice")
    assert told("wait.events").startswith("Threads waited for CPUs.")
