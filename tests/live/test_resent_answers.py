"""Answers that are lost on the way and sent again: their clients wait for timeouts of this host."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import threading
import time

import pytest
from perfdiag.recording import schema

from live.support.calling import fault, running_server
from live.support.fixtures import Attach, Cleanup
from live.support.model import model_of

MS = 1_000_000
ANSWERS, EVERY = 40, 4
SLOW_NS = 150 * MS  # no lost answer takes less: the shortest timeout is 200 ms

pytestmark = [
    pytest.mark.may_skip("iptables"),
    pytest.mark.skipif(not shutil.which("iptables"), reason="no iptables: see packages-truth.txt"),
]

# Answers each line by one; says its port, and in which network it lives, by its pid.
SERVER = """
import socket
listener = socket.create_server(("127.0.0.1", 7000))
print("ready", flush=True)
while True:
    connection, _ = listener.accept()
    while connection.recv(100):
        connection.sendall(b"an answer")
"""

# Asks so often, on one connection or on one each, and says how long each answer took, in ns.
CLIENT = """
import json, socket, sys, time
count, keeps = int(sys.argv[1]), sys.argv[2] == "keeps"
took, connection = [], None
for _ in range(count):
    connection = connection if connection and keeps else socket.create_connection(("127.0.0.1", 7000))
    begin = time.monotonic_ns()
    connection.sendall(b"a question")
    connection.recv(100)
    took.append(time.monotonic_ns() - begin)
    if not keeps:
        connection.close()
print(json.dumps(took))
"""

# Of the segments with data that come from the server, every fourth is lost.
NETWORK = """
ip link set lo up
iptables -A INPUT -p tcp --sport 7000 -m length --length 61:65535 \\
    -m statistic --mode nth --every {every} --packet 0 -j DROP
exec python3 -c "$1"
"""


@pytest.mark.parametrize("how", ["keeps", "closes"])
def test_what_clients_wait_for_lost_answers(how: str, attach: Attach, cleanup: Cleanup) -> None:
    command = ["unshare", "--net", "sh", "-ec", NETWORK.format(every=EVERY), "sh", SERVER]
    server = cleanup.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
    cleanup.callback(server.kill)
    assert server.stdout and server.stdout.readline() == "ready\n"
    recorder = attach(server.pid)
    enter = ["nsenter", f"--net=/proc/{server.pid}/ns/net", "python3", "-c", CLIENT, str(ANSWERS), how]
    took = json.loads(subprocess.run(enter, capture_output=True, text=True, check=True).stdout)
    recording = recorder.stop()
    slow = [ns for ns in took if ns >= SLOW_NS]
    assert len(slow) >= ANSWERS / EVERY / 2, took
    (line,) = [line for line in recording.of(schema.Exchange) if line.direction == "accepted"]
    assert line.count == ANSWERS
    assert abs(line.resent - len(slow)) <= 1, (line, took)
    assert line.resent_ns == pytest.approx(sum(slow), rel=0.1), (line, took)
    assert line.sum_ns == pytest.approx(sum(took), rel=0.1)
    found = fault(model_of(recording), "NET-RETRANSMITS")
    assert found is not None and found.headline.startswith("Answers to clients are lost on the way")


# Sends 8 MB to each who asks; says its port.
LARGE = """
import socket, threading
def answer(connection):
    while connection.recv(100):
        connection.sendall(bytes(8_000_000))
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()
"""


def read_slowly(port: int, until: float) -> None:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        while time.monotonic() < until:
            connection.sendall(b"a question")
            left = 8_000_000
            while left:
                left -= len(connection.recv(min(left, 65536)))
                time.sleep(0.016)


def test_what_the_client_has_twice_was_not_lost(attach: Attach, cleanup: Cleanup) -> None:
    """The kernel probes a window that is shut by what it has sent last: the client says that it has had that."""
    pid, port = cleanup.enter_context(running_server(LARGE))
    recorder = attach(pid)
    readers = [threading.Thread(target=read_slowly, args=(port, time.monotonic() + 4)) for _ in range(4)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    recording = recorder.stop()
    sockets = recording.of(schema.Socket)
    if not any(socket.retransmits for socket in sockets):
        pytest.skip("the kernel has sent no probe")
    seen = sum(socket.retransmits_seen for socket in sockets)  # what the client says of the last one may come later
    assert seen <= 0.3 * sum(socket.retransmits for socket in sockets), sockets
    (line,) = [line for line in recording.of(schema.Exchange) if line.direction == "accepted"]
    assert line.count and not line.resent, line
    assert not fault(model_of(recording), "NET-RETRANSMITS")
