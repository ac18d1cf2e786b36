"""CPU-OVERSUBSCRIBED at hand-overs: threads that wake each other on one CPU, whose waiting had no finding."""

from __future__ import annotations

from perfdiag.diagnosis.rule import Confidence, Severity

from unit.support import Builder
from unit.support.judging import check, finding

ID = "CPU-OVERSUBSCRIBED"


def handing(count: int = 250_000, woken: int = 250_000) -> Builder:
    """Two threads that ask and answer each other, each ready to run while the other still runs."""
    builder = Builder()
    for comm, other, tid in (("ping", "own:101:pong", 101), ("pong", "own:100:ping", 100)):
        builder.thread(comm, cpu_kernel="2 s").row("runq.busy", other, durations={"4 us": count})
        builder.row("ipc.unix", "unix:100:ping", "1 s", count=woken, waker_tid=tid, waker_count=woken)
    return builder


def test_short_waits_behind_own_threads_that_are_much_together_are_profile() -> None:
    found = finding(handing().model(), ID)
    assert found.severity is Severity.INFO
    assert set(found.claims.values()) == {1_000_000_000} and len(found.claims) == 2
    assert any("500,000" in evidence.text for evidence in found.evidence)
    assert "hand over less often" in found.remedies[-1].text


def test_the_price_of_handing_over_that_everybody_pays_is_none() -> None:
    assert "behind own threads" in check(handing(20_000, 20_000).model(), ID).text


def test_threads_that_take_turns_without_waking_each_other_hand_nothing_over() -> None:
    assert "behind own threads" in check(handing(woken=100_000).model(), ID).text


def test_lost_records_lower_the_confidence() -> None:
    found = finding(handing().lost(storage_failed=9_000).model(), ID)
    assert found.confidence is Confidence.MEDIUM and any("lost" in limit for limit in found.limits)
