"""Whose time counts: what background threads alone suffer ranks below what serving threads suffer."""

from __future__ import annotations

from typing import Any

import pytest
from perfdiag.common.config import Config
from perfdiag.diagnosis.rule import Finding, Role
from perfdiag.diagnosis.thread_roles import Roles
from perfdiag.model.model import Model
from perfdiag.report import assembly

from unit.support import Builder
from unit.support.reports import diagnosis, finding

S = 1_000_000_000
WRITES = ("disk.write", "device:254:0")


def database(cleaner: dict[str, Any] | None = None, server: dict[str, Any] | None = None) -> Builder:
    """A thread that answers requests and 20 that clean pages by the clock, asleep on the disk for most of the time."""
    builder = Builder(comm="db").thread("server", **({"cpu_user": "1 s", "net_receive": "1 s"} | (server or {})))
    for number in range(20):
        builder.thread(f"cleaner-{number}", rest="wait.timer", **({"disk_write": ("9 s", 90)} | (cleaner or {})))
    return builder


def ranked(model: Model) -> list[Finding]:
    """The write is 180 s, the peer 1 s."""
    slow_write = finding("DISK-WRITE-SLOW", {"disk.write": model.ns("disk.write")}, "Writes are slow.")
    slow_peer = finding("NET-PEER-SLOW", {"net.receive": S}, "A peer is slow.")
    return list(diagnosis(model, slow_write, slow_peer).findings)[:2]  # then its idle time


def test_what_only_background_threads_suffer_ranks_below_and_says_so() -> None:
    model = database().model()
    peer, write = ranked(model)
    assert (peer.id, peer.role, peer.threads) == ("NET-PEER-SLOW", Role.SERVING, ("server",))
    assert (write.id, write.role, write.threads) == ("DISK-WRITE-SLOW", Role.BACKGROUND, ("cleaner-N",))
    assert write.claimed_ns > 100 * peer.claimed_ns
    made = assembly.make(model, diagnosis(model, peer, write), Config())
    assert made.findings[1].claim == "Writes are slow. Only background threads suffer it: cleaner-N."
    assert made.verdict.ids[0] == "NET-PEER-SLOW" and made.verdict.kind != "cannot tell"


def test_what_serving_threads_suffer_too_ranks_by_its_time() -> None:
    write, peer = ranked(database(server={"disk_write": ("7 s", 70)}).model())
    assert (write.id, write.role, peer.id) == ("DISK-WRITE-SLOW", Role.UNKNOWN, "NET-PEER-SLOW")
    assert write.threads == ("cleaner-N", "server")


@pytest.mark.parametrize(
    "builder",
    [
        database(cleaner={"wait_parked": ("100 ms", 3)}),  # somebody may give them work
        database(cleaner={"wait_events": "10 ms"}),
        # somebody waits for one of them
        database().thread("worker").row("wait.parked", "futex:0x10", "1 s", count=9, waker_tid=103, waker_count=9),
        database().lost(wakeups_missing=99),  # and here it cannot be seen
        database().lost(detail_full=99),
        database().cut(),
    ],
    ids=["parked", "events", "waited for", "wakers lost", "rows lost", "cut off"],
)
def test_a_role_that_is_not_shown_changes_nothing(builder: Builder) -> None:
    write, peer = ranked(builder.model())
    assert write.id == "DISK-WRITE-SLOW" and write.role is not Role.BACKGROUND and peer.id == "NET-PEER-SLOW"


def test_a_few_unseen_wakers_do_not_hide_it() -> None:
    assert ranked(database().lost(wakeups_missing=1).model())[0].id == "NET-PEER-SLOW"


def test_without_threads_that_serve_there_is_no_background() -> None:
    model = Builder().thread("batch", rest="wait.timer", disk_write=("5 s", 50)).model()
    assert Roles(model).of(["disk.write"]) == (("batch",), Role.UNKNOWN)


def test_ended_threads_that_were_folded_have_no_role() -> None:
    ended = {"threads": 9, "wall": "401 s", "disk_write": ("400 s", 9), "rest": "wait.timer"}
    model = database().exited("cleaner", **ended).model()
    assert Roles(model).of(["disk.write"])[1] is Role.UNKNOWN


def test_of_an_object_only_those_processes_count_that_waited_for_it() -> None:
    builder = Builder().target(200, "cleaner").thread("server", net_receive="1 s").row(*WRITES, "1 s", count=9)
    builder.thread("cleaner", pid=200, rest="wait.timer").row("disk.write", "device:254:16", "2 s", count=9)
    roles = Roles(builder.model())
    assert roles.of([WRITES]) == (("server",), Role.SERVING)
    assert roles.of([("disk.write", "device:254:16")]) == (("cleaner",), Role.BACKGROUND)
    assert roles.of(["disk.write"]) == (("cleaner", "server"), Role.UNKNOWN)


def test_no_time_no_role() -> None:
    assert Roles(database().model()).of([]) == ((), Role.UNKNOWN)
