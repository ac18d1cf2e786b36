"""NET-DELAYED-ACK of answers, and NET-CORKED: what this host's kernel holds back of what is sent."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Confidence, Finding, Severity, Silence
from perfdiag.model.model import Model
from perfdiag.model.requests.request_time import CORKED, HELD

from unit.support import Builder
from unit.support.exchanges import served
from unit.support.judging import check, finding, outcomes

DELAYED, UNCORKED = "NET-DELAYED-ACK", "NET-CORKED"


def answering(held: str | None, unsure: int = 0) -> Model:
    return builder_of(held, unsure).model()


def builder_of(held: str | None, unsure: int = 0) -> Builder:
    """A worker that answers two hundred requests within 44 ms each, held back for so long together."""
    builder = Builder().thread("worker", cpu_user="100 ms", net_request="9 s")
    fields = {} if held is None else {"held_ns": held}
    return builder.exchange(
        "port:80", "accepted", {"44 ms": 200}, name="GET /", accounts={"cpu.user": "90 ms"}, unsure=unsure, **fields
    )


def test_answers_that_this_host_holds_back() -> None:
    found = finding(answering("8.6 s"), DELAYED)
    assert found.severity is Severity.WARNING and found.confidence is Confidence.HIGH
    assert "43.0 ms each" in found.claim
    assert dict(found.claims) == {HELD: 8_600_000_000} and "TCP_NODELAY" in found.remedies[0].text
    assert "8.60 s of 8.80 s in 200 requests GET / on port 80 after their last byte was written" in str(found.evidence)
    diagnosis = diagnose(answering("8.6 s"))
    assert diagnosis.findings[0].id == DELAYED and diagnosis.findings[0].share > 0.9


def test_java_is_told_how_it_sets_the_option() -> None:
    assert "setTcpNoDelay" not in finding(answering("8.6 s"), DELAYED).remedies[0].text
    java = builder_of("8.6 s").fact("/hotspot/100", "unread off\n").model()
    assert "Socket.setTcpNoDelay(true)" in finding(java, DELAYED).remedies[0].text


def test_that_calls_could_not_be_looked_at_is_said_beside_answers() -> None:
    builder = builder_of("8.6 s").thread("asking", tid=101).row("net.receive", "peer:10.0.0.1:80", "5 s")
    assert [type(each) for each in outcomes(builder.model(), DELAYED)] == [Finding, Silence]
    looked_at = builder.socket("peer:10.0.0.1:80", local="10.0.0.9:40000")
    assert [type(each) for each in outcomes(looked_at.model(), DELAYED)] == [Finding]


@pytest.mark.parametrize("held", ["0 ms", "60 ms", None])
def test_answers_that_leave_at_once_are_none(held: str | None) -> None:
    assert check(answering(held), DELAYED).number == 0


def test_where_the_time_of_requests_is_not_known_answers_held_back_claim_none() -> None:
    model = answering("8.6 s", unsure=200)
    assert model.request_time is None
    found = finding(model, DELAYED)
    assert found.severity is Severity.WARNING and not found.claims
    assert check(answering("4 s", unsure=200), DELAYED)


@pytest.mark.parametrize(
    ("socket", "cause"),
    [
        ({"rtt_us": 60_000, "minimum_rtt_us": 20}, "NET-CONGESTION"),
        ({"rtt_us": 60_000, "minimum_rtt_us": 20, "retransmits_seen": 20}, "NET-RETRANSMITS"),
        ({"rtt_us": 60_000, "minimum_rtt_us": 59_000}, DELAYED),
        ({"rtt_us": 6_000, "minimum_rtt_us": 20}, DELAYED),
    ],
    ids=["queue", "loss", "far", "late"],
)
def test_answers_that_the_path_holds_back_are_of_the_path(socket: dict[str, int], cause: str) -> None:
    """Where acknowledgements come late because data queues or is lost, TCP_NODELAY makes nothing faster."""
    builder = builder_of("8.6 s").thread("sender", tid=101)
    builder.row("net.send", "peer:10.0.0.2:40000", durations={"150 ms": 10})
    builder.socket("peer:10.0.0.2:40000", local="10.0.0.9:80", waits_congestion=10, **socket)
    found = {each.id: each.claims.get(HELD, 0) for each in diagnose(builder.model()).findings}
    assert {id for id, ns in found.items() if ns} == {cause} and found[cause] == 8_600_000_000


def corked_answers(ns: str) -> Builder:
    """A worker that answers forty-five requests within 207 ms each, kept back for so long together."""
    builder = Builder().thread("worker", cpu_user="100 ms", net_request="9 s")
    return builder.exchange(
        "port:80", "accepted", {"207 ms": 45}, name="GET /", accounts={"cpu.user": "90 ms"}, corked_ns=ns
    )


def corked_calls(ns: str) -> Builder:
    """A worker that asks forty-five times and waits for 207 ms each time."""
    peer = "peer:10.0.0.1:80"
    builder = Builder().thread("asking", cpu_user="100 ms").row("net.receive", peer, durations={"207 ms": 45})
    builder.socket(peer, local="10.0.0.9:40000")
    return builder.exchange(peer, "connected", {"207 ms": 45}, corked_ns=ns)


def test_answers_that_wait_in_a_corked_socket() -> None:
    found = finding(corked_answers("9 s").model(), UNCORKED)
    assert found.severity is Severity.WARNING and found.confidence is Confidence.HIGH
    assert "200 ms each" in found.claim and dict(found.claims) == {CORKED: 9_000_000_000}
    assert diagnose(corked_answers("9 s").model()).findings[0].id == UNCORKED


def test_calls_that_wait_in_a_corked_socket_are_not_the_peers() -> None:
    model = corked_calls("9 s").model()
    found = finding(model, UNCORKED)
    assert found.severity is Severity.WARNING and sum(found.claims.values()) == 9_000_000_000
    assert [each.id for each in diagnose(model).findings if each.severity is Severity.WARNING] == [UNCORKED]


@pytest.mark.parametrize("builder", [corked_answers, corked_calls])
def test_what_leaves_at_once_was_not_corked(builder: Callable[[str], Builder]) -> None:
    assert check(builder("0 ms").model(), UNCORKED).number == 0


def test_of_a_recording_without_it_nothing_is_known_of_corked_sockets() -> None:
    builder = Builder().thread("worker")
    for line in served(45, 207_000_000, corked_ns=None):
        builder.line(line)
    (silence,) = outcomes(builder.model(), UNCORKED)
    assert isinstance(silence, Silence)
