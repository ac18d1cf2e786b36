"""Limits of single names (--slo NAME=TIME), as the kernel side holds requests and system calls against them."""

from __future__ import annotations

import socket

from perfdiag.recording import schema

from live.support.fixtures import Attach, Serving
from live.support.serving import asked, exchanged, http, stopped

MS = 1_000_000


def test_each_name_has_its_own_limit(serving: Serving, attach: Attach) -> None:
    """Numbers and queries are no part of a name, however it is typed; a plain limit is for all others."""
    server = serving("thread_each(listening(), sleeps(0.01))")
    limits = {"GET /users/4711?page=1": 1 * MS, "GET /long": 1000 * MS}
    recorder = attach(server.pid, slo_ns=5 * MS, slo_names=limits)
    with server.connect() as connection:
        for number in range(13):
            asked(connection, http(f"/users/{number}"))
            asked(connection, http("/long"))
            asked(connection, http("/else"))
    recording = stopped(recorder)
    over = {name: each.line.over_slo for name, each in exchanged(recording, "accepted").items()}
    assert over == {"GET /users/#": 13, "GET /long": 0, "GET /else": 13}
    options = recording.header.options
    assert {each.name: each.limit_ns for each in options.slo_names} == {"GET /users/#": MS, "GET /long": 1000 * MS}


def test_names_with_a_limit_have_room_whatever_else_is_asked_for(serving: Serving, attach: Attach) -> None:
    """Somebody tries one path after the other: those that find no room are told together, and nothing is lost.

    Not as fast as can be: the kernel takes memory for new entries aside between interrupts.
    """
    server = serving("thread_each(listening(), sleeps(0.001))")
    recorder = attach(server.pid, slo_ns=1, slo_names={"GET /limited": 1000 * MS})
    digits = str.maketrans("0123456789", "abcdefghij")
    with server.connect() as connection:
        for number in range(1511):
            asked(connection, http(f"/{str(number).translate(digits)}"))
        for _ in range(13):
            asked(connection, http("/limited"))
            asked(connection, http("/"))
    recording = stopped(recorder)
    found = exchanged(recording, "accepted")
    assert found["GET /limited"].line.count == found["GET /limited"].whole.count == 13
    assert found["GET /limited"].line.over_slo == 0
    others = found.pop("(other names)")
    assert others.line.count == others.whole.count == others.line.over_slo > 1000
    assert others.line.count + sum(each.line.count for each in found.values()) == 1511 + 2 * 13
    first = {f"GET /{str(number).translate(digits)}" for number in range(384)}
    assert {name for name in found if name} <= first | {"GET /limited"} and len(found) > 300
    assert not recording.footer.lost["exchanges_full"]


def test_a_name_alone_limits_nothing_else(serving: Serving, attach: Attach) -> None:
    """Nor does it time system calls, which costs something at each of the host's."""
    server = serving("thread_each(listening(), sleeps(0.01))")
    recorder = attach(server.pid, slo_names={"GET /a": MS})
    with server.connect() as connection:
        for _ in range(7):
            asked(connection, http("/a"))
            asked(connection, http("/b"))
    recording = stopped(recorder)
    over = {name: each.line.over_slo for name, each in exchanged(recording, "accepted").items()}
    assert over == {"GET /a": 7, "GET /b": 0} and not recording.of(schema.Operation)
    (probe,) = [probe for probe in recording.header.probes if probe.feature == "operations"]
    assert not probe.attached and "names requests only" in (probe.reason or ""), probe


THREE_PORTS = """
import threading
for listener in [listening(), listening(), listening()]:
    threading.Thread(target=thread_each, args=(listener, sleeps(0.01))).start()
"""


def test_limits_of_names_hold_on_every_port(serving: Serving, attach: Attach) -> None:
    """Each name on each port is a line of its own, with what is over the limit of the name, or of all others."""
    server = serving(THREE_PORTS)
    assert server.process.stdout
    ports = [server.port, *(int(server.process.stdout.readline()) for _ in range(2))]
    recorder = attach(server.pid, slo_ns=5 * MS, slo_names={"GET /short": MS, "GET /long": 1000 * MS})
    for number, port in enumerate(ports):
        with socket.create_connection(("127.0.0.1", port), 30) as connection:
            for _ in range(5 + 2 * number):
                for path in ("/short", "/long", "/else"):
                    asked(connection, http(path))
    lines = [line for line in stopped(recorder).of(schema.Exchange) if line.direction == "accepted"]
    found = {(line.object, line.name): (line.count, line.over_slo) for line in lines}
    expected = {}
    for number, port in enumerate(ports):
        count = 5 + 2 * number
        over = {"GET /short": count, "GET /long": 0, "GET /else": count}
        expected |= {(f"port:{port}", name): (count, late) for name, late in over.items()}
    assert found == expected
