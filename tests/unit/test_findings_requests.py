"""WAIT-TIMER-IN-REQUEST, peers that event loops wait for (NET-PEER-SLOW), and requests of which not all is known."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Severity
from perfdiag.report import assembly

from unit.support import Builder
from unit.support.exchanges import exchange, latency, served
from unit.support.judging import check, finding, silence
from unit.support.queued_requests import loop, requests
from unit.support.reports import RUNBOOKS
from unit.support.shown import plain

S, MS = 1_000_000_000, 1_000_000
LOOP, POOL, TIMER, PEER = "LOOP-BLOCKED", "POOL-SATURATED", "WAIT-TIMER-IN-REQUEST", "NET-PEER-SLOW"
UPSTREAM = "peer:10.0.0.7:5432"


def sleepy(ms: int) -> Builder:
    """Return a server whose requests sleep so long, all together, and whose worker sleeps 3 s besides."""
    builder = Builder(comm="api").thread("worker", cpu_user="2 s", wait_timer=f"{ms + 3000} ms", net_request="2 s")
    return requests(builder, {"cpu.user": 2000, "wait.timer": ms})


def test_requests_that_are_slept_through() -> None:
    found = finding(sleepy(400).model(), TIMER)
    assert "400 ms of 2.40 s" in found.claim and dict(found.claims) == {"wait.timer": 3400 * MS}
    assert found.remedies[0].text.startswith("do not sleep while a request waits, nor while holding a lock;")


@pytest.mark.parametrize(("helped", "who"), [(390, "Threads sleep"), (0, "Requests wait until a timer")])
def test_whose_sleep_it_is(helped: int, who: str) -> None:
    """That of a thread which works for the loop, or a timer of the loop itself, while another thread sleeps."""
    builder = Builder(comm="node").thread("libuv-worker", cpu_user="10 ms", wait_timer="6 s").helps(helped)
    builder.thread("node", cpu_user="500 ms", wait_events="7500 ms")
    requests(builder, {"cpu.user": 500, "wait.timer": 3000}, turns=390)
    assert finding(builder.model(), TIMER).headline.startswith(who)


@pytest.mark.parametrize(("comm", "first"), [("nginx", "look for limit_rate"), ("app", "find what delays")])
def test_what_delays_requests_of_a_known_server_is_looked_for_first(comm: str, first: str) -> None:
    builder = Builder(comm=comm).thread("flusher", cpu_user="10 ms", wait_timer="6 s").helps(0)
    builder.thread(comm, cpu_user="500 ms", wait_events="7500 ms").reads(390)
    requests(builder, {"cpu.user": 500, "wait.timer": 3000}, turns=390)
    assert finding(builder.model(), TIMER).remedies[0].text.startswith(first)


def test_requests_that_queue_for_threads_that_sleep_are_not_said_to_sleep_so_long_themselves() -> None:
    """Each slept 100 ms in a pool of two, and the report said 797 ms a request, by a timer of the server's own."""
    builder = Builder(comm="python3")
    for tid in (101, 102):
        builder.thread("worker", tid=tid, cpu_user="10 ms", wait_timer="4 s").helps(40)
    builder.thread("python3", cpu_user="500 ms", wait_events="7500 ms")
    requests(builder, {"cpu.user": 500, "wait.timer": 40_000}, turns=390)
    found = finding(builder.model(), TIMER)
    assert found.headline == "Requests queue for a pool whose 2 threads sleep"
    assert "slept 8.00 s in all: each sleep delays 5.0 requests" in found.evidence[0].text
    assert any("more threads" in each.text for each in found.remedies)


def test_a_sleep_outside_of_requests_is_none_of_theirs() -> None:
    assert "requests sleep 3 % of their time" in check(sleepy(60).model(), TIMER).text


@pytest.mark.parametrize(("middle_ms", "severity"), [(200, Severity.WARNING), (4, Severity.INFO)])
def test_a_peer_that_an_event_loop_waits_for(middle_ms: int, severity: Severity) -> None:
    builder = Builder(comm="node").thread("node", cpu_user="500 ms", wait_events="7500 ms")
    requests(builder, {"cpu.user": 500, "wait.events": 3000}, turns=390, rest=400 * middle_ms, peers_ns=400 * middle_ms)
    call = {"object": UPSTREAM, "name": "", "direction": "connected"}
    builder.line(exchange(400, 400 * middle_ms * MS, {}, **call))
    builder.line(latency([middle_ms * MS] * 400, **call))
    found = finding(builder.model(), PEER)
    assert found.severity is severity and "10.0.0.7:5432" in found.claim


HANDSHAKE = ["crypto/tls.(*clientHandshakeStateTLS13).handshake (svc)", "crypto/tls.(*Conn).clientHandshake (svc)"]


@pytest.mark.parametrize(
    ("connects", "stack", "anew"), [(300, HANDSHAKE, True), (300, [], False), (60, HANDSHAKE, False)]
)
def test_calls_that_begin_with_a_handshake_are_not_the_peers_fault(connects: int, stack: list[str], anew: bool) -> None:
    """The first answer on a connection is that of the handshake: of 700 answers 400 are of calls."""
    builder = Builder(comm="svc").thread("svc", cpu_user="500 ms", wait_events="7500 ms")
    requests(builder, {"cpu.user": 500, "wait.events": 3000}, turns=390, rest=35_000, peers_ns=35_000)
    call = {"object": UPSTREAM, "name": "", "direction": "connected"}
    builder.line(exchange(700, 700 * 50 * MS, {}, connects=connects, **call)).line(latency([50 * MS] * 700, **call))
    found = finding(builder.stack("cpu", user=stack).model(), PEER)
    assert found.severity is Severity.WARNING and found.inside is anew
    begin = "300 of 400 calls to 10.0.0.7:5432 begin with a new connection and a TLS handshake"
    assert found.headline.startswith(begin) is anew, found.headline
    assert ("keep connections open" in found.remedies[0].text) is anew


def test_a_peer_that_answers_soon_but_for_a_few_calls() -> None:
    """Of 400 calls 390 take half a millisecond, and ten a second: not their number costs."""
    builder = Builder(comm="node").thread("node", cpu_user="500 ms", wait_events="7500 ms")
    requests(builder, {"cpu.user": 500, "wait.events": 3000}, turns=390, rest=10_000, peers_ns=10_000)
    call = {"object": UPSTREAM, "name": "", "direction": "connected"}
    times = [MS // 2] * 390 + [S] * 10
    builder.line(exchange(400, sum(times), {}, **call)).line(latency(times, **call))
    found = finding(builder.model(), PEER)
    assert found.severity is Severity.WARNING and "in calls of 990 ms" in found.claim, found.claim


def test_unix_sockets_read_as_in_the_rest_of_the_report() -> None:
    """A peer that is a process, and requests that come to a file; both as recorded elsewhere only."""
    builder = Builder(comm="node").thread("node", cpu_user="500 ms", wait_events="7500 ms")
    of = {"object": "file:0:26:17:app.sock", "name": "GET /a"}
    builder.line(exchange(400, 4 * S, {"cpu.user": S // 2}, peers_ns=3 * S, turns=390, **of))
    builder.line(latency([10 * MS] * 400, **of))
    builder.exchange("unix:900:db", "connected", {"15 ms": 200})
    model = builder.model()
    found = finding(model, PEER)
    assert found.claim.startswith("a socket made by db (900) answers slowly"), found.claim
    assert (
        found.remedies[0].text
        == "measure the peer, on this host: perfdiag latency --pid 900, if it still has that socket"
    )
    made = assembly.make(model, diagnose(model), RUNBOOKS)
    text = " ".join(plain(made, full=True).split())
    assert (
        "GET /a on app.sock (inode 17) on 0:26: 400, 40/s" in text and "calls to a socket made by db (900): 200" in text
    ), text
    assert "unix:900" not in text and "file:0" not in text


def test_a_peer_that_the_target_is_itself_is_not_measured_once_more() -> None:
    """Who holds the other end of a socket pair need not be who made it."""
    builder = Builder(comm="node").thread("node", cpu_user="500 ms", wait_events="7500 ms")
    requests(builder, {"cpu.user": 500}, turns=390, rest=3000, peers_ns=3000)
    model = builder.exchange("unix:100:node", "connected", {"15 ms": 200}).model()
    assert "--pid" not in finding(model, PEER).remedies[0].text


def test_requests_with_a_limit_of_their_own_stand_before_those_that_took_more_time() -> None:
    builder = Builder(comm="api", slo_names={"GET /c": "1 s", "GET /d": "1 s"}).thread("worker", cpu_user="2 s")
    for name, milliseconds in (("GET /a", 50), ("GET /b", 40), ("GET /c", 3), ("GET /d", 4)):
        for line in served(10, milliseconds * MS, {"cpu.user": 10 * milliseconds * MS}, name=name):
            builder.line(line)
    model = builder.model()
    made = assembly.make(model, diagnose(model), RUNBOOKS)
    assert [each.name for each in made.requests] == ["GET /d", "GET /c", "GET /a", "GET /b"]


@pytest.mark.parametrize("id", [LOOP, POOL, TIMER])
def test_what_was_not_measured_is_said(id: str) -> None:
    model = loop(400).without("requests").model()
    assert silence(model, id).reason == "requests were not measured"


def test_connections_that_were_not_followed_are_unknown_time() -> None:
    """What is known of the others' time may not be the rule: that many more requests could hide another cause."""
    model = loop(400).lost(connections_full=1200).model()
    assert model.request_time and model.request_time.untold == 0.75
    assert model.request_time.uncertain_ns == 0.75 * model.request_time.ns


@pytest.mark.parametrize("id", [LOOP, POOL, TIMER])
def test_requests_carried_by_frames_are_not_fine(id: str) -> None:
    """Nobody knows whether they wait or sleep."""
    model = Builder().thread("worker", cpu_user="2 s").line(exchange(0, 0, declined=3)).model()
    assert model.request_time is None
    assert silence(model, id).reason == "it is unknown where requests spend their time"
    assert check(Builder().thread("worker", cpu_user="2 s").model(), id).number == 0, "no requests"


@pytest.mark.parametrize("id", ["WAIT-THREAD-IN-REQUEST", TIMER])
def test_whether_requests_in_other_hands_wait_is_unknown(id: str) -> None:
    handed = Builder().thread("worker", cpu_user="2 s").line(exchange(400, 4 * S, {"cpu.user": 2 * S}, whole_ns=S))
    assert silence(handed.model(), id).reason == "it is unknown where requests spend 2.00 s"
    whole = Builder().thread("worker", cpu_user="2 s").line(exchange(400, 4 * S, {"cpu.user": 2 * S}))
    assert check(whole.model(), id).number == 0
