"""tcpwindow.bt: sends are told by what held them, under the address of their peer."""

from __future__ import annotations

import contextlib
import os
import socket
from pathlib import Path

import pytest

from live.support.fixtures import Start, Trace

HERE = "127.0.0.1"


@pytest.mark.long
@pytest.mark.parametrize("mode", ["send", "sendfile"])
def test_a_receiver_that_reads_slowly(mode: str, tmp_path: Path, start: Start, trace: Trace) -> None:
    """Its window is what nearly all sends wait for."""
    data = tmp_path / "read.data"
    data.write_bytes(bytes(1 << 20))
    sender = start("send", "--mode", mode, "--bytes", 2_000_000, "--file", data)
    script = trace("tcpwindow", sender)
    truth = sender.run()
    seen = script.stop(example=mode == "send")
    port = str(truth["port"])
    held = seen.stats("@receiver_ns", HERE, port)
    sends = [seen.stats(name, HERE, port) for name in seen.maps if name.endswith("_ns")]
    assert sum(one.count for one in sends) == truth["calls"]
    assert 0.95 * truth["send_ns"] <= sum(one.total for one in sends) <= truth["send_ns"]
    assert held.total >= 0.9 * truth["send_ns"] > 200_000_000, "the receiver was not slow: nothing was tested"
    assert seen.unseen == 0


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_a_connection_that_takes_all_and_then_nothing(family: socket.AddressFamily, trace: Trace) -> None:
    """Small sends are on their way when they return; in the end the buffer is full, and sends are refused."""
    address = {socket.AF_INET: HERE, socket.AF_INET6: "::1"}[family]
    with socket.create_server((address, 0), family=family) as listener:
        port = str(listener.getsockname()[1])
        with socket.create_connection(listener.getsockname()[:2]) as sender, listener.accept()[0] as receiver:
            script = trace("tcpwindow", os.getpid())
            for _ in range(23):
                sender.send(b"small")
                receiver.recv(5)
            sender.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                while True:
                    sender.send(bytes(1 << 20))
            for _ in range(16):
                with contextlib.suppress(BlockingIOError):
                    sender.send(b"more")
    seen = script.stop()
    assert seen.stats("@sent_ns", address, port).count >= 23
    assert seen.number("@refused", address, port) == 17
    assert seen.stats("@receiver_ns", address, port).count >= 1


def test_what_is_no_connection(trace: Trace) -> None:
    """Pipes, files and unix sockets are sent to by the same calls."""
    script = trace("tcpwindow", os.getpid())
    one, other = socket.socketpair()
    one.send(b"x")
    os.write(other.fileno(), b"x")
    one.close()
    other.close()
    assert set(script.stop().maps) <= {"@unseen"}
