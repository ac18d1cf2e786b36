"""Queues of this host in which packets wait, are dropped, or made late on purpose."""

from __future__ import annotations

from typing import Any

from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Mechanism, Severity
from perfdiag.facts.host_facts import Facts
from perfdiag.report.header import notes

from unit.support import Builder
from unit.support.judging import check, finding

PEER = "peer:10.98.0.2:8080"
FACT = "/traffic_control/100"
ADDRESS = "eth0 address 10.98.0.1\n"
TBF = "eth0 tbf 8001:0 ffff:ffff 500000 0 {} {} {} {} 0\n" + ADDRESS  # 4 Mbit/s


def uploads(rtt_us: int = 120_000, **socket: Any) -> Builder:
    """Threads that wait 120 ms for the answer to each upload of 60 kB."""
    builder = Builder().thread("job", cpu_user="100 ms").row("net.receive", PEER, durations={"120 ms": 40})
    known = {"local": "10.98.0.1:39364", "rtt_us": rtt_us, "minimum_rtt_us": 40, "in_flight": 42, "waits_unasked": 0}
    return builder.socket(PEER, **(known | socket))


def test_a_shaper_of_this_host_is_named_before_the_peer() -> None:
    """What is in flight takes the round trip at the shaper's rate: it waits there."""
    model = uploads().fact(FACT, TBF.format(1, 1, 0, 7), TBF.format(2_400_000, 1800, 0, 1347)).model()
    found = finding(model, "NET-CONGESTION")
    assert found.headline == "Packets queue on this host: tbf on eth0 lets 4 Mbit/s out"
    assert found.mechanism is Mechanism.BUSY and found.severity is Severity.WARNING
    assert found.remedies[0].text.endswith("nsenter -t 100 -n tc -s qdisc show dev eth0")
    assert any("1,340 packets over its rate" in each.text for each in found.evidence), found.evidence
    assert "NET-PEER-SLOW" not in [each.id for each in diagnose(model).findings]


def test_a_shaper_that_ended_with_its_target_is_known_from_the_begin() -> None:
    model = uploads().fact(FACT, TBF.format(1, 1, 0, 7), "").model()
    assert "tbf on eth0" in finding(model, "NET-CONGESTION").headline


def test_a_queue_elsewhere_is_told_as_one() -> None:
    """Neither a shaper with room to spare nor one that held nothing back explains it."""
    fast = "eth0 tbf 8001:0 ffff:ffff 500000000 0 1 1 0 {} 0\n" + ADDRESS
    idle, busy = TBF.format(1, 1, 0, 7), TBF.format(2, 2, 0, 9)
    other = [text.replace("eth0", "eth1", 1) for text in (idle, busy)]  # the connection does not pass that one
    several = [text + text.replace("8001", "8002") for text in (idle, busy)]  # which of two classes is not known
    for begin, end in ((fast.format(1), fast.format(9)), (idle, idle), ("", ""), other, several):
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
    text = "eth0 {} 1:0 ffff:ffff 0 0 9 9 {} 0 0\n" + ADDRESS
    for kind, drops, here in (("pfifo", 90, True), ("pfifo", 3, False), ("pfifo", 9000, False), ("clsact", 90, False)):
        builder = Builder().thread("job", cpu_user="100 ms").row("net.receive", PEER, durations={"220 ms": 40})
        builder.socket(PEER, local="10.98.0.1:39364", rtt_us=400, retransmits=40, retransmits_seen=40)
        found = finding(builder.fact(FACT, text.format(kind, 0), text.format(kind, drops)).model(), "NET-RETRANSMITS")
        assert found.headline.endswith("are lost on this host: pfifo on eth0 drops them") is here, found.headline


def test_a_network_made_worse_on_purpose_stands_in_the_head() -> None:
    netem = "eth0 netem 1:0 ffff:ffff 125000 20000000 5 5 0 0 0\n"
    model = Builder().thread("job", cpu_user="1 s").fact(FACT, netem, netem).model()
    assert "netem on eth0, which is for tests, delays each packet by 20.0 ms, lets 1 Mbit/s out" in notes(model)
    assert not any("tests" in note for note in notes(Builder().thread("job").model()))


def test_lines_of_another_form_are_no_queues() -> None:
    lines = Builder().thread("job").fact(FACT, "eth0 tbf 8001:0 -5 0 1 1 0 7 0\nx\neth0\n", "").model()
    assert isinstance(lines.facts, Facts) and not lines.facts.traffic_queues


def test_a_name_that_a_shell_could_take_for_more_is_in_no_command() -> None:
    """A container names its interfaces."""
    text = TBF.replace("eth0", "$(reboot)")
    found = finding(uploads().fact(FACT, text.format(1, 1, 0, 7), text.format(9, 9, 0, 99)).model(), "NET-CONGESTION")
    assert "reboot" in found.headline and not any("reboot" in remedy.text for remedy in found.remedies)


def test_an_acknowledgement_that_comes_with_a_late_answer_is_no_queue() -> None:
    model = uploads(in_flight=1).model()
    assert "NET-CONGESTION" not in [each.id for each in diagnose(model).findings]
