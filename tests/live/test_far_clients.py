"""Long answers to clients that read at once and are far away: what keeps them is the buffer, or the way."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from live.support import far_network
from live.support.calling import fault
from live.support.fixtures import Attach, Cleanup
from live.support.model import model_of

ONE_WAY_MS, ANSWER, REQUESTS = 20, 400_000, 5

pytestmark = [
    pytest.mark.may_skip("/dev/net/tun"),
    pytest.mark.skipif(not os.access("/dev/net/tun", os.R_OK | os.W_OK), reason="no /dev/net/tun to carry packets"),
]

# An event loop whose answers are as long; its send buffer has a size of its own, or (0) the kernel's.
SERVER = """
import selectors, socket, sys
answer, buffer = int(sys.argv[1]), int(sys.argv[2])
listener = socket.create_server(("10.9.0.1", 7000))
if buffer:
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, buffer)
print("ready", flush=True)
while True:
    connection = listener.accept()[0]
    connection.setblocking(False)
    waiting = selectors.DefaultSelector()
    waiting.register(connection, selectors.EVENT_READ)
    left = b""
    while True:
        waiting.select()
        if left:
            left = left[connection.send(left):]
        elif connection.recv(100):
            left = bytes(answer)
        else:
            break
        waiting.modify(connection, selectors.EVENT_WRITE if left else selectors.EVENT_READ)
"""

CLIENT = """
import socket, sys
answer, count = map(int, sys.argv[1:])
for _ in range(count):
    with socket.create_connection(("10.9.0.2", 7000)) as connection:
        connection.sendall(b"question")
        left = answer
        while left:
            left -= len(connection.recv(left))
"""


def running(cleanup: Cleanup, *command: object) -> subprocess.Popen[str]:
    """Return a process that has said that it is ready."""
    words = [str(word) for word in command]
    process = cleanup.enter_context(subprocess.Popen(words, stdout=subprocess.PIPE, text=True))
    cleanup.callback(process.kill)
    assert process.stdout and process.stdout.readline() == "ready\n"
    return process


@pytest.mark.parametrize("buffer_bytes", [8 << 10, 0], ids=["small-buffer", "buffer-of-the-kernel"])
def test_long_answers_far_away(buffer_bytes: int, attach: Attach, cleanup: Cleanup) -> None:
    network = running(cleanup, "unshare", "--net", "python3", Path(far_network.__file__), ONE_WAY_MS)
    inside = ["nsenter", f"--net=/proc/{network.pid}/ns/net", "python3", "-c"]
    server = running(cleanup, *inside, SERVER, ANSWER, buffer_bytes)
    recorder = attach(server.pid, only=True)
    subprocess.run([*inside, CLIENT, str(ANSWER), str(REQUESTS)], check=True)
    model = model_of(recorder.stop())
    (line,) = [each.line for each in model.exchanges if each.served]
    assert line.count == REQUESTS and line.untaken_ns and line.untaken_buffer_ns is not None, line
    found = fault(model, "NET-SLOW-CLIENT")
    if buffer_bytes:
        assert line.untaken_buffer_ns > 0.9 * line.untaken_ns > 0.8 * line.sum_ns, line
        assert found and "send buffer" in found.headline and "SO_SNDBUF" in found.remedies[0].text, found
    else:
        assert not line.untaken_buffer_ns and not found, (line, found)
