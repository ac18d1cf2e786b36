"""A finding on a peer says what is asked there, where that takes most of its time."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.evidence.network.asked_calls import with_calls
from perfdiag.diagnosis.rule import Finding, Mechanism
from perfdiag.model.model import Model
from perfdiag.model.requests.named_calls import named_calls
from perfdiag.recording import schema

from unit.support import Builder
from unit.support.exchanges import named_call
from unit.support.judging import assert_headline

PEER = "peer:10.0.0.5:8080"
WSDL, OTHERS = "GET /catalog.wsdl", "(other names)"


def service(*calls: schema.NamedCall, object: str = PEER, **fields: str) -> Builder:
    """Requests that wait in one thread for the answers to a hundred calls of 90 ms each."""
    builder = Builder(window="20 s").thread("worker", cpu_user="100 ms").socket(object)
    builder.row("net.receive", object, durations={"90 ms": 100})
    builder.exchange(
        "port:80", "accepted", {"95 ms": 100}, name="GET /cart", peers_ns="9 s", accounts={"net.receive": "9 s"}
    )
    builder.exchange(object, "connected", {"90 ms": 100}, **fields)
    for line in calls:
        builder.line(line)
    return builder


def first(builder: Builder) -> Finding:
    found = diagnose(builder.model()).findings[0]
    assert found.id == "NET-PEER-SLOW", found
    assert_headline(found.headline)
    return found


def said(finding: Finding) -> list[str]:
    """Return the evidence on what is asked."""
    return [each.text for each in finding.evidence if "calls there" in each.text]


def test_a_slow_peer_is_told_with_what_is_asked_there() -> None:
    found = first(service(named_call(WSDL, 100, 90)))
    assert found.headline == "10.0.0.5:8080 answers slowly: GET /catalog.wsdl"
    assert said(found) == ["100 of 100 calls there, 1.0 a request, 90 ms each: GET /catalog.wsdl"]


@pytest.mark.parametrize(("ms", "told"), [(90, ", with 504"), (40, "")])
def test_slow_answers_that_are_errors_are_told_as_such(ms: int, told: str) -> None:
    errors = schema.Answer(
        object=PEER, name=WSDL, direction="connected", status="504", count=80, sum_ns=80 * ms * 1_000_000
    )
    found = first(service(named_call(WSDL, 100, 90)).line(errors))
    assert found.headline == f"10.0.0.5:8080 answers slowly: GET /catalog.wsdl{told}"
    assert said(found)[0].endswith(f"GET /catalog.wsdl; 80 answered with 504, {ms} ms each")


def test_calls_for_requests_of_several_names_are_one() -> None:
    calls = [named_call(WSDL, 30, 90), named_call(WSDL, 30, 90, request=""), named_call("POST /items/#", 40, 90)]
    found = first(service(*calls).exchange("port:81", "accepted", {"95 ms": 20}))
    assert said(found) == ["60 of 100 calls there, 0.5 a request, 90 ms each: GET /catalog.wsdl"]


def test_calls_of_no_known_request_are_not_told_by_request() -> None:
    found = first(service(named_call(WSDL, 100, 90, request="", owned=0)))
    assert said(found) == ["100 of 100 calls there, 90 ms each: GET /catalog.wsdl"]


@pytest.mark.parametrize(
    "calls",
    [
        [],
        [named_call(WSDL, 49, 90)],  # fewer than half
        [named_call(OTHERS, 100, 90)],
        [named_call(WSDL, 100, 90, object="peer:10.0.0.6:8080")],
        [named_call(WSDL, 49, 90), named_call(OTHERS, 51, 90)],
    ],
)
def test_nothing_is_named_that_does_not_take_most_of_the_time(calls: list[schema.NamedCall]) -> None:
    found = first(service(*calls))
    assert found.headline == "10.0.0.5:8080 answers slowly" and not said(found)


@pytest.mark.parametrize(("given_up", "told"), [("60 s", False), ("1 s", True)])
def test_what_is_never_answered_is_not_called_by_what_is(given_up: str, told: bool) -> None:
    """Nothing tells what those calls asked for."""
    builder = service(
        named_call(WSDL, 100, 90), unanswered_ns=given_up, unanswered_lasted_ns=given_up, unanswered="7 ns"
    )
    (finding,) = with_calls(builder.model(), [first(service())])
    assert bool(said(finding)) == told


def loop() -> Model:
    """An event loop: no thread waits for the peer."""
    builder = Builder(window="20 s").thread("loop", cpu_user="1 s", wait_events="19 s")
    builder.exchange("port:80", "accepted", {"95 ms": 100}, peers_ns="9 s", accounts={"wait.events": "9 s"})
    builder.exchange(PEER, "connected", {"90 ms": 100})
    return builder.line(named_call(WSDL, 100, 90, request="")).model()


def test_a_peer_that_an_event_loop_waits_for() -> None:
    found = diagnose(loop()).findings[0]
    assert found.id == "NET-PEER-SLOW" and found.headline.endswith(f": {WSDL}"), found
    assert said(found) == [f"100 of 100 calls there, 1.0 a request, 90 ms each: {WSDL}"]


def test_a_headline_without_room_stays_as_it_is() -> None:
    name, peer = "GET /" + "a" * 50, "peer:[2001:db8:1234:5678:9abc:def0:1234:5678]:65535"
    found = first(service(named_call(name, 100, 90, object=peer), object=peer))
    assert found.headline.endswith("answers slowly") and said(found)[0].endswith(name)


def test_findings_on_other_time_are_left_as_they_are() -> None:
    builder = service(named_call(WSDL, 100, 90))
    builder.thread("writer", cpu_user="1 ms").row("disk.flush", "device:254:0", durations={"15 ms": 1000})
    findings = {each.id: each for each in diagnose(builder.model()).findings}
    assert findings["NET-PEER-SLOW"].headline.endswith(WSDL)
    assert not any(said(each) for id, each in findings.items() if id != "NET-PEER-SLOW")


def test_hostile_names_are_shown_and_never_obeyed() -> None:
    found = first(service(named_call("GET /\x1b[2J\u202e", 100, 90)))
    for text in (found.headline, *said(found)):
        assert "\x1b" not in text and "\u202e" not in text and "\\x1b[2J" in text


def test_a_recording_that_contradicts_itself_is_told_nevertheless() -> None:
    """More calls of a name than calls, requests that are nowhere, calls of no time."""
    model = service(
        named_call(WSDL, 900, 90, request="nowhere"), named_call(OTHERS, 0, 0), named_call("GET", 5, 0)
    ).model()
    assert [each.times for each in named_calls(model.named_calls, model.exchanges)] == [0.0, 0.0, 0.05]
    assert said(diagnose(model).findings[0]) == [f"900 of 900 calls there, 90 ms each: {WSDL}"]


@pytest.mark.parametrize(("name", "for_what"), [("BLPOP", "what another client puts there"), ("WAIT", "its replicas")])
def test_a_peer_that_was_asked_to_wait_is_not_slow(name: str, for_what: str) -> None:
    """A handler that asks another one by a queue of Redis waits for that, not for the server of the queue."""
    found = first(service(named_call(name, 100, 90)))
    assert found.headline == f"The target waits in {name} at 10.0.0.5:8080 for {for_what}"
    assert found.mechanism is Mechanism.UNDETERMINED and not found.others and said(found)
    assert ("as many replicas as WAIT asks for" in found.remedies[0].text) is (name == "WAIT")
