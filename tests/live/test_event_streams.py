"""Streams of events: an answer that goes on when the window ends, with pauses in between, took no time yet."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from live.support.calling import running_server
from live.support.fixtures import Attach, Cleanup
from live.support.model import model_of
from live.support.serving import http

# One event loop.  "GET /events": a head at once, then an event each 150 ms, or so many; "GET /report": as many pieces,
# between which it computes.
SERVER = """
import asyncio, sys, time
events = int(sys.argv[1])
HEAD = b"HTTP/1.1 200 OK\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n"
def compute(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
async def serve(reader, writer):
    while head := await reader.readuntil(b"\\r\\n\\r\\n"):
        writer.write(HEAD)
        await writer.drain()
        for _ in range(0 if b"/nothing" in head else events):
            if b"/events" in head:
                await asyncio.sleep(0.15)
            else:
                compute(0.15)
                await asyncio.sleep(0)
            writer.write(b"5\\r\\nevent\\r\\n")
            await writer.drain()
        writer.write(b"0\\r\\n\\r\\n")
async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
asyncio.run(main())
"""


@contextlib.contextmanager
def asking(port: int) -> Iterator[None]:
    """Ask for something else all the time, on another connection."""
    ended = threading.Event()

    def ask() -> None:
        with socket.create_connection(("127.0.0.1", port)) as client:
            while not ended.wait(0.02):
                client.sendall(http("/nothing"))
                client.recv(1000)

    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(ask)
        try:
            yield
        finally:
            ended.set()
            asked.result()


@pytest.mark.parametrize("busy", [False, True], ids=["alone", "beside others"])
@pytest.mark.parametrize(
    ("path", "events", "count", "untimed"),
    [("/events", 1000, 0, 1), ("/events", 2, 1, 0), ("/report", 1000, 1, 0)],
    ids=["a stream", "a slow answer", "computed"],
)
def test_a_stream_that_goes_on_is_no_slow_request(
    path: str, events: int, count: int, untimed: int, busy: bool, attach: Attach, cleanup: Cleanup
) -> None:
    pid, port = cleanup.enter_context(running_server(SERVER, events))
    recorder = attach(pid, only=True)
    with socket.create_connection(("127.0.0.1", port)) as client, asking(port) if busy else contextlib.nullcontext():
        client.sendall(http(path))
        time.sleep(1)
        if not untimed and events < 1000:
            client.sendall(http(path))  # so that the first one has ended
            time.sleep(2)  # several times the pauses of the answer
        model = model_of(recorder.stop())
    lines = [each.line for each in model.exchanges if each.served and each.line.name == f"GET {path}"]
    assert sum(line.untimed for line in lines) == untimed, lines
    assert sum(line.count for line in lines) >= count, lines
    assert not untimed or not sum(line.count for line in lines), lines
