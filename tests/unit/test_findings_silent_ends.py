"""Pipes and connections at which nothing came: nobody is accused of answering slowly, and the target is not acquitted.

Each was told as "This process is not the slow part. ... answers slowly", a warning.
"""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Confidence, Finding, Mechanism, Severity
from perfdiag.model.model import Model

from unit.support import Builder
from unit.support.judging import finding
from unit.support.reports import made

IPC, NET = "IPC-PEER-SLOW", "NET-PEER-SLOW"
DB = "peer:10.0.0.5:5432"
ENDS = {"pipe:88": "ipc.pipe", "unix:700:cupsd": "ipc.unix", DB: "net.receive"}


def waiting(object: str, count: int = 1, *, lasts: bool = True, pid: int = 100, account: str = "") -> Builder:
    """A thread that waits at one end all along, of which the last wait did not end."""
    account = account or ENDS[object]
    builder = Builder().thread("reads", pid=pid, open=(account, object, "1 s") if lasts else None)
    return builder.row(account, object, "9 s", count=count)


def verdict(model: Model) -> tuple[str, str]:
    told = made(model, *diagnose(model).findings).verdict
    return told.kind, told.text


@pytest.mark.parametrize("object", ENDS)
def test_who_waits_where_nothing_came_waits_for_work_or_for_an_answer(object: str) -> None:
    model = waiting(object).model()
    found = finding(model, NET if object == DB else IPC)
    assert found.severity is Severity.INFO and found.mechanism is Mechanism.UNDETERMINED
    assert "nothing came" in found.claim and "slowly" not in found.claim
    kind, text = verdict(model)
    assert kind == "cannot tell" and "not the slow part" not in text and "No fault" not in text, text


@pytest.mark.parametrize("object", ENDS)
def test_where_something_came_a_peer_is_slow_that_may_have_been_asked(object: str) -> None:
    for model in (waiting(object, 2).model(), waiting(object, lasts=False).model()):
        found = finding(model, NET if object == DB else IPC)
        assert "nothing came" not in found.claim and (found.severity is Severity.WARNING) == (object == DB)


@pytest.mark.parametrize("object", ENDS)
def test_what_was_lost_with_the_end_of_a_recording_is_not_said_to_have_come(object: str) -> None:
    found = finding(waiting(object).cut().model(), NET if object == DB else IPC)
    assert found.severity is Severity.INFO and any("cut off" in limit for limit in found.limits)


def test_who_waits_for_an_answer_that_is_under_way_asked_for_it() -> None:
    asked = waiting(DB).socket(DB, in_flight=1).model()
    assert finding(asked, NET).severity is Severity.WARNING
    assert finding(waiting(DB).socket(DB).model(), NET).severity is Severity.INFO


def test_who_reads_what_it_never_asked_for_waits_for_no_answer() -> None:
    """A subscriber that sends nothing was told that its publisher answers slowly."""

    def reading(unasked: int | None, count: int = 20) -> Finding:
        builder = Builder().thread("reads").row("net.receive", DB, "9 s", count=count)
        return finding(builder.socket(DB, waits_unasked=unasked).model(), NET)

    found = reading(19)  # of the first wait nothing is known
    assert found.mechanism is Mechanism.UNDETERMINED and "asked for nothing meanwhile" in found.claim
    for asked in (reading(18), reading(0), reading(None), reading(0, count=1)):
        assert asked.severity is Severity.WARNING and "answers slowly" in asked.claim


def test_who_only_sends_waits_for_no_answer() -> None:
    """A shipper of logs waits for new ones at the set in which its connection is, on which nothing ever comes."""

    def shipping(calls: dict[str, int], **fields: int) -> Finding:
        builder = Builder().thread("ships").row("net.receive", DB, "9 s", count=20)
        return finding(builder.exchange(DB, "connected", calls, **fields).model(), NET)

    found = shipping({}, open=1)
    assert found.mechanism is Mechanism.UNDETERMINED and "nothing came" in found.claim
    for answered in (shipping({"450 ms": 20}), shipping({"450 ms": 1}, open=1), shipping({}, unanswered=1)):
        assert answered.severity is Severity.WARNING and "answers slowly" in answered.claim


@pytest.mark.parametrize(("count", "confidence"), [(9, Confidence.MEDIUM), (90, Confidence.HIGH)])
def test_who_asks_a_queue_for_work_looks_like_who_waits_for_a_slow_answer(count: int, confidence: Confidence) -> None:
    """A worker that sends BRPOP to Redis is answered after seconds: with a job, or that there is none."""
    builder = Builder().thread("works").row("net.receive", DB, "9 s", count=count)
    found = finding(builder.socket(DB, rtt_us=200, minimum_rtt_us=200, waits_unasked=0).model(), NET)
    assert found.severity is Severity.WARNING and found.confidence is confidence, found.limits
    assert any("client of a queue" in limit for limit in found.limits) == (confidence is Confidence.MEDIUM)


def test_a_connection_or_room_in_a_pipe_is_no_work() -> None:
    connects = waiting(DB, account="net.connect").model()
    assert finding(connects, "NET-CONNECT-SLOW").severity is Severity.WARNING
    writes = waiting("pipe:88").stack("wait", "ipc.pipe", object="pipe:88", kernel=["anon_pipe_write"], weight="9 s")
    assert "reads slowly" in finding(writes.model(), IPC).claim


def test_a_process_that_waits_at_its_own_pair_of_sockets_is_not_acquitted() -> None:
    """It read "reads (100) answers slowly", with the pid of the target itself."""
    for model in (
        waiting("unix:100:reads", account="ipc.unix").model(),
        waiting("unix:100:reads", 3, account="ipc.unix").model(),
    ):
        found = finding(model, IPC)
        assert "at a unix socket made by reads (100) itself" in found.claim and found.severity is Severity.INFO
        assert any("may hold the other end, too" in limit for limit in found.limits)
        assert "lsof" in found.remedies[0].text and "--pid 100" not in found.remedies[0].text
        assert verdict(model)[0] == "cannot tell"


def test_a_child_outside_the_target_that_writes_to_such_a_pair_is_named() -> None:
    builder = (
        Builder()
        .thread("reads")
        .row("ipc.unix", "unix:100:reads", "9 s", count=90, waker_tid=900, waker_count=90, waker_comm="helper")
    )
    found = finding(builder.model(), IPC)
    assert "at a unix socket of helper (900);" in found.claim and found.mechanism is Mechanism.UNDETERMINED
