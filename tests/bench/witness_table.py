"""What perfdiag and others answered to the same questions, at what cost, as kept in tests/data/witnesses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from bench.table import number
from bench.witness_answers import Answer
from live.support.workload import ROOT

KEPT = ROOT / "tests" / "data" / "witnesses"
DOCUMENT = ROOT / "tests" / "bench" / "WITNESSES.md"
HEAD = """# Witnesses: perfdiag beside tools of bcc and libbpf-tools

Seven questions whose true answer the workload knows itself, asked of all three at once, and what each costs alone.
`make bench ARGS=witnesses` measures (`WITNESSES="runqlat ugc"`: some of them), `make witness-table` writes this page.

All run in an emulated guest with the packages of Debian 12 and its stock kernel. *Start* is the time until a tool
traces in that slow machine, many times that of a real one; *memory* is its largest resident set. *Added instructions*
are those that it adds to each event of the load, beside which it runs alone, and *times as many* is what an event then
takes; they vary little, where times would. perfdiag runs all its programs, whatever the question, the others what they
need for it. Of ugc no instructions are counted. *Right* is what has the truth inside its range: a histogram of powers
of two answers with a range.
"""
NS_PER_MS = 1e6


@dataclass(frozen=True)
class Testimony:
    """What one tool answered, and its cost; or why it does not run, in its own words."""

    who: str
    command: str
    refused: str = ""
    answer: Answer | None = None
    error: float | None = None
    start_s: float | None = None
    peak_mebibytes: float | None = None
    added_instructions: int | None = None  # to each event of the load
    ratio: float | None = None  # of its instructions, traced and untraced


@dataclass(frozen=True)
class Comparison:
    """One question, its true answer, and those of the tools."""

    name: str
    asks: str
    unit: str  # "ns", or what is counted
    truth: float
    event: str  # what the load does; "" where no load was run
    kernel: str
    testimonies: list[Testimony]


def kept(folder: Path = KEPT) -> list[Comparison]:
    """Read all comparisons that are in the tree."""
    return [msgspec.json.decode(path.read_bytes(), type=Comparison) for path in sorted(folder.glob("*.json"))]


def write(folder: Path, comparison: Comparison) -> None:
    """Write one comparison."""
    folder.mkdir(parents=True, exist_ok=True)
    data = msgspec.json.format(msgspec.json.encode(comparison), indent=1)
    (folder / f"{comparison.name}.json").write_bytes(data + b"\n")


def amount(value: float, unit: str) -> str:
    """A value with its unit: times in milliseconds."""
    return f"{number(value / NS_PER_MS)} ms" if unit == "ns" else f"{value:,.0f} {unit}"


def said(answer: Answer, unit: str) -> str:
    """An answer as text."""
    if answer.low == answer.high:
        return amount(answer.low, unit)
    return f"{amount(answer.low, unit)} to {amount(answer.high, unit)}"


def row(testimony: Testimony, unit: str) -> str:
    """A row of the table in Markdown."""
    if testimony.refused or testimony.answer is None or testimony.error is None:
        words = testimony.refused.replace("|", "\\|")
        return f"| {testimony.who} | does not run: `{words}` | | | | | |"
    cells = [
        testimony.who,
        said(testimony.answer, unit),
        "right" if not testimony.error else f"{100 * testimony.error:+.1f} %",
        "" if testimony.start_s is None else f"{testimony.start_s:.1f} s",
        "" if testimony.peak_mebibytes is None else f"{testimony.peak_mebibytes:.0f} MiB",
        "" if testimony.added_instructions is None else f"{testimony.added_instructions:,}",
        "" if testimony.ratio is None else f"{testimony.ratio:.2f}",
    ]
    return f"| {' | '.join(cells)} |"


def text(comparison: Comparison, verdict: str) -> str:
    """One question with all answers, and who is right, in Markdown."""
    head = f"## {comparison.name}: {comparison.asks}\n\nTruth: {amount(comparison.truth, comparison.unit)}."
    load = f" Load: {comparison.event}." if comparison.event else ""
    rows = [
        "| who | answer | error | start | memory | added instructions | times as many |",
        "|---|---|---|---|---|---|---|",
        *(row(testimony, comparison.unit) for testimony in comparison.testimonies),
    ]
    return f"{head}{load}\n\n" + "\n".join(rows) + f"\n\n{verdict}\n"


def document(comparisons: Sequence[Comparison], verdicts: Mapping[str, str]) -> str:
    """The whole page."""
    return "\n".join([HEAD, *(text(one, verdicts[one.name]) for one in comparisons)])


def keep(measured: Path, verdicts: Mapping[str, str]) -> None:
    """Put fresh figures into the tree, and write the page anew."""
    for path in sorted(measured.glob("*.json")):
        write(KEPT, msgspec.json.decode(path.read_bytes(), type=Comparison))
        print(f"  {path.stem}")
    DOCUMENT.write_text(document(kept(), verdicts))


__all__ = [
    "DOCUMENT",
    "KEPT",
    "Comparison",
    "Testimony",
    "amount",
    "document",
    "keep",
    "kept",
    "row",
    "said",
    "text",
    "write",
]
