"""NET-SELF-SLOW: connections of which the target has both ends, and what a whole host has of them."""

from __future__ import annotations

from typing import Any

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.evidence.network.owed_answers import owed
from perfdiag.diagnosis.rule import Confidence, Mechanism, Severity
from perfdiag.facts.host_facts import Listener, Listeners
from perfdiag.model.model import Model
from perfdiag.recording import schema
from perfdiag.report import assembly
from perfdiag.report.verdict.verdict import decide

from unit.support import Builder
from unit.support.exchanges import exchange, served
from unit.support.hosts import host
from unit.support.judging import check, finding, findings, knowing
from unit.support.reports import RUNBOOKS

PEER, SELF = "NET-PEER-SLOW", "NET-SELF-SLOW"
S = 1_000_000_000
BACKEND, QUESTIONS = "peer:127.0.0.1:18102", "peer:127.0.0.1:43606"


def pool(accepts: str = "port:18102", sleeps: str = "9.5 s", computes: str = "1 ms", **backend: Any) -> Builder:
    """Two workers that ask a backend inside their own process, which sleeps 100 ms for each answer."""
    builder = Builder(comm="java").thread("worker", tid=101, pid=100, cpu_user="10 ms")
    builder.row("net.receive", BACKEND, durations={"100 ms": 90})
    builder.socket(BACKEND, **({"local": "127.0.0.1:43606"} | backend))
    builder.thread("answers", tid=102, pid=100, wait_timer=sleeps, cpu_user=computes)
    builder.row("net.receive", QUESTIONS, "100 ms", count=90)
    builder.stack("wait", "net.receive", object=QUESTIONS, kernel=["tcp_recvmsg"])
    builder.thread("accepts", tid=103, pid=100)
    return builder.row("net.accept", accepts, "9 s", count=1) if accepts else builder


def test_a_peer_inside_the_target_is_not_somebody_else() -> None:
    model = pool().socket(QUESTIONS, local="127.0.0.1:18102").model()
    assert not findings(model, PEER) or all("18102" not in each.claim for each in findings(model, PEER))
    found = finding(model, SELF)
    assert found.severity is Severity.WARNING and dict(found.claims) == {("net.receive", BACKEND): 9_000_000_000}
    assert "its own thread answers (102) answers at 127.0.0.1:18102" in found.claim
    assert "sleeping 96 %" in found.claim and "answers (102)" in found.remedies[0].text
    verdict = decide(model, diagnose(model))
    assert verdict.kind != "elsewhere" and verdict.ids == [SELF]


def test_threads_that_do_not_sleep_have_findings_of_their_own() -> None:
    model = pool(sleeps="1 s", computes="8 s").socket(QUESTIONS, local="127.0.0.1:18102").model()
    found = finding(model, SELF)
    assert found.severity is Severity.INFO and found.mechanism is not Mechanism.SLEEP
    nobody = finding(pool().model(), SELF)  # who answers was not sampled
    assert nobody.severity is Severity.INFO and "sleep" not in nobody.claim


def test_both_ends_are_known_by_their_ports_alone() -> None:
    model = pool(accepts="").socket(QUESTIONS, local="127.0.0.1:18102").model()
    assert finding(model, SELF).claims


def test_a_peer_on_this_host_may_be_a_server_of_the_targets_own_in_epoll() -> None:
    """Client and server in one process: the server waits for events, and "this process is not the slow part"."""
    client = Builder().thread("client", cpu_user="10 ms")
    client.row("net.receive", "peer:127.0.0.1:8080", durations={"100 ms": 90})
    alone = client.socket("peer:127.0.0.1:8080", local="127.0.0.1:43606").model()
    assert finding(alone, PEER).confidence is Confidence.HIGH and decide(alone, diagnose(alone)).kind == "elsewhere"
    beside = client.thread("loop", cpu_user="10 ms").model()
    found = finding(beside, PEER)
    assert found.confidence is Confidence.LOW
    assert any("ss -ltnp sport = :8080" in limit for limit in found.limits)
    assert decide(beside, diagnose(beside)).kind != "elsewhere"
    assert finding(host(client), PEER).confidence is Confidence.HIGH  # who answers here is of this host in any case


def beside_a_listener(*lines: schema.Line, requests: bool = True) -> Model:
    """A client of a port on this host, in a target that holds the listening socket of that port."""
    builder = Builder().thread("client", cpu_user="10 ms").thread("loop", cpu_user="10 ms")
    builder.row("net.receive", "peer:127.0.0.1:8080", durations={"100 ms": 90})
    builder.socket("peer:127.0.0.1:8080", local="127.0.0.1:43606")
    for line in lines:
        builder.line(line)
    if not requests:
        builder.probe("requests", "no hook")
    own = Listener("127.0.0.1", 8080, 0, 128, 0, [100])
    return knowing(builder.model(), listeners=Listeners([own], 128, own_namespace=True, complete=True))


def test_a_server_in_epoll_is_known_by_its_requests_or_its_socket_that_listens() -> None:
    answered = beside_a_listener(*served(90, S // 10, object="port:8080"))
    waiting = beside_a_listener(exchange(0, 0, object="port:8080", open=1, oldest_ns=9 * S))
    since = schema.Silent("port:8080", "accepted", 100, 1, 0, 9 * S)
    for model in (answered, waiting, beside_a_listener(since), beside_a_listener(requests=False)):
        assert finding(model, SELF).claims and not findings(model, PEER)


@pytest.mark.parametrize(("port", "confidence"), [(8080, Confidence.MEDIUM), (8081, Confidence.HIGH)])
def test_who_inherited_a_listening_socket_does_not_answer_there(port: int, confidence: Confidence) -> None:
    """A client whose parent had opened the socket of its peer was told to wait for its own threads."""
    own = Listener("127.0.0.1", port, 0, 128, 0, [100])
    model = knowing(beside_a_listener(), listeners=Listeners([own], 128, own_namespace=True, complete=True))
    assert check(model, SELF).number == 0
    found = finding(model, PEER)
    assert found.severity is Severity.WARNING and found.confidence is confidence, found.limits
    assert decide(model, diagnose(model)).ids == [PEER]


@pytest.mark.parametrize(
    ("peer", "own"), [("127.0.0.1:8080", True), ("127.0.0.1:8081", False), ("10.0.0.7:8080", False)]
)
def test_requests_that_ask_the_target_itself(peer: str, own: bool) -> None:
    """Those are requests as well: what they met was counted twice, and once as a slow peer's."""
    builder = Builder(comm="front").thread("front", cpu_user="10 ms")
    for line in (
        *served(100, S // 10, {"wait.events": 9 * S}, object="port:80", peers_ns=9 * S),
        *served(100, 9 * S // 100, object=f"peer:{peer}", direction="connected", busy_ns=9 * S),
        *served(100, 9 * S // 100, {"disk.read": 9 * S}, object="port:8080"),
    ):
        builder.line(line)
    time = builder.model().request_time
    assert time
    assert time.accounts.get("request.peers", 0) == (0 if own else 9 * S)
    assert bool(findings(builder.model(), PEER)) is not own


def ends_of(*clients: int, server: int = 56713, answers: str = "5 ms", asks: str = "9 s") -> Builder:
    """Clients of a server in the same target, all at ports of chance, as a test's own server has them."""
    builder = Builder().thread("client", tid=101, pid=100, cpu_user="10 ms")
    builder.row("net.receive", f"peer:127.0.0.1:{server}", asks, count=90)
    builder.socket(f"peer:127.0.0.1:{server}", local=f"127.0.0.1:{clients[-1]}")
    builder.thread("server", tid=102, pid=100, wait_timer="5 s")
    for client in clients:
        question = f"peer:127.0.0.1:{client}"
        builder.row("net.receive", question, answers, count=90).stack("wait", "net.receive", object=question)
        builder.socket(question, local=f"127.0.0.1:{server}")
    return builder.stack("wait", "net.receive", object=f"peer:127.0.0.1:{server}", tid=101)


def test_a_client_at_a_port_of_chance_is_none_that_answers() -> None:
    """It read "its own threads answer at 2 ports of its own", "2 threads that answer"."""
    for builder in (ends_of(43754), ends_of(43754, 43756), ends_of(43754, 43756, answers="2 s", asks="1 s")):
        found = finding(builder.model(), SELF)
        assert "its own thread server (102) answers at 127.0.0.1:56713, which mostly sleeps" in found.claim
        assert list(found.claims) == [("net.receive", "peer:127.0.0.1:56713")]
        assert any("which end answers" in limit for limit in found.limits)
        assert any(evidence.text.startswith("1 thread that answers") for evidence in found.evidence)


def test_of_one_end_that_was_never_waited_at_nothing_shows_that_it_is_the_targets() -> None:
    alone = Builder().thread("client", cpu_user="10 ms").row("net.receive", "peer:127.0.0.1:56713", "9 s", count=90)
    model = alone.socket("peer:127.0.0.1:56713", local="127.0.0.1:43754").model()
    assert check(model, SELF).number == 0 and "answers slowly" in finding(model, PEER).claim


@pytest.mark.parametrize("other", ["peer:10.0.0.5:18102", "peer:127.0.0.1:18103"])
def test_another_host_or_port_is_a_peer(other: str) -> None:
    builder = Builder().thread("worker", cpu_user="1 s").row("net.receive", other, durations={"100 ms": 80})
    builder.socket(other, local="10.0.0.2:43606").thread("accepts").row("net.accept", "port:18102", "9 s", count=1)
    model = builder.model()
    assert check(model, SELF).number == 0 and "answers slowly" in finding(model, PEER).claim


def test_the_own_address_is_this_host() -> None:
    own = "peer:10.0.0.2:18102"
    builder = Builder().thread("worker", cpu_user="1 s").row("net.receive", own, durations={"100 ms": 80})
    builder.socket(own, local="10.0.0.2:43606").thread("accepts").row("net.accept", "port:18102", "9 s", count=1)
    assert finding(builder.model(), SELF).claims and not findings(builder.model(), PEER)


# Who asks itself


def one_worker(*, answered: int = 0, given_up: int = 5, open: int = 1, reads: int = 6) -> Builder:
    """A server with one worker, which asks its own port while it answers, and gives up after a second."""
    builder = Builder(comm="php").thread("php", tid=100, cpu_user="10 ms", requests=(reads, 0), rest="net.accept")
    builder.row("net.receive", BACKEND, durations={"1 s": 5, "352 ms": 1})
    builder.row("net.accept", "port:18102", "3 s", count=6).socket(BACKEND, local="127.0.0.1:43606")
    calls: dict[str, Any] = {"object": BACKEND, "direction": "connected", "unanswered": given_up, "open": open}
    return builder.line(exchange(answered, answered * S, {}, **calls))


def test_the_only_worker_that_asks_its_own_port_waits_for_itself() -> None:
    model = one_worker().model()
    found = finding(model, SELF)
    assert (found.severity, found.mechanism) == (Severity.WARNING, Mechanism.BUSY)
    assert "php (100), the only thread that reads requests, asks 127.0.0.1:18102" in found.headline
    assert "second worker" in found.remedies[0].text and decide(model, diagnose(model)).ids == [SELF]


def test_who_is_answered_or_does_not_read_alone_does_not_wait_for_itself() -> None:
    second = one_worker().thread("php", tid=101, requests=(1, 0), rest="net.accept")
    apart = one_worker(reads=0).thread("reader", tid=101, requests=(6, 0), rest="wait.events")
    also_waits = one_worker().thread("client", tid=101, net_receive="1 s")
    for builder in (second, apart, also_waits, one_worker(answered=9), one_worker(reads=0)):
        found = finding(builder.model(), SELF)
        assert found.severity is Severity.INFO and "only thread" not in found.headline


@pytest.mark.parametrize(("port", "severity"), [("port:3000", Severity.INFO), ("port:3001", Severity.WARNING)])
def test_on_a_whole_host_a_client_of_a_server_on_it_names_no_culprit(port: str, severity: Severity) -> None:
    """What keeps the answers is in the same books: the wait of who asks stands behind that."""
    builder = Builder().thread("wrk", tid=101, pid=100, cpu_user="10 ms")
    builder.row("net.receive", "peer:127.0.0.1:3000", durations={"900 ms": 10})
    builder.socket("peer:127.0.0.1:3000", local="127.0.0.1:43606")
    builder.thread("node", tid=102, pid=102, cpu_user="2 s").row("disk.flush", "device:254:0", durations={"60 ms": 100})
    builder.exchange(port, "accepted", {"900 ms": 9})
    model = host(builder)
    (found,) = findings(model, PEER)
    assert found.severity is severity, found
    named = assembly.make(model, diagnose(model), RUNBOOKS).verdict.ids
    assert (PEER in named) is (severity is Severity.WARNING), named
    if severity is Severity.INFO:
        assert "wait 9.00 s for 127.0.0.1:3000," in found.claim


def test_of_servers_on_a_whole_host_each_that_is_named_has_its_port_in_the_remedy() -> None:
    builder = Builder()
    for number, port in enumerate((3000, 3001, 3002)):
        builder.thread("wrk", tid=101 + number, pid=101 + number, cpu_user="10 ms")
        builder.row("net.receive", f"peer:127.0.0.1:{port}", durations={"900 ms": 10 - number})
        builder.socket(f"peer:127.0.0.1:{port}", local=f"127.0.0.1:{43606 + number}")
        builder.exchange(f"port:{port}", "accepted", {"900 ms": 9})
    found = next(each for each in findings(host(builder), PEER) if "and 1 more" in each.claim)
    assert "for 127.0.0.1:3000, 127.0.0.1:3001 and 1 more" in found.claim
    ways = [f"perfdiag latency --port {port}" for port in (3000, 3001)]
    assert found.remedies[0].text.endswith(f": {' and '.join(ways)}")
    assert found.verify.startswith("perfdiag host ")


def test_the_first_bytes_of_a_request_have_no_name_and_are_not_overdue() -> None:
    """Of a server that takes 64 ms it read "has no answer after 13.6 ms": the client was still sending."""
    for age_ms, overdue in ((14, False), (90, True)):
        builder = Builder().thread(cpu_user="1 s").exchange("port:80", "accepted", {"64 ms": 9}, name="GET /a")
        builder.line(exchange(0, 0, object="port:80", open=1, oldest_ns=age_ms * 1_000_000))
        assert bool(owed(builder.model())) is overdue
