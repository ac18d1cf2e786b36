"""MEM-FRAGMENTATION: compaction by what it is for."""

from __future__ import annotations

from typing import Any

from perfdiag.diagnosis.rule import Confidence, RemedyKind, Severity
from perfdiag.facts.host_facts import TransparentHugePages
from perfdiag.model.model import Model

from unit.support import Builder
from unit.support.facts import facts
from unit.support.judging import check, finding, knowing, silence

FRAGMENTATION = "MEM-FRAGMENTATION"
ALWAYS = TransparentHugePages(enabled="always", defrag="always")
# 4,096 pages alone, 1,024 pairs, one piece of 2 MiB.
PIECES = [4096, 1024, 0, 0, 0, 0, 0, 0, 0, 1, 0]


def compacting(key: str, **known: Any) -> Model:
    builder = Builder().thread(cpu_user="1 s").row("memory.compaction", key, durations={"2 ms": 1000})
    return knowing(builder.model(), **({"transparent_huge_pages": ALWAYS, "free_pieces": PIECES} | known))


def test_huge_pages_are_left_to_the_background() -> None:
    counters = {"compact_stall": 1200, "compact_fail": 900}
    found = finding(compacting("order:9", vmstat=counters), FRAGMENTATION)
    assert found.severity is Severity.WARNING and found.confidence is Confidence.HIGH
    assert "for huge pages of 2.00 MiB" in found.claim
    assert dict(found.claims) == {("memory.compaction", "order:9"): 2_000_000_000}
    texts = [each.text for each in found.evidence]
    assert any("1,200" in text for text in texts)
    assert any("26.0 MiB" in text for text in texts)
    trial = found.remedies[0]
    assert trial.kind is RemedyKind.TRY and trial.text.startswith("echo defer > ")
    assert trial.undo.startswith("echo always > ")


def test_other_large_pieces_are_not_huge_pages() -> None:
    found = finding(compacting("order:3"), FRAGMENTATION)
    assert "32.0 KiB" in found.claim


def test_huge_pages_already_made_in_the_background_are_left_alone() -> None:
    deferred = TransparentHugePages(enabled="always", defrag="defer")
    remedies = finding(compacting("order:9", transparent_huge_pages=deferred), FRAGMENTATION).remedies
    assert all(remedy.kind is RemedyKind.FIX for remedy in remedies)


def test_a_size_that_is_not_known_is_not_said() -> None:
    found = finding(compacting("", free_pieces=[]), FRAGMENTATION)
    assert found.confidence is Confidence.MEDIUM


def test_a_touch_of_compaction_is_fine() -> None:
    assert check(Builder().thread(cpu_user="5 s", memory_compaction=("20 ms", 9)).model(), FRAGMENTATION).number < 0.01


def test_compaction_not_measured_is_not_fine() -> None:
    model = Builder().thread(cpu_user="5 s").without("compaction").model()
    assert "not measured" in silence(model, FRAGMENTATION).reason


def test_free_pieces_are_summed_over_nodes_and_zones() -> None:
    text = "Node 0, zone      DMA      1      0      2\nNode 1, zone   Normal     10      5      0      7\nshort\n"
    assert list(facts({"/proc/buddyinfo": text}).free_pieces) == [11, 5, 2, 7]
    assert list(facts().free_pieces) == []
