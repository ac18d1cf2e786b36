"""What io_uring and libaio have in flight tells a wait for a disk from one for work."""

from __future__ import annotations

from pathlib import Path

import pytest
from perfdiag.recording import schema

from live.support.fixtures import Cleanup, Record, Start
from live.support.host import slow_disk
from live.support.model import model_of
from live.support.recording import Recording, ns_of, table
from live.support.truth import SHARE, assert_waited

SILENCE_MS = 700


def assert_idle(recording: Recording, truth_ns: int, pid: int) -> None:
    """The silence is a wait for events, and all of it has that name."""
    thread = recording.thread(pid)
    idle = [row for row in recording.details("wait.events") if row.object == "idle"]
    assert sum(row.sum_ns for row in idle) == pytest.approx(truth_ns, rel=SHARE), table(thread)
    assert ns_of(thread, "wait.io_uring") < SHARE * truth_ns, table(thread)


@pytest.mark.parametrize("registered", [0, 1])
@pytest.mark.parametrize("armed", ["nothing", "poll", "accept", "receive", "timeout"])
def test_a_ring_that_waits_for_work(armed: str, registered: int, start: Start, record: Record) -> None:
    """in_iowait is set, and yet nobody has asked for anything."""
    recording, truth = record(start("uring", "--armed", armed, "--silence-ms", SILENCE_MS, "--registered", registered))
    assert_idle(recording, truth["wait_ns"], truth["pid"])


@pytest.mark.parametrize("armed", ["nothing", "poll", "accept"])
@pytest.mark.parametrize("registered", [0, 1])
def test_reads_in_flight(
    registered: int, armed: str, tmp_path: Path, cleanup: Cleanup, start: Start, record: Record
) -> None:
    """Whatever else is armed, a read that is under way is waited for; the name of the ring changes nothing."""
    disk = cleanup.enter_context(slow_disk(tmp_path, "ext4", read_us=5000, fill={"read.data": 64}))
    path = disk.mountpoint / "read.data"
    recording, truth = record(
        start("uring", "--count", 61, "--file", path, "--armed", armed, "--registered", registered)
    )
    assert_waited(recording.thread(truth["pid"]), truth["wait_ns"], "wait.io_uring")
    assert {row.object for row in recording.details("wait.io_uring")} == {"inflight"}


def test_what_nobody_takes_is_in_flight(start: Start, record: Record) -> None:
    """A send waits for a poll as a receive does, but for somebody who is to take what was sent."""
    recording, truth = record(start("uring", "--armed", "send", "--silence-ms", SILENCE_MS))
    assert_waited(recording.thread(truth["pid"]), truth["wait_ns"], "wait.io_uring")
    assert {row.object for row in recording.details("wait.io_uring")} == {"inflight"}


def test_more_requests_than_are_looked_at(start: Start, record: Record) -> None:
    recording, truth = record(start("uring", "--armed", "accept", "--times", 601, "--silence-ms", SILENCE_MS))
    assert_waited(recording.thread(truth["pid"]), truth["wait_ns"], "wait.io_uring")
    assert {row.object for row in recording.details("wait.io_uring")} == {"uncounted"}


@pytest.mark.parametrize("polls", [0, 3])
def test_libaio_reads_and_then_waits_for_nothing(
    polls: int, tmp_path: Path, cleanup: Cleanup, start: Start, record: Record
) -> None:
    """Reads are in flight, or nothing is but polls: one context, one after the other."""
    disk = cleanup.enter_context(slow_disk(tmp_path, "ext4", read_us=5000, fill={"read.data": 64}))
    path = disk.mountpoint / "read.data"
    recording, truth = record(
        start("aio_read", "--count", 61, "--file", path, "--silence-ms", SILENCE_MS, "--polls", polls)
    )
    thread = recording.thread(truth["pid"])
    assert_waited(thread, truth["wait_ns"], "wait.io_uring")
    assert {row.object for row in recording.details("wait.io_uring")} == {"inflight"}
    idle_ns = sum(row.sum_ns for row in recording.details("wait.events") if row.object == "idle")
    assert idle_ns == pytest.approx(truth["silent_ns"], rel=SHARE), table(thread)


def test_submitting_waits_itself(tmp_path: Path, cleanup: Cleanup, start: Start, record: Record) -> None:
    """Through the page cache libaio reads while it submits: that is a read, not a wait for completions."""
    disk = cleanup.enter_context(slow_disk(tmp_path, "ext4", read_us=5000, fill={"read.data": 64}))
    path = disk.mountpoint / "read.data"
    recording, truth = record(start("aio_read", "--count", 61, "--file", path, "--buffered", 1))
    thread = recording.thread(truth["pid"])
    assert_waited(thread, truth["submit_ns"], "disk.read")
    assert not ns_of(thread, "wait.io_uring"), table(thread)


def test_a_poller_of_a_ring_serves_no_request(start: Start, record: Record) -> None:
    """It receives and sends for the thread that does, which nothing shows: its polling was 95 % of the request time."""
    recording, truth = record(start("ring_server", "--count", 61, "--sleep-us", 5000), only=True)
    lines = [line for line in recording.of(schema.Exchange) if line.direction == "accepted"]
    assert [(line.count, line.open, line.unanswered) for line in lines] == [(0, 0, 0)], lines
    assert lines[0].untimed == truth["count"], lines
    assert model_of(recording).request_time is None


def test_a_ring_brings_requests_while_the_thread_sleeps(start: Start, record: Record) -> None:
    """Each is taken up after those before it, and sleeps once itself; neither time is a wait for a CPU."""
    clients = 4
    recording, truth = record(
        start("ring_server", "--poller", 0, "--clients", clients, "--count", 61, "--sleep-us", 5000), only=True
    )
    thread = recording.thread(truth["pid"])
    (line,) = [line for line in recording.of(schema.Exchange) if line.direction == "accepted"]
    slept_ns = {part.account: part.sum_ns for part in line.accounts}["wait.timer"]
    assert line.count == truth["count"], line
    assert slept_ns == pytest.approx(ns_of(thread, "wait.timer"), rel=SHARE), (line, table(thread))
    assert line.read_delay_ns == pytest.approx(line.sum_ns * (clients - 1) / clients, rel=2 * SHARE), line
    request_time = model_of(recording).request_time
    assert request_time is not None, line
    queued_ns = sum(ns for name, ns in request_time.accounts.items() if name.startswith("runq."))
    most_ns = clients * ns_of(thread, "runq.") + (line.unread_error_ns or 0)
    assert queued_ns <= most_ns, (request_time, line, table(thread))
    assert request_time.uncertain_ns < SHARE * request_time.ns, request_time
