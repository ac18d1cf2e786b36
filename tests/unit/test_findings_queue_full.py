"""QUEUE-FULL: senders that wait for room in a message queue."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Confidence, Mechanism, Relation, Severity

from unit.support import Builder
from unit.support.judging import check, finding

ID, READER = "QUEUE-FULL", 300


def sending(call: str = "mq_timedsend", time: str = "8 s", waker: int = 0, comm: str = "") -> Builder:
    builder = Builder().thread("feeds", cpu_user="100 ms")
    return builder.row(
        "kernel.other", f"syscall:{call}", time, count=400, waker_tid=waker, waker_count=390, waker_comm=comm
    )


@pytest.mark.parametrize("call", ["mq_timedsend", "mq_timedsend_time64", "msgsnd"])
def test_who_sends_to_a_full_queue_waits_for_its_reader(call: str) -> None:
    model = sending(call).model()
    found = finding(model, ID)
    assert (found.severity, found.mechanism, *found.others) == (Severity.WARNING, Mechanism.SLOW)
    assert found.confidence is Confidence.MEDIUM, "who reads is not known"
    assert dict(found.claims) == {("kernel.other", f"syscall:{call}"): 8_000_000_000}
    assert [each.id for each in diagnose(model).findings] == [ID]  # not once more as KERNEL-OTHER


def test_the_reader_is_who_ends_the_waits() -> None:
    found = finding(sending(waker=READER, comm="eats").model(), ID)
    assert [(each.pid, each.comm, each.relation) for each in found.others] == [(READER, "eats", Relation.PEER)]
    assert found.confidence is Confidence.HIGH and found.remedies[0].text.endswith(f"--pid {READER}")


def test_a_reader_in_the_target_that_works_is_in_other_findings() -> None:
    found = finding(sending(waker=READER).thread("eats", pid=READER, cpu_user="9 s").model(), ID)
    assert (found.severity, found.mechanism, found.others[0].pid) == (Severity.INFO, Mechanism.OTHERS, READER)


def test_a_reader_in_the_target_that_sleeps_is_at_fault() -> None:
    found = finding(sending(waker=READER).thread("eats", pid=READER, rest="wait.timer").model(), ID)
    assert (found.severity, found.mechanism) == (Severity.WARNING, Mechanism.SLEEP)


def test_a_moment_is_fine() -> None:
    assert check(sending(time="10 ms").model(), ID).number < 0.1


def test_lost_records_lower_the_confidence() -> None:
    model = sending(waker=READER, comm="eats").lost(storage_failed=50).model()
    assert finding(model, ID).confidence is Confidence.MEDIUM
