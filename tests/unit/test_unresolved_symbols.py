"""Names of functions that could not be looked up are counted, with reason and remedy."""

from __future__ import annotations

import re

import pytest
from perfdiag.model.coverage import unresolved_symbols

from conftest import ROOT
from unit.support import Builder


def told(*lines: tuple[str, str, int]) -> list[str]:
    builder = Builder().thread(cpu_user="1 s").stack("cpu", user=["0x12 (victim)", "main (victim)", "0x7f001234"])
    for line in lines:
        builder.unnamed(*line)
    model = builder.model()
    assert model.measured("stacks"), "stacks are there"
    return [f"{item.what}: {item.reason}" for item in model.not_measured if item.feature == "symbols"]


def test_nothing_is_said_where_nothing_is_missed() -> None:
    assert told() == []


def test_of_each_reason_the_files_with_most_addresses_stand_first() -> None:
    damaged, late = told(("a.so", "damaged", 1), ("b", "timeout", 1), ("c\x1b", "damaged", 7), ("d", "damaged", 2))
    assert damaged.startswith("names of 10 of 10 sampled addresses (in c\\x1b, d and 1 more): ")
    assert late.startswith("names of 1 of 3 sampled addresses (in b): ")


def test_a_file_that_is_not_known_is_not_named() -> None:
    assert told(("", "not started", 2))[0].startswith("names of 2 of 3 sampled addresses: ")


def test_a_reason_of_a_later_recorder_is_shown_as_it_is() -> None:
    assert told(("a", "of a new kind", 1)) == ["names of 1 of 3 sampled addresses (in a): of a new kind"]


@pytest.mark.parametrize("reason", unresolved_symbols.REASONS)
def test_every_reason_has_a_remedy(reason: str) -> None:
    items = Builder().thread(cpu_user="1 s").unnamed("a", reason, 1).model().not_measured
    (item,) = (item for item in items if item.feature == "symbols")
    assert item.reason != reason and item.fix


def test_reasons_are_those_of_the_recorder() -> None:
    written = re.findall(r'\[LACK_\w+\] = "(.*?)"', (ROOT / "lib/recorder/symbols/unnamed_addresses.c").read_text())
    assert sorted(written) == sorted(unresolved_symbols.REASONS)
