"""Waits for peers: for an answer as long as one is owed, else for news or for an answer, nobody can tell which."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Mechanism, Severity
from perfdiag.model.model import Model
from perfdiag.report.verdict.verdict import decide

from unit.support import Builder
from unit.support.exchanges import exchange, latency

S, MS = 1_000_000_000, 1_000_000
PEER = "peer:10.0.0.7:5432"


def waiting(calls: int, each_ms: int, account: str = "net.receive", **fields: int) -> Model:
    """A thread that waits nearly all of ten seconds on a connection, on which so many calls were made."""
    builder = Builder(window="10 s").thread("reader", cpu_user="100 ms")
    builder.row(account, PEER, "9900 ms", count=50)
    function = "tcp_recvmsg" if account == "net.receive" else "unix_stream_read_generic"
    builder.stack("wait", account, object=PEER, kernel=["schedule", function], weight="9 s")
    if calls or fields:
        builder.line(exchange(calls, calls * each_ms * MS, object=PEER, direction="connected", **fields))
        builder.line(latency([each_ms * MS] * calls, object=PEER, direction="connected"))
    return builder.model()


def faults(model: Model) -> list[str]:
    return [found.id for found in diagnose(model).findings if found.severity is not Severity.INFO]


@pytest.mark.parametrize("account", ["net.receive", "ipc.unix"])
def test_a_peer_that_owes_nothing_is_not_slow(account: str) -> None:
    """A reader of a stream that asks now and then: five calls of 7 ms, 9.9 s of waiting for what comes by itself."""
    model = waiting(5, 7, account)
    assert model.ns("wait.parked") == 9_900_000_000 and not model.ns(account)
    assert [(row.account, row.key) for row in model.rows_of("wait.parked")] == [("wait.parked", PEER)]
    assert model.coverage.stack_agreement == 1
    diagnosis = diagnose(model)
    assert all(found.severity is Severity.INFO for found in diagnosis.findings), diagnosis.findings
    assert decide(model, diagnosis).kind == "cannot tell"


def test_a_peer_that_owes_answers_is_slow() -> None:
    model = waiting(50, 190)
    assert model.ns("net.receive") == 9_900_000_000
    assert diagnose(model).findings[0].id == "NET-PEER-SLOW"


@pytest.mark.parametrize(("bytes_out", "told"), [(50 * 21, True), (50 * 300, False), (0, False)])
def test_short_questions_may_be_acknowledgements(bytes_out: int, told: bool) -> None:
    """A consumer of a queue that acknowledges each message cannot be told from a client that asks in few bytes."""
    found = diagnose(waiting(50, 190, bytes_out=bytes_out)).findings[0]
    assert found.id == "NET-PEER-SLOW" and (found.severity is Severity.INFO) is told
    assert (found.mechanism is Mechanism.UNDETERMINED) is told


def test_who_is_asked_meanwhile_asks_for_the_sake_of_that() -> None:
    builder = Builder(window="10 s").thread("server", cpu_user="100 ms").row("net.receive", PEER, "9900 ms", count=50)
    builder.exchange("port:80", "accepted", {"1 ms": 3})
    builder.exchange(PEER, "connected", {"190 ms": 50}, bytes_out=50)
    assert "acknowledged" not in diagnose(builder.model()).findings[0].claim


@pytest.mark.parametrize(
    ("rtt_us", "bytes_in", "told"), [(30_000, 1_500_000, True), (30_000, 900, False), (400, 1_500_000, False)]
)
def test_a_large_answer_that_comes_piece_by_piece_is_waited_for(rtt_us: int, bytes_in: int, told: bool) -> None:
    """A small receive window let 7 KB come in each round trip of 30 ms: what followed the first piece was nobody's."""
    builder = Builder(window="10 s").thread("job", cpu_user="100 ms")
    builder.row("net.receive", PEER, durations={"29 ms": 220, "5 ms": 20})
    builder.socket(PEER, rtt_us=rtt_us, minimum_rtt_us=rtt_us)
    builder.line(exchange(5, 5 * 30 * MS, object=PEER, direction="connected", bytes_in=bytes_in))
    builder.line(latency([30 * MS] * 5, object=PEER, direction="connected"))
    assert bool(builder.model().ns("net.receive")) is told


def test_one_long_wait_beside_many_pieces_is_for_news() -> None:
    """It was 1 of 41 waits, and six of seven seconds."""
    builder = Builder(window="10 s").thread("job", cpu_user="100 ms")
    builder.row("net.receive", PEER, durations={"29 ms": 40, "6 s": 1}).socket(
        PEER, rtt_us=30_000, minimum_rtt_us=30_000
    )
    builder.line(exchange(5, 5 * 30 * MS, object=PEER, direction="connected", bytes_in=1_500_000))
    builder.line(latency([30 * MS] * 5, object=PEER, direction="connected"))
    assert not builder.model().ns("net.receive")


def test_the_rest_of_a_long_answer_belongs_to_it() -> None:
    assert waiting(50, 110).ns("net.receive") == 9_900_000_000


@pytest.mark.parametrize("fields", [{"open": 1}, {"unanswered": 1}])
def test_a_call_that_is_not_answered_is_owed(fields: dict[str, int]) -> None:
    assert waiting(5, 7, **fields).ns("net.receive") == 9_900_000_000


def test_without_a_call_in_the_window_one_before_it_may_be_owed() -> None:
    assert waiting(0, 0).ns("net.receive") == 9_900_000_000


def serving(requests: int, arriving: str, *, answered: bool = True) -> Model:
    """A thread that reads requests, for another one to answer, for nearly all of ten seconds."""
    client = "peer:10.0.0.9:40000"
    builder = Builder(window="10 s").thread("reader", cpu_user="100 ms")
    builder.row("net.receive", client, "9900 ms", count=requests).socket(client, local="10.0.0.1:8080")
    each_ms = 3 if arriving == "0" else 400
    number, open_ = (requests, 0) if answered else (0, 1)
    builder.line(exchange(number, number * each_ms * MS, arriving_ns=number * int(arriving) * MS, open=open_))
    builder.line(latency([each_ms * MS] * number))
    return builder.model()


def test_who_reads_on_while_another_answers_waits_for_the_next_request() -> None:
    """It was "Clients send their requests slowly", 99 %, of requests that arrive at once and are answered in 3 ms."""
    model = serving(25, "0")
    assert model.ns("wait.parked") == 9_900_000_000 and not model.ns("net.receive")
    assert all(found.severity is Severity.INFO for found in diagnose(model).findings)


def test_a_client_that_sends_slowly_is_slow() -> None:
    model = serving(25, "380")
    assert model.ns("net.receive") == 9_900_000_000 and diagnose(model).findings[0].id == "NET-SLOW-CLIENT"


def test_where_nothing_is_answered_nobody_knows_what_a_request_is() -> None:
    """A collector of logs: all that comes in is one request that never ends."""
    assert serving(25, "0", answered=False).ns("wait.parked") == 9_900_000_000


def test_calls_are_owed_for_as_long_as_they_are_under_way() -> None:
    """A sender of logs that reads with a timeout of 50 ms: each line but the last was given up by the next."""
    model = waiting(0, 0, open=1, oldest_ns=40 * MS, unawaited=198)
    assert model.ns("wait.parked") == 9_900_000_000 and not faults(model)
    assert waiting(0, 0, open=1, oldest_ns=9900 * MS).ns("net.receive") == 9_900_000_000


def test_who_goes_on_after_a_timeout_and_is_answered_has_waited_in_vain() -> None:
    """HTTP clients ask for "100 Continue", get none for a second and send the rest: that second was nobody's."""
    model = waiting(9, 10, unawaited=9, unawaited_ns=9000 * MS)
    assert model.ns("net.receive") == 9_900_000_000
    first = diagnose(model).findings[0]
    assert first.id == "NET-PEER-SLOW" and first.inside
    assert first.headline.endswith("end by timeouts of the target, 1.00 s each")
    assert waiting(0, 0, unawaited=9, unawaited_ns=9000 * MS, open=1, oldest_ns=40 * MS).ns("wait.parked")


@pytest.mark.parametrize(("by_time", "parked_ms"), [("9 s", 9900), ("100 ms", 100)])
def test_where_time_ends_waits_the_last_one_is_not_owed(by_time: str, parked_ms: int) -> None:
    """Datagrams: no calls are known there, and one wait was still open, or its wake-up was not seen."""
    rest = {"9 s": "900 ms", "100 ms": "9800 ms"}[by_time]
    builder = Builder(window="10 s").thread("sender", cpu_user="100 ms")
    builder.row("wait.parked", PEER, by_time, count=180).row("net.receive", PEER, rest, count=18)
    model = builder.model()
    assert model.ns("wait.parked") == parked_ms * MS and model.ns("net.receive") == (9900 - parked_ms) * MS
    assert bool(faults(model)) == (by_time == "100 ms")


@pytest.mark.parametrize(
    ("answered", "function", "account"),
    [
        (0, "unix_stream_read_generic", "wait.parked"),
        (3, "unix_stream_read_generic", "ipc.unix"),
        (0, "unix_stream_sendmsg", "ipc.unix"),
    ],
)
def test_a_collector_at_a_unix_socket_waits_for_nobody(answered: int, function: str, account: str) -> None:
    """Each line of a log was the rest of one request, that its client 'writes slowly'."""
    client = "unix:700:app"
    builder = Builder(window="10 s").thread("syslogd", cpu_user="100 ms").row("ipc.unix", client, "9900 ms", count=300)
    builder.stack("wait", "ipc.unix", object=client, kernel=["schedule", function], weight="9 s")
    builder.line(exchange(answered, answered * MS, object="file:8:1:5:log", open=1, oldest_ns=30 * MS))
    model = builder.line(latency([MS] * answered, object="file:8:1:5:log")).model()
    assert model.ns(account) == 9_900_000_000
    assert bool(faults(model)) == (function == "unix_stream_sendmsg")
