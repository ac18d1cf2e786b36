"""SQL-LOCK-WAIT: sessions that wait for each other, and those that only look for a deadlock while somebody works."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.rule import Finding, Mechanism

from unit.support import Builder
from unit.support.judging import finding

ROW, WORD, BUFFER = "postgres:3:5", "for row locks of each other: deadlocks", "postgres:1:56"
OUTSIDE = 150


def crosswise(
    *,
    rest: int = 1,
    ended_by: tuple[int, int] = (102, 101),
    holder_ms: int = 1,
    holder: int = 102,
    key: str = ROW,
    pieces: str = "1 s",
) -> Finding:
    """Two sessions that wait five times for a second each, and `rest` times for a moment; one line says who worked."""
    builder = Builder(comm="postgres", pid=100).thread("postgres", pid=100).thread("postgres", pid=OUTSIDE)
    for pid, waker in zip((101, 102), ended_by, strict=True):
        builder.thread("postgres", pid=pid, cpu_user="10 ms", rest="net.request")
        durations = {pieces: 5, "200 us": rest}
        builder.row("lock.database", key, durations=durations, waker_tid=waker, waker_count=rest if waker else 0)
    builder.because("lock.database", key, "cpu.user", f"{holder_ms} ms", root_tid=holder)
    return finding(builder.model(), "SQL-LOCK-WAIT")


def test_sessions_that_wait_for_each_other_are_a_deadlock() -> None:
    found = crosswise()
    assert WORD in found.headline and found.mechanism is Mechanism.FAILED
    assert "2 sessions waited 10.0 s" in found.claim and "own code" not in found.claim
    assert "10 of 12 waits lasted until deadlock_timeout" in found.evidence[1].text
    assert "same order" in found.remedies[0].text and "deadlock detected" in found.remedies[1].text


def test_the_same_session_may_give_up_each_time() -> None:
    assert WORD in crosswise(ended_by=(102, 0)).headline


@pytest.mark.parametrize(
    "other",
    [
        {"rest": 5},  # each that looked slept on: somebody worked for just over a second
        {"ended_by": (OUTSIDE, 101)},
        {"ended_by": (0, 0), "holder": 0},  # nothing is known of who ended them
        {"holder": OUTSIDE},
        {"holder_ms": 800},
        {"pieces": "400 ms"},
        {"key": BUFFER},
    ],
)
def test_who_waits_for_somebody_that_works_is_in_no_deadlock(other: dict[str, object]) -> None:
    found = crosswise(**other)  # type: ignore[arg-type]  # one of them each
    assert "each other" not in found.headline and "order" not in found.remedies[0].text


@pytest.mark.parametrize(("holder_ms", "named"), [(300, False), (800, True)])
def test_what_a_holder_hardly_did_is_not_what_others_waited_for(holder_ms: int, named: bool) -> None:
    found = crosswise(rest=5, holder_ms=holder_ms, ended_by=(OUTSIDE, OUTSIDE), holder=OUTSIDE)
    assert ("own code" in found.headline) is named
    assert ("own code" in found.claim) is named
