"""How many requests, or calls, there are at once: what the levels of a recording stand for."""

from collections.abc import Sequence

from perfdiag.recording import schema

TOLD_BELOW = 128  # from so many on levels are not told apart
_EXACT, _TWO = 32, 64  # below these a level stands for itself, or for two; above for four


def highest(level: int) -> int:
    """Return the highest of the levels that are told as this one."""
    if level < _EXACT:
        return level
    return level + (1 if level < _TWO else 3)


def told_as(level: int) -> int:
    """Return the level as which this one is told."""
    if level < _EXACT:
        return level
    return level // 2 * 2 if level < _TWO else level // 4 * 4


def above_ns(levels: Sequence[schema.Level], level: int) -> int:
    """Return for how long there were surely more than `level`."""
    return sum(each.sum_ns for each in levels if each.level > level)


def beyond_ns(levels: Sequence[schema.Level], level: int) -> int:
    """Return the time of all those together that were more than `level`, to one in thirty."""
    above = [each for each in levels if each.level > level]
    return sum(((each.level + highest(each.level)) // 2 - level) * each.sum_ns for each in above)


def together_ns(levels: Sequence[schema.Level] | Sequence[schema.CallLevel]) -> int:
    """Return the time of all of them together, to one in thirty."""
    return sum((each.level + highest(each.level)) * each.sum_ns // 2 for each in levels)
