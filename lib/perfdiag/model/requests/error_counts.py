"""Answers that are errors, by what was asked: how many there were of each status."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from perfdiag.recording import schema


def error_counts(lines: Iterable[schema.Answer], direction: str) -> Mapping[tuple[str, str], Mapping[str, int]]:
    """Return how often each status was answered, the most frequent first, by object and name."""
    found: defaultdict[tuple[str, str], dict[str, int]] = defaultdict(dict)
    for line in sorted(lines, key=lambda each: (-each.count, each.status)):
        if line.direction == direction:
            found[line.object, line.name][line.status] = line.count
    return found
