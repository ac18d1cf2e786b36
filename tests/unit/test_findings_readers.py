"""POOL-SATURATED, READER-ELSEWHERE and READER-NOT-LISTENING: requests that nobody reads."""

from __future__ import annotations

from dataclasses import replace

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Severity
from perfdiag.facts.host_facts import Descriptors
from perfdiag.model.requests.request_time import QUEUED
from perfdiag.recording import schema
from perfdiag.report import assembly

from unit.support import Builder
from unit.support.exchanges import exchange, unread
from unit.support.judging import check, finding, knowing, silence
from unit.support.queued_requests import loop, pool, requests
from unit.support.reports import RUNBOOKS

S = 1_000_000_000
UPSTREAM = "peer:10.0.0.9:9000"
LOOP, POOL, PEER = "LOOP-BLOCKED", "POOL-SATURATED", "NET-PEER-SLOW"
ELSEWHERE, DEAF, THREAD = "READER-ELSEWHERE", "READER-NOT-LISTENING", "WAIT-THREAD-IN-REQUEST"


def test_a_pool_that_is_full() -> None:
    found = finding(pool().model(), POOL)
    assert found.severity is Severity.WARNING and dict(found.claims) == {(QUEUED, "disk.read"): 20 * S}
    assert "up to 400 ms" in found.claim and "reading from disk" in found.claim


@pytest.mark.parametrize(("most", "unseen", "said"), [(4, 0, "All 4 "), (3, 0, "All workers"), (4, 1, "All workers")])
def test_a_pool_is_as_large_as_what_is_in_progress_where_all_have_read(most: int, unseen: int, said: str) -> None:
    builder = Builder(comm="httpd")
    for _ in range(4):
        builder.thread("worker", disk_read="7 s").reads(25)
    requests(builder, {"disk.read": 28_000}, count=25, delays=[400] * 25, met={"disk.read": 1})
    builder.line(schema.RequestsInside(most, [schema.Level(1, S), schema.Level(most, 3 * S)], unseen))
    found = finding(builder.model(), POOL)
    assert found.headline.startswith(said) and found.evidence[-1].value == most


@pytest.mark.parametrize(("part", "held"), [(0.6, True), (0.4, False)])
def test_workers_that_sit_on_silent_connections_are_taken(part: float, held: bool) -> None:
    """Of the only thread, which read from a silent client, it was said that it computes."""
    found = finding(pool({"net.request": part, "disk.read": 1 - part}).model(), POOL)
    assert f"{part * 100:.0f} % of that time with silent keep-alive connections" in found.claim
    assert "KeepAliveTimeout" in found.remedies[0].text
    assert ("held by clients that say nothing" in found.headline) is held


def test_the_only_worker_is_called_that() -> None:
    builder = Builder(comm="httpd").thread("worker", disk_read="7 s").reads(100)
    requests(builder, {"disk.read": 7_000}, count=100, delays=[400] * 100, met={"disk.read": 1})
    builder.line(schema.RequestsInside(1, [schema.Level(1, 7 * S)], 0))
    assert finding(builder.model(), POOL).headline.startswith("The only worker is busy")


def test_a_pool_whose_readers_are_with_nobody_is_not_full() -> None:
    """A thread for each connection: it reads nothing else, and there is nothing it could be full of."""
    model = pool({"wait.timer": 1}, served=False).model()
    assert check(model, POOL).number == 0
    found = finding(model, ELSEWHERE)
    assert "mostly sleeping" in found.claim and dict(found.claims) == {QUEUED: 20 * S}


def limited(turns: int) -> Builder:
    """Return a worker, or loop, that does not listen to the requests that wait: a limit of connections is reached."""
    builder = Builder(comm="server").thread("server", cpu_user="1 s")
    met = {"wait.events": 0.8, "cpu.user": 0.1}
    delays = [400] * 50 + [0] * 50
    return requests(builder, {"cpu.user": 1000}, count=100, turns=turns, delays=delays, met=met, served=False)


def test_requests_that_their_reader_does_not_listen_to() -> None:
    found = finding(limited(turns=100).model(), DEAF)
    assert found.severity is Severity.WARNING and dict(found.claims) == {QUEUED: 16 * S}
    assert "does not listen" in found.claim and "unknown 10 %" in str(found.evidence)
    assert dict(finding(limited(turns=0).model(), DEAF).claims) == {QUEUED: 16 * S}


@pytest.mark.parametrize(("used", "seen", "id"), [(40, False, "FD-EXHAUSTION"), (39, False, DEAF), (40, True, DEAF)])
def test_a_reader_that_has_no_descriptor_left(used: int, seen: bool, id: str) -> None:
    """It accepts nobody, and seems idle; where refusals are seen, and there is none, something else keeps it."""
    builder = limited(turns=100)
    if not seen:
        builder.without("operations", "measured only with --slo")
    pid = builder.model().threads[0].pid
    known = Descriptors(pid=pid, used=[(0, used), (5 * S, used)], soft_limit=40, hard_limit=40)
    idle = replace(known, pid=pid - 1, used=[(0, 40), (5 * S, 40)])  # reads no requests
    model = knowing(builder.model(), descriptors={each.pid: each for each in (idle, known)}, processes={})
    time = [(each.id, each.claims[QUEUED]) for each in diagnose(model).findings if QUEUED in each.claims]
    assert time == [(id, 16 * S)]


def test_readers_that_wait_for_a_thread_that_serves_nobody() -> None:
    """A virtual machine stops all threads for its collections, on a futex, while one of its own computes."""
    builder = Builder(comm="java").thread("VM Thread", tid=150, cpu_user="2 s", rest="wait.work")
    builder.thread("worker", cpu_user="1 s", wait_parked="4 s", rest="net.accept")
    builder.because("wait.parked", "futex:0x10", "cpu.user", "2 s", root_tid=150)
    requests(builder, {"cpu.user": 1000}, count=100, delays=[400] * 50 + [0] * 50, met={"cpu.user": 0.02}, served=False)
    builder.line(unread({("wait.parked", "cpu.user"): 18 * S}, served=False)[0])
    found = finding(builder.model(), THREAD)
    assert dict(found.claims) == {QUEUED: 18 * S}
    assert "waits for VM Thread (150), which mostly runs its own code" in found.claim
    assert check(builder.model(), ELSEWHERE).number == pytest.approx(0.02, rel=0.06), "that is another thread's doing"


def test_readers_that_wait_for_a_program_that_each_request_starts() -> None:
    """sshd waits for a script of the day, which runs apt: "another thread, which runs its own code" was told."""
    builder = Builder(comm="sshd").thread("sshd", cpu_user="1 s", wait_child="4 s", rest="net.accept")
    for tid in (150, 151, 152):
        builder.thread("apt", pid=tid, tid=tid, cpu_user="2 s", exited=True)
        builder.because("wait.child", "", "cpu.user", "1 s", root_tid=tid)
    requests(builder, {"cpu.user": 1000}, count=100, delays=[400] * 50 + [0] * 50, met={"cpu.user": 0.02}, served=False)
    builder.line(unread({("wait.child", "cpu.user"): 18 * S}, served=False)[0])
    assert "waits for apt (3 threads), which runs its own code" in finding(builder.model(), THREAD).headline


@pytest.mark.parametrize(("inside_ms", "holds"), [(0, True), (20_000, False)])
def test_a_reader_that_waits_for_a_peer_on_its_own_account_holds_up_all(inside_ms: int, holds: bool) -> None:
    """A timer of an event loop that asks a service and blocks; or workers that wait for it in their requests."""
    builder = Builder(comm="nginx").thread("nginx", cpu_user="100 ms", rest="net.request")
    builder.row("net.receive", "peer:10.0.0.9:9000", durations={"300 ms": 16}).socket("peer:10.0.0.9:9000")
    met = {"net.receive": 0.99}
    requests(builder, {"cpu.user": 100, "net.receive": inside_ms}, delays=[90] * 400, met=met, served=False)
    found = finding(builder.model(), PEER)
    assert found.inside is holds and found.headline.startswith("Requests lie unread") is holds
    assert found.remedies[0].text.startswith("do not wait for it in the thread that reads requests") is holds


def test_a_reader_that_is_woken_at_once_listens() -> None:
    builder = Builder(comm="server").thread("server", cpu_user="1 s")
    model = requests(builder, {"cpu.user": 1000}, delays=[1] * 400, met={"wait.events": 1}, served=False).model()
    assert check(model, DEAF).number > 0.2, "many wake-ups, each of them short"


@pytest.mark.parametrize("id", [LOOP, POOL, ELSEWHERE, DEAF])
def test_recordings_that_do_not_tell_who_reads_are_not_guessed_at(id: str) -> None:
    builder = loop(400).reads(None)
    assert "what the readers of requests did" in silence(builder.model(), id).reason
    verdict = assembly.make(builder.model(), diagnose(builder.model()), RUNBOOKS).verdict
    assert verdict.kind == "cannot tell" and "has no known cause" in verdict.text, verdict


@pytest.mark.parametrize(
    ("most", "wait", "deaf"),
    [(3, "do_epoll_wait", True), (1, "do_epoll_wait", False), (3, "tcp_recvmsg", False)],
    ids=["three calls of one thread", "one call", "a call that blocks"],
)
def test_a_proxy_that_is_full_waits_for_the_answers_to_those_it_has_let_in(most: int, wait: str, deaf: bool) -> None:
    """Its listening socket is not in its set meanwhile: it was "the peer answers slowly", 76 %, as in a healthy one."""
    builder = Builder(comm="haproxy").thread("haproxy", cpu_user="100 ms", rest="wait.events")
    builder.row("net.receive", UPSTREAM, durations={"60 ms": 110}).socket(UPSTREAM)
    builder.stack("wait", "net.receive", kernel=["schedule", wait], object=UPSTREAM, weight="6 s")
    requests(builder, {"cpu.user": 100}, delays=[180] * 400, met={"net.receive": 0.9}, served=False, turns=200)
    levels = [schema.CallLevel(most, 6 * S, 300, 0)]
    builder.line(exchange(300, 18 * S, object=UPSTREAM, direction="connected", whole=0, most=most, levels=levels))
    inside = [schema.Level(level, ns) for level, ns in {1: S, most: 6 * S}.items()]
    builder.line(schema.RequestsInside(most, inside, 0))
    diagnosis = diagnose(builder.model())
    first = diagnosis.findings[0]
    assert first.id == (DEAF if deaf else PEER)
    if deaf:
        assert first.share > 0.8 and "a limit of 3 at a time keeps it from accepting them" in first.headline
