"""Packets that this host drops itself, and why."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.rule import Finding
from perfdiag.model.model import Model

from unit.support import Builder
from unit.support.judging import finding, findings

PEER, OTHER = "peer:10.0.0.9:80", "peer:10.0.0.8:80"


def lossy(*drops: tuple[str, str, int], lost: int = 40) -> Model:
    """Answers that come late, since segments are sent again; (peer, kind, packets) that this host dropped."""
    builder = Builder().thread("client", cpu_user="100 ms").row("net.receive", PEER, durations={"220 ms": 40})
    builder.socket(PEER, retransmits=lost, retransmits_seen=lost)
    for drop in drops:
        builder.packet_drop(*drop)
    return builder.model()


def lost(model: Model) -> Finding:
    return finding(model, "NET-RETRANSMITS")


@pytest.mark.parametrize(
    ("kind", "words", "command"),
    [
        ("firewall", "a firewall rule of this host drops packets", "iptables-save -c"),
        ("filter", "a filter of this host (BPF or tc) drops packets", "bpftool"),
        ("queue", "a full queue of an interface of this host drops packets", "tc -s qdisc"),
        ("reverse_path", "the reverse path filter of this host (rp_filter) drops packets", "rp_filter"),
    ],
)
def test_what_drops_them_is_named(kind: str, words: str, command: str) -> None:
    found = lost(lossy((PEER, kind, 38)))
    assert found.headline == f"Packets to 10.0.0.9:80 are lost: {words}"
    assert command in found.remedies[0].text
    assert any("38 packets from or to this peer" in each.text for each in found.evidence)


def test_what_the_peer_has_to_send_again_as_it_is_dropped_here_is_lost() -> None:
    """A policer at the interface: the peer sends again, which nobody here counts, and "answers fast" was told."""
    found = lost(lossy((PEER, "filter", 60), lost=0))
    assert found.headline == "Packets from 10.0.0.9:80 are lost: a filter of this host (BPF or tc) drops packets"
    assert "60 segments were sent again, or had to be" in found.claim
    assert not findings(lossy((PEER, "filter", 2), lost=0), "NET-RETRANSMITS")


@pytest.mark.parametrize("drops", [[], [(PEER, "firewall", 3)], [(OTHER, "firewall", 99)], [(PEER, "news", 99)]])
def test_few_drops_and_those_of_others_explain_nothing(drops: list[tuple[str, str, int]]) -> None:
    """Three of forty, another peer's, and a kind that this version does not know."""
    assert lost(lossy(*drops)).headline == "Packets to 10.0.0.9:80 are lost"


def test_the_reason_of_most_packets_counts() -> None:
    model = lossy((PEER, "checksum", 20), (PEER, "firewall", 30))
    assert "a firewall rule" in lost(model).headline


def test_connects_that_a_rule_drops_are_not_for_a_full_accept_queue() -> None:
    builder = Builder().thread("client", cpu_user="100 ms").row("net.connect", PEER, durations={"1 s": 8})
    builder.exchange(PEER, "connected", {}, connect={"1 s": 8}, retries=8, connects=8)
    found = finding(builder.packet_drop(PEER, "firewall", 8).model(), "NET-CONNECT-SLOW")
    assert found.headline.endswith(": a firewall rule of this host drops packets")
    assert "accept queue" not in found.remedies[0].text
