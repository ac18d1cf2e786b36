"""What tools of bcc and libbpf-tools print, as numbers: a histogram answers with a range, a sum with itself."""

from __future__ import annotations

import re
from dataclasses import dataclass

ROW = re.compile(r"^ *(\d+) -> (\d+) +: (\d+) ", re.MULTILINE)
UNIT_NS = {"nsecs": 1, "usecs": 1_000, "msecs": 1_000_000}
TRACEBACK = "Traceback (most recent call last):"
# As bcc's tools print it, and as those of libbpf-tools do: "pid = 7", "pid = 7 spin", "disk = b'loop0'".
SECTION = re.compile(r"^(?:pid|tgid|disk) += +(?:b')?(\w+)\b.*$", re.MULTILINE)
STACK_END = re.compile(r"^ +-\s+(\S.*) \(\d+\)\s+(\d+)$", re.MULTILINE)


class Unreadable(Exception):
    """A tool printed something else than it does."""


@dataclass(frozen=True)
class Answer:
    """A number, or the least and the greatest that it can be."""

    low: float
    high: float

    def error(self, truth: float) -> float:
        """How far the truth is outside, in parts of the truth; nothing for what lies inside."""
        nearest = min(max(truth, self.low), self.high)
        return (nearest - truth) / truth


def exactly(value: float) -> Answer:
    """An answer that is a number."""
    return Answer(value, value)


def section(text: str, name: str) -> str:
    """Return what a tool printed of one process or disk; nothing where it has no word of it."""
    parts = SECTION.split(text)
    return "".join(part for key, part in zip(parts[1::2], parts[2::2], strict=True) if key == name)


def histogram(text: str) -> Answer:
    """Return what all counted together can have taken, in nanoseconds."""
    rows = [tuple(map(int, row)) for row in ROW.findall(text)]
    if not rows:
        return exactly(0)
    unit = next((ns for word, ns in UNIT_NS.items() if word in text), None)
    if unit is None:
        raise Unreadable(f"a histogram without a unit: {text[:200]}")
    low, high = (sum(count * edge for *edges, count in rows for edge in [edges[which]]) for which in (0, 1))
    return Answer(low * unit, (high + sum(count for *_, count in rows)) * unit)


def counted(text: str) -> int:
    """Return how many a histogram has."""
    return sum(int(count) for _, _, count in ROW.findall(text))


def blocked(text: str, comm: str, function: str) -> Answer:
    """Return the time of all stacks of threads of one name that have a function, in nanoseconds."""
    found = 0
    begin = 0
    for end in STACK_END.finditer(text):
        stack, begin = text[begin : end.start()], end.end()
        found += int(end[2]) * 1_000 if end[1] == comm and function in stack else 0
    return exactly(found)


def column(text: str, name: str) -> Answer:
    """Return the sum of a column of numbers, by its name."""
    head: list[str] = []
    found = 0.0
    for words in map(str.split, text.splitlines()):
        if name in words:
            head = words
        elif head and len(words) == len(head):
            found += float(words[head.index(name)])
    if not head:
        raise Unreadable(f"no column {name}: {text[:200]}")
    return exactly(found)


def slow_calls(text: str, name: str, kinds: str) -> Answer:
    """Return the time of all calls of some kinds for one file, as the tools that list slow ones print it."""
    rows = [line.split() for line in text.splitlines() if line.endswith(f" {name}")]
    return exactly(sum(float(row[-2]) * 1e6 for row in rows if row[3] in kinds))


def collections(text: str, at: int, kind: str = "") -> Answer:
    """Return the time of all collections of a Java program, of which the column `at` has microseconds."""
    rows = [line.split() for line in text.splitlines() if line[:1].isdigit() and kind in line]
    return exactly(sum(float(row[at]) * 1e3 for row in rows))


def refusal(said: str) -> str:
    """Return why a tool does not run, in its own words: of Python the last ones, of others the first."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    if not lines:
        return "it ended without a word"
    return lines[-1] if TRACEBACK in said else lines[0]


__all__ = [
    "Answer",
    "Unreadable",
    "blocked",
    "collections",
    "column",
    "counted",
    "exactly",
    "histogram",
    "refusal",
    "section",
    "slow_calls",
]
