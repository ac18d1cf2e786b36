"""Requests served and calls made: their number, their names, and how long they took, against what clients measured."""

from __future__ import annotations

import contextlib
import math
import resource
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from perfdiag.model.requests.request_time import PEERS, QUEUED

from live.support.fixtures import Attach, Serving
from live.support.model import model_of
from live.support.serving import answered, asked, cut, exchanged, http, served, stopped

MS = 1_000_000
TICK_NS = 10 * MS  # the longest that kernels are built with
PRECISION = 0.05


def agrees(mine_ns: int | None, clients_ns: float) -> bool:
    """Whether that is the same time."""
    return mine_ns is not None and abs(mine_ns - clients_ns) <= PRECISION * clients_ns


def test_percentiles_are_the_clients_own(serving: Serving, attach: Attach) -> None:
    """A thread for each connection, which sleeps 10 ms for each of 331 requests."""
    server = serving("thread_each(listening(), sleeps(0.01))")
    recorder = attach(server.pid)
    with server.connect() as connection:
        took = sorted(asked(connection, http("/items/17")) for _ in range(331))
    recording = stopped(recorder)
    requests = served(recording, "GET /items/#")
    assert requests.line.count == 331 and requests.line.whole == 331, requests.line
    assert requests.line.object == f"port:{server.port}", requests.line
    assert agrees(requests.line.sum_ns, sum(took)), (requests.line.sum_ns, sum(took))
    for quantile in (0.5, 0.9):
        client_ns = took[math.ceil(quantile * len(took)) - 1]
        assert agrees(requests.whole.quantile_ns(quantile), client_ns), (quantile, client_ns)
    slept_ns = dict((part.account, part.sum_ns) for part in requests.line.accounts)["wait.timer"]
    assert 0.95 * 331 * 10 * MS <= slept_ns <= requests.line.sum_ns, requests.line
    time = model_of(recording).request_time
    assert time and time.count == 331 and sum(time.accounts.values()) == time.ns, time
    known_ns = sum(ns for name, ns in time.accounts.items() if name == "wait.timer" or name.startswith("runq."))
    assert known_ns + time.accounts[QUEUED] > 0.95 * time.ns, "the rest of it are some instructions for each request"


def test_an_event_loop_that_waits_for_its_upstream(serving: Serving, attach: Attach) -> None:
    """Eleven clients at a time, each of whose requests the upstream answers 50 ms later."""
    upstream = serving("thread_each(listening(), sleeps(0.05))")
    server = serving(f"proxy({upstream.port})")
    recorder = attach(server.pid)

    def client(number: int) -> int:
        with server.connect() as connection:
            return sum(asked(connection, http(f"/users/{number}/orders?page=3")) for _ in range(7))

    with ThreadPoolExecutor(11) as pool:
        clients_ns = sum(pool.map(client, range(11)))
    recording = stopped(recorder)
    requests = served(recording, "GET /users/#/orders")
    (calls,) = exchanged(recording, "connected").values()
    assert requests.line.count == calls.line.count == 77, (requests.line, calls.line)
    assert calls.line.object == f"peer:127.0.0.1:{upstream.port}" and calls.line.connects == 11, calls.line
    assert 77 * 50 * MS <= calls.line.sum_ns <= clients_ns, calls.line
    assert 7 * 50 * MS <= calls.line.busy_ns < 0.6 * calls.line.sum_ns, "eleven were under way at once"
    assert 0.5 * calls.line.sum_ns < requests.line.peers_ns <= calls.line.sum_ns, (requests.line, calls.line)


def test_whose_upstream_an_event_loop_waits_for(serving: Serving, attach: Attach) -> None:
    """One client: there is no other request that a call could be for."""
    upstream = serving("thread_each(listening(), sleeps(0.05))")
    server = serving(f"proxy({upstream.port})")
    recorder = attach(server.pid)
    with server.connect() as connection:
        client_ns = sum(asked(connection, http("/")) for _ in range(31))
    recording = stopped(recorder)
    requests = served(recording, "GET /")
    (calls,) = exchanged(recording, "connected").values()
    assert requests.line.count == calls.line.count == 31
    assert 31 * 50 * MS <= calls.line.sum_ns <= client_ns, calls.line
    assert agrees(requests.line.peers_ns, calls.line.sum_ns), (requests.line, calls.line)
    time = model_of(recording).request_time
    assert time and agrees(time.accounts[PEERS], calls.line.sum_ns), time


def test_one_connection_for_each_request_or_one_for_all(serving: Serving, attach: Attach) -> None:
    server = serving("thread_each(listening(), sleeps(0.001))")
    recorder = attach(server.pid)
    with server.connect() as connection:
        for _ in range(101):
            asked(connection, http("/kept"))
    for _ in range(103):
        with server.connect() as connection:
            asked(connection, http("/single"))
    found = exchanged(stopped(recorder), "accepted")
    assert {name: each.line.count for name, each in found.items()} == {"GET /kept": 101, "GET /single": 103}
    assert all(not each.line.unanswered and not each.line.early for each in found.values()), found


def test_connections_that_were_open_before_the_start(serving: Serving, attach: Attach) -> None:
    server = serving("thread_each(listening(), sleeps(0.001))")
    with server.connect() as connection:
        asked(connection, http("/before"))
        recorder = attach(server.pid)
        for _ in range(53):
            asked(connection, http("/after"))
        assert served(stopped(recorder), "GET /after").line.count == 53


@pytest.mark.parametrize("size", [4, 11, 50])
def test_a_request_in_pieces_is_one(size: int, serving: Serving, attach: Attach) -> None:
    """It lasts from its first byte on, however slow its client is."""
    server = serving("thread_each(listening(), sleeps(0.02))")
    recorder = attach(server.pid)
    pieces = cut(http("/in/pieces", "X-Filler: " + "x" * 30), size)
    with server.connect() as connection:
        for _ in range(3):
            for piece in pieces:
                connection.sendall(piece)
                time.sleep(0.005)
            answered(connection)
    lines = [each.line for each in exchanged(stopped(recorder), "accepted").values()]
    assert sum(line.count for line in lines) == 3 and not any(line.early for line in lines), lines
    names, first = {line.name for line in lines}, {50: "GET /in/pieces", 11: "GET /in/ ...", 4: ""}[size]
    assert first in names and names <= {first, "GET / ...", "GET /in/ ...", "GET /in/pieces"}, "whole, or it says so"
    # Of the first one, on a port that nobody had read from, it is known to a tick when it came in.
    least_ns = 3 * (20 + 5 * (len(pieces) - 1)) * MS - TICK_NS
    assert sum(line.sum_ns for line in lines) >= least_ns, "pieces took their time, too"


def test_a_client_that_sends_one_byte_a_second(serving: Serving, attach: Attach) -> None:
    server = serving("thread_each(listening(), sleeps(0.001))")
    recorder = attach(server.pid)
    with server.connect() as connection:
        for piece in (b"G", b"E", b"T / HTTP/1.1\r\n\r\n"):
            connection.sendall(piece)
            time.sleep(1)
        answered(connection)
        begun = time.monotonic_ns()
        connection.sendall(b"G")
        time.sleep(0.5)
        recording = stopped(recorder)
        waited_ns = time.monotonic_ns() - begun
    (requests,) = exchanged(recording, "accepted").values()
    assert requests.line.count == 1 and requests.line.sum_ns > 2000 * MS - TICK_NS, requests.line
    assert requests.line.open == 1 and 490 * MS <= requests.line.oldest_ns <= waited_ns, requests.line
    slow_ns = dict((part.account, part.sum_ns) for part in requests.line.accounts)["net.receive"]
    assert slow_ns > 1900 * MS, "waiting in the middle of a request is no waiting for work"


def test_a_server_that_waits_with_a_read_of_one_byte(serving: Serving, attach: Attach) -> None:
    """As Go's does between requests: the name is that of both reads together."""
    server = serving("thread_each(listening(), byte_first(0.001))")
    recorder = attach(server.pid)
    with server.connect() as connection:
        for _ in range(11):
            asked(connection, http("/users/17/orders"))
    requests = served(stopped(recorder), "GET /users/#/orders")
    assert requests.line.count == 11, requests.line


@pytest.mark.parametrize("body", [b"body", http("/planted")])
def test_what_a_body_is_asked_for_is_one_request(body: bytes, serving: Serving, attach: Attach) -> None:
    """Expect: 100-continue; also where the body is itself a request."""
    server = serving("thread_each(listening(), continues(0.01))")
    recorder = attach(server.pid)
    with server.connect() as connection:
        for _ in range(11):
            connection.sendall(http("/upload", "Expect: 100-continue", "Content-Length: 4", method="POST"))
            answered(connection, b"100 Continue\r\n\r\n")
            time.sleep(0.005)
            connection.sendall(body)
            answered(connection)
    requests = served(stopped(recorder), "POST /upload")
    assert requests.line.count == 11 and requests.line.sum_ns >= 11 * 15 * MS, requests.line


def test_what_comes_before_the_answer_begins_no_other_request(serving: Serving, attach: Attach) -> None:
    """However much like one it looks: nothing of it is kept."""
    server = serving("thread_each(listening(), sleeps(0.01))")
    recorder = attach(server.pid)
    with server.connect() as connection:
        for _ in range(11):
            connection.sendall(b"POST /form HTTP/1.1\r\nHost: localhost\r\n")
            time.sleep(0.005)
            asked(connection, http("/planted"))
    recording = stopped(recorder)
    assert served(recording, "POST /form").line.count == 11 and b"planted" not in recording.path.read_bytes()


def test_what_begins_with_less_than_a_name_is_http_all_the_same(serving: Serving, attach: Attach) -> None:
    """What comes after 100 Continue was taken for another request, of a connection that shows no names."""
    server = serving("thread_each(listening(), continues(0.01))")
    recorder = attach(server.pid)
    request = http("/upload", "Expect: 100-continue", "Content-Length: 9", method="POST")
    with server.connect() as connection:
        for _ in range(11):
            connection.sendall(request[:5])
            time.sleep(0.005)
            connection.sendall(request[5:])
            answered(connection, b"100 Continue\r\n\r\n")
            connection.sendall(b"long body")
            answered(connection)
        recording = stopped(recorder)
    found = {name: each.line.count for name, each in exchanged(recording, "accepted").items()}
    # On a busy host both pieces of the first line may be read at once.
    assert sum(found.values()) == 11 and found.keys() <= {" ...", "POST /upload"}, found


def test_an_answer_in_pieces(serving: Serving, attach: Attach) -> None:
    server = serving("thread_each(listening(), in_pieces(3, 0.01))")
    recorder = attach(server.pid)
    with server.connect() as connection:
        for _ in range(11):
            asked(connection, http("/pieces"))
    requests = served(stopped(recorder), "GET /pieces")
    assert requests.line.count == 11 and requests.line.sum_ns >= 11 * 20 * MS, requests.line
    assert requests.first_byte.count == 11 and requests.first_byte.sum_ns < requests.line.sum_ns / 2, requests
    slept_ns = dict((part.account, part.sum_ns) for part in requests.line.accounts)["wait.timer"]
    assert 0.95 * 11 * 20 * MS <= slept_ns <= requests.line.sum_ns, requests.line


def test_requests_that_never_end(serving: Serving, attach: Attach) -> None:
    server = serving("thread_each(listening(), never)")
    recorder = attach(server.pid)
    with contextlib.ExitStack() as connections:
        begun = time.monotonic_ns()
        for _ in range(7):
            connections.enter_context(server.connect()).sendall(http("/for/ever"))
        for _ in range(3):
            with server.connect() as given_up:
                given_up.sendall(http("/for/ever"))
                time.sleep(0.3)
        recording = stopped(recorder)
        waited_ns = time.monotonic_ns() - begun
    requests = served(recording, "GET /for/ever")
    assert (requests.line.count, requests.line.open, requests.line.unanswered) == (0, 7, 3), requests.line
    # Since they were read, which the server may come to late.
    assert 800 * MS - TICK_NS <= requests.line.oldest_ns <= waited_ns, requests.line


def test_answered_by_another_thread(serving: Serving, attach: Attach) -> None:
    """Such a request is timed.  Who answers it has slept until then, which a timer ended; all else is unknown time."""
    server = serving("handed_on(listening(), 0.005)")
    recorder = attach(server.pid)
    with server.connect() as connection:
        for _ in range(53):
            asked(connection, http("/handed"))
    recording = stopped(recorder)
    requests = served(recording, "GET /handed")
    assert requests.line.count == 53 and requests.line.whole == 0, requests.line
    assert requests.line.sum_ns >= 53 * 5 * MS
    known = model_of(recording).request_time
    if known is None:
        return  # the window is far longer
    told_ns = known.handed_ns + known.accounts["wait.timer"]
    assert known.accounts["wait.timer"] > 0.8 * known.ns, known
    assert told_ns >= 53 * 5 * MS and told_ns > 0.9 * known.ns, known


def test_2003_connections_at_once(serving: Serving, attach: Attach) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (10000, max(10000, most)))  # other tests need more
    server = serving("loop(0.0)")
    recorder = attach(server.pid)
    with contextlib.ExitStack() as opened:
        connections = [opened.enter_context(server.connect()) for _ in range(2003)]
        for connection in connections:
            connection.sendall(http("/one"))
        for connection in connections:
            answered(connection)
        recording = stopped(recorder)
    assert served(recording, "GET /one").line.count == 2003
    assert not recording.footer.lost["connections_full"] and not recording.footer.lost["exchanges_full"]
