"""Waiting for several descriptors at once, as clients and event loops do: for whom is told by what is in the set."""

from __future__ import annotations

import socket
import threading
import time

import pytest

from live.support.fixtures import Attach, Cleanup, Record, Start
from live.support.model import model_of
from live.support.recording import Recording, ns_of, table
from live.support.snippets import recorded_snippet
from live.support.truth import assert_waited

# Clients: one answer is awaited, and beside it only what wakes the thread, or connections on which nothing was asked.
CLIENTS = [
    ("poll", "ae"),  # libcurl
    ("poll", "pa"),
    ("poll", "ast"),
    ("poll", "aii"),
    ("select", "a"),  # psycopg, requests
    ("select", "pae"),
    ("epoll", "a"),  # Redis clients
    ("epoll", "epa"),  # Java NIO, libuv
    ("epoll", "sa"),  # asyncio
    ("epoll", "eiiai"),
    ("epoll", "aa"),  # a pool to one peer, one is asked at a time
]
# Others: they have work to wait for as well, or nothing tells that an answer is owed.
OTHERS = [
    ("poll", "al"),
    ("poll", "ac"),
    ("poll", "af"),  # a filter: its input is work
    ("epoll", "eal"),  # event loops
    ("epoll", "ciia"),
    ("epoll", "en"),  # news, unasked
    ("epoll", "a" + 17 * "i"),  # not all of a large set is looked at
    ("epoll", 17 * "i" + "a"),
]

# Asks so many times, in an event loop of its own: its set holds the pair of sockets, too, by which it is woken.
ASYNCIO = """
import asyncio, sys
async def main():
    reader, writer = await asyncio.open_connection("127.0.0.1", int(sys.argv[1]))
    print("ready", flush=True)
    sys.stdin.readline()
    for _ in range(int(sys.argv[2])):
        writer.write(b"?")
        await reader.readexactly(1)
asyncio.run(main())
"""

# Looks so many times, each for 50 ms, whether something has come by a pipe, as the first process of gunicorn does; with
# "others" another process holds the end that is written to, and something comes every 50 ms.
LOOKS = """
import os, select, sys, time
reading, writing = os.pipe()
others = sys.argv[2] == "others"
print("ready", flush=True)
sys.stdin.readline()
if others and not os.fork():
    for _ in range(int(sys.argv[1])):
        time.sleep(0.05)
        os.write(writing, b".")
    os._exit(0)
if others:
    os.close(writing)
for _ in range(int(sys.argv[1])):
    select.select([reading], [], [], 5 if others else 0.05)
    if others:
        os.read(reading, 1)
if others:
    os.wait()
"""


def is_told(recording: Recording, call: str, items: str) -> bool:
    """Return whether the kernel tells which connections owe an answer, or there is only one that is polled."""
    return model_of(recording).measured("requests") or (
        call != "epoll" and not set("iab") & set(items.replace("a", "", 1))
    )


def recorded(start: Start, record: Record, call: str, items: str) -> tuple[Recording, dict[str, int]]:
    recording, truth = record(start("sets", "--call", call, "--set", items), only=True)
    assert truth["wait_ns"] > 0.9 * 20_000_000 * truth["count"], "the answers were there at once: nothing was tested"
    return recording, truth


@pytest.mark.parametrize(("call", "items"), CLIENTS)
def test_a_client_that_waits_for_one_answer(call: str, items: str, start: Start, record: Record) -> None:
    recording, truth = recorded(start, record, call, items)
    thread = recording.thread(truth["pid"])
    if not is_told(recording, call, items):
        assert ns_of(thread, "wait.events") > 0.8 * truth["wait_ns"], table(thread)
        return
    assert_waited(thread, truth["wait_ns"], "net.receive")
    assert ns_of(thread, "net.receive") > 0.8 * truth["wait_ns"], table(thread)
    (row,) = recording.details("net.receive")
    assert row.object == f"peer:127.0.0.1:{truth['port']}", row


@pytest.mark.parametrize(("call", "items"), OTHERS)
def test_who_may_wait_for_work(call: str, items: str, start: Start, record: Record) -> None:
    """Not for whoever happens to owe an answer meanwhile: that is told with the connections."""
    recording, truth = recorded(start, record, call, items)
    thread = recording.thread(truth["pid"])
    asked_ns = sum(row.sum_ns for row in recording.details("net.receive"))
    assert asked_ns < 0.1 * truth["wait_ns"], table(thread)
    assert ns_of(thread, "wait.events", "cpu.", "runq.") >= 0.9 * truth["wait_ns"], table(thread)


@pytest.mark.parametrize("call", ["select", "epoll"])
def test_two_peers_that_owe_an_answer(call: str, start: Start, record: Record) -> None:
    """Both answer at about the same time: for which of them is not told."""
    recording, truth = recorded(start, record, call, "ab")
    thread = recording.thread(truth["pid"])
    assert ns_of(thread, "wait.events") >= 0.7 * truth["wait_ns"], table(thread)


@pytest.mark.parametrize("call", ["poll", "epoll"])
def test_an_answer_at_a_unix_socket(call: str, start: Start, record: Record) -> None:
    recording, truth = recorded(start, record, call, "ue")
    thread = recording.thread(truth["pid"])
    if is_told(recording, call, "ue"):
        assert_waited(thread, truth["wait_ns"], "ipc.unix")
    else:
        assert ns_of(thread, "wait.events") > 0.8 * truth["wait_ns"], table(thread)


@pytest.mark.parametrize(("whose", "account"), [("own", "wait.events"), ("others", "ipc.pipe")])
def test_a_pipe_alone_is_waited_for_only_where_somebody_else_writes_to_it(
    whose: str, account: str, attach: Attach, cleanup: Cleanup
) -> None:
    recording, pid = recorded_snippet(attach, cleanup, LOOKS, 13, whose)
    thread = recording.thread(pid)
    assert ns_of(thread, account) > 0.9 * 13 * 50_000_000, table(thread)


def test_an_answer_that_a_coroutine_awaits(attach: Attach, cleanup: Cleanup) -> None:
    listener = cleanup.enter_context(socket.create_server(("127.0.0.1", 0)))

    def serve() -> None:
        with listener.accept()[0] as connection:
            while connection.recv(1):
                time.sleep(0.02)
                connection.sendall(b"!")

    threading.Thread(target=serve, daemon=True).start()
    port = listener.getsockname()[1]
    recording, _ = recorded_snippet(attach, cleanup, ASYNCIO, port, 23)
    (row,) = recording.details("net.receive")
    assert row.object == f"peer:127.0.0.1:{port}" and row.sum_ns > 0.9 * 23 * 20_000_000, row
