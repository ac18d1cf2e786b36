"""Limits of single names (--slo NAME=TIME), as the kernel side holds requests and system calls against them."""

from __future__ import annotations

from perfdiag import schema

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
