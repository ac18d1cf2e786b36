"""`make readme-engines`: what each engine tells of the same work, as the lab has stored it, into the README."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from readme_block import replace_block

ROOT = Path(__file__).resolve().parents[2]
STORED = ROOT / "tests/data/engines.json"
TITLE = """## What each engine tells

Percent of the time of all threads by account. All engines recorded the same work at the same time in emulated machines
(`make lab ARGS="-k engines --update"`). The test fails if an engine differs from `libbpf` by more than 5 points in an
account that it can see. `disk` is `disk.flush` and `disk.write`, `cpu` all accounts of that name; "not told" is time
that an engine cannot attribute.

"""
BEGIN, END = "<!-- engines: make readme-engines -->\n", "<!-- end of engines -->\n"
ORDER = ("libbpf", "bcc", "bpftrace", "dtrace")

Stored = Mapping[str, Mapping[str, Mapping[str, Mapping[str, int]]]]  # {KERNEL: {WORK: {ENGINE: {ACCOUNT: PERCENT}}}}


def lines(stored: Stored) -> Iterator[str]:
    """Yield the table: a row for each work on each kernel, a column for each engine."""
    engines = [name for name in ORDER if any(name in told for works in stored.values() for told in works.values())]
    yield f"| work | kernel | {' | '.join(engines)} |"
    yield f"|---|---|{'---|' * len(engines)}"
    for work in sorted({work for works in stored.values() for work in works}):
        for kernel in sorted(stored):
            if told := stored[kernel].get(work):
                cells = [_cell(told[name]) if name in told else "-" for name in engines]
                yield f"| {work} | {kernel} | {' | '.join(cells)} |"


def _cell(told: Mapping[str, int]) -> str:
    """Return the largest accounts, of 5 % or more."""
    largest = sorted(told.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{name} {percent}" for name, percent in largest if percent >= 5)


def block(stored: Stored) -> str:
    """Return what stands in the README between the two marks."""
    return BEGIN + TITLE + "\n".join(lines(stored)) + "\n\n" + END


def main() -> int:
    """Write the table anew; return 1 where the lab has stored nothing."""
    if not STORED.exists():
        print("nothing was stored yet: make lab ARGS='-k engines --update'", file=sys.stderr)
        return 1
    replace_block(BEGIN, END, block(json.loads(STORED.read_text())))
    return 0


if __name__ == "__main__":
    sys.exit(main())

__all__ = ["block", "lines", "main"]
