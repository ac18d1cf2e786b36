"""Requests on many connections, of which a budget lets a part be followed: the estimate is what clients counted."""

from __future__ import annotations

import contextlib
import math
import selectors
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from perfdiag.common.config import Config
from perfdiag.diagnosis.engine import diagnose
from perfdiag.recording import schema
from perfdiag.report.assembly import make

from bench.processes import cpu_ns
from live.support import laws
from live.support.fixtures import Attach, Cleanup, Serving
from live.support.model import model_of
from live.support.recorder import Recorder
from live.support.recording import Recording
from live.support.serving import Server, http

pytestmark = pytest.mark.quiet  # what others do costs, too

REQUEST = http("/a")
CONNECTIONS, LEAST = 1024, 64
SECONDS = 4.0
WHOLE = ("CONCURRENCY-LIMIT", "POOL-SATURATED", "READER-NOT-LISTENING")


def connected(server: Server, cleanup: Cleanup, number: int) -> selectors.BaseSelector:
    waiting = cleanup.enter_context(contextlib.closing(selectors.DefaultSelector()))
    for _ in range(number):
        connection = cleanup.enter_context(server.connect())
        waiting.register(connection, selectors.EVENT_READ)
    return waiting


def asked_for(waiting: selectors.BaseSelector, seconds: float) -> int:
    """Ask on all connections at once, again and again; return how many requests were answered, in the end all."""
    end, answered, asked = time.monotonic() + seconds, 0, 0
    for key in waiting.get_map().values():
        assert isinstance(key.fileobj, socket.socket)
        key.fileobj.send(REQUEST)
        asked += 1
    while answered < asked:
        for key, _ in waiting.select(5.0):
            assert isinstance(key.fileobj, socket.socket) and key.fileobj.recv(4096).endswith(b"ok")
            answered += 1
            if time.monotonic() < end:
                key.fileobj.send(REQUEST)
                asked += 1
    return answered


def thinned(recording: Recording) -> list[schema.GivenUp]:
    return [line for line in recording.of(schema.GivenUp) if line.feature == "requests"]


def test_an_estimate_is_as_near_as_it_says(cleanup: Cleanup, attach: Attach, serving: Serving) -> None:
    """The first budget that is too small for all of them leaves a part: how much that is, depends on the machine."""
    server = serving("by_one_loop(listening(), lambda: None)")
    waiting = connected(server, cleanup, CONNECTIONS)
    for ppm in (220_000, 180_000, 150_000, 120_000, 100_000, 80_000, 60_000, 40_000):
        recorder = attach(server.pid, first=[f"max-cost {ppm}"])
        answered = asked_for(waiting, SECONDS)
        recording = recorder.stop()
        steps = thinned(recording)
        if steps and steps[-1].one_of > 1:
            break
    assert steps and steps[-1].one_of > 1, (steps, recording.footer.cost)
    assert CONNECTIONS / steps[-1].one_of >= LEAST
    (line,) = [line for line in recording.of(schema.Exchange) if line.direction == "accepted"]
    relative = line.count_error / line.count
    assert 0 < relative < 3 * math.sqrt(1 / LEAST), "some 25 % in the worst case"
    assert abs(line.count - answered) <= 1.5 * line.count_error, (line, answered, "95 % are within the error itself")
    assert line.unanswered == 0 and line.open <= CONNECTIONS / 50, "who is left out does not count as open"
    laws.check(recording)
    model = model_of(recording)
    assert not model.coverage.contradictions
    silent = {each.id: each.reason for each in diagnose(model).silences}
    assert all("needs all connections" in silent[id] for id in WHOLE), silent
    assert model.requests_inside is None and not model.requests_left and not model.silent


@pytest.mark.parametrize("ppm", [0, 120_000])
def test_what_cannot_be_left_out_is_not_thinned(ppm: int, tmp_path: Path, attach: Attach, serving: Serving) -> None:
    """Connections of unix sockets, one for each request: all are followed, or none."""
    server = serving(f"by_one_loop(listening(path={str(tmp_path / 'socket')!r}), lambda: None)")
    recorder = attach(server.pid, first=[f"max-cost {ppm}"])
    end, answered = time.monotonic() + SECONDS, 0
    while time.monotonic() < end:
        with server.connect() as connection:
            connection.send(REQUEST)
            assert connection.recv(4096).endswith(b"ok")
        answered += 1
    recording = recorder.stop()
    assert all(step.one_of == 0 for step in thinned(recording)), thinned(recording)
    served = [line for line in recording.of(schema.Exchange) if line.direction == "accepted"]
    assert not any(line.count_error for line in served)
    assert sum(line.count for line in served) == (0 if thinned(recording) else answered)
    laws.check(recording)


def test_a_connection_that_has_most_requests_is_within_the_error(
    cleanup: Cleanup, attach: Attach, serving: Serving
) -> None:
    """Whether it is followed or not: what was read on all connections tells how many requests are missing."""
    server = serving("by_one_loop(listening(), lambda: None)")
    hot = cleanup.enter_context(server.connect())
    others = [cleanup.enter_context(server.connect()) for _ in range(256)]
    for ppm in (150_000, 100_000, 60_000, 30_000):
        recorder = attach(server.pid, first=[f"max-cost {ppm}"])
        end, answered = time.monotonic() + SECONDS, 0
        while time.monotonic() < end:
            others = [*others[7:], *others[:7]]
            for connection in (hot, *others[:7]):
                connection.send(REQUEST)
            for connection in (hot, *others[:7]):
                assert connection.recv(4096).endswith(b"ok")
            for _ in range(7):
                hot.send(REQUEST)
                assert hot.recv(4096).endswith(b"ok")
            answered += 15
        recording = recorder.stop()
        steps = thinned(recording)
        if steps and steps[-1].one_of > 1:
            break
    assert steps and steps[-1].one_of > 1, (steps, recording.footer.cost)
    (line,) = [line for line in recording.of(schema.Exchange) if line.direction == "accepted"]
    assert abs(line.count - answered) <= line.count_error, (line, answered)
    assert line.count_error >= line.count / 10, "half of all are of one connection"


STATISTICS = Path("/proc/sys/kernel/bpf_stats_enabled")


@contextlib.contextmanager
def kernel_statistics() -> Iterator[None]:
    """Let the kernel count what BPF programs take, as long as the block lasts."""
    before = STATISTICS.read_text()
    STATISTICS.write_text("1")
    try:
        yield
    finally:
        STATISTICS.write_text(before)


def run_ns(recorder: Recorder) -> int:
    """Return what the kernel has counted of the recorder's programs."""
    found = 0
    for path in Path(f"/proc/{recorder.process.pid}/fdinfo").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found += sum(int(line.split()[1]) for line in path.read_text().splitlines() if line.startswith("run_time"))
    return found


def cost_for(recorder: Recorder, server: Server, seconds: float) -> float:
    """Return what the programs take of the server's CPU time, by the kernel's statistics."""
    ran_ns, used_ns = run_ns(recorder), cpu_ns(server.pid)
    time.sleep(seconds)
    return (run_ns(recorder) - ran_ns) / max(1, cpu_ns(server.pid) - used_ns)


def test_by_the_kernels_statistics_the_cost_falls(cleanup: Cleanup, attach: Attach, serving: Serving) -> None:
    """To the budget, or all that is optional is given up, and that is said."""
    server = serving("by_one_loop(listening(), lambda: None)")
    waiting = connected(server, cleanup, 200)
    clients = threading.Thread(target=asked_for, args=(waiting, 2.5 * SECONDS))
    with kernel_statistics():
        recorder = attach(server.pid, first=["max-cost 5000"])
        clients.start()
        begin = cost_for(recorder, server, 0.3)
        time.sleep(1.5 * SECONDS)
        end = cost_for(recorder, server, 1)
        clients.join()
    recording = recorder.stop()
    assert end < begin / 2, (begin, end, recording.of(schema.GivenUp))
    last = {line.feature: line.one_of for line in recording.of(schema.GivenUp)}
    model = model_of(recording)
    said = [note for note in make(model, diagnose(model), Config()).notes if note.startswith("OVER BUDGET")]
    assert end <= 0.005 or (said and last["requests"] == 0 and last.get("failed_calls", 0) == 0), (end, last, said)


@pytest.mark.parametrize("ppm", [0, 5_000])
def test_a_budget_that_no_part_of_200_connections_keeps(
    ppm: int, cleanup: Cleanup, attach: Attach, serving: Serving
) -> None:
    """Half of them is the least; then requests are given up as a whole, and nothing of them is told."""
    server = serving("by_one_loop(listening(), lambda: None)")
    waiting = connected(server, cleanup, 200)
    recorder = attach(server.pid, first=[f"max-cost {ppm}"])
    asked_for(waiting, 2 * SECONDS)
    recording = recorder.stop()
    steps = thinned(recording)
    assert [step.one_of for step in steps] == [2, 0], recording.of(schema.GivenUp)
    assert not recording.of(schema.Exchange)
    cost = recording.footer.cost
    assert cost.kept_ns and cost.kept_of_ns
    kept = cost.kept_ns * 1_000_000 <= ppm * cost.kept_of_ns
    features = {line.feature: line.one_of for line in recording.of(schema.GivenUp)}
    assert kept or features.get("failed_calls", 0) == 0, "all was given up, or it is kept"
    laws.check(recording)
    model = model_of(recording)
    assert not model.measured("requests")
    assert [item for item in model.not_measured if item.feature == "requests"]
