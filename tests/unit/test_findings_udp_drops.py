"""NET-UDP-DROPS: at the target's own ports, and where it asks on this host."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Confidence, Severity, Silence
from perfdiag.facts.host_facts import Facts
from perfdiag.recording import schema

from unit.support import Builder
from unit.support.facts import facts, lines
from unit.support.judging import check, finding, outcomes

ID, PEER, PATH = "NET-UDP-DROPS", "peer:127.0.0.1:53", "/proc/100/net/udp"
HEAD = "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref ...\n"


def sockets(drops: int, port: int = 53) -> str:
    """Return a table of the kernel: a socket at this port with so many drops, and one without any."""
    rest = "00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0"
    return HEAD + "".join(
        f"{inode:6d}: 0100007F:{at:04X} {rest} {inode} 2 0000000000000000 {dropped}\n"
        for inode, at, dropped in ((77, port, drops), (78, 999, 0))
    )


def caller(begin: int, end: int, *, unanswered: int = 359) -> Builder:
    """Return a thread that asks a service 575 times, of which so many had no answer."""
    builder = Builder(window="10 s").thread("asking", cpu_user="100 ms").fact(PATH, sockets(begin), sockets(end))
    builder.row("net.receive", PEER, durations={"250 ms": 30, "500 us": 200})
    return builder.exchange(PEER, "datagram", {}, unawaited=575, untimed=575 - unanswered)


def server(begin: int, end: int, came: int) -> Builder:
    builder = Builder(window="10 s").thread("serving", cpu_user="100 ms").fact(PATH, sockets(begin), sockets(end))
    return builder.exchange("port:53", "datagram_port", {}, untimed=came, unawaited=came)


def test_the_caller_waits_for_what_was_dropped() -> None:
    model = caller(1000, 1359).model()
    found = finding(model, ID)
    assert found.severity is Severity.WARNING and not found.inside
    assert "dropped 359 datagrams" in found.headline and sum(found.claims.values()) == model.ns("net.receive")
    assert diagnose(model).findings[0].id == ID


def test_a_servers_own_port_is_told_without_time() -> None:
    found = finding(server(0, 50, 4000).model(), ID)
    assert found.severity is Severity.WARNING and found.inside and not found.claims
    assert "50 datagrams of 4,050 that came" in found.claim


@pytest.mark.parametrize(
    "builder",
    [
        caller(1000, 1000),
        caller(1000, 1005),
        caller(1000, 1012, unanswered=400),
        server(0, 9, 100),
        server(0, 50, 90_000),
        server(0, 50, 0),
    ],
    ids=["none", "few", "others are lost", "few of few", "few of many", "of nobody here"],
)
def test_what_is_dropped_elsewhere_or_seldom_is_no_cause(builder: Builder) -> None:
    assert check(builder.model(), ID).text


@pytest.mark.parametrize(
    ("errors", "buffer", "checksums", "memory", "says", "sure"),
    [
        (359, 359, 0, 0, "its receive buffer is full", True),
        (359, 0, 0, 0, "but not because its receive buffer was full", True),
        (359, 0, 359, 0, "because their checksums were wrong", True),
        (359, 0, 0, 359, "because memory for UDP was short", True),
        (718, 359, 0, 0, "its receive buffer is full", False),
    ],
    ids=["full", "refused", "damaged", "memory", "full and refused"],
)
def test_the_counters_of_the_network_say_why(
    errors: int, buffer: int, checksums: int, memory: int, says: str, sure: bool
) -> None:
    """A filter of the socket refused one datagram in six, and a larger buffer was told to help."""
    names, grown = ("InErrors", "RcvbufErrors", "InCsumErrors", "MemErrors"), (errors, buffer, checksums, memory)
    of_ipv4 = [f"Udp: {' '.join(names)}\nUdp: {' '.join(map(str, each))}\n" for each in ((0,) * 4, grown)]
    of_ipv6 = ["".join(f"Udp6{n}\t{v}\n" for n, v in zip(names, each, strict=True)) for each in ((0,) * 4, grown)]
    for file, (begin, end) in (("snmp", of_ipv4), ("snmp6", of_ipv6)):
        found = finding(caller(0, 359).fact(f"/proc/100/net/{file}", begin, end).model(), ID)
        assert found.headline.endswith(says) and (found.confidence is Confidence.HIGH) is sure
        assert ("SO_RCVBUF" in found.remedies[0].text) == ("is full" in says)


def resender(
    dropped: int = 709, *, arrived: int = 500, sent: int = 53, sleeps: int = 41, kernel: tuple[str, ...] = ()
) -> Builder:
    """Return a target that sleeps until it asks again; no socket is known to drop what its host dropped."""
    builder = Builder(window="10 s").thread("asking", cpu_user="400 ms")
    builder.row("net.receive", PEER, durations={"800 us": 58})
    if sleeps:
        builder.row("wait.timer", "", durations={"200 ms": sleeps})
    builder.exchange(PEER, "datagram", {}, unawaited=sent, untimed=768)
    if kernel:
        builder.stack("wait", "wait.timer", kernel=kernel, weight="8 s", count=40)
    snmp = "Udp: InDatagrams RcvbufErrors\nUdp: {} {}\n"
    return builder.fact("/proc/100/net/snmp", snmp.format(20, 1), snmp.format(20 + arrived, 1 + dropped))


def test_a_target_sleeps_until_it_asks_again_for_what_its_host_dropped() -> None:
    model = resender().model()
    found = finding(model, ID)
    assert "dropped 709 datagrams for the target" in found.headline and found.severity is Severity.WARNING
    assert found.confidence is Confidence.MEDIUM and sum(found.claims.values()) == model.ns("wait.timer")
    first, *_ = diagnose(model).findings
    assert (first.id, first.severity, first.idle_ns) == (ID, Severity.WARNING, model.ns("wait.timer"))


@pytest.mark.parametrize(
    "builder",
    [resender(sleeps=0), resender(sent=30), resender(kernel=("schedule", "do_nanosleep", "hrtimer_nanosleep"))],
    ids=["none", "more than it asked", "in sleep()"],
)
def test_sleeps_that_end_in_no_question_are_its_own(builder: Builder) -> None:
    found = finding(builder.model(), ID)
    assert "709 datagrams" in found.headline and not found.claims


@pytest.mark.parametrize(
    "builder",
    [resender(0), resender(9, sent=5), resender(arrived=2000), resender(sent=709), resender(sent=0)],
    ids=["none", "few", "others get more", "its peers may have dropped them", "it only receives"],
)
def test_what_the_namespace_dropped_may_be_others(builder: Builder) -> None:
    assert not [each for each in outcomes(builder.model(), ID) if not isinstance(each, Silence)]


def test_where_it_was_not_recorded_it_is_not_known() -> None:
    builder = Builder().thread("serving").exchange("port:53", "datagram_port", {}, untimed=80)
    (silence,) = outcomes(builder.model(), ID)
    assert isinstance(silence, Silence)


def test_a_table_that_is_cut_off_or_odd_is_read_as_far_as_it_goes() -> None:
    odd = sockets(7) + "  12: 0100007F:ZZZZ 1 2 3 4 5 6 7 8 9 10 11 12\n  13: short"
    assert facts({PATH: HEAD}, {PATH: odd}).udp_drops == {53: 7}
    assert facts(end={PATH: odd}).udp_drops is None and facts().udp_drops is None


@pytest.mark.parametrize(("cut_off", "expected"), [(False, {53: 900}), (True, {})])
def test_of_a_socket_that_may_have_been_there_before_nothing_is_known(cut_off: bool, expected: dict[int, int]) -> None:
    """Of more sockets than are recorded one can be in the table of the end alone."""
    begin = schema.Fact(at_ns=1, phase="begin", path=PATH, text=HEAD, truncated=cut_off)
    assert Facts.parse([begin, *lines(end={PATH: sockets(900)})]).udp_drops == expected
