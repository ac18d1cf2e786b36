"""Requests that ask the target itself: it is never its own slow peer, and what they met counts once."""

from __future__ import annotations

import socket
import time

import pytest

from live.support.calling import fault, running_server
from live.support.fixtures import Attach, Cleanup, Serving
from live.support.model import model_of
from live.support.serving import asked, http, stopped
from live.support.workload import PATIENCE_SECONDS

pytestmark = pytest.mark.quiet

EACH_SECONDS, WINDOW_SECONDS = 0.05, 2.0
# A loop that asks for each request its own port, or another one, for the answer.
FRONT = """
import asyncio, sys

async def serve(reader, writer):
    while request := await reader.read(1000):
        if b"GET /inner" in request:
            await asyncio.sleep(EACH)
        else:
            of, to = await asyncio.open_connection("127.0.0.1", int(sys.argv[1]) or port)
            to.write(b"GET /inner HTTP/1.1\\r\\n\\r\\n")
            await of.read(1000)
            to.close()
        writer.write(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok")

async def run():
    global port
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    print(port, flush=True)
    await server.serve_forever()

asyncio.run(run())
""".replace("EACH", str(EACH_SECONDS))

# A server whose child asks it, and holds the listening socket of the server, too; prints the child.
HEIR = """
import os, socket, sys, time
listener = socket.create_server(("127.0.0.1", 0))
child = os.fork()
if child == 0:
    connection = socket.create_connection(listener.getsockname())
    while True:
        connection.sendall(b"a question " * 9)
        if not connection.recv(1000):
            os._exit(0)
print(child, flush=True)
connection, _ = listener.accept()
while connection.recv(1000):
    time.sleep(EACH)
    connection.sendall(b"ok")
""".replace("EACH", str(EACH_SECONDS))


@pytest.mark.parametrize("own", [True, False])
def test_whose_slow_peer_it_is(own: bool, serving: Serving, attach: Attach, cleanup: Cleanup) -> None:
    upstream = 0 if own else serving(f"thread_each(listening(), sleeps({EACH_SECONDS}))").port
    pid, port = cleanup.enter_context(running_server(FRONT, upstream))
    recorder = attach(pid)
    until = time.monotonic() + WINDOW_SECONDS
    with socket.create_connection(("127.0.0.1", port), PATIENCE_SECONDS) as client:
        while time.monotonic() < until:
            asked(client, http("/"))
    recording = stopped(recorder)
    model = model_of(recording)
    found = fault(model, "NET-PEER-SLOW")
    assert (found is None) is own, found
    known = model.request_time
    assert known
    if own:
        assert "request.peers" not in known.accounts and known.ns < 1.2 * WINDOW_SECONDS * 1e9, known
    else:
        assert known.accounts["request.peers"] > 0.8 * known.ns, known


def test_who_holds_the_listening_socket_of_its_peer_does_not_answer_there(attach: Attach, cleanup: Cleanup) -> None:
    """The client had inherited it, and was told to wait for its own threads."""
    _, child = cleanup.enter_context(running_server(HEIR))
    model = model_of(attach(child, duration_ns=1_500_000_000).wait())
    assert model.facts.listeners and [each.pids for each in model.facts.listeners.sockets] == [(child,)]
    assert fault(model, "NET-PEER-SLOW") is not None and fault(model, "NET-SELF-SLOW") is None
