"""NET-PEER-SLOW, NET-RETRANSMITS, NET-RECEIVER-WINDOW and NET-CONGESTION."""

from __future__ import annotations

from typing import Any

import pytest
from perfdiag.diagnosis.rule import Confidence, Mechanism, RemedyKind, Severity
from perfdiag.facts.host_facts import Tcp

from unit.support import Builder
from unit.support.judging import check, finding, findings, knowing, outcomes, silence

PEER, LOSS, RECEIVER, PATH = "NET-PEER-SLOW", "NET-RETRANSMITS", "NET-RECEIVER-WINDOW", "NET-CONGESTION"
DB = "peer:10.0.0.5:5432"


def client(durations: dict[str, int], account: str = "net.receive", object: str = DB, **socket: Any) -> Builder:
    return Builder().thread(cpu_user="1 s").row(account, object, durations=durations).socket(object, **socket)


def test_a_peer_that_answers_after_60_ms_is_slow() -> None:
    found = finding(client({"60 ms": 100}).model(), PEER)
    assert found.severity is Severity.WARNING and found.confidence is Confidence.HIGH
    assert dict(found.claims) == {("net.receive", DB): 5_985_000_000}  # no peer gives 100 round trips of 150 us back
    assert "10.0.0.5:5432 answers slowly" in found.claim
    assert "on 10.0.0.5: perfdiag latency --port 5432" in found.remedies[0].text


def test_fewer_round_trips_are_advised_where_there_are_some_to_save() -> None:
    def advice(durations: dict[str, int]) -> list[str]:
        return [remedy.text for remedy in finding(client(durations).model(), PEER).remedies]

    assert any("fewer round trips" in text for text in advice({"60 ms": 100}))
    for few_or_long in ({"970 ms": 4}, {"100 ms": 9}, {"600 ms": 12}):
        assert not any("round trips" in text for text in advice(few_or_long)), few_or_long


def test_answers_as_fast_as_the_network_are_profile() -> None:
    found = finding(client({"300 us": 10_000}).model(), PEER)
    assert found.severity is Severity.INFO and "10,000" in found.claim
    assert "round trips" in found.remedies[0].text


@pytest.mark.parametrize(("connects", "answers", "anew"), [(20, 60, True), (20, 200, False), (6, 18, False)])
def test_who_makes_a_connection_for_each_call_is_told_so(connects: int, answers: int, anew: bool) -> None:
    """Over a way of 20 ms: three answers for each are those of a handshake of TLS and the call's own."""
    builder = client({"20 ms": answers}, rtt_us=20_000, minimum_rtt_us=19_900)
    builder.row("net.connect", DB, durations={"20 ms": connects})
    builder.exchange(DB, "connected", {"20 ms": answers}, connect={"20 ms": connects})
    found = finding(builder.model(), PEER)
    assert found.inside is anew and ("make new connections" in found.headline) is anew, found
    assert found.severity is (Severity.WARNING if anew else Severity.INFO)
    assert ("keep connections open" in found.remedies[0].text) is anew


def test_connections_that_cost_next_to_nothing_are_not_what_takes_the_time() -> None:
    """A server on this host took 5 ms for an answer; 470 connections to it took 7 us each, and were blamed."""
    builder = client({"5 ms": 470}, rtt_us=7, minimum_rtt_us=7).row("net.connect", DB, durations={"30 us": 470})
    builder.exchange(DB, "connected", {"5 ms": 470}, connect={"30 us": 470})
    assert "make new connections" not in finding(builder.model(), PEER).headline


def test_a_distant_peer_is_not_slow() -> None:
    far = client({"160 ms": 50}, rtt_us=160_000, minimum_rtt_us=158_000).model()
    assert finding(far, PEER).severity is Severity.INFO
    varies = client({"120 ms": 31}, rtt_us=110_000, minimum_rtt_us=103_000).model()
    assert finding(varies, PEER).severity is Severity.INFO


def test_of_a_distant_peer_that_is_slow_too_the_way_is_not_claimed() -> None:
    both = finding(client({"160 ms": 50}, rtt_us=60_000, minimum_rtt_us=50_000).model(), PEER)
    assert both.severity is Severity.WARNING and dict(both.claims) == {("net.receive", DB): 5_500_000_000}


def test_waiting_for_ones_own_clients_is_never_a_fault() -> None:
    builder = Builder().thread("server", cpu_user="100 ms")
    for port in range(40_000, 40_050):
        builder.row("net.receive", f"peer:10.0.0.9:{port}", "150 ms", count=3)
        builder.socket(f"peer:10.0.0.9:{port}", local="10.0.0.2:80")
    found = finding(builder.model(), PEER)
    assert found.severity is Severity.INFO and "own clients (50 peers)" in found.claim
    assert "measure one of the clients" in found.remedies[0].text and "poll" not in found.remedies[0].text


def test_a_server_on_a_port_of_chance_is_known_by_its_accepts() -> None:
    builder = client({"60 ms": 100}, object="peer:10.0.0.9:41000", local="10.0.0.2:51931")
    assert finding(builder.model(), PEER).severity is Severity.WARNING
    assert finding(builder.row("net.accept", "port:51931", "2 s").model(), PEER).severity is Severity.INFO


def test_many_small_peers_are_counted_together() -> None:
    builder = Builder().thread(cpu_user="5 s")
    for number in range(200):
        builder.row("net.receive", f"peer:10.0.1.{number}:80", "20 ms", count=1)
    found = finding(builder.model(), PEER)
    assert "200 peers answer slowly" in found.claim and found.confidence is Confidence.MEDIUM


def test_a_local_peer_is_measured_here_and_a_name_server_named() -> None:
    local = finding(client({"60 ms": 100}, object="peer:127.0.0.1:3306").model(), PEER)
    assert "on this host: perfdiag latency --port 3306" in local.remedies[0].text
    assert "name server" in finding(client({"5 s": 1}, object="peer:10.0.0.1:53").model(), PEER).claim


def test_a_prompt_peer_is_checked_and_fine() -> None:
    assert check(client({"300 us": 20}).model(), PEER).number < 0.01


def test_without_a_round_trip_the_confidence_is_lower() -> None:
    model = Builder().thread(cpu_user="1 s").row("net.receive", DB, durations={"60 ms": 100}).model()
    found = finding(model, PEER)
    assert found.confidence is Confidence.MEDIUM and any("round trip" in limit for limit in found.limits)


def test_retransmissions_take_the_waits_they_explain() -> None:
    model = knowing(
        client({"210 ms": 10, "300 us": 2000}, retransmits_seen=10).model(),
        interfaces=(),
        tcp=Tcp(
            segments_out=5000,
            retransmitted_segments=12,
            timeouts=10,
        ),
    )
    found = finding(model, LOSS)
    claimed = found.claims["net.receive", DB]
    assert 1.8e9 < claimed < 2.4e9  # the ten waits of 210 ms, not the 2,000 short ones
    assert found.severity is Severity.WARNING and "12 of 5,000" in found.evidence[2].text


def test_more_long_waits_than_retransmissions_are_not_all_explained() -> None:
    found = finding(client({"210 ms": 40}, retransmits_seen=4).model(), LOSS)
    assert 0.8e9 < found.claims["net.receive", DB] < 0.9e9  # four of the forty


def test_two_retransmissions_happen_on_any_network() -> None:
    assert check(client({"210 ms": 20}, retransmits_seen=2).model(), LOSS).number == 0


def test_loss_not_measured_is_not_fine() -> None:
    model = client({"210 ms": 20}).without("tcp").model()
    for id in (LOSS,):
        assert "feature tcp" in silence(model, id).fix
    sending = client({"210 ms": 20}, "net.send").without("tcp").model()
    for id in (RECEIVER, PATH):
        assert "feature tcp" in silence(sending, id).fix


def sender(**socket: Any) -> Builder:
    return client({"20 ms": 200}, "net.send", "peer:10.0.0.7:2049", **socket)


def test_a_full_receive_window_is_the_peers_reader() -> None:
    found = finding(
        sender(
            waits_receiver=150, waits_buffer=50, send_window_bytes=65_536, rtt_us=20_000, minimum_rtt_us=20_000
        ).model(),
        RECEIVER,
    )
    assert next(iter(found.claims.values())) == 4_000_000_000  # the own buffer is full because of it
    assert found.severity is Severity.WARNING
    assert any("3.12 MiB/s" in evidence.text for evidence in found.evidence)


@pytest.mark.parametrize(("receiver", "buffer", "held_ns"), [(58, 50, 4_000_000_000), (7, 81, 318_181_818)])
def test_who_reads_late_acknowledges_late(receiver: int, buffer: int, held_ns: int) -> None:
    """A slow reader was told twice, as a path on which packets queue as well; and a small buffer was told as that."""
    model = sender(waits_receiver=receiver, waits_buffer=buffer, rtt_us=10_730, minimum_rtt_us=709).model()
    assert check(model, PATH).number == 0
    told = findings(model, RECEIVER)
    assert sum(ns for each in told for ns in each.claims.values()) == held_ns


def test_waits_for_the_own_buffer_are_nobodys_window() -> None:
    model = sender(waits_buffer=200).model()
    assert check(model, RECEIVER).number == 0 and check(model, PATH).number == 0


def test_a_path_that_queues_is_congested() -> None:
    found = finding(sender(waits_congestion=200, rtt_us=90_000, minimum_rtt_us=20_000).model(), PATH)
    assert found.severity is Severity.WARNING and "queue on the way" in found.claim


def test_a_path_without_queue_or_loss_is_profile() -> None:
    found = finding(sender(waits_congestion=200, rtt_us=21_000, minimum_rtt_us=20_000).model(), PATH)
    assert found.severity is Severity.INFO


def test_a_full_buffer_on_a_path_that_queues_is_the_paths() -> None:
    found = finding(sender(waits_buffer=200, rtt_us=54_000, minimum_rtt_us=20_000).model(), PATH)
    assert "queue on the way" in found.claim and sum(found.claims.values()) == 4_000_000_000


NEAR = "peer:127.0.0.1:2049"


def near(**socket: Any) -> Builder:
    return client({"2 ms": 2000}, "net.send", NEAR, rtt_us=9_000, minimum_rtt_us=40, **socket)


def test_nothing_queues_on_the_way_to_a_peer_on_this_host() -> None:
    model = near(waits_congestion=200).model()
    found = finding(model, PATH)
    assert found.severity is Severity.INFO and "queue on the way" not in found.claim
    own_address = client(
        {"2 ms": 2000}, "net.send", "peer:10.0.0.2:2049", local="10.0.0.2:40000", waits_buffer=200, rtt_us=9_000
    )
    for builder in (near(waits_buffer=200), own_address):
        assert check(builder.model(), PATH).number == 0
        assert finding(builder.model(), PEER).severity is Severity.INFO


@pytest.mark.parametrize(("rtt_us", "queues"), [(45_000, False), (60_000, True)])
def test_no_late_acknowledgement_makes_a_round_trip_that_long(rtt_us: int, queues: bool) -> None:
    """A limit of the rate on this host's own interface, as a namespace or a container has one."""
    builder = client({"2 ms": 2000}, "net.send", NEAR, rtt_us=rtt_us, minimum_rtt_us=20, waits_congestion=200)
    found = finding(builder.model(), PATH)
    assert (found.severity is Severity.WARNING) is queues
    assert (found.mechanism is Mechanism.BUSY) is queues


def test_loss_on_the_way_to_a_peer_on_this_host_is_a_fault_all_the_same() -> None:
    found = finding(near(waits_congestion=200, retransmits_seen=20).model(), PATH)
    assert found.severity is Severity.WARNING and "packets are lost" in found.claim


def test_a_path_to_this_host_that_was_not_looked_at_is_not_fine() -> None:
    assert "feature tcp" in silence(near(waits_congestion=200).without("tcp").model(), PATH).fix


def test_a_full_buffer_on_a_free_path_is_nobodys_fault() -> None:
    model = sender(waits_buffer=200, rtt_us=5_000, minimum_rtt_us=5_000).model()
    found = finding(knowing(model, sysctl={"net/ipv4/tcp_wmem": "4096\t16384\t4194304"}), PEER)
    assert found.severity is Severity.INFO and "own send buffer" in found.claim
    assert "SO_SNDBUF" in found.remedies[0].text and "4194304" in found.remedies[0].text


def test_a_full_buffer_hides_no_slow_answers() -> None:
    """80 sends of a little over a round trip and four answers of a second: "waits for room in the own buffer"."""
    builder = client({"52 ms": 80}, "net.send", rtt_us=42_000, minimum_rtt_us=40_000, waits_buffer=58)
    builder.row("net.receive", DB, durations={"1 s": 4})
    assert "answers slowly: half of the waiting for answers is in waits of 1 s" in finding(builder.model(), PEER).claim


def test_a_full_buffer_is_told_beside_waits_for_the_answer_and_with_waits_of_a_round_trip() -> None:
    """An upload with a buffer of 4 KiB over 40 ms: "answers fast, but threads wait for it often"."""
    builder = client({"42 ms": 100}, "net.send", rtt_us=42_000, minimum_rtt_us=40_000, waits_buffer=58)
    builder.row("net.receive", DB, durations={"42 ms": 20})
    found = finding(builder.model(), PEER)
    assert "own send buffer" in found.headline and "4.20 s" in found.claim and found.mechanism is Mechanism.LIMIT


def test_a_peer_behind_a_lossy_path_is_not_slow_itself() -> None:
    builder = client({"5 ms": 300, "215 ms": 17}, rtt_us=4_600, minimum_rtt_us=4_000, retransmits_seen=20)
    found = finding(builder.model(), PEER)
    assert found.severity is Severity.INFO and any("20 segments" in evidence.text for evidence in found.evidence)


def test_a_small_window_after_idle_times_can_be_tried() -> None:
    setting = "net/ipv4/tcp_slow_start_after_idle"
    model = sender(waits_congestion=200, congestion_window=10, retransmits_seen=5).model()
    found = finding(knowing(model, sysctl={setting: "1"}), PATH)
    assert found.remedies[0].kind is RemedyKind.TRY
    assert found.remedies[0].undo == "sysctl -w net.ipv4.tcp_slow_start_after_idle=1"
    assert finding(knowing(model, sysctl={setting: "0"}), PATH).remedies[0].kind is RemedyKind.FIX


def test_a_target_without_network_is_silent_about_connections() -> None:
    model = Builder().thread(cpu_user="1 s").model()
    assert not findings(model, LOSS) and len(outcomes(model, LOSS)) == 1


def test_lost_records_lower_every_confidence() -> None:
    assert finding(client({"60 ms": 100}).lost(storage_failed=50).model(), PEER).confidence is Confidence.MEDIUM


@pytest.mark.parametrize(("peers", "told"), [(40, 1), (5, 5)])
def test_many_peers_that_are_no_fault_each_may_be_one_together(peers: int, told: int) -> None:
    builder = Builder(window="20 s").thread("shop", cpu_user="5 s")
    for number in range(peers):
        key = f"peer:10.0.0.{number}:80"
        builder.row("net.receive", key, durations={"20 ms": 10}).socket(key, rtt_us=100, minimum_rtt_us=100)
        builder.exchange(key, "connected", {"20 ms": 10}, bytes_out=100_000)
    found = findings(builder.model(), "NET-PEER-SLOW")
    assert len(found) == told
    assert (found[0].severity is Severity.WARNING) is (told == 1), found[0]
