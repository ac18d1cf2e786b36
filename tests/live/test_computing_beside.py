"""Requests that one thread reads, and another one computes and answers."""

from __future__ import annotations

import socket
import time

import pytest
from perfdiag.model.requests.request_time import REST
from perfdiag.recording import schema

from live.support.calling import running_server
from live.support.fixtures import Attach, Cleanup
from live.support.model import check_model, model_of

REQUESTS, EACH_S = 40, 0.02

# Computes for 20 ms for each request, on a thread that has not read it; and, if it is told to, on its own account.
SERVER = """
import queue, socket, sys, threading, time

def compute(seconds):
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass

def answer():
    while True:
        connection = requests.get()
        compute(0.02)
        connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 0\\r\\n\\r\\n")
        if sys.argv[1] == "closes":
            connection.close()

def work():
    while True:
        compute(0.01)
        time.sleep(0.02)

requests = queue.SimpleQueue()
threading.Thread(target=answer, daemon=True).start()
if sys.argv[1] == "works":
    threading.Thread(target=work, daemon=True).start()
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
if sys.argv[1] == "reads":  # and computes on the thread that has read it, for connections of one request each
    while True:
        connection = listener.accept()[0]
        connection.recv(1000)
        compute(0.02)
        connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 0\\r\\n\\r\\n")
        connection.close()
while True:
    connection = listener.accept()[0]
    while sys.argv[1] != "closes" and connection.recv(1000):
        requests.put(connection)
    if sys.argv[1] == "closes":
        connection.recv(1000)
        requests.put(connection)
"""


def ask(port: int, *, anew: bool) -> None:
    client = socket.create_connection(("127.0.0.1", port))
    for _ in range(REQUESTS):
        client.sendall(b"GET /cart HTTP/1.1\r\nHost: a\r\n\r\n")
        assert client.recv(1000)
        time.sleep(EACH_S)
        if anew:
            client.close()
            client = socket.create_connection(("127.0.0.1", port))
    client.close()


@pytest.mark.parametrize("way", ["keeps", "closes", "works"])
def test_what_another_thread_computes(way: str, attach: Attach, cleanup: Cleanup) -> None:
    pid, port = cleanup.enter_context(running_server(SERVER, way))
    recorder = attach(pid, only=True)
    ask(port, anew=way == "closes")
    recording = recorder.stop()
    check_model(recording)
    (inside,) = recording.of(schema.RequestsInside)
    computed_ns = REQUESTS * EACH_S * 1e9
    assert inside.beside_ns is not None and inside.beside_ns > 0.9 * computed_ns, inside
    found = model_of(recording).request_time
    assert found
    if way != "works":
        assert inside.beside_ns < 1.5 * computed_ns, inside
        if inside.beside_ns > 0.9 * found.ns:  # else others had the CPU meanwhile, which is told from no other wait
            assert found.accounts["cpu.user"] + found.accounts["cpu.kernel"] > 0.8 * computed_ns, found.accounts
            assert found.accounts.get(REST, 0) < 0.3 * found.ns, found.accounts
    else:
        assert found.accounts[REST] > 0.5 * found.ns, "it computes without requests, too"


def test_what_a_reader_computes_for_a_connection_that_it_closes_counts_once(attach: Attach, cleanup: Cleanup) -> None:
    pid, port = cleanup.enter_context(running_server(SERVER, "reads"))
    recorder = attach(pid, only=True)
    ask(port, anew=True)
    recording = recorder.stop()
    check_model(recording)
    (inside,) = recording.of(schema.RequestsInside)
    computed_ns = REQUESTS * EACH_S * 1e9
    assert inside.beside_ns is not None and inside.beside_ns < 0.2 * computed_ns, inside
