"""Queues of this host in which packets wait, are dropped, or made late on purpose."""

from __future__ import annotations

from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Mechanism, Severity
from perfdiag.facts.host_facts import Facts
from perfdiag.report.header import notes

from unit.support import Builder
from unit.support.judging import check, finding

PEER = "peer:10.98.0.2:8080"
FACT = "/traffic_control/100"
TBF = "eth0 tbf 8001:0 500000 0 {} {} {} {} 0\n"  # 4 Mbit/s


def uploads(rtt_us: int = 120_000, **socket: int) -> Builder:
    """Threads that wait 120 ms for the answer to each upload of 60 kB."""
    builder = Builder().thread("job", cpu_user="100 ms").row("net.receive", PEER, durations={"120 ms": 40})
    values = {"rtt_us": rtt_us, "minimum_rtt_us": 40, "in_flight": 42, "congestion_window": 123, **socket}
    return builder.socket(PEER, **values)


def test_a_shaper_of_this_host_is_named_before_the_peer() -> None:
    """What is in flight takes the round trip at the shaper's rate: it waits there."""
    model = uploads().fact(FACT, TBF.format(1, 1, 0, 7), TBF.format(2_400_000, 1800, 0, 1347)).model()
    found = finding(model, "NET-CONGESTION")
    assert found.headline == "Packets queue on this host: tbf on eth0 lets 4 Mbit/s out"
    assert found.mechanism is Mechanism.BUSY and found.severity is Severity.WARNING
    assert "tc qdisc del dev eth0 root" in found.remedies[0].text
    assert any("1,340 packets came too early" in each.text for each in found.evidence), found.evidence
    assert "NET-PEER-SLOW" not in [each.id for each in diagnose(model).findings]


def test_a_shaper_that_ended_with_its_target_is_known_from_the_begin() -> None:
    model = uploads().fact(FACT, TBF.format(1, 1, 0, 7), "").model()
    assert "tbf on eth0" in finding(model, "NET-CONGESTION").headline


def test_a_queue_elsewhere_is_told_as_one() -> None:
    """Neither a shaper with room to spare nor one that held nothing back explains it."""
    fast = "eth0 tbf 8001:0 500000000 0 1 1 0 {} 0\n"
    idle = TBF.format(1, 1, 0, 7)
    for begin, end in ((fast.format(1), fast.format(9)), (idle, idle), ("", "")):
        found = finding(uploads().fact(FACT, begin, end).model(), "NET-CONGESTION")
        assert found.headline == "The path to 10.98.0.2:8080 holds data up: packets queue on the way"


def test_a_peer_that_answers_late_over_a_fast_way_is_slow() -> None:
    model = uploads(rtt_us=400).model()
    assert "NET-PEER-SLOW" in [each.id for each in diagnose(model).findings]
    assert check(model, "NET-CONGESTION")


def test_data_that_was_not_asked_for_on_this_connection_waits_for_no_path() -> None:
    """Nothing was written before: the round trip tells of an earlier time."""
    model = uploads(waits_unasked=40).model()
    assert "NET-CONGESTION" not in [each.id for each in diagnose(model).findings]


def test_packets_that_this_host_drops_are_not_lost_on_the_way() -> None:
    begin, end = "eth0 pfifo 1:0 0 0 1 1 0 0 0\n", "eth0 pfifo 1:0 0 0 9 9 {} 0 0\n"
    for drops, here in ((90, True), (3, False)):
        builder = Builder().thread("job", cpu_user="100 ms").row("net.receive", PEER, durations={"220 ms": 40})
        builder.socket(PEER, rtt_us=400, minimum_rtt_us=300, retransmits=40, retransmits_seen=40)
        found = finding(builder.fact(FACT, begin, end.format(drops)).model(), "NET-RETRANSMITS")
        assert found.headline.endswith("are lost on this host: pfifo on eth0 drops them") is here, found.headline


def test_a_network_made_worse_on_purpose_stands_in_the_head() -> None:
    netem = "eth0 netem 1:0 125000 20000000 5 5 0 0 0\n"
    model = Builder().thread("job", cpu_user="1 s").fact(FACT, netem, netem).model()
    assert "netem on eth0, which is for tests, delays each packet by 20.0 ms, lets 1 Mbit/s out" in notes(model)
    assert not any("tests" in note for note in notes(Builder().thread("job").model()))


def test_lines_of_another_form_are_no_queues() -> None:
    lines = Builder().thread("job").fact(FACT, "eth0 tbf 8001:0 -5 0 1 1 0 7 0\nx\neth0\n", "").model()
    assert isinstance(lines.facts, Facts) and not lines.facts.traffic_queues
