"""Waiting for somebody else: TCP peers, local processes, children."""

from __future__ import annotations

from pathlib import Path

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Mechanism
from perfdiag.recording import schema

from live.support.calling import fault, running_server
from live.support.fixtures import Attach, Cleanup, Record, Start
from live.support.model import model_of
from live.support.recording import count_of, ns_of, table
from live.support.truth import assert_mostly, assert_waited
from unit.support.waiting import until


def test_a_peer_that_answers_after_50_ms(start: Start, record: Record) -> None:
    recording, truth = record(start("peer", "--count", 23), only=True)
    thread = recording.thread(truth["pid"])
    assert_waited(thread, truth["wait_ns"], "net.receive", waits=23, blocks=truth["blocks"])
    assert_mostly(thread, "net.receive")
    (row,) = recording.details("net.receive")
    assert row.object == f"peer:127.0.0.1:{truth['port']}"
    assert sum(count for bucket, count in row.buckets if bucket >= 18) == 23, "50 ms lies in bucket 18 or above"
    (socket,) = [line for line in recording.of(schema.Socket) if line.object == row.object]
    assert 0 < socket.rtt_us < 100_000 and socket.congestion_window > 0 and not socket.retransmits_seen, socket
    assert socket.waits_unasked == 0, "each wait is for the answer to a question"


def test_a_peer_awaited_in_poll(start: Start, record: Record) -> None:
    """Poll on one socket is a wait for that socket's peer; database clients wait that way."""
    recording, truth = record(start("peer", "--count", 11, "--how", "poll"), only=True)
    thread = recording.thread(truth["pid"])
    assert_waited(thread, truth["wait_ns"], "net.receive", waits=11, blocks=truth["blocks"])
    (row,) = recording.details("net.receive")
    assert row.object == f"peer:127.0.0.1:{truth['port']}"


@pytest.mark.parametrize("mode", ["send", "sendfile"])
def test_a_receiver_with_a_small_window(mode: str, tmp_path: Path, start: Start, record: Record) -> None:
    data = tmp_path / "read.data"
    data.write_bytes(bytes(1 << 20))
    sender = start("send", "--mode", mode, "--bytes", 2_000_000, "--file", data)
    recording, truth = record(sender, only=True)
    thread = recording.thread(truth["pid"])
    assert_waited(thread, truth["send_ns"], "net.send")
    assert_mostly(thread, "net.send")
    (row,) = recording.details("net.send")
    assert row.object == f"peer:127.0.0.1:{truth['port']}"
    (socket,) = [line for line in recording.of(schema.Socket) if line.object == row.object]
    assert socket.waits_receiver > 0.5 * (socket.waits_receiver + socket.waits_congestion + socket.waits_buffer), socket


@pytest.mark.parametrize("how", ["connect", "epoll"])
def test_a_connection_that_takes_a_second(how: str, start: Start, record: Record) -> None:
    recording, truth = record(start("slow_connect", "--how", how), only=True)
    assert truth["connect_ns"] > 900_000_000, "the first SYN was not dropped: nothing was tested"
    thread = recording.thread(truth["pid"])
    assert_waited(thread, truth["connect_ns"], "net.connect", waits=1, blocks=truth["blocks"])
    (row,) = recording.details("net.connect")
    assert row.object == f"peer:127.0.0.1:{truth['port']}"
    model = model_of(recording)
    if model.measured("requests"):  # before Linux 6.3 the wait alone tells
        (call,) = model.exchanges
        assert (call.line.connects, call.line.connects_failed, call.line.retries) == (1, 0, 1), call
        assert 900_000_000 < call.connect.sum_ns <= truth["connect_ns"], call
    first = diagnose(model).findings[0]
    assert first.id == "NET-CONNECT-SLOW" and first.share > 0.9 and first.mechanism is Mechanism.FAILED, first


@pytest.mark.parametrize(("mode", "account"), [("pipe", "ipc.pipe"), ("unix", "ipc.unix")])
def test_a_local_process_that_thinks(mode: str, account: str, start: Start, record: Record) -> None:
    ping = start("pingpong", "--mode", mode, "--think-us", 5000, "--count", 101)
    recording, truth = record(ping, only=True)
    thread = recording.thread(truth["pid"])
    assert_waited(thread, truth["spent_ns"], account, waits=truth["blocks"])
    assert_mostly(thread, account)
    (row,) = recording.details(account)
    if mode == "unix":
        assert row.object.startswith("unix:") and row.object.split(":")[1].isdigit(), row
    else:
        assert row.object.startswith("pipe:") and row.object != "pipe:0", row
    assert row.waker_tid != 0 and row.waker_count >= 90, row


@pytest.mark.parametrize(("mode", "account"), [("pipe", "ipc.pipe"), ("unix", "ipc.unix")])
def test_who_ends_the_waits_is_known_by_name_while_it_lives(
    mode: str, account: str, start: Start, attach: Attach
) -> None:
    ping = start("pingpong", "--mode", mode, "--think-us", 1000, "--count", 100_000_000)
    recorder = attach(ping, only=True)
    ping.start()
    until(lambda: int(ping.status("voluntary_ctxt_switches")) >= 50, "it has waited 50 times")
    recording = recorder.stop()
    (row,) = recording.details(account)
    assert row.waker_comm == "pong" and row.waker_tid not in (0, ping.pid), row
    assert row.waker_pid == row.waker_tid, row
    if mode == "unix":  # a pair that ping has made
        assert row.object.startswith(f"unix:{ping.pid}:"), row
        (shown,) = model_of(recording).rows_of(account)
        assert shown.object == f"pong ({row.waker_pid})", shown


# Two readers of a pipe and one of a pair of sockets wait for what their parent sends every 20 ms.
CLOCK = """
import os, socket, time
reader, writer = os.pipe()
here, there = socket.socketpair()
for end, read in ((reader, os.read), (reader, os.read), (there, lambda end, size: end.recv(size))):
    if not os.fork():
        os.close(writer)
        here.close()
        while read(end, 1):
            pass
        os._exit(0)
os.close(reader)
there.close()
print(0, flush=True)
while True:
    os.write(writer, b"work")
    here.send(b"work")
    time.sleep(0.02)
"""


def test_workers_that_are_fed_by_the_clock_are_kept_by_nobody(attach: Attach, cleanup: Cleanup) -> None:
    """They ask for nothing: the process that sleeps is no slow part, and the target is not acquitted by naming it."""
    pid, _ = cleanup.enter_context(running_server(CLOCK))
    model = model_of(attach(pid, duration_ns=1_500_000_000).wait())
    assert model.ns("ipc.pipe") > 2_000_000_000 and model.ns("ipc.unix") > 1_000_000_000, model.accounts
    assert fault(model, "IPC-PEER-SLOW") is None
    found = [each for each in diagnose(model).findings if each.id == "IPC-PEER-SLOW"]
    # Of the two at one pipe each may wake the other: then who ends their waits is not known.
    assert any(each.inside and [other.pid for other in each.others] == [pid] for each in found), found


def test_every_switch_of_a_fast_ping_pong_is_booked(start: Start, record: Record) -> None:
    """The worst case: a switch every few microseconds, and every single wait is counted."""
    ping = start("pingpong", "--cpu", 0, "--count", 50_021)
    recording, truth = record(ping)
    thread = recording.thread(truth["pid"])
    assert truth["blocks"] > 1_000, "hardly one waited for the other: nothing was tested"
    assert count_of(thread, "ipc.pipe") == truth["blocks"], table(thread)
    pong = next(row for row in recording.threads if row.comm == "pong")
    # On a busy host most bytes are there already when pong asks for the next.
    assert count_of(pong, "ipc.pipe") > 1_000, table(pong)
    assert not recording.details("kernel.other", "syscall:"), table(pong)


@pytest.mark.parametrize("how", ["sleep", "spin"])
def test_a_slow_child(how: str, start: Start, record: Record) -> None:
    recording, truth = record(start("slow_child", "--how", how))
    thread = recording.thread(truth["pid"])
    assert_waited(thread, truth["wait_ns"], "wait.child", waits=7, blocks=truth["blocks"])
    children = [row for row in recording.threads if row.pid != truth["pid"]]
    assert len(children) == 7
    expected = "wait.timer" if how == "sleep" else "cpu."
    for row in children:
        assert_mostly(row, expected, share=0.8) if how == "sleep" else None
        assert ns_of(row, expected, "runq.") > 0.9 * row.wall_ns, table(row)


def test_32_bit_system_calls(start: Start, record: Record) -> None:
    """162 is nanosleep there and sync here, 3 is read there and close here."""
    recording, truth = record(start("i386"), only=True)
    thread = recording.thread(truth["pid"])
    assert_waited(thread, truth["sleep_ns"], "wait.timer", waits=11, blocks=truth["blocks"])
    assert_waited(thread, truth["read_ns"], "ipc.pipe", waits=11, blocks=truth["blocks"])
