"""Which findings a test has met on a real fault; the others say that only recordings have shown them."""

from __future__ import annotations

from pathlib import Path

from perfdiag.common.config import Config
from perfdiag.diagnosis.rule import NEVER_MET
from perfdiag.diagnosis.rules import RULES
from perfdiag.documents import explanation

TESTS = Path(__file__).parents[1]
REAL = ("truth", "incidents", "live", "lab")  # faults made for real
KINDS = (".py", ".toml")
# Rows of blind rounds allow them, whose reports named other findings.
NOT_SHOWN = {"CPU-IRQ-HEAVY", "DISK-ERRORS", "DISK-SATURATED", "NET-ACCEPT-HERD", "SQL-SLOW-QUERY"}


def real_faults() -> str:
    """Return what stands in all tests that make faults, without what these share."""
    return "\n".join(
        path.read_text()
        for folder in REAL
        for path in sorted((TESTS / folder).rglob("*"))
        if path.suffix in KINDS and "support" not in path.parts
    )


def test_a_finding_is_met_where_a_real_fault_asks_for_it() -> None:
    told = real_faults()
    met = {id for id in RULES if f'"{id}"' in told}
    assert len(met) > 60
    assert {id for id, rule in RULES.items() if rule.met} == met - NOT_SHOWN, "correct `met` of these rules"


def test_a_finding_that_was_never_met_says_so() -> None:
    for id, rule in RULES.items():
        text = " ".join(explanation.text(id, Config()).split())
        assert (NEVER_MET in text) is not rule.met, id
