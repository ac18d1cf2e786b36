"""Requests that an event loop hands to other threads of its process wait for what these are in."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import pytest
from perfdiag.recording.recording import Recording

from live.support.fixtures import Attach, Serving
from live.support.serving import Server, asked, exchanged, http, stopped

MS = 1_000_000
COUNT = 31
KNOWN = 0.8  # of the time that is not spent in queues for a CPU, which others make longer


def spent(recording: Recording, name: str) -> tuple[int, dict[str, int]]:
    """Return the time of the requests of that name, and how much of it was in which account."""
    line = exchanged(recording, "accepted")[name].line
    return line.sum_ns, {part.account: part.sum_ns for part in line.accounts}


def ran_ns(accounts: Mapping[str, int]) -> int:
    """Return the time on a CPU, and in the queue for one, which a busy host makes longer."""
    return sum(ns for name, ns in accounts.items() if name.startswith(("cpu.", "runq.")))


def ask(server: Server, path: str = "/", count: int = COUNT) -> None:
    """Ask one after the other."""
    with server.connect() as connection:
        for _ in range(count):
            asked(connection, http(path))


@pytest.mark.parametrize("clients", [1, 3])
def test_a_helper_that_sleeps(clients: int, serving: Serving, attach: Attach) -> None:
    """Who is in line for the only helper waits for the same."""
    server = serving("by_helpers(listening(), lambda: time.sleep(0.01))")
    recorder = attach(server.pid)
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda _: ask(server), range(clients)))
    whole_ns, accounts = spent(stopped(recorder), "GET /")
    assert accounts["wait.timer"] > 0.9 * clients * clients * COUNT * 10 * MS, accounts
    assert KNOWN * whole_ns < accounts["wait.timer"] + ran_ns(accounts) <= whole_ns, accounts


def test_helpers_that_compute(serving: Serving, attach: Attach) -> None:
    """Without the interpreter's lock, as those of Node.js do."""
    server = serving("by_helpers(listening(), hashes(20_000), helpers=2)")
    recorder = attach(server.pid)
    ask(server)
    whole_ns, accounts = spent(stopped(recorder), "GET /")
    assert KNOWN * whole_ns < ran_ns(accounts) <= whole_ns, accounts
    assert accounts["cpu.user"] > COUNT * 2 * MS, accounts


def test_others_wait_for_no_helper(serving: Serving, attach: Attach) -> None:
    """The loop answers them meanwhile."""
    server = serving("by_helpers(listening(), lambda: time.sleep(0.05), path='/slow')")
    recorder = attach(server.pid)
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda path: ask(server, path), ["/slow", "/", "/"]))
    recording = stopped(recorder)
    whole_ns, accounts = spent(recording, "GET /slow")
    assert KNOWN * whole_ns < accounts["wait.timer"] + ran_ns(accounts) <= whole_ns, accounts
    _, accounts = spent(recording, "GET /")
    assert accounts.get("wait.timer", 0) < 0.02 * COUNT * 50 * MS, accounts
