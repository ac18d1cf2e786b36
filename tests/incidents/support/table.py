"""What the results come to: a confusion matrix, shares, sums; as text and as data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any

import msgspec

from incidents.support.judge import NEAR_ENOUGH, NONE, Result, correct

FAILED = "(no report)"


def line(result: Result) -> str:
    """Return one result as a line."""
    state = "ok   " if result.right else "WRONG"
    said = result.failure or ", ".join(result.found) or NONE
    if result.right and result.found:
        said = " > ".join(result.found)
    expected = "" if result.right else f"; expected {' > '.join([result.first, *result.then])}"
    expected += "" if result.says else ", with another claim"
    shares = "".join(
        f"  {share.of} {share.measured:.0%} of {share.injected:.0%}{' (!)' if share in result.far_off else ''}"
        for share in result.shares
    )
    return f"{state} {f'{result.incident}/{result.case}':32} {said}{expected}{shares}"


def matrix(results: Sequence[Result]) -> Iterator[str]:
    """Yield the lines of the matrix: a row for what was made, a column for what was found first."""
    cells = Counter((result.first, FAILED if result.failure else result.found_first) for result in results)
    rows = sorted({row for row, _ in cells}, key=lambda name: (name == NONE, name))
    columns = sorted({column for _, column in cells} - {FAILED}, key=lambda name: (name == NONE, name))
    columns += [FAILED] if any(result.failure for result in results) else []
    width = max(map(len, [*rows, "made, down"]))
    yield "CONFUSION MATRIX: what was made, down; what was found first, across"
    for number, column in enumerate(columns, 1):
        yield f"  {number:2} {column}"
    yield f"{'':{width}} {''.join(f'{number:5}' for number in range(1, len(columns) + 1))}"
    for row in rows:
        counts = "".join(f"{cells[row, column] or '.':>5}" for column in columns)
        yield f"{row:{width}} {counts}"


def figures(results: Sequence[Result]) -> dict[str, Any]:
    """Return the sums over all results."""
    faults = [result for result in results if result.kind == "fault"]
    healthy = [result for result in results if result.kind != "fault"]
    shares = [share for result in results for share in result.shares]
    return {
        "faults": len(faults),
        "first_right": sum(result.first_right for result in faults),
        "in_order": sum(result.right for result in faults),
        "healthy": len(healthy),
        "false_alarms": sum(result.false_alarm for result in healthy),
        "failed": sum(bool(result.failure) for result in results),
        "shares": len(shares),
        "shares_far_off": sum(len(result.far_off) for result in results),
        "share_error_mean": sum(abs(share.apart) for share in shares) / len(shares) if shares else None,
        "share_error_max": max((abs(share.apart) for share in shares), default=None),
        "seconds": sum(result.seconds for result in results),
        "withheld": [result.withheld for result in results],
    }


def text(results: Sequence[Result]) -> Iterator[str]:
    """Yield the lines of the whole account."""
    yield from (line(result) for result in results)
    yield ""
    yield from matrix(results)
    yield ""
    sums = figures(results)
    accuracy = f"{sums['first_right'] / sums['faults']:.0%}" if sums["faults"] else "none made"
    yield f"top-1 accuracy  {sums['first_right']} of {sums['faults']} faults ({accuracy}), {sums['in_order']} in order"
    yield f"false alarms    {sums['false_alarms']} of {sums['healthy']} healthy twins and near misses"
    if sums["shares"]:
        yield (
            f"shares          {sums['shares'] - sums['shares_far_off']} of {sums['shares']} within"
            f" {100 * NEAR_ENOUGH:.0f} points of the injected truth; off by {100 * sums['share_error_mean']:.1f} points"
            f" on average, {100 * sums['share_error_max']:.1f} at most"
        )
    yield f"without report  {sums['failed']}"
    yield f"time            {sums['seconds'] / 60:.1f} min"
    if sums["withheld"]:
        yield (
            f"this host       gave others {median(sums['withheld']):.0%} of the time that the machine wanted to run,"
            f" {max(sums['withheld']):.0%} at most; what takes the machine long is slow there, too"
        )


def document(results: Sequence[Result], kernel: str, release: str, ended: str) -> bytes:
    """Return everything as JSON."""
    content = {
        "kernel": kernel,
        "release": release,
        "ended": ended,
        "correct": ended == "complete" and correct(results),
        "figures": figures(results),
        "results": [
            {
                **msgspec.to_builtins(result),
                "right": result.right,
                "shares": [{**msgspec.to_builtins(share), "apart": share.apart} for share in result.shares],
            }
            for result in results
        ],
    }
    return msgspec.json.format(msgspec.json.encode(content), indent=1) + b"\n"


__all__ = ["document", "figures", "line", "matrix", "text"]
