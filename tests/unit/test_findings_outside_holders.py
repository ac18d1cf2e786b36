"""A lock on a file whose holder is outside the target: who waits for it waits for what that is in, or for its CPU."""

from __future__ import annotations

from dataclasses import replace

import pytest
from perfdiag.diagnosis.rule import Finding
from perfdiag.facts.competitors import Competitor
from perfdiag.facts.host_facts import Facts
from perfdiag.recording import schema

from unit.support import Builder
from unit.support.facts import lines
from unit.support.judging import finding, knowing
from unit.support.known import blank

LOCK = "LOCK-CONTENTION"
INDEXER = blank(Competitor, pid=324, ended=False, nice=19, policy=0, weighed=(), ran_ns=10**9, queued_ns=9 * 10**9)


def behind(seen: Competitor) -> Finding:
    builder = Builder().thread("queue", cpu_user="1 s")
    woken = {"waker_tid": 324, "waker_count": 5, "waker_pid": 324, "waker_comm": "indexer"}
    builder.row("lock.file", "file:254:0:12:queue", durations={"800 ms": 5}, **woken)  # type: ignore[arg-type]
    return finding(knowing(builder.model(), competitors={324: seen}), LOCK)


def test_a_holder_without_a_cpu_is_given_one() -> None:
    """An indexer at nice 19 had the lock for 12 ms of its own work, and for 800 ms beside a batch job."""
    found = behind(INDEXER)
    assert found.headline == "indexer (324), nice 19, holds the lock on queue (inode 12) on 254:0 but gets no CPU"
    raised = found.remedies[0]
    assert (raised.text, raised.undo) == tuple(f"renice -n {nice} -p $(ls /proc/324/task)" for nice in (0, 19))
    assert "waited for a CPU 90 % of the time it wanted one" in found.evidence[0].text
    assert "perfdiag latency --pid 324" in behind(replace(INDEXER, nice=0)).remedies[0].text


@pytest.mark.parametrize("seen", [replace(INDEXER, queued_ns=10**8), replace(INDEXER, queued_ns=None, ran_ns=None)])
def test_a_holder_that_had_its_cpu_or_was_not_looked_at_is_not_starved(seen: Competitor) -> None:
    assert "gets no CPU" not in behind(seen).headline


def test_a_holder_that_hardly_ever_queued_is_not_starved() -> None:
    """It sleeps with the lock, and of the milliseconds in which it wanted a CPU it waited for most."""
    assert "gets no CPU" not in behind(replace(INDEXER, ran_ns=10**8, queued_ns=10**9)).headline


def test_what_the_holder_did_meanwhile_is_its_cause() -> None:
    builder = Builder().thread("queue", cpu_user="1 s")
    woken = {"waker_tid": 324, "waker_count": 5, "waker_pid": 324, "waker_comm": "indexer"}
    key = "file:254:0:12:queue"
    builder.row("lock.file", key, durations={"800 ms": 5}, **woken)  # type: ignore[arg-type]
    builder.line(
        schema.PeerWait(
            pid=100,
            account="lock.file",
            object=key,
            peer_pid=324,
            peer_comm="indexer",
            root="wait.timer",
            root_object="",
            root_pid=324,
            root_comm="indexer",
            sum_ns=4 * 10**9,
        )
    )
    found = finding(knowing(builder.model(), competitors={324: INDEXER}), LOCK)
    assert found.headline == "indexer (324) holds the lock on queue (inode 12) on 254:0: it sleeps"
    assert "shorten or drop the sleep in indexer (324)" in found.remedies[0].text


def test_its_time_is_read() -> None:
    files = {"/competitor/7/stat": "7 (x) R 1 7 7 0 -1 0 0", "/competitor/7/schedstat": "1000 3000 9\n"}
    (seen,) = Facts.parse(lines(end=files)).competitors.values()
    assert (seen.ran_ns, seen.queued_ns, seen.queued_part) == (1000, 3000, 0.75)
