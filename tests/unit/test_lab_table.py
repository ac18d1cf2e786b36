"""The README's table of features and kernels."""

from __future__ import annotations

from conftest import ROOT
from lab.table import BEGIN, END, lines

ATTACHED = "attached"
NOTED = {
    "6.1": {"release": "6.1.0-56-amd64", "features": {"vm": {"kvm_exit": ATTACHED, "kvm_pio": "no tracepoint"}}},
    "newest": {"release": "7.2.1-amd64", "features": {"vm": {"kvm_exit": ATTACHED}, "nfs": {"a": "no tracepoint"}}},
    "6.12": {"release": "6.12.1-amd64", "features": {"vm": {"kvm_exit": ATTACHED}, "nfs": {"a": "too old"}}},
}


def test_what_attached_and_why_not() -> None:
    made = list(lines(NOTED, {name: value["release"] for name, value in NOTED.items()}))
    assert made == [
        "| feature | 6.1.0-56-amd64 | 6.12.1-amd64 | 7.2.1-amd64 |",
        "|---|---|---|---|",
        "| `nfs` | - | none (1) | none (2) |",
        "| `vm` | 1 of 2 (2) | all | all |",
        "",
        "(1) too old.",
        "(2) no tracepoint.",
    ]


def test_the_readme_has_the_place_for_it() -> None:
    readme = (ROOT / "README.md").read_text()
    assert readme.index(BEGIN) < readme.index(END)
