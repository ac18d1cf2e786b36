"""NET-CONNECT-SLOW: connections that need SYNs sent again, with threads that wait for them and in event loops."""

from __future__ import annotations

from typing import Any

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Check, Confidence, Mechanism, Severity
from perfdiag.model.requests.request_time import PEERS, REST

from unit.support import Builder
from unit.support.judging import check, finding, findings, outcomes, silence
from unit.support.reports import made

ID, PEER = "NET-CONNECT-SLOW", "NET-PEER-SLOW"
DB = "peer:10.0.0.5:5432"


def waiting(durations: dict[str, int]) -> Builder:
    return Builder().thread(cpu_user="1 s").row("net.connect", DB, durations=durations)


def loop(connect: dict[str, int], **fields: Any) -> Builder:
    """An event loop that connects for its requests: no thread waits for that."""
    builder = Builder().thread("loop", cpu_user="500 ms")
    builder.exchange("port:80", "accepted", {"100 ms": 100}, peers_ns="9 s", accounts={"wait_events": "9 s"})
    return builder.exchange(DB, "connected", {"1 ms": 100}, connect=connect, **fields)


def test_a_thread_that_waits_for_a_repeated_syn() -> None:
    model = waiting({"1.02 s": 3}).exchange(DB, "connected", {}, connect={"1.02 s": 3}, retries=3).model()
    found = finding(model, ID)
    assert found.severity is Severity.WARNING and found.confidence is Confidence.HIGH
    assert "10.0.0.5:5432" in found.claim and "3.06 s" in found.claim and found.mechanism is Mechanism.FAILED
    assert dict(found.claims) == {("net.connect", DB): 3_060_000_000}
    assert any("3 SYNs repeated" in each.text for each in found.evidence)
    assert "sport = :5432" in found.remedies[0].text


@pytest.mark.parametrize(("beside", "told"), [("peer:10.0.0.5:5432", True), ("peer:10.0.0.5:80", False)])
def test_an_address_of_ipv6_that_leads_nowhere(beside: str, told: bool) -> None:
    """Each of eight connects tried IPv6 for a second, then IPv4: the remedy was to look at the peer's accept queue."""
    ipv6 = "peer:[2001:db8::5]:5432"
    builder = Builder().thread(cpu_user="1 s").row("net.connect", ipv6, durations={"1.02 s": 8})
    builder.exchange(ipv6, "connected", {}, connect={"1.02 s": 8}, retries=8, connects=0, connects_failed=8)
    builder.exchange(beside, "connected", {}, connect={"1 ms": 8}, connects=8)
    found = finding(builder.model(), ID)
    assert ("no IPv6 packet gets there" in found.headline) is told, found
    assert ("gai.conf" in found.remedies[0].text) is told
    builder.exchange("peer:[2001:db8::7]:80", "connected", {}, connect={"1 ms": 8}, connects=8)
    assert "IPv6" not in finding(builder.model(), ID).headline, "there is a way out"


LOG = "/dev/kmsg"
FULL = "4,{},24877597,-;nf_conntrack: nf_conntrack: table full, dropping packet\n"


def test_a_host_that_drops_connections_itself_is_told_before_the_peer() -> None:
    """The remedy was to look at the peer's accept queue; the kernel's log had said whose table was full."""
    builder = waiting({"1.02 s": 3}).exchange(DB, "connected", {}, connect={"1.02 s": 3}, retries=3)
    builder.fact(LOG, "6,7,1,-;x\n", "6,7,1,-;x\n" + FULL.format(8) + FULL.format(9))
    limit = "/proc/sys/net/netfilter/nf_conntrack_max"
    found = finding(builder.fact(limit, "4096\n", "4096\n").model(), ID)
    assert found.headline == "This host's conntrack table (4,096 entries) is full: it drops new connections"
    assert found.mechanism is Mechanism.LIMIT and "4,096 entries" in found.claim
    assert any("logged 2 times" in each.text and each.probe == LOG for each in found.evidence)
    raised = found.remedies[0]
    assert (raised.text, raised.undo) == tuple(f"sysctl -w net.netfilter.nf_conntrack_max={n}" for n in (16384, 4096))


@pytest.mark.parametrize("limit", ["9" * 5000, "-1", "many"])
def test_a_limit_of_a_table_that_is_none_is_left_out(limit: str) -> None:
    builder = waiting({"1.02 s": 3}).exchange(DB, "connected", {}, connect={"1.02 s": 3}, retries=3)
    builder.fact(LOG, "6,7,1,-;x\n", "6,7,1,-;x\n" + FULL.format(8))
    found = finding(builder.fact("/proc/sys/net/netfilter/nf_conntrack_max", limit, limit).model(), ID)
    assert found.headline == "This host's conntrack table is full: it drops new connections"


def test_a_table_that_was_full_before_the_window_says_nothing() -> None:
    builder = waiting({"1.02 s": 3}).exchange(DB, "connected", {}, connect={"1.02 s": 3}, retries=3)
    found = finding(builder.fact(LOG, FULL.format(8), FULL.format(8)).model(), ID)
    assert "table" not in found.headline and "accept queue" in found.remedies[0].text
    named = builder.fact(LOG, FULL.format(8), FULL.format(8) + "4,9,3,-;x: table full, dropping packet\n")
    assert "table" not in finding(named.model(), ID).headline, "what anybody may call himself"


def test_it_stands_once() -> None:
    """Its peer was said to answer slowly besides."""
    model = waiting({"1.02 s": 3}).row("net.receive", DB, durations={"300 us": 100}).model()
    assert not findings(model, PEER) or "net.connect" not in str(findings(model, PEER)[0].claims)
    diagnosis = diagnose(model)
    assert [each.id for each in diagnosis.findings if each.severity is Severity.WARNING] == [ID]
    told = made(model, *diagnosis.findings).verdict
    assert "not the slow part" in told.text and told.ids == [ID], told


def test_connects_within_the_round_trip_are_fine() -> None:
    assert check(waiting({"300 us": 20}).model(), ID).number < 0.01
    far = waiting({"160 ms": 20}).socket(DB, rtt_us=160_000, minimum_rtt_us=158_000).model()
    assert not findings(far, ID)
    unmeasured = waiting({"160 ms": 20}).model()
    assert not findings(unmeasured, ID), "how far that peer is nobody knows"
    assert "160 ms" in finding(unmeasured, PEER).evidence[0].text


def test_connects_far_beyond_a_known_way_need_no_syn_sent_again() -> None:
    found = finding(waiting({"160 ms": 20}).socket(DB).model(), ID)
    assert found.mechanism is Mechanism.SLOW and "3.20 s" in found.claim
    assert found.claims["net.connect", DB] == 20 * (160_000_000 - 150_000)


def test_a_peer_that_no_connect_reaches_needs_no_known_round_trip() -> None:
    """Its caller gives up after 490 ms, before the first SYN would be sent again."""
    builder = waiting({"490 ms": 12}).exchange(DB, "connected", {}, connect={"490 ms": 12}, connects_failed=12)
    found = finding(builder.model(), ID)
    assert (found.severity, found.mechanism) == (Severity.WARNING, Mechanism.FAILED)
    assert dict(found.claims) == {("net.connect", DB): 12 * 490_000_000}
    assert not findings(builder.model(), PEER)
    some = waiting({"490 ms": 12}).exchange(DB, "connected", {"1 ms": 9}, connect={"490 ms": 21}, connects_failed=12)
    assert not findings(some.model(), ID), "it answers others, and how far it is nobody knows"
    refused = waiting({"100 us": 12}).exchange(DB, "connected", {}, connect={"100 us": 12}, connects_failed=12)
    assert check(refused.model(), ID).large


def test_without_the_sockets_the_waits_tell() -> None:
    found = finding(waiting({"1.02 s": 3}).without("requests").probe("requests", "no hook").model(), ID)
    assert found.confidence is Confidence.MEDIUM and any("not counted" in limit for limit in found.limits)


def test_an_event_loop_waits_for_it_with_its_requests() -> None:
    model = loop({"1.02 s": 8, "1 ms": 92}, retries=8).model()
    assert model.request_time is not None
    found = finding(model, ID)
    assert found.severity is Severity.WARNING and "8 of them took" in found.evidence[0].text
    assert 0.9 < found.claims[PEERS] / 8_800_000_000 < 1.1
    diagnosis = diagnose(model)
    assert diagnosis.findings[0].id == ID and diagnosis.findings[0].share > 0.8
    assert sum(each.claimed_ns for each in diagnosis.findings) <= model.request_time.ns


def test_an_event_loop_without_requests_of_its_own() -> None:
    builder = Builder().thread("crawler", cpu_user="500 ms")
    model = builder.exchange(DB, "connected", {"1 ms": 100}, connect={"1.02 s": 8, "1 ms": 92}, retries=8).model()
    found = finding(model, ID)
    assert found.severity is Severity.WARNING and not found.claims
    few = Builder().thread("crawler").exchange(DB, "connected", {}, connect={"1.02 s": 2}, retries=2).model()
    assert not findings(few, ID), "two of them happen on any network"


def test_connects_still_under_way_are_told() -> None:
    """To a dead address: nothing is known of them but that they have begun."""
    builder = Builder().thread("proxy", cpu_user="500 ms")
    model = builder.exchange(DB, "connected", {}, connect={"7 s": 40}, connecting=40).model()
    found = finding(model, ID)
    assert found.severity is Severity.WARNING and "40 not made when the window ended" in found.evidence[0].text


def test_refused_connects_take_no_time() -> None:
    said = outcomes(loop({"200 us": 100}, connects_failed=60).model(), ID)
    (refused,) = said
    assert isinstance(refused, Check) and refused.large and "60 of 100 connects" in refused.text
    assert isinstance(check(loop({"200 us": 100}, connects_failed=3).model(), ID), Check)
    assert check(loop({"200 us": 100}, connects_failed=3).model(), ID).large is None


def retrying(failed: int) -> Builder:
    """An event loop 90 of whose 100 requests wait for 100 ms in nobody's hands; so many connects fail."""
    builder = Builder().thread("loop", cpu_user="500 ms", rest="wait.events")
    builder.exchange("port:80", "accepted", {"100 ms": 90, "1 ms": 10})
    return builder.exchange(DB, "connected", {}, connect={"200 us": failed}, connects_failed=failed)


def test_connects_that_fail_while_requests_are_in_nobodys_hands() -> None:
    """A proxy pauses before it tries again: the refusal takes no time, what follows does."""
    model = retrying(120).model()
    found = finding(model, ID)
    assert found.severity is Severity.WARNING and found.confidence is not Confidence.HIGH
    assert found.claims[REST] == 9_010_000_000 and "90 slow requests" in found.claim, found
    told = made(model, *diagnose(model).findings).verdict
    assert told.ids == [ID] and told.text.startswith("Probably: "), told
    assert check(retrying(80).model(), ID).large, "somebody's collector of metrics is away, and most requests never ask"


def test_connects_that_fail_before_the_servers_own_pause() -> None:
    """A thread for each request sleeps before it tries again: why it sleeps is the cause."""
    builder = Builder().thread("worker", cpu_user="100 ms", wait_timer="9 s")
    builder.exchange("port:80", "accepted", {"100 ms": 90}, accounts={"wait.timer": "8.9 s"})
    model = builder.exchange(DB, "connected", {}, connect={"200 us": 120}, connects_failed=120).model()
    first = diagnose(model).findings[0]
    assert first.id == ID and "fail" in first.headline and "slept for 8.90 s" in first.claim, first


def test_sleeps_that_are_more_than_the_connects_are_for_something_else() -> None:
    builder = Builder().thread("worker", cpu_user="100 ms").row("wait.timer", "", durations={"10 ms": 900})
    builder.exchange("port:80", "accepted", {"100 ms": 90}, accounts={"wait.timer": "8.9 s"})
    model = builder.exchange(DB, "connected", {}, connect={"200 us": 90}, connects_failed=90).model()
    assert diagnose(model).findings[0].id == "WAIT-TIMER-IN-REQUEST"


def test_requests_that_wait_for_connects_alone_contradict_nothing() -> None:
    """What a request waits for in a connect that is refused is time of its peers, and no call was made."""
    builder = Builder().thread("worker", cpu_user="100 ms")
    builder.exchange("port:80", "accepted", {"100 ms": 90}, peers_ns=8_000_000)
    model = builder.exchange(DB, "connected", {}, connect={"90 us": 90}, connects_failed=90).model()
    assert not model.coverage.contradictions


def test_what_was_not_followed_is_not_fine() -> None:
    assert "not followed" in silence(loop({"1 ms": 100}).lost(connections_full=4).model(), ID).reason
    model = waiting({"1.02 s": 3}).lost(exchanges_full=4).model()
    assert any("not followed" in limit for limit in finding(model, ID).limits)
    unmeasured = Builder().thread("loop", cpu_user="1 s").probe("requests", "no hook").model()
    assert "event loops" in silence(unmeasured, ID).reason


def retrying_job(failed: int, sleeps: int) -> Builder:
    """A job that connects for each call, and sleeps before it tries again."""
    builder = Builder(window="12 s").thread(cpu_user="500 ms").row("wait.timer", "", durations={"300 ms": sleeps})
    return builder.exchange(DB, "connected", {"1 ms": 64}, connect={"1 ms": 64}, connects=64, connects_failed=failed)


def test_connects_that_fail_at_once_before_a_job_sleeps() -> None:
    """64 local ports were all taken: 36 of 100 connects failed, 36 sleeps followed, and there was no problem."""
    found = finding(retrying_job(36, 36).model(), ID)
    assert found.headline == "36 of 64 connects to 10.0.0.5:5432 failed at once, and as many sleeps followed"
    assert found.severity is Severity.WARNING and found.confidence is Confidence.LOW
    assert "EADDRNOTAVAIL" in found.remedies[0].text and found.claims == {"wait.timer": 36 * 300_000_000}


@pytest.mark.parametrize(("failed", "told"), [(3, True), (2, False)])
def test_who_waits_for_a_server_connects_every_other_second(failed: int, told: bool) -> None:
    """A container that waited for its database was IDLE: fewer than ten connects fail in ten seconds."""
    builder = Builder(window="6 s").thread(cpu_user="5 ms").row("wait.timer", "", durations={"1900 ms": failed})
    builder.exchange(DB, "connected", {}, connect={"1 ms": failed}, connects=0, connects_failed=failed)
    assert [each.severity for each in findings(builder.model(), ID)] == [Severity.WARNING] * told


def test_sleeps_for_something_else_follow_no_connect() -> None:
    assert not findings(retrying_job(3, 36).model(), ID) and not findings(retrying_job(36, 5).model(), ID)


def many(peers: int, each: str = "3 s") -> Builder:
    builder = Builder()
    for number in range(peers):
        builder.thread(f"scraper-{number}", tid=100 + number, cpu_user="10 ms")
        peer = f"peer:10.80.1.{number}:8080"
        builder.row("net.connect", peer, durations={each: 1})
        builder.exchange(peer, "connected", {}, connect={each: 1}, retries=1)
    return builder


def test_many_peers_with_one_ailment_are_told_together() -> None:
    """Seven findings of 14 % each said the same; of a hundred peers none would be felt alone."""
    for peers, each in ((7, "3 s"), (90, "1.02 s")):
        model = many(peers, each).model()
        found = finding(model, ID)
        assert found.headline == f"Connecting to {peers} peers at port 8080 needs repeated SYNs"
        assert sum(found.claims.values()) > 0.95 * model.busy_ns
    assert [found.id for found in diagnose(many(2).model()).findings].count(ID) == 2


def test_a_full_table_of_neighbours_is_the_cause_for_all_of_them() -> None:
    line = "6,{},24877597,-;neighbour: arp_cache: neighbor table overflow!\n"
    builder = many(7).fact(LOG, "6,7,1,-;x\n", "6,7,1,-;x\n" + line.format(8) + line.format(9))
    found = finding(builder.fact("/proc/sys/net/ipv4/neigh/default/gc_thresh3", "1024\n", "1024\n").model(), ID)
    said = "This host's ARP table (1,024 entries) is full: it drops packets to new addresses"
    assert found.headline == said and found.mechanism is Mechanism.LIMIT
    assert found.remedies[0].text == "sysctl -w net.ipv4.neigh.default.gc_thresh3=4096"
