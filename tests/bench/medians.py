"""Medians by version: `make bench` compares each run with the last one, and the README has its costs.

`make bench-keep` adds the last run to tests/data/bench/medians.json, and writes the README's table anew.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.table import Row, number, spread
from readme_block import replace_block

ROOT = Path(__file__).resolve().parents[2]
STORED = ROOT / "tests/data/bench/medians.json"
MOST_VERSIONS = 20
COMPARED = ("x", "ms", "s", "ns")  # other units, such as requests a second, tell what the machine can do
BEGIN, END = "<!-- costs: make bench-keep -->\n", "<!-- end of costs -->\n"
TITLE = """## What it costs

Measured by `make bench`: medians of windows with and without perfdiag in turns, and the range of 90 % of resampled
medians. Speed is that of the fastest quarter of transactions. By default measuring may take a third of the CPU time
that the target uses (`--max-cost`). Under load perfdiag gives up what is dearest until that is kept, and says so.

| load | with perfdiag | range |
|---|---|---|
"""
TOLD = {  # rows of the benchmark in the README's words
    "SQLite inserts, by the time of a fast transaction": "SQLite, a transaction for each insert: speed",
    "PostgreSQL, pgbench read-write, by the time of a fast transaction": "PostgreSQL, pgbench read-write: speed",
    "CPU time of a request, recorded / untraced": "nginx, small files: CPU time of a request",
    "CPU time of a request, --max-cost 5% / untraced": "the same with `--max-cost 5%`",
    "added by perfdiag": "two processes that pass a byte through pipes: added to a round trip",
    "recorder started until attached": "start of the recorder until it records",
    "perfdiag latency --duration 1, beyond its window": "`perfdiag latency --duration 1`: beyond that second",
}

Figure = Mapping[str, Any]  # "value", "low", "high", "unit", and whether more is better: "floor"
Version = Mapping[str, Any]  # "version", "host", and "rows": {NAME: Figure}


def stored() -> list[Version]:
    """Return all versions that were kept, the last one last."""
    return json.loads(STORED.read_text()) if STORED.exists() else []


def figures(rows: Sequence[Mapping[str, Any]]) -> dict[str, Figure]:
    """Return what is kept of the rows of bench.json, by name."""
    wanted = ("value", "low", "high", "unit", "floor")
    return {
        row["name"].strip(): {key: row[key] for key in wanted}
        for row in rows
        if row["value"] is not None and row["unit"] in COMPARED and row["low"] is not None
    }


def changes(rows: Sequence[Row], versions: Sequence[Version]) -> Iterator[str]:
    """Yield a line for each figure whose range does not meet that of the last version, and how many were compared."""
    last: dict[str, tuple[str, Figure]] = {}
    for version in versions:
        last |= {name: (version["version"], figure) for name, figure in version["rows"].items()}
    compared = apart = 0
    for row in rows:
        version, before = last.get(row.name.strip(), ("", {}))
        if not before or row.value is None or row.low is None or row.high is None:
            continue
        compared += 1
        if row.low <= before["high"] and before["low"] <= row.high:
            continue
        apart += 1
        better = (row.value > before["value"]) is row.floor
        was, now = spread(before["low"], before["high"]), spread(row.low, row.high)
        yield f"  {'better' if better else 'WORSE '} {row.name.strip()}: {was} at {version}, now {now} {row.unit}"
    yield f"  {compared} figures compared with versions kept before, {apart} of them differ"


def block(versions: Sequence[Version]) -> str:
    """Return what stands in the README between the two marks: the last version's figures."""
    version = versions[-1]
    lines = []
    for name, words in TOLD.items():
        if figure := version["rows"].get(name):
            unit = "times" if figure["unit"] == "x" else figure["unit"]
            lines.append(f"| {words} | {number(figure['value'])} {unit} | {spread(figure['low'], figure['high'])} |\n")
    host = version["host"]
    where = f"\nLinux {host['kernel']}, {host['CPUs']} CPUs, {host['date'][:10]}, version {version['version']}.\n\n"
    return BEGIN + TITLE + "".join(lines) + where + END


def keep(directory: Path) -> None:
    """Add the run whose bench.json is in a directory, and write the README's table."""
    data = json.loads((directory / "bench.json").read_text())
    command = ["git", "-C", str(ROOT), "describe", "--always", "--abbrev=8"]
    version = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    versions = stored()
    rows = figures(data["rows"])
    if versions and versions[-1]["version"] == version:  # another section of the same version
        rows = versions.pop()["rows"] | rows
    versions.append({"version": version, "host": data["host"], "rows": rows})
    STORED.parent.mkdir(exist_ok=True)
    STORED.write_text(json.dumps(versions[-MOST_VERSIONS:], indent=1) + "\n")
    replace_block(BEGIN, END, block(versions))


if __name__ == "__main__":
    keep(Path(sys.argv[1]))

__all__ = ["BEGIN", "END", "STORED", "block", "changes", "figures", "keep", "stored"]
