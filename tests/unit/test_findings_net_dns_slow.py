"""NET-DNS-SLOW: name servers that take long, or lose queries, for threads and for event loops."""

from __future__ import annotations

from typing import Any

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Confidence, Severity
from perfdiag.model.requests.request_time import PEERS

from unit.support import Builder
from unit.support.judging import check, finding, findings, knowing, silence
from unit.support.reports import made

ID, PEER = "NET-DNS-SLOW", "NET-PEER-SLOW"
SERVER = "peer:10.0.0.1:53"


def waiting(durations: dict[str, int], server: str = SERVER) -> Builder:
    return Builder().thread(cpu_user="500 ms").row("net.receive", server, durations=durations)


def loop(lookups: dict[str, int], **fields: Any) -> Builder:
    """An event loop with a resolver of its own: no thread waits for a name."""
    builder = Builder().thread("loop", cpu_user="500 ms")
    builder.exchange("port:80", "accepted", {"100 ms": 100}, peers_ns="9 s", accounts={"wait_events": "9 s"})
    return builder.exchange(SERVER, "lookup", lookups, **fields)


def test_lost_queries_cost_five_seconds_each() -> None:
    model = waiting({"5 s": 1, "300 us": 99}).exchange(SERVER, "lookup", {"5 s": 1, "300 us": 99}, retries=1).model()
    found = finding(model, ID)
    assert found.severity is Severity.WARNING and found.confidence is Confidence.HIGH
    assert "Look-ups at name server 10.0.0.1:53 get lost: 1 query repeated, 5.03 s" in found.claim
    assert found.claims == {("net.receive", SERVER): 5_029_700_000}
    texts = [remedy.text for remedy in found.remedies]
    assert "@10.0.0.1" in texts[0] and "timeout:1" in texts[1]
    diagnosis = diagnose(model)
    assert diagnosis.findings[0].id == ID and not [each for each in diagnosis.findings if each.id == PEER]
    assert "not the slow part" in made(model, *diagnosis.findings).verdict.text


def test_queries_that_this_host_drops_itself() -> None:
    builder = waiting({"5 s": 1}).exchange(SERVER, "lookup", {"5 s": 1, "300 us": 99}, retries=1)
    log = "4,8,24877597,-;nf_conntrack: nf_conntrack: table full in netns 4026531840, dropping packet\n"
    found = finding(builder.fact("/dev/kmsg", "6,7,1,-;x\n", "6,7,1,-;x\n" + log).model(), ID)
    assert "table" in found.claim and "raise net.netfilter.nf_conntrack_max" in found.remedies[0].text


def test_a_name_server_that_never_answers() -> None:
    model = waiting({"5 s": 1}).exchange(SERVER, "lookup", {}, open=2, oldest_ns="5 s", retries=2).model()
    found = finding(model, ID)
    assert "2 queries repeated, 2 not answered when the window ended" in found.claim
    assert "0 look-ups answered" in found.evidence[1].text


@pytest.mark.parametrize(("unanswered", "fate"), [(40, "get no answer"), (2, "are slow")])
def test_a_client_that_gives_up_soon_has_no_slow_name_server(unanswered: int, fate: str) -> None:
    """55 look-ups ended at the client's own limit of 50 ms, where nobody listened: "answers slowly"."""
    builder = waiting({"50 ms": 40}).exchange(SERVER, "lookup", {}, unanswered=unanswered, busy_ns="2 s")
    found = finding(builder.model(), ID)
    assert found.headline == f"Look-ups at name server 10.0.0.1:53 {fate}"
    assert ("are answered" in found.verify) is (unanswered == 40)


@pytest.mark.parametrize("fields", [{"open": 3, "oldest_ns": "100 ms"}, {"unanswered": 1, "retries": 2}])
def test_look_ups_that_just_began_and_repeats_of_one_are_no_silence(fields: dict[str, Any]) -> None:
    builder = waiting({"50 ms": 40}).exchange(SERVER, "lookup", {}, busy_ns="2 s", **fields)
    assert "no answer" not in finding(builder.model(), ID).headline


def test_a_name_server_that_takes_long_loses_nothing() -> None:
    model = waiting({"120 ms": 40}).exchange(SERVER, "lookup", {"120 ms": 40}).model()
    found = finding(model, ID)
    assert "take long" in found.claim and "lost" not in found.claim and "120 ms" in found.claim
    assert not any("timeout:1" in remedy.text for remedy in found.remedies)


def test_a_few_that_take_long_are_told_though_most_are_answered_soon() -> None:
    found = finding(loop({"300 us": 900, "400 ms": 20}).model(), ID)
    assert "half of the time is in look-ups of 390 ms or more" in found.claim, found.claim


def test_prompt_name_servers_are_fine() -> None:
    prompt = waiting({"2 ms": 900}).exchange(SERVER, "lookup", {"2 ms": 900}).model()
    assert check(prompt, ID) and finding(prompt, PEER).severity is Severity.INFO, "their number costs"
    assert check(waiting({"300 us": 10}).model(), ID).number < 0.01
    assert not findings(waiting({"5 s": 1}, "peer:10.0.0.1:5353").model(), ID), "no name server"
    assert not findings(waiting({"5 s": 1}, "peer:0.0.0.0:0").model(), ID), "nobody in particular"


def test_without_the_sockets_the_waits_tell() -> None:
    found = finding(waiting({"5 s": 1, "300 us": 99}).probe("requests", "no hook").model(), ID)
    assert "get lost: 5.03 s" in found.claim and found.confidence is Confidence.MEDIUM
    assert any("by their length" in limit for limit in found.limits)


def test_an_event_loop_waits_for_names_with_its_requests() -> None:
    model = loop({"5 s": 2, "300 us": 98}, retries=2).model()
    found = finding(model, ID)
    assert found.severity is Severity.WARNING and found.claims[PEERS] > 8_500_000_000
    assert diagnose(model).findings[0].id == ID
    assert not findings(loop({"300 us": 100}).model(), ID)


def test_a_resolver_without_requests_of_its_own() -> None:
    builder = Builder().thread("crawler", cpu_user="500 ms")
    found = finding(builder.exchange(SERVER, "lookup", {"5 s": 2, "300 us": 98}, retries=2).model(), ID)
    assert found.severity is Severity.WARNING and not found.claims


@pytest.mark.parametrize(("busy", "fires"), [("9900 ms", True), ("30 ms", False)])
def test_a_resolver_that_gives_up_and_asks_again_never_waits_for_an_old_query(busy: str, fires: bool) -> None:
    """Each query has ended when the window does, by a timeout of its own, and none was answered."""
    builder = Builder().thread("loop", cpu_user="500 ms")
    model = builder.exchange(SERVER, "lookup", {}, unanswered=4, busy_ns=busy).model()
    assert bool([each for each in findings(model, ID) if each.severity is Severity.WARNING]) is fires


def test_what_was_not_followed_is_not_fine() -> None:
    assert "not followed" in silence(loop({"300 us": 100}).lost(exchanges_full=1).model(), ID).reason
    unmeasured = Builder().thread("loop", cpu_user="1 s").probe("requests", "no hook").model()
    assert "event loops" in silence(unmeasured, ID).reason
    cut = finding(waiting({"5 s": 1}).cut().model(), ID)
    assert any("cut off" in limit for limit in cut.limits)


@pytest.mark.parametrize(
    ("unreachable", "waits", "retries", "told"),
    [(12, {}, 0, True), (2, {}, 0, False), (12, {"5 s": 1}, 0, False), (12, {}, 6, False)],
)
def test_a_name_server_that_is_down_loses_nothing(
    unreachable: int, waits: dict[str, int], retries: int, told: bool
) -> None:
    """systemd-resolved was stopped: look-ups failed in 3 ms each, and were said to get lost.  A silent server beside
    others' refused datagrams is waited for, or asked again."""
    builder = waiting(waits) if waits else Builder().thread(cpu_user="1 s")
    builder.exchange(SERVER, "lookup", {}, unanswered=6, retries=retries, busy_ns="5 s")
    model = knowing(builder.model(), network_deltas={"Icmp.InDestUnreachs": unreachable})
    assert ("Nobody listens at name server 10.0.0.1:53" in finding(model, ID).headline) is told
