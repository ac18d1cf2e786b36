"""Answers of a peer that begin at once and take long to come in whole: requests wait for the rest, too."""

from __future__ import annotations

import socket
import time

import pytest
from perfdiag.model.requests.request_time import PEERS

from live.support.calling import fault, running_server
from live.support.fixtures import Attach, Cleanup
from live.support.model import model_of

ROUNDS, REST_NS = 20, 60_000_000

# Answers "P" in three pieces, 30 ms apart, and "S" at once; "N" too, with something that nobody has asked for later on.
UPSTREAM = """
import socket, threading, time
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
def serve(connection):
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while call := connection.recv(1):
        connection.sendall(b"1" if call == b"P" else b"123")
        for piece in b"23" if call == b"P" else b"":
            time.sleep(0.03)
            connection.sendall(bytes([piece]))
        if call == b"N":
            time.sleep(0.03)
            connection.sendall(b"!")
while True:
    threading.Thread(target=serve, args=listener.accept()[:1], daemon=True).start()
"""

# An event loop that asks the same for each request; "L" passes each piece on, "W" the whole.
LOOP = """
import asyncio, sys
async def serve(reader, writer):
    upstream = await asyncio.open_connection("127.0.0.1", int(sys.argv[1]))
    while call := await reader.read(1):
        if call == b"n":
            await upstream[0].read(1)
            writer.write(b"123")
            continue
        upstream[1].write(call)
        got = 0
        while got < 3:
            got += len(piece := await upstream[0].read(3 - got))
            if sys.argv[2] == "on":
                writer.write(piece)
        if sys.argv[2] != "on":
            writer.write(b"123")
async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
asyncio.run(main())
"""

# A thread that waits for the rest in a read.
THREAD = """
import socket, sys
upstream = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
client = listener.accept()[0]
while call := client.recv(1):
    if call == b"n":
        upstream.recv(1)
        client.sendall(b"123")
        continue
    upstream.sendall(call)
    got = 0
    while got < 3:
        got += len(upstream.recv(3 - got))
    client.sendall(b"123")
"""


@pytest.mark.parametrize("program", [LOOP, THREAD])
@pytest.mark.parametrize("passes", ["on", "whole"])
@pytest.mark.parametrize("call", ["P", "S", "N"])
def test_requests_wait_for_the_rest_of_answers(
    call: str, passes: str, program: str, attach: Attach, cleanup: Cleanup
) -> None:
    _, upstream = cleanup.enter_context(running_server(UPSTREAM))
    pid, port = cleanup.enter_context(running_server(program, upstream, passes))
    client = cleanup.enter_context(socket.create_connection(("127.0.0.1", port)))
    recorder = attach(pid)
    for each in call * ROUNDS if call != "N" else "Nn" * ROUNDS:
        client.sendall(each.encode())
        got = 0
        while got < 3:
            got += len(client.recv(3 - got))
        time.sleep(0.05 * (each == "N"))
    model = model_of(recorder.stop())
    (line,) = [each.line for each in model.exchanges if each.line.direction == "connected"]
    if call != "P":
        assert not line.rest_ns, line
        return
    assert ROUNDS * REST_NS * 0.95 < (line.rest_ns or 0) < ROUNDS * REST_NS * 1.5, line
    (served,) = [each.line for each in model.exchanges if each.served]
    assert served.peers_ns == pytest.approx((line.rest_ns or 0) + line.sum_ns, rel=0.05), (served, line)
    found = fault(model, "NET-PEER-SLOW")
    assert found is not None and f":{upstream}" in found.headline, found
    if program == LOOP:
        assert PEERS in found.claims and "begins its answers" in found.headline
