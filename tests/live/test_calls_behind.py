"""Calls of requests behind another one that takes long, on the same connection."""

from __future__ import annotations

import socket
import time

import pytest
from perfdiag.model.requests.request_time import PEERS

from live.support.calling import fault, running_server
from live.support.fixtures import Attach, Cleanup
from live.support.model import model_of

ROUNDS, SHORT = 17, 3
BEHIND = "Requests wait behind other calls on the same connection to"

# Answers the calls of each connection in turn: "L" after 100 ms, others at once.
UPSTREAM = """
import socket, threading, time
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
def serve(connection):
    while call := connection.recv(1):
        time.sleep(0.1 * (call == b"L"))
        connection.sendall(call)
while True:
    threading.Thread(target=serve, args=listener.accept()[:1], daemon=True).start()
"""

# An event loop that asks for each request: for "L" there, or on a connection apart.
SHOP = """
import collections, select, socket, sys
def connected():
    return socket.create_connection(("127.0.0.1", int(sys.argv[1])))
shared = connected()
own = shared if sys.argv[2] == "one" else connected()
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
loop, clients, waiting = select.epoll(), {}, collections.defaultdict(collections.deque)
for each in {shared, own, listener}:
    loop.register(each, select.EPOLLIN)
while True:
    for descriptor, _ in loop.poll():
        if descriptor == listener.fileno():
            client = listener.accept()[0]
            clients[client.fileno()] = client
            loop.register(client, select.EPOLLIN)
        elif client := clients.get(descriptor):
            if not (call := client.recv(1)):
                sys.exit()
            upstream = own if call == b"L" else shared
            waiting[upstream].append(client)
            upstream.sendall(call)
        else:
            upstream = shared if descriptor == shared.fileno() else own
            for _ in upstream.recv(100):
                waiting[upstream].popleft().sendall(b"done")
"""


@pytest.mark.quiet
@pytest.mark.parametrize("connections", ["one", "two"])
def test_requests_wait_behind_a_call_that_is_not_theirs(connections: str, attach: Attach, cleanup: Cleanup) -> None:
    _, upstream = cleanup.enter_context(running_server(UPSTREAM))
    pid, port = cleanup.enter_context(running_server(SHOP, upstream, connections))
    long, *short = [cleanup.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(1 + SHORT)]
    recorder = attach(pid)
    for _ in range(ROUNDS):
        long.sendall(b"L")
        time.sleep(0.01)
        for client in short:
            client.sendall(b"s")
        for client in (long, *short):
            assert client.recv(100) == b"done"
    model = model_of(recorder.stop())
    (line,) = [each.line for each in model.exchanges if each.line.direction == "connected"]
    found = fault(model, "NET-PEER-SLOW")
    if connections == "two":
        assert line.behind <= SHORT * ROUNDS and line.behind_ns < 0.1 * line.sum_ns, line
        assert found and BEHIND not in found.headline, found
        return
    assert line.behind == SHORT * ROUNDS and found and found.headline.startswith(BEHIND), (line, found)
    spent = model.request_time
    assert spent and spent.accounts[PEERS] > 0.6 * spent.ns and line.behind_ns > 0.6 * spent.accounts[PEERS], spent
