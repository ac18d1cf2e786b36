"""Findings on what requests wait for, with known answers: connects, look-ups, many short calls, slow clients."""

from __future__ import annotations

import select
import socket
import subprocess
import sys
import time

from perfdiag.diagnosis.engine import diagnose
from perfdiag.model.requests.request_time import ARRIVING, PEERS
from perfdiag.recording.schema.requests import Exchange

from live.support.calling import ask, fault, running_server
from live.support.fixtures import Attach, Cleanup, Record, Start
from live.support.model import model_of
from live.support.truth import assert_waited

# Answers each question after 200 us.
UPSTREAM = """
import socket, threading, time
def serve(connection):
    while data := connection.recv(100):
        time.sleep(0.0002)
        connection.sendall(data)
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
"""

# Looks for a question without a pause, and answers at once.
SPINNING = """
import socket
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
connection = listener.accept()[0]
connection.setblocking(False)
data = b"?"
while data:
    try:
        data = connection.recv(100)
        connection.send(data)
    except BlockingIOError:
        pass
"""

# Reads a request of one line, asks the upstream so many times, one after the other, and answers.
ASKING = """
import socket, sys
upstream = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
connection = listener.accept()[0]
request = b""
while data := connection.recv(100):
    request += data
    if not request.endswith(b"\\n"):
        continue
    for _ in range(int(sys.argv[2])):
        upstream.sendall(b"?")
        upstream.recv(100)
    connection.sendall(b"done")
    request = b""
"""

# Reads a request of one line by two bytes, and looks after other things for 20 ms in between: it polls.
DAWDLING = """
import select, socket, time
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
connection = listener.accept()[0]
request = b""
poll = select.epoll()
while data := connection.recv(2):
    request += data
    poll.poll(0.02)
    if request.endswith(b"\\n"):
        connection.sendall(b"done")
        request = b""
"""

# An event loop that connects to the upstream for each request.
CONNECTING = """
import asyncio, sys
async def serve(reader, writer):
    while line := await reader.readline():
        _, upstream = await asyncio.open_connection("127.0.0.1", int(sys.argv[1]))
        upstream.close()
        writer.write(b"done")
async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
asyncio.run(main())
"""


# Calls one that closes instead of answering, so many times.
HUNG_UP_ON = """
import socket, sys, threading, time
listener = socket.create_server(("127.0.0.1", 0))
def hang_up():
    while True:
        connection = listener.accept()[0]
        connection.recv(100)
        connection.close()
threading.Thread(target=hang_up, daemon=True).start()
print(listener.getsockname()[1], flush=True)
sys.stdin.readline()
for _ in range(int(sys.argv[1])):
    with socket.create_connection(listener.getsockname()) as connection:
        connection.sendall(b"?")
        connection.recv(100)
time.sleep(60)
"""


# Calls so many times one that greets, and reads the greeting with the first answer.
GREETED_BY = """
import socket, sys, time
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
upstream = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
listener.accept()[0].recv(1)
for _ in range(int(sys.argv[2])):
    upstream.sendall(b"?")
    while not upstream.recv(100).endswith(b"!"):
        pass
time.sleep(60)
"""

# Asks a name server so many times, each time on a new socket, where the answer lies already.
ANSWERED_AHEAD = """
import socket, sys, time
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.77", 53))
print(53, flush=True)
sys.stdin.readline()
for _ in range(int(sys.argv[1])):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.connect(("127.0.0.77", 53))
        server.sendto(b"!", client.getsockname())
        client.send(b"?")
        client.recv(100)
time.sleep(60)
"""


def test_a_name_server_that_loses_queries(start: Start, record: Record) -> None:
    recording, truth = record(start("lookups", "--count", 20, "--drop", 7), only=True)
    assert truth["lost"] == 3
    assert_waited(recording.thread(truth["pid"]), truth["spent_ns"], "net.receive")
    model = model_of(recording)
    (lookups,) = model.exchanges
    line = lookups.line
    assert (line.object, line.direction, line.count) == ("peer:127.0.0.53:53", "lookup", 20), line
    assert (line.retries, line.unanswered, line.open) == (3, 0, 0), line
    assert 2.9e9 < line.sum_ns <= truth["spent_ns"], line
    found = fault(model, "NET-DNS-SLOW")
    assert found and found.share > 0.5, found
    assert " 3 queries " in found.claim, found


def test_a_prompt_name_server(start: Start, record: Record) -> None:
    recording, truth = record(start("lookups", "--count", 101, "--drop", 1009), only=True)
    model = model_of(recording)
    assert truth["lost"] == 0 and model.exchanges[0].line.count == 101 and not model.exchanges[0].line.retries
    assert fault(model, "NET-DNS-SLOW") is None


def test_an_answer_that_is_there_before_the_question_was_seen(attach: Attach, cleanup: Cleanup) -> None:
    """A name server on the same host can answer before the kernel says that the question was sent."""
    _, lines = calls_of(attach, cleanup, ANSWERED_AHEAD, 23)
    line = lines["peer:127.0.0.77:53"]
    assert (line.count, line.unanswered, line.open, line.retries) == (23, 0, 0, 0), line


def test_requests_that_make_many_short_calls(attach: Attach, cleanup: Cleanup) -> None:
    """Each of 101 requests makes 23 calls; its healthy twin makes one."""
    for number, chatty in ((23, True), (1, False)):
        _, upstream = cleanup.enter_context(running_server(UPSTREAM, first=True))
        pid, port = cleanup.enter_context(running_server(ASKING, upstream, number, first=True))
        recorder = attach(pid, only=True)
        with socket.create_connection(("127.0.0.1", port)) as client:
            ask(client, 101)
        model = model_of(recorder.stop())
        assert model.request_time and model.request_time.count == 101, model.exchanges
        calls = next(each.line for each in model.exchanges if each.line.direction == "connected")
        assert calls.count == 101 * number and calls.object == f"peer:127.0.0.1:{upstream}", calls
        found = [each for each in diagnose(model).findings if each.id == "NET-CHATTY"]
        assert bool(found) == chatty, found
        if chatty:
            assert f" 127.0.0.1:{upstream} " in found[0].claim and " 23 " in found[0].claim, found
            assert found[0].share > 0.5, found


def test_an_event_loop_whose_connects_are_not_answered(attach: Attach, cleanup: Cleanup) -> None:
    """The queue of the upstream is full: the first SYN is dropped, the one a second later is answered."""
    listener = cleanup.enter_context(socket.socket())
    listener.bind(("127.0.0.1", 0))
    listener.listen(0)
    fillers = 0
    while True:
        filler = cleanup.enter_context(socket.socket())
        filler.setblocking(False)
        filler.connect_ex(listener.getsockname())
        if not select.select([], [filler], [], 0.05)[1]:
            filler.close()
            break
        fillers += 1
    pid, port = cleanup.enter_context(running_server(CONNECTING, listener.getsockname()[1]))
    recorder = attach(pid, only=True)
    client = cleanup.enter_context(socket.create_connection(("127.0.0.1", port)))
    client.sendall(b"please\n")
    time.sleep(0.3)
    for _ in range(fillers):
        cleanup.enter_context(listener.accept()[0])
    listener.listen(100)
    assert client.recv(100) == b"done"
    ask(client, 16)
    model = model_of(recorder.stop())
    upstream = next(each for each in model.exchanges if each.line.direction == "connected")
    assert (upstream.line.connects, upstream.line.connects_failed, upstream.line.retries) == (17, 0, 1), upstream
    assert 0.9e9 < upstream.connect.max_ns < 1.5e9, upstream.connect
    assert model.request_time and model.request_time.accounts[PEERS] > 0.9e9, model.request_time
    found = fault(model, "NET-CONNECT-SLOW")
    assert found and found.share > 0.5, found


def test_a_dead_address_that_an_event_loop_connects_to_all_the_time(attach: Attach, cleanup: Cleanup) -> None:
    listener = cleanup.enter_context(socket.socket())
    listener.bind(("127.0.0.1", 0))
    listener.listen(0)
    for _ in range(8):  # far more than its queue holds
        filler = cleanup.enter_context(socket.socket())
        filler.setblocking(False)
        filler.connect_ex(listener.getsockname())
    pid, port = cleanup.enter_context(running_server(CONNECTING, listener.getsockname()[1]))
    recorder = attach(pid, only=True)
    for _ in range(5):
        cleanup.enter_context(socket.create_connection(("127.0.0.1", port))).sendall(b"please\n")
    time.sleep(1.0)
    model = model_of(recorder.stop())
    line = next(each.line for each in model.exchanges if each.line.direction == "connected")
    assert (line.connecting, line.connects, line.connects_failed) == (5, 0, 0), line
    found = fault(model, "NET-CONNECT-SLOW")
    assert found and "5 not made when the window ended" in found.evidence[0].text, found


def test_a_client_that_sends_its_requests_piece_by_piece(attach: Attach, cleanup: Cleanup) -> None:
    """Each of eleven requests takes 80 ms to arrive; its healthy twin sends them whole."""
    for pause_s in (0.02, 0.0):
        _, upstream = cleanup.enter_context(running_server(UPSTREAM))
        pid, port = cleanup.enter_context(running_server(ASKING, upstream, 1))
        recorder = attach(pid, only=True)
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for _ in range(11):
                for piece in (b"pl", b"ea", b"s", b"e") if pause_s else ():
                    client.sendall(piece)
                    time.sleep(pause_s)
                client.sendall(b"\n" if pause_s else b"please\n")
                assert client.recv(100) == b"done"
        model = model_of(recorder.stop())
        requests = next(each.line for each in model.exchanges if each.served)
        assert requests.count == 11, requests
        found = fault(model, "NET-SLOW-CLIENT")
        if pause_s:
            assert requests.arriving_ns >= 11 * 80_000_000, requests
            assert model.request_time and model.request_time.accounts[ARRIVING] >= 11 * 80_000_000, model.request_time
            assert found and found.share > 0.5, found
        else:
            assert requests.arriving_ns == 0 and found is None, requests


def test_a_server_that_leaves_what_has_come_in_unread(attach: Attach, cleanup: Cleanup) -> None:
    """It reads eleven requests, which come in whole, two bytes at a time with pauses: no client is slow."""
    pid, port = cleanup.enter_context(running_server(DAWDLING))
    recorder = attach(pid, only=True)
    with socket.create_connection(("127.0.0.1", port)) as client:
        for _ in range(11):
            client.sendall(b"please!\n")
            assert client.recv(100) == b"done"
    model = model_of(recorder.stop())
    requests = next(each.line for each in model.exchanges if each.served)
    assert requests.count == 11 and requests.sum_ns >= 11 * 80_000_000, requests
    assert requests.arriving_ns < 0.05 * requests.sum_ns, requests
    assert fault(model, "NET-SLOW-CLIENT") is None


def calls_of(attach: Attach, cleanup: Cleanup, text: str, count: int) -> tuple[int, dict[str, Exchange]]:
    """Record a program that asks so many times when it is told to; its port and the exchanges by object."""
    process = cleanup.enter_context(
        subprocess.Popen([sys.executable, "-c", text, str(count)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    )
    cleanup.callback(process.kill)
    assert process.stdin and process.stdout
    port = int(process.stdout.readline())
    recorder = attach(process.pid)
    process.stdin.write(b"go\n")
    process.stdin.flush()
    time.sleep(0.7)
    return port, {each.line.object: each.line for each in model_of(recorder.stop()).exchanges}


def test_who_hangs_up_has_not_answered(attach: Attach, cleanup: Cleanup) -> None:
    port, lines = calls_of(attach, cleanup, HUNG_UP_ON, 19)
    assert (lines[f"peer:127.0.0.1:{port}"].count, lines[f"peer:127.0.0.1:{port}"].unanswered) == (0, 19), lines


def test_a_greeting_that_was_not_read_yet_is_no_answer(attach: Attach, cleanup: Cleanup) -> None:
    """It came 50 ms before the first question; each answer takes 20 ms."""
    greeter = cleanup.enter_context(socket.create_server(("127.0.0.1", 0)))
    pid, port = cleanup.enter_context(running_server(GREETED_BY, greeter.getsockname()[1], 11))
    recorder = attach(pid, only=True)
    client = cleanup.enter_context(greeter.accept()[0])
    client.sendall(b"hello")
    time.sleep(0.05)
    cleanup.enter_context(socket.create_connection(("127.0.0.1", port))).sendall(b"!")
    for _ in range(11):
        client.recv(1)
        time.sleep(0.02)
        client.sendall(b"!")
    line = next(each.line for each in model_of(recorder.stop()).exchanges if each.line.direction == "connected")
    assert line.count == 11 and 11 * 20_000_000 <= line.sum_ns < 11 * 40_000_000, line


def test_an_answer_that_comes_before_the_send_returns_is_one(attach: Attach, cleanup: Cleanup) -> None:
    """One or two of 40,000 do: the kernel tells of a send when it has let go of the socket."""
    _, upstream = cleanup.enter_context(running_server(SPINNING))
    pid, port = cleanup.enter_context(running_server(ASKING, upstream, 8000))
    recorder = attach(pid, only=True)
    with socket.create_connection(("127.0.0.1", port)) as client:
        ask(client, 5)
    (line,) = [line for line in recorder.stop().of(Exchange) if line.direction == "connected"]
    assert (line.count, line.unanswered, line.open) == (40_000, 0, 0), line
