"""Requests whose threads are parked: a lock, another thread, news; and threads that are parked without a request."""

from __future__ import annotations

import contextlib
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from perfdiag.common.config import Config
from perfdiag.diagnosis import engine
from perfdiag.diagnosis.rule import Mechanism, Severity
from perfdiag.recording import schema
from perfdiag.report import assembly

from live.support.fixtures import Attach, Cleanup, Serving
from live.support.host import slow_disk
from live.support.model import model_of
from live.support.recording import Recording
from live.support.serving import Server, answered, asked, exchanged, http, served, stopped

pytestmark = pytest.mark.quiet

MS = 1_000_000
FLUSH_US = 20_000


def ask_together(server: Server, clients: int, each: int, pause: float = 0) -> None:
    """Let so many clients ask at a time, so often each."""

    def client(_: int) -> None:
        with server.connect() as connection:
            for _ in range(each):
                asked(connection, http("/"))
                time.sleep(pause)

    with ThreadPoolExecutor(clients) as pool:
        list(pool.map(client, range(clients)))


def parked_ns(recording: Recording) -> int:
    return sum(line.sum_ns for line in recording.of(schema.RequestParked))


def booked_ns(recording: Recording, account: str) -> int:
    """Return what stands of requests in an account of the kernel side."""
    lines = [line for line in recording.of(schema.Exchange) if line.direction == "accepted"]
    return sum(part.sum_ns for line in lines for part in line.accounts if part.account == account)


@pytest.mark.may_skip("ext4 in the kernel")
def test_forty_requests_behind_one_flush(tmp_path: Path, cleanup: Cleanup, serving: Serving, attach: Attach) -> None:
    """Whatever shows or does not show that they wait for a lock: the flush is what they wait for."""
    disk = cleanup.enter_context(slow_disk(tmp_path, "ext4", flush_us=FLUSH_US))
    server = serving(f"thread_each(listening(), flushes({str(disk.mountpoint / 'journal')!r}))")
    recorder = attach(server.pid)
    ask_together(server, 40, 3)
    recording = stopped(recorder)
    requests = served(recording, "GET /")
    assert requests.line.whole == requests.line.count == 120, requests.line
    assert booked_ns(recording, "wait.parked") == parked_ns(recording) > 0.8 * requests.line.sum_ns
    flushes_ns = sum(line.sum_ns for line in recording.of(schema.Because) if line.root == "disk.flush")
    assert flushes_ns > 0.9 * parked_ns(recording), "what all wait for is lost on the way through the queue"
    model = model_of(recording)
    made = assembly.make(model, engine.diagnose(model), Config())
    assert made.verdict.kind == "cause" and made.verdict.ids == ["DISK-FLUSH-SLOW"], made.verdict
    assert made.findings[0].share > 0.5 and "-> disk.flush" in made.findings[0].claim, made.findings[0]
    assert sum(each.share for each in made.findings) + made.unclaimed_share == pytest.approx(1)


@pytest.mark.may_skip("ext4 in the kernel")
def test_forty_requests_behind_a_flush_that_is_fast(
    tmp_path: Path, cleanup: Cleanup, serving: Serving, attach: Attach
) -> None:
    disk = cleanup.enter_context(slow_disk(tmp_path, "ext4"))
    server = serving(f"thread_each(listening(), flushes({str(disk.mountpoint / 'journal')!r}))")
    recorder = attach(server.pid)
    for _ in range(40):
        ask_together(server, 1, 1)
    found = engine.diagnose(model_of(stopped(recorder))).findings
    wrong = [each for each in found if each.severity is not Severity.INFO and "parked" in str(each.claims)]
    assert not wrong, wrong


def test_a_worker_that_all_requests_wait_for(serving: Serving, attach: Attach) -> None:
    server = serving("thread_each(listening(), waits_for_a_worker(lambda: time.sleep(0.01)))")
    recorder = attach(server.pid)
    ask_together(server, 8, 20)
    recording = stopped(recorder)
    requests = served(recording, "GET /")
    model = model_of(recording)
    assert model.request_time and model.request_time.accounts["wait.parked"] > 0.8 * requests.line.sum_ns
    first = engine.diagnose(model).findings[0]
    assert (first.id, first.severity) == ("WAIT-THREAD-IN-REQUEST", Severity.WARNING), first
    assert first.mechanism is Mechanism.SLEEP and first.share > 0.8, first


def test_a_pool_that_is_parked_between_requests(serving: Serving, attach: Attach) -> None:
    """One thread reads a request, another one the next on the same connection: what each does between is none of it."""
    server = serving("pooled(listening(), 4, 0.005)")
    recorder = attach(server.pid)
    ask_together(server, 3, 30, 0.007)
    recording = stopped(recorder)
    requests = served(recording, "GET /")
    assert requests.line.whole == requests.line.count == 90, requests.line
    assert sum(part.sum_ns for part in requests.line.accounts) <= 1.02 * requests.line.sum_ns, requests.line
    assert booked_ns(recording, "wait.parked") < 0.05 * requests.line.sum_ns, requests.line
    parked = [line for line in recording.of(schema.Because) if line.account == "wait.parked" and line.inside]
    assert sum(line.sum_ns for line in parked) < 0.05 * requests.line.sum_ns, parked
    found = engine.diagnose(model_of(recording)).findings
    assert not [each for each in found if each.id == "WAIT-THREAD-IN-REQUEST"], found


@pytest.mark.parametrize("helper", [False, True])
def test_an_answer_that_another_thread_comes_with(helper: bool, serving: Serving, attach: Attach) -> None:
    """Clients of HTTP and of databases leave waiting to a thread of their own: who asks is parked meanwhile."""
    upstream = serving("thread_each(listening(), sleeps(0.05))")
    server = serving(f"thread_each(listening(), asks_by_a_loop({upstream.port}, helper={helper}))")
    recorder = attach(server.pid)
    ask_together(server, 6, 11)
    recording = stopped(recorder)
    requests = served(recording, "GET /").line
    assert booked_ns(recording, "wait.parked") > 0.9 * requests.sum_ns, requests
    model = model_of(recording)
    assert model.request_time and model.request_time.accounts["request.peers"] > 0.8 * requests.sum_ns
    first = engine.diagnose(model).findings[0]
    assert (first.id, first.severity) == ("NET-PEER-SLOW", Severity.WARNING) and first.share > 0.8, first


def test_a_thread_that_comes_late_with_an_answer(serving: Serving, attach: Attach) -> None:
    upstream = serving("thread_each(listening(), sleeps(0.001))")
    server = serving(f"thread_each(listening(), asks_by_a_loop({upstream.port}, helper=True, late_seconds=0.02))")
    recorder = attach(server.pid)
    ask_together(server, 2, 20)
    recording = stopped(recorder)
    model = model_of(recording)
    assert model.request_time, recording.of(schema.Exchange)
    assert model.request_time.accounts.get("request.peers", 0) < 0.2 * served(recording, "GET /").line.sum_ns
    first = engine.diagnose(model).findings[0]
    assert (first.id, first.severity) == ("WAIT-THREAD-IN-REQUEST", Severity.WARNING), first


@pytest.mark.parametrize("kept", [True, False])
def test_requests_that_wait_for_news_from_outside(kept: bool, serving: Serving, attach: Attach) -> None:
    """The thread that brings the news waited for its client, or was made when the client connected: its line of time
    goes on with that of the thread that waited to accept.  Either way requests waited for somebody outside."""
    server = serving("until_news(listening())")
    recorder = attach(server.pid)
    with contextlib.ExitStack() as connections:
        readers = [connections.enter_context(server.connect()) for _ in range(12)]
        writer = connections.enter_context(server.connect())
        asked(writer, http("/news"))
        for _ in range(3):
            for reading in readers:
                reading.sendall(http("/"))
            time.sleep(0.3)
            with contextlib.nullcontext(writer) if kept else server.connect() as brings:
                asked(brings, http("/news"))
            for reading in readers:
                answered(reading)
    recording = stopped(recorder)
    waited = [line for line in recording.of(schema.Because) if line.account == "wait.parked" and line.inside]
    outside_ns = sum(line.sum_ns for line in waited if line.root == ("net.request" if kept else "net.accept"))
    assert outside_ns > 0.8 * exchanged(recording, "accepted")["GET /"].line.sum_ns, waited
    model = model_of(recording)
    assert model.request_time is None, model.request_time
    found = engine.diagnose(model).findings
    blamed = [each for each in found if each.id in ("WAIT-THREAD-IN-REQUEST", "LOCK-CONTENTION")]
    assert all(each.severity is Severity.INFO for each in blamed), [(each.claim, each.evidence) for each in blamed]


def test_handed_on_requests_are_not_followed(serving: Serving, attach: Attach) -> None:
    """Who has read them is parked until the next one comes, and another thread sleeps and answers."""
    server = serving("handed_on(listening(), 0.005)")
    recorder = attach(server.pid)
    ask_together(server, 1, 40)
    recording = stopped(recorder)
    known = model_of(recording).request_time
    assert not parked_ns(recording), recording
    assert known is None or known.handed_ns + known.accounts["wait.timer"] > 0.9 * known.ns, known


def test_a_loop_that_was_parked_is_not_followed(serving: Serving, attach: Attach) -> None:
    """What a thread is parked for, after it waited for events with a request in hand, need not be that request's: of
    all its pauses only those count that came between reading one and waiting for events."""
    server = serving("loop_with_pauses(0.02)")
    recorder = attach(server.pid)
    ask_together(server, 2, 15)
    recording = stopped(recorder)
    paused_ns = sum(line.sum_ns for line in recording.details("wait.parked"))
    assert paused_ns > 0.3 * recording.wall_ns, paused_ns
    assert parked_ns(recording) < 0.1 * served(recording, "GET /").line.sum_ns
    time_of = model_of(recording).request_time
    assert time_of and time_of.accounts.get("wait.parked", 0) == sum(time_of.rows.values()) < 0.1 * time_of.ns, time_of
