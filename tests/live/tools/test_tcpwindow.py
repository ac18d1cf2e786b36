"""tcpwindow.bt: waits in sends are told by what held the connection, under the address of its peer."""

from __future__ import annotations

import os
import socket
import threading
import time
from pathlib import Path

import pytest

from live.support.bpftrace import Seen
from live.support.fixtures import Start, Trace

HERE = "127.0.0.1"
HELD = ("@receiver_ns", "@congestion_ns", "@buffered_ns")
LARGE = 1 << 26
PAUSE_SECONDS = 0.5


def total_ns(seen: Seen, name: str, *key: str) -> int:
    """Return the sum of the waits of one kind, 0 where none was seen."""
    return seen.stats(name, *key).total if key in seen.maps.get(name, {}) else 0


@pytest.mark.parametrize("mode", ["send", "sendfile"])
def test_a_receiver_that_reads_slowly(mode: str, tmp_path: Path, start: Start, trace: Trace) -> None:
    """Nearly all of the time of sends is waited for its window."""
    data = tmp_path / "read.data"
    data.write_bytes(bytes(1 << 20))
    sender = start("send", "--mode", mode, "--bytes", 2_000_000, "--file", data)
    script = trace("tcpwindow", sender)
    truth = sender.run()
    seen = script.stop(example=mode == "send")
    port = str(truth["port"])
    assert sum(total_ns(seen, name, HERE, port) for name in HELD) <= truth["send_ns"]
    held_ns = total_ns(seen, "@receiver_ns", HERE, port)
    assert held_ns >= 0.9 * truth["send_ns"] > 200_000_000, "the receiver was not slow: nothing was tested"
    assert seen.unseen == 0


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_a_connection_that_takes_all_and_then_nothing(family: socket.AddressFamily, trace: Trace) -> None:
    """Small sends do not wait; one that fills the windows waits until its receiver reads."""
    address = {socket.AF_INET: HERE, socket.AF_INET6: "::1"}[family]
    with socket.create_server((address, 0), family=family) as listener:
        port = str(listener.getsockname()[1])
        with socket.create_connection(listener.getsockname()[:2]) as sender, listener.accept()[0] as receiver:
            script = trace("tcpwindow", os.getpid())
            for _ in range(23):
                sender.send(b"small")
                receiver.recv(5)
            blocked = threading.Thread(target=sender.sendall, args=(bytes(LARGE),))
            blocked.start()
            time.sleep(PAUSE_SECONDS)
            received = 0
            while received < LARGE:
                received += len(receiver.recv(LARGE))
            blocked.join()
    seen = script.stop()
    held_ns = total_ns(seen, "@receiver_ns", address, port)
    assert held_ns >= 0.9 * PAUSE_SECONDS * 1e9
    assert {key for name in HELD for key in seen.maps.get(name, {})} == {(address, port)}


def test_what_is_no_connection(trace: Trace) -> None:
    """A pipe that is full holds a writer likewise."""
    script = trace("tcpwindow", os.getpid())
    reader, writer = os.pipe()
    one, other = socket.socketpair()
    writers = [
        threading.Thread(target=os.write, args=(writer, bytes(1 << 18))),
        threading.Thread(target=one.sendall, args=(bytes(1 << 22),)),
    ]
    for thread in writers:
        thread.start()
    time.sleep(0.1)
    for thread, fd, size in zip(writers, (reader, other.fileno()), (1 << 18, 1 << 22), strict=True):
        while size:
            size -= len(os.read(fd, size))
        thread.join()
    for fd in (reader, writer):
        os.close(fd)
    one.close()
    other.close()
    assert set(script.stop().maps) <= {"@unseen"}
