"""NET-DELAYED-ACK, and NET-PEER-SLOW where both look alike."""

from __future__ import annotations

from typing import Any

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Confidence, Severity
from perfdiag.model.model import Model
from perfdiag.report.verdict.verdict import decide

from unit.support import Builder
from unit.support.judging import check, finding, knowing, outcomes, silence
from unit.support.work import function_calls

PEER, DELAYED = "NET-PEER-SLOW", "NET-DELAYED-ACK"
BACKEND, QUESTIONS = "peer:127.0.0.1:18102", "peer:127.0.0.1:43606"


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
