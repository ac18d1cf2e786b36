"""NET-SLOW-CLIENT: requests that arrive piece by piece, answers that are not taken."""

from __future__ import annotations

from typing import Any

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Confidence, Mechanism, Severity
from perfdiag.model.requests.request_time import ARRIVING, UNTAKEN
from perfdiag.recording import schema

from unit.support import Builder
from unit.support.exchanges import exchange
from unit.support.judging import check, finding, findings, knowing, silence
from unit.support.reports import made

ID, PEER, RECEIVER = "NET-SLOW-CLIENT", "NET-PEER-SLOW", "NET-RECEIVER-WINDOW"
CLIENT = "peer:10.0.0.9:41000"
ACCEPTED = "10.0.0.2:80"


def worker(arriving: str, requests: dict[str, int], name: str = "POST /up", **fields: Any) -> Builder:
    """A thread that serves one client at a time, and waits for the rest of its request."""
    builder = Builder().thread("worker", cpu_user="500 ms").row("net.receive", CLIENT, arriving, count=100)
    accounts = {"cpu.user": "400 ms", "net.receive": arriving}
    builder.socket(CLIENT, local=ACCEPTED)
    return builder.exchange(
        "port:80", "accepted", requests, name=name, arriving_ns=arriving, accounts=accounts, **fields
    )


def test_a_request_that_arrives_piece_by_piece() -> None:
    model = worker("8 s", {"85 ms": 100}).model()
    assert model.request_time is not None
    found = finding(model, ID)
    assert found.severity is Severity.WARNING and found.confidence is Confidence.HIGH
    assert "Clients send their requests slowly (8.00 s from first byte to last)" in found.claim
    assert dict(found.claims) == {ARRIVING: 8_000_000_000}
    assert "100 requests POST /up on port 80 arrived in 80.0 ms on average" in found.evidence[0].text
    diagnosis = diagnose(model)
    assert diagnosis.findings[0].id == ID and diagnosis.findings[0].share > 0.9
    assert PEER not in [each.id for each in diagnosis.findings], "it stands once"
    told = made(model, *diagnosis.findings).verdict
    assert "not the slow part" in told.text and told.ids == [ID], told


def test_in_an_event_loop_nobody_waits_for_it() -> None:
    builder = Builder().thread("loop", cpu_user="500 ms")
    builder.exchange("port:80", "accepted", {"85 ms": 100}, arriving_ns="8 s", accounts={"wait.events": "8 s"})
    found = finding(builder.model(), ID)
    assert found.severity is Severity.WARNING and dict(found.claims) == {ARRIVING: 8_000_000_000}


def test_requests_that_arrive_as_their_way_is_are_profile() -> None:
    found = finding(worker("1500 ms", {"4 ms": 1_500}).model(), ID)
    assert found.severity is Severity.INFO and found.mechanism is Mechanism.OTHERS
    assert check(worker("30 ms", {"85 ms": 100}).model(), ID)


def test_one_name_that_arrives_slowly_makes_no_others_slow() -> None:
    """Requests that arrive as their way is, and those of one name that come piece by piece."""

    def two(arriving: str, requests: dict[str, int]) -> Builder:
        builder = worker("1500 ms", {"4 ms": 1_500})
        return builder.exchange("port:80", "accepted", requests, name="PUT /log", arriving_ns=arriving, accounts={})

    rare = two("20 ms", {"25 ms": 1}).model()
    assert not findings(rare, ID) and check(rare, ID)
    found = finding(two("5 s", {"200 ms": 25}).model(), ID)
    assert found.severity is Severity.WARNING and "(5.00 s from first byte to last)" in found.claim
    assert found.claims[ARRIVING] == pytest.approx(5_000_000_000, rel=0.01)
    assert "PUT /log" in found.evidence[0].text and "POST /up" not in str(found.evidence)


def test_answers_that_are_not_taken_make_no_request_slow_to_arrive() -> None:
    builder = worker("1500 ms", {"4 ms": 1_500})
    builder.exchange("port:80", "accepted", {"850 ms": 25}, name="GET /page", untaken_ns="20 s", bytes_out=1 << 10)
    found = finding(builder.model(), ID)
    assert ARRIVING not in found.claims and UNTAKEN in found.claims
    assert "send their requests" not in found.claim and "arrived" not in str(found.evidence)


def test_where_the_time_of_requests_is_not_known_the_waits_tell() -> None:
    model = worker("8 s", {"85 ms": 100}, unsure=100).model()
    assert model.request_time is None
    found = finding(model, ID)
    assert found.severity is Severity.WARNING and dict(found.claims) == {("net.receive", CLIENT): 8_000_000_000}
    assert not findings(model, PEER)


def test_waits_between_messages_that_may_want_no_answer_blame_no_client() -> None:
    """Lines of a log that are acknowledged ten at a time: each is whole, and the wait one for work."""
    model = worker("8 s", {"85 ms": 100}, unsure=100, name="").model()
    assert not findings(model, ID) and finding(model, PEER).severity is Severity.INFO


def test_waits_as_long_as_a_delayed_acknowledgement_blame_no_client() -> None:
    model = worker("4300 ms", {"45 ms": 100}, unsure=100).model()
    assert model.request_time is None
    found = finding(model, ID)
    assert (found.severity, found.mechanism) == (Severity.INFO, Mechanism.UNDETERMINED)


def test_requests_that_never_end_are_told() -> None:
    builder = worker("8 s", {"85 ms": 100}, open=12, oldest_ns="9 s")
    assert "12 requests not answered when the window ended, the oldest 9.00 s old" in str(
        finding(builder.model(), ID).evidence
    )
    builder.line(exchange(0, 0, object="port:80", name="POST /big", open=3, oldest_ns=9_500_000_000))
    evidence = str(finding(builder.model(), ID).evidence)
    assert "15 requests not answered when the window ended, the oldest 9.50 s old" in evidence
    assert "POST /big" not in evidence, "of a name whose requests are all open none has arrived"


def sending(local: str, waits_receiver: int = 90) -> Builder:
    builder = Builder().thread("worker", cpu_user="500 ms").row("net.send", CLIENT, "6 s", count=100)
    return builder.socket(CLIENT, local=local, waits_receiver=waits_receiver, waits_buffer=100 - waits_receiver)


def test_a_client_that_does_not_take_the_answer() -> None:
    model = sending(ACCEPTED).model()
    found = finding(model, ID)
    assert found.severity is Severity.WARNING and dict(found.claims) == {("net.send", CLIENT): 5_400_000_000}
    assert "read answers slowly (5.40 s with their windows full)" in found.claim
    assert not findings(model, RECEIVER), "it stands once"
    assert diagnose(model).findings[0].id == ID


def loop(untaken: str | None, requests: dict[str, int] | None = None, **fields: Any) -> Builder:
    """An event loop, whose requests find the send buffer full for so long together: nobody waits in send."""
    builder = Builder().thread("loop", cpu_user="500 ms")
    given = {} if untaken is None else {"untaken_ns": untaken}
    given = {"turns": 100, "bytes_out": 100 << 20, "accounts": {"cpu.user": "400 ms"}, **given, **fields}
    return builder.exchange("port:80", "accepted", requests or {"85 ms": 100}, name="GET /big", **given)


def test_a_send_buffer_that_is_smaller_than_the_way_is_the_targets_own() -> None:
    model = loop("8 s", untaken_window_ns="1 s", untaken_buffer_ns="7 s").model()
    found = finding(model, ID)
    assert found.severity is Severity.WARNING and found.mechanism is Mechanism.LIMIT
    assert "send buffer" in found.headline and "SO_SNDBUF" in found.remedies[0].text
    told = made(model, *diagnose(model).findings).verdict
    assert "not the slow part" not in told.text and told.ids == [ID], told


def test_a_way_that_takes_no_more_is_slow_below_10_mbit_a_second() -> None:
    """Of 1 MiB in 80 ms a line of 100 Mbit/s, which a connection that begins does not use at once."""
    kept: dict[str, Any] = {"untaken_window_ns": "1 s", "untaken_buffer_ns": "0 s"}
    assert finding(loop("8 s", **kept).model(), ID).severity is Severity.INFO
    slow = finding(loop("200 s", {"2.05 s": 100}, **kept).model(), ID)
    assert slow.severity is Severity.WARNING and "the network on the way takes no more" in slow.headline


@pytest.mark.parametrize(("connections", "new"), [(100, True), (60, False), (None, False)])
def test_answers_over_new_connections_begin_slowly(connections: int | None, new: bool) -> None:
    """Of 100 connections for 100 requests the report said that clients read answers."""
    builder = loop("8 s", untaken_window_ns="0 s", untaken_buffer_ns="0 s")
    builder.line(schema.RequestsInside(2, [schema.Level(1, 8_500_000_000)], 0, accepted=connections))
    found = finding(builder.model(), ID)
    assert found.severity is Severity.INFO and (found.mechanism is Mechanism.MANY) is new
    assert ("keep-alive" in found.remedies[0].text) is new
    assert not new or "100 requests came over 100 connections" in found.claim


def test_a_client_that_does_not_take_the_answer_of_an_event_loop() -> None:
    model = loop("8 s").model()
    found = finding(model, ID)
    assert found.severity is Severity.WARNING and found.confidence is Confidence.HIGH
    assert dict(found.claims) == {UNTAKEN: 8_000_000_000}
    assert "Clients read answers slowly (8.00 s with send buffers full of them)" in found.claim
    assert "8.00 s of 8.50 s in 100 requests GET /big on port 80, 80.0 ms each on average" in found.evidence[0].text
    assert "answers of 1.00 MiB" in found.evidence[0].text and "rwnd_limited" in found.remedies[0].text
    diagnosis = diagnose(model)
    assert diagnosis.findings[0].id == ID and diagnosis.findings[0].share > 0.9
    told = made(model, *diagnosis.findings).verdict
    assert "not the slow part" in told.text and told.ids == [ID], told


def test_answers_that_are_taken_as_fast_as_a_line_takes_them_are_profile() -> None:
    """A hundred answers of 100 MiB within a second each."""
    found = finding(loop("80 s", {"850 ms": 100}, bytes_out=100 * (100 << 20)).model(), ID)
    assert found.severity is Severity.INFO and found.mechanism is Mechanism.OTHERS
    assert finding(loop("800 ms", {"9 ms": 100}, bytes_out=1 << 20).model(), ID).severity is Severity.INFO, "8 ms each"


def test_one_name_over_the_norm_makes_no_others_slow() -> None:
    """Downloads as fast as a line takes them, and the answers of one name that stay."""

    def downloads(untaken: str, requests: dict[str, int]) -> Builder:
        builder = loop("80 s", {"850 ms": 100}, bytes_out=100 * (100 << 20))
        each = {"name": "GET /page", "untaken_ns": untaken, "turns": 1, "bytes_out": 1 << 10, "accounts": {}}
        return builder.exchange("port:80", "accepted", requests, **each)

    rare = downloads("20 ms", {"25 ms": 1}).model()
    assert not findings(rare, ID) and check(rare, ID).number < 0.01
    found = finding(downloads("20 s", {"850 ms": 25}).model(), ID)
    assert found.severity is Severity.WARNING and "(20.0 s with send buffers full" in found.claim
    assert found.claims[UNTAKEN] == pytest.approx(20_000_000_000, rel=0.01)
    assert "GET /page" in found.evidence[0].text and "GET /big" not in str(found.evidence)


def test_answers_that_find_room_are_none() -> None:
    assert check(loop("0 ms").model(), ID).number < 0.01
    assert check(loop("60 ms").model(), ID).number < 0.01, "too little to feel"


def test_where_it_was_not_measured_answers_not_taken_claim_nothing() -> None:
    assert check(loop(None).model(), ID)
    assert (
        "were not measured"
        in silence(loop(None).thread("b", tid=101, wait_events="9 s").probe("requests", "no hook").model(), ID).reason
    )
    assert "not followed" in silence(loop("0 ms").lost(connections_full=3).model(), ID).reason


def test_a_thread_that_waits_in_send_is_not_counted_twice() -> None:
    """What the thread has waited in send is its own account: the rest of the request's time alone can be untaken."""
    accounts = {"cpu.user": "400 ms", "net.send": "8 s"}
    builder = loop("8 s", accounts=accounts).row("net.send", CLIENT, "8 s", count=100)
    time = builder.socket(CLIENT, local=ACCEPTED, waits_receiver=100).model().request_time
    assert time and time.accounts["net.send"] == 8_000_000_000 and time.accounts[UNTAKEN] == 100_000_000
    assert sum(time.accounts.values()) == time.ns == 8_500_000_000


def test_where_the_time_of_requests_is_not_known_answers_not_taken_claim_none() -> None:
    model = loop("8 s", unsure=100).model()
    assert model.request_time is None
    found = finding(model, ID)
    assert found.severity is Severity.WARNING and not found.claims
    assert check(loop("4 s", unsure=100).model(), ID), "less than half of the time of those requests"


def test_who_was_asked_itself_is_no_client() -> None:
    asked = sending("10.0.0.2:40000").model()
    assert not findings(asked, ID) and findings(asked, RECEIVER)
    assert not findings(sending(ACCEPTED, waits_receiver=0).model(), ID), "the own buffer"


def test_without_requests_waiting_for_clients_may_be_idle() -> None:
    idle = (
        Builder().thread("worker", cpu_user="500 ms").row("net.receive", CLIENT, "8 s").socket(CLIENT, local=ACCEPTED)
    )
    unmeasured = idle.probe("requests", "no hook").model()
    assert not findings(unmeasured, ID) and finding(unmeasured, PEER).mechanism is Mechanism.OTHERS


def test_what_was_not_followed_is_not_fine() -> None:
    lost = worker("30 ms", {"85 ms": 100}).lost(connections_full=3)
    assert "not followed" in silence(lost.model(), ID).reason
    blind = sending(ACCEPTED).without("tcp").model()
    assert any("delays answers" in limit for limit in finding(blind, ID).limits)


@pytest.mark.parametrize(
    ("length", "seen", "delayed"), [("42 ms", 100, True), ("42 ms", 9, False), ("70 ms", 100, False)]
)
def test_one_of_two_messages_comes_in_pieces(length: str, seen: int, delayed: bool) -> None:
    """A client that greets, and then asks in pieces: it was "Clients send requests slowly", as the mean of the two
    messages is half of a delayed acknowledgement."""
    builder = Builder().thread("worker", cpu_user="500 ms").row("net.receive", CLIENT, durations={length: 100})
    arriving = f"{100 * int(length.removesuffix(' ms'))} ms"
    accounts = {"cpu.user": "400 ms", "net.receive": arriving}
    builder.exchange("port:80", "accepted", {"5 ms": 100, "85 ms": 100}, arriving_ns=arriving, accounts=accounts)
    model = builder.socket(CLIENT, local=ACCEPTED).model()
    diagnosis = diagnose(knowing(model, network_deltas={"TcpExt.DelayedACKs": seen}))
    assert diagnosis.findings[0].id == ("NET-DELAYED-ACK" if delayed else ID)
    if delayed:
        assert "100 requests take 42.0 ms each to arrive" in diagnosis.findings[0].claim
        assert ID not in [each.id for each in diagnosis.findings]
