"""NET-CHATTY: many short calls a request, by threads that wait for them and in event loops."""

from __future__ import annotations

from typing import Any

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Confidence, Severity
from perfdiag.model.requests.request_time import PEERS

from unit.support import Builder
from unit.support.judging import check, finding, findings, silence

ID, PEER = "NET-CHATTY", "NET-PEER-SLOW"
DB = "peer:10.0.0.5:5432"


def server(
    calls: int,
    each: str = "300 us",
    *,
    peers: str = "6 s",
    requests: str = "10 ms",
    number: int = 900,
    **fields: Any,
) -> Builder:
    """A thread that answers requests and waits for all its calls itself."""
    builder = Builder().thread("worker", cpu_user="2 s").row("net.receive", DB, durations={each: calls}).socket(DB)
    builder.exchange(
        "port:80",
        "accepted",
        {requests: number},
        peers_ns=peers,
        accounts={"cpu.user": "2 s", "net.receive": peers},
    )
    return builder.exchange(DB, "connected", {each: calls}, **fields)


def test_twenty_calls_a_request_that_are_most_of_its_time() -> None:
    model = server(20_000).model()
    assert model.request_time is not None
    found = finding(model, ID)
    assert found.severity is Severity.WARNING and found.confidence is Confidence.HIGH
    assert "calls 10.0.0.5:5432 22 times, 300 us each" in found.claim
    assert dict(found.claims) == {("net.receive", DB): 6_000_000_000}
    first = diagnose(model).findings[0]
    assert first.id == ID and 0.6 < first.share < 0.7
    assert PEER not in [each.id for each in diagnose(model).findings]


def test_an_event_loop_that_asks_as_often() -> None:
    builder = Builder().thread("loop", cpu_user="2 s")
    builder.exchange("port:80", "accepted", {"10 ms": 900}, peers_ns="6 s", accounts={"wait.events": "7 s"})
    model = builder.exchange(DB, "connected", {"300 us": 20_000}).model()
    found = finding(model, ID)
    assert found.severity is Severity.WARNING and 5_990_000_000 < found.claims[PEERS] <= 6_000_000_000
    assert diagnose(model).findings[0].id == ID


def test_over_a_unix_socket_too() -> None:
    object = "unix:700:postgres"
    builder = Builder().thread("worker", cpu_user="2 s").row("ipc.unix", object, durations={"300 us": 20_000})
    builder.exchange("port:80", "accepted", {"10 ms": 900}, peers_ns="6 s", accounts={"ipc.unix": "6 s"})
    found = finding(builder.exchange(object, "connected", {"300 us": 20_000}).model(), ID)
    assert found.claims == {("ipc.unix", object): 6_000_000_000}


def test_a_few_calls_or_a_small_part_of_the_time_are_how_things_are_built() -> None:
    assert check(server(3_600, "1 ms", peers="3600 ms").model(), ID).number == 4.0
    assert not findings(server(20_000, requests="40 ms").model(), ID), "a sixth of the time"


def test_between_that_and_a_fault_it_is_profile() -> None:
    assert finding(server(8_000, "600 us", peers="4800 ms").model(), ID).severity is Severity.INFO
    assert finding(server(20_000, requests="15 ms").model(), ID).severity is Severity.INFO


def test_answers_that_take_long_are_the_peers_fault() -> None:
    assert not findings(server(5_000, "1200 us").model(), ID)
    assert not findings(server(20_000).exchange(DB, "connected", {"50 us": 18_000, "40 ms": 2_000}).model(), ID)
    far = server(5_000, "1200 us").socket(DB, rtt_us=900, minimum_rtt_us=800)
    assert finding(far.model(), ID), "of a way that takes as long it is as fast as the network"


def test_many_calls_are_too_many_even_where_tcps_round_trip_does_not_show_the_way() -> None:
    # Through a proxy on the same host, whose own way to the database is long.
    many = server(1_800, "4300 us", peers="7740 ms", requests="90 ms", number=90)
    model = many.socket(DB, rtt_us=40, minimum_rtt_us=8).model()
    found = finding(model, ID)
    assert found.severity is Severity.WARNING and dict(found.claims) == {("net.receive", DB): 7_740_000_000}
    assert PEER not in [each.id for each in diagnose(model).findings]


def test_many_calls_that_are_slow_each_are_the_peers_fault() -> None:
    assert not findings(server(600, "12 ms", peers="7200 ms", requests="250 ms", number=30).model(), ID)


def test_a_few_calls_of_that_length_are_how_things_are_built() -> None:
    assert not findings(server(1_800, "4300 us", peers="7740 ms", requests="40 ms", number=200).model(), ID)


def test_calls_that_were_made_for_no_request_do_not_count() -> None:
    assert check(server(20_000, peers="2 s").model(), ID).number == 0.0


@pytest.mark.parametrize("counter", ["connections_full", "exchanges_full"])
def test_what_was_not_followed_is_not_fine(counter: str) -> None:
    assert "not followed" in silence(server(20_000).lost(**{counter: 7}).model(), ID).reason


def test_without_requests_nothing_is_said_by_request() -> None:
    client = Builder().thread("batch", cpu_user="2 s").row("net.receive", DB, durations={"300 us": 20_000})
    assert "no requests were served" in check(client.exchange(DB, "connected", {"300 us": 20_000}).model(), ID).text
    assert "not measured" in silence(client.probe("requests", "no hook").model(), ID).reason
    few = Builder().thread("web", cpu_user="2 s").exchange("port:80", "accepted", {"10 ms": 3}).model()
    assert silence(few, ID)
