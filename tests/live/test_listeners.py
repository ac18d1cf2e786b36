"""Listening sockets whose accept queue is full: who was dropped there, in which network namespace."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest
from perfdiag.diagnosis.rule import Check, Finding, Outcome, RemedyKind, Severity
from perfdiag.diagnosis.rules import RULES
from perfdiag.facts.host_facts import Facts
from perfdiag.recording import schema

from live.support.fixtures import Attach, Start
from live.support.model import model_of
from live.support.recording import Recording
from live.support.workload import Workload
from unit.support.waiting import until

ID = "NET-LISTEN-OVERFLOW"
ALONE = ("unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh")


def tried(server: Workload) -> bool:
    return "pipe_read" in Path(f"/proc/{server.pid}/wchan").read_text()


def watched(attach: Attach, target: Workload, *others: Workload) -> Recording:
    """Record what comes while the queues are filled; the servers live on until they were looked at."""
    recorder = attach(target)
    until(lambda: f"/sock_diag/listen/{target.pid}" in recorder.output.read_text(), "its sockets were looked at")
    for server in (target, *others):
        server.start()
        until(partial(tried, server), "all connections were tried")
    return recorder.stop()


def said(recording: Recording) -> list[Outcome]:
    return list(RULES[ID].function(model_of(recording)))


@pytest.mark.parametrize("wrapper", [(), ALONE])
def test_thirteen_connections_too_many(wrapper: Sequence[str], start: Start, attach: Attach) -> None:
    server = start("listen_overflow", "--backlog", 5, "--beyond", 13, wrapper=wrapper)
    recording = watched(attach, server)
    truth = server.truth()
    assert truth["dropped"] == 13, "the queue had room for some: nothing was tested"
    listeners = Facts.parse(recording.of(schema.Fact)).listeners
    assert listeners and listeners.complete and listeners.own_namespace is not bool(wrapper)
    (socket,) = listeners.sockets
    assert (socket.address, socket.port, socket.pids) == ("127.0.0.1", truth["port"], (server.pid,))
    assert (socket.queued, socket.limit) == (6, 5)
    assert socket.dropped is not None and 13 <= socket.dropped <= 26, "each is dropped once, or twice on a busy host"
    (found,) = said(recording)
    assert isinstance(found, Finding) and found.severity is Severity.CRITICAL
    assert 13 <= found.evidence[0].value <= 26
    assert f"127.0.0.1:{truth['port']} " in found.claim, found
    assert [remedy.kind for remedy in found.remedies] == [RemedyKind.FIX, RemedyKind.FIX]
    assert "asked for 5" in found.remedies[1].text


def test_a_queue_with_room_for_all_of_them(start: Start, attach: Attach) -> None:
    server = start("listen_overflow", "--backlog", 5, "--beyond", 13, "--twin", 1)
    recording = watched(attach, server)
    truth = server.truth()
    assert truth["dropped"] == 0
    assert all(isinstance(outcome, Check) for outcome in said(recording)), said(recording)


def test_the_queue_of_a_neighbour_is_not_the_targets(start: Start, attach: Attach) -> None:
    neighbour = start("listen_overflow", "--backlog", 5, "--beyond", 13)
    target = start("listen_overflow", "--backlog", 7, "--beyond", 2, "--twin", 1)
    (outcome,) = said(watched(attach, target, neighbour))
    assert neighbour.truth()["dropped"] == 13 and target.truth()["dropped"] == 0
    assert isinstance(outcome, Check) and "none of the target" in outcome.text
