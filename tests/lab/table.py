"""`make readme-kernels`: what attached on which kernel, as the last runs of the lab noted it, into the README."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from readme_block import replace_block

ROOT = Path(__file__).resolve().parents[2]
NOTED = ROOT / "build/lab/probes.json"
TITLE = """## What attaches on which kernel

Which features work on stock Debian kernels with all modules loaded, measured by `make lab`.

"""
BEGIN, END = "<!-- kernels: make readme-kernels -->\n", "<!-- end of kernels -->\n"

Noted = Mapping[str, Mapping[str, Mapping[str, Mapping[str, str]]]]  # {KERNEL: {"features": {FEATURE: {PROBE: STATE}}}}


def lines(noted: Noted, releases: Mapping[str, str]) -> Iterator[str]:
    """Yield the table: a row for each feature, a column for each kernel; below it why something is missing."""
    kernels = sorted(releases, key=lambda name: [int(number) for number in re.findall(r"\d+", releases[name])[:2]])
    features = list(dict.fromkeys(feature for kernel in kernels for feature in noted[kernel]["features"]))
    reasons: dict[str, int] = {}
    yield f"| feature | {' | '.join(releases[kernel] for kernel in kernels)} |"
    yield f"|---|{'---|' * len(kernels)}"
    for feature in sorted(features):
        cells = [_cell(noted[kernel]["features"].get(feature, {}), reasons) for kernel in kernels]
        yield f"| `{feature}` | {' | '.join(cells)} |"
    yield ""
    yield from (f"({number}) {reason}." for reason, number in reasons.items())


def _cell(probes: Mapping[str, str], reasons: dict[str, int]) -> str:
    """Return "all", "none (1)" or "2 of 3 (1)": how many programs of a feature attached, and why not the others."""
    if not probes:
        return "-"
    missing = dict.fromkeys(state for state in probes.values() if state != "attached")
    attached = sum(state == "attached" for state in probes.values())
    notes = "".join(f" ({reasons.setdefault(reason, len(reasons) + 1)})" for reason in missing)
    if not missing:
        return "all"
    return f"{f'{attached} of {len(probes)}' if attached else 'none'}{notes}"


def main() -> int:
    """Write the table anew; return 1 where the lab has noted nothing."""
    if not NOTED.exists():
        print("nothing was noted yet: make lab", file=sys.stderr)
        return 1
    noted = {name: value for name, value in json.loads(NOTED.read_text()).items() if "-preempt" not in name}
    releases = {name: value["release"] for name, value in noted.items()}
    replace_block(BEGIN, END, BEGIN + TITLE + "\n".join(lines(noted, releases)) + "\n\n" + END)
    return 0


if __name__ == "__main__":
    sys.exit(main())

__all__ = ["lines", "main"]
