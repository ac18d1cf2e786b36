"""The README's table of engines is what the lab has stored."""

from __future__ import annotations

import json

from lab.engines_table import STORED, block, lines
from readme_block import README


def test_readme_has_what_is_stored() -> None:
    assert block(json.loads(STORED.read_text())) in README.read_text(), "make readme-engines"


def test_every_engine_that_was_there_is_a_column() -> None:
    told = {"libbpf": {"ipc.pipe": 90, "cpu": 6, "runq.waking": 4}, "bpftrace": {"not told": 91}}
    table = list(lines({"6.1": {"a pipe": told}, "7.2": {"a pipe": {"libbpf": {"ipc.pipe": 88}}}}))
    assert table[0] == "| work | kernel | libbpf | bpftrace |"
    assert table[2:] == ["| a pipe | 6.1 | ipc.pipe 90, cpu 6 | not told 91 |", "| a pipe | 7.2 | ipc.pipe 88 | - |"]
