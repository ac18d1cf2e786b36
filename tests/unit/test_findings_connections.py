"""NET-SELF-SLOW and NET-DELAYED-ACK: connections whose waits are not the peer's doing."""

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
from unit.support.judging import check, finding, findings, knowing, outcomes, silence
from unit.support.reports import RUNBOOKS
from unit.support.work import function_calls

PEER, SELF, DELAYED = "NET-PEER-SLOW", "NET-SELF-SLOW", "NET-DELAYED-ACK"
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


# NET-DELAYED-ACK, and NET-PEER-SLOW where both look alike

FAR, NEITHER = "peer:10.0.0.5:80", "writes in small pieces"


def asking(durations: dict[str, int], peer: str = BACKEND, delayed: int | None = None, **socket: Any) -> Model:
    builder = Builder().thread("client", cpu_user="100 ms").row("net.receive", peer, durations=durations)
    model = builder.socket(peer, **({"minimum_rtt_us": 5, "rtt_us": 20_000, "in_flight": 1} | socket)).model()
    return knowing(model, network_deltas={} if delayed is None else {"TcpExt.DelayedACKs": delayed})


def both_ends(answers: dict[str, int], asks: dict[str, int], delayed: int = 400, clients: int = 1) -> Model:
    """A target that asks itself: the waits of each client for answers, and those for questions."""
    builder = Builder()
    for tid in range(201, 201 + clients):
        builder.thread("client", tid=tid).row("net.receive", BACKEND, durations=answers)
    builder.socket(BACKEND, local=QUESTIONS.removeprefix("peer:"), minimum_rtt_us=5, rtt_us=20_000, in_flight=1)
    builder.thread("server", tid=102).row("net.receive", QUESTIONS, durations=asks)
    builder.socket(QUESTIONS, local=BACKEND.removeprefix("peer:"), minimum_rtt_us=5, rtt_us=20_000)
    return knowing(builder.model(), network_deltas={"TcpExt.DelayedACKs": delayed})


@pytest.mark.parametrize("delayed", [200, 200_000, None])
def test_delayed_acknowledgements_of_whomever_do_not_prove_that_a_peer_is_not_slow(delayed: int | None) -> None:
    model = asking({"44 ms": 200}, delayed=delayed)
    assert check(model, DELAYED).number == 0
    found = finding(model, PEER)
    assert found.severity is Severity.WARNING and found.confidence is Confidence.LOW
    assert "127.0.0.1:18102 answers slowly" in found.claim and NEITHER in found.claim
    assert "TCP_NODELAY" in found.remedies[0].text and "ss -tin" in found.remedies[0].text
    assert any("look alike" in limit for limit in found.limits) and sum(found.claims.values()) == 8_799_000_000
    counted = [each.text for each in found.evidence if each.probe == "TcpExt.DelayedACKs"]
    assert counted == (
        [] if delayed is None else [f"{delayed:,} acknowledgements delayed by this kernel, on any connection"]
    )
    verdict = decide(model, diagnose(model))
    assert verdict.text.startswith("Probably: ") and "acknowledges small writes late" in verdict.text


def test_the_mean_of_a_bucket_is_no_length() -> None:
    found = finding(asking({"36 ms": 100, "60 ms": 50}, delayed=500), PEER)
    assert "waits of 33.6 to 67.1 ms" in found.claim and "44" not in found.claim


@pytest.mark.parametrize("durations", [{"60 ms": 150}, {"25 ms": 300}, {"44 ms": 100, "300 ms": 15}])
def test_other_lengths_are_the_peers(durations: dict[str, int]) -> None:
    model = asking(durations, delayed=1000)
    found = finding(model, PEER)
    assert "answers slowly" in found.claim and NEITHER not in found.claim and found.confidence is Confidence.HIGH


def test_too_few_delayed_acknowledgements_rule_them_out() -> None:
    found = finding(asking({"44 ms": 200}, delayed=3), PEER)
    assert NEITHER not in found.claim and found.confidence is Confidence.HIGH
    assert not any("acknowledgement" in text for text in found.alternatives)


def test_a_peer_elsewhere_may_delay_what_is_not_seen_here() -> None:
    assert NEITHER in finding(asking({"44 ms": 200}, FAR, delayed=3), PEER).claim
    for prompt in ({"rtt_us": 300}, {"in_flight": 0}):
        assert NEITHER not in finding(asking({"44 ms": 200}, FAR, delayed=3, **prompt), PEER).claim


def test_clients_that_write_in_pieces_are_one_reason_to_wait_for_them() -> None:
    def alternatives(duration: str) -> list[str]:
        model = asking({duration: 150}, "peer:10.0.0.9:40000", delayed=200, local="10.0.0.2:80")
        return list(finding(model, PEER).alternatives)

    assert "TCP_NODELAY there" in alternatives("44 ms")[1] and len(alternatives("60 ms")) == 1


def test_waits_that_only_happen_beside_most_of_the_time_are_not_named() -> None:
    builder = Builder().thread("client", cpu_user="100 ms").row("net.receive", FAR, durations={"44 ms": 50})
    builder.row("net.send", FAR, durations={"50 ms": 150}).socket(FAR, minimum_rtt_us=5, rtt_us=20_000)
    assert NEITHER not in finding(knowing(builder.model(), network_deltas={"TcpExt.DelayedACKs": 200}), PEER).claim


def test_both_ends_that_wait_for_each_other_wait_for_an_acknowledgement() -> None:
    model = both_ends({"44 ms": 200}, {"44 ms": 210})
    found = finding(model, DELAYED)
    assert found.severity is Severity.WARNING and found.confidence is Confidence.MEDIUM
    assert "33.6 to 67.1 ms" in found.claim
    assert "TCP_NODELAY" in found.remedies[0].text and found.claims["net.receive", BACKEND] == 8_800_000_000
    verdict = decide(model, diagnose(model))
    assert verdict.kind == "cause" and verdict.ids == [found.id]


def calling(held: str | None, peer: str = FAR, **socket: Any) -> Model:
    """Two hundred calls of 44 ms, held back for so long together; whoever delayed as many acknowledgements."""
    builder = Builder().thread("client", cpu_user="100 ms").row("net.receive", peer, durations={"44 ms": 200})
    builder.socket(peer, **({"minimum_rtt_us": 5, "rtt_us": 20_000, "in_flight": 1} | socket))
    builder.exchange(peer, "connected", {"44 ms": 200}, **({} if held is None else {"held_ns": held}))
    return knowing(builder.model(), network_deltas={"TcpExt.DelayedACKs": 400})


def test_what_this_host_holds_back_is_no_slow_peers() -> None:
    model = calling("8.4 s")
    found = finding(model, DELAYED)
    assert found.severity is Severity.WARNING and found.confidence is Confidence.HIGH and not found.alternatives
    assert "Calls to 10.0.0.5:80" in found.claim and "42.0 ms each" in found.claim
    assert dict(found.claims) == {("net.receive", FAR): 8_400_000_000} and "TCP_NODELAY" in found.remedies[0].text
    assert "8.40 s of 8.80 s in 200 calls before their last piece was sent" in str(found.evidence)
    assert diagnose(model).findings[0].id == DELAYED


def test_what_was_sent_at_once_is_the_peers() -> None:
    model = calling("4 ms")
    assert check(model, DELAYED).number == 0
    found = finding(model, PEER)
    assert NEITHER not in found.claim and found.confidence is Confidence.HIGH


@pytest.mark.parametrize(("held", "socket"), [(None, {}), ("4 s", {}), ("8.4 s", {"retransmits_seen": 3})])
def test_what_is_held_back_in_part_or_for_a_loss_or_not_known_proves_nothing(held: str | None, socket: Any) -> None:
    model = calling(held, **socket)
    assert check(model, DELAYED).number == 0 and NEITHER in finding(model, PEER).claim


@pytest.mark.parametrize(
    ("answers", "asks", "known"),
    [
        ({"44 ms": 200}, {"100 us": 200}, {}),  # the other end works, or sleeps, until it answers
        ({"44 ms": 110}, {"44 ms": 110}, {}),  # in turn: each works for half of the time
        ({"44 ms": 200}, {"44 ms": 210}, {"delayed": 3}),  # nobody delayed as many
        ({"44 ms": 150}, {"44 ms": 100}, {"clients": 2, "delayed": 600}),  # several threads wait at one end
        ({"70 ms": 130}, {"70 ms": 130}, {}),  # another length
    ],
)
def test_one_end_that_works_meanwhile_is_no_delay(
    answers: dict[str, int], asks: dict[str, int], known: dict[str, int]
) -> None:
    assert check(both_ends(answers, asks, **known), DELAYED).number == 0


def test_without_sockets_delayed_acknowledgements_are_not_known() -> None:
    builder = Builder().thread(cpu_user="100 ms").row("net.receive", BACKEND, durations={"44 ms": 200})
    model = builder.without("tcp").model()
    assert "feature tcp" in silence(model, DELAYED).fix and NEITHER in finding(model, PEER).claim
    # Where TCP was looked at, a peer without a socket has none: a name server.
    named = Builder().thread(cpu_user="1 s").row("net.receive", "peer:10.0.0.1:53", durations={"44 ms": 200}).model()
    assert NEITHER not in finding(named, PEER).claim


def test_ten_times_the_connections_take_ten_times_the_work() -> None:
    def calls(size: int) -> int:
        builder = Builder()
        for number in range(size):
            for own, other in ((10_000 + number, 40_000 + number), (40_000 + number, 10_000 + number)):
                builder.thread(f"thread-{own}", tid=own)
                builder.row("net.receive", f"peer:127.0.0.1:{other}", durations={"44 ms": 210})
                builder.socket(f"peer:127.0.0.1:{other}", local=f"127.0.0.1:{own}")
        model = builder.model()
        return function_calls(lambda: outcomes(model, DELAYED))

    small, large = calls(40), calls(400)
    assert large < 13 * small, f"{small:,} calls for 40 connections, {large:,} for 400"


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
