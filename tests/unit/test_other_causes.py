"""What another rule has ruled out is no alternative; pointers lead to findings that there are."""

from __future__ import annotations

from dataclasses import replace

import pytest
from perfdiag.diagnosis.other_causes import with_other_causes
from perfdiag.diagnosis.rule import LOST_ANSWERS, LOST_PACKETS, Check

from unit.support.reports import finding

SLOW = replace(
    finding("NET-PEER-SLOW", {"net.receive": 10**9}, "A peer is slow."), alternatives=[LOST_PACKETS, "other"]
)
LOST = finding("NET-RETRANSMITS", {"net.receive": 10**9}, "Packets are lost.")
RULED_OUT = Check("NET-RETRANSMITS", "nothing was sent again", 0.0, "share")


@pytest.mark.parametrize(
    ("others", "checks", "told"),
    [
        ([], [RULED_OUT], ["other"]),
        ([LOST], [], ["packets are lost on the way: see NET-RETRANSMITS", "other"]),
        ([LOST], [RULED_OUT], ["packets are lost on the way: see NET-RETRANSMITS", "other"]),
        ([], [], ["packets are lost on the way", "other"]),
    ],
    ids=["ruled out", "found", "found elsewhere", "could not look"],
)
def test_an_alternative_is_told_as_far_as_its_rule_knows(others: list, checks: list, told: list[str]) -> None:
    assert with_other_causes([SLOW, *others], checks)[0].alternatives == told


def test_a_rule_rules_out_only_what_it_can_see() -> None:
    """Only who sends something again knows that it was lost: here, questions; at the peer, answers."""
    slow = replace(SLOW, alternatives=[LOST_ANSWERS])
    assert with_other_causes([slow], [RULED_OUT])[0].alternatives == [LOST_ANSWERS.unseen]
