"""Faults that fall on a program which the target has started."""

from __future__ import annotations

from dataclasses import replace

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.evidence.started_programs import with_programs
from perfdiag.diagnosis.rule import Finding

from unit.support import Builder

PEER = "peer:10.0.0.25:25"


def slow_peer(name: str, waits: int = 20, *, ended: bool = True) -> Finding:
    """A script starts a program for its mails, which waits for their server; and asks that itself now and then."""
    builder = Builder(comm="php").thread("php", cpu_user="100 ms", rest="wait.child")
    builder.row("net.receive", PEER, durations={"100 ms": 10})
    builder.thread(name, pid=200, tid=200, rest="ipc.pipe", exited=ended).row(
        "net.receive", PEER, durations={"400 ms": waits}
    )
    (found,) = [each for each in diagnose(builder.model()).findings if each.id == "NET-PEER-SLOW"]
    return found


def test_who_waits_for_a_peer_is_named() -> None:
    """A shop waited for exim4, which waited for its smarthost; that was told as the shop's own call."""
    found = slow_peer("exim4")
    assert found.headline.endswith("; exim4 (a child process) waits for it"), found.headline
    assert "exim4 has 89 % of net.receive; 1 process of that name ended in the window" in found.evidence[-1].text


@pytest.mark.parametrize(("name", "waits", "ended"), [("php", 20, True), ("exim4", 5, True), ("cache-main", 20, False)])
def test_who_waits_itself_is_no_news(name: str, waits: int, ended: bool) -> None:
    """Its own workers have its name, or stay; and of several programs none is named."""
    assert "a child process" not in slow_peer(name, waits, ended=ended).headline


def test_time_that_no_thread_has_is_nobodys() -> None:
    """Of requests that nobody has read no thread has any: the share of none was divided by zero."""
    builder = Builder(comm="php").thread("exim4", pid=200, tid=200, cpu_user="1 s")
    builder.thread("exim4", pid=201, tid=201, cpu_user="1 s", exited=True)
    fault = replace(slow_peer("exim4"), claims={"request.queued": 1_000}, headline="Requests wait")
    assert with_programs(builder.model(), [fault]) == [fault]
