"""Pressure stall information (PSI) of the host and of control groups."""

from __future__ import annotations

from dataclasses import dataclass

from perfdiag.facts.texts import Texts, difference, lines_of, number, words_of


@dataclass(frozen=True)
class Pressure:
    """PSI of one resource, of the host or a cgroup: time begin to end in which some or all tasks were stalled."""

    some_ns: int | None
    full_ns: int | None
    some_avg10_percent: float | None  # at the end


def read_pressure(texts: Texts, path: str) -> Pressure | None:
    """Read one pressure file at the begin and the end."""
    begin, end = _fields(texts.text(path, "begin")), _fields(texts.text(path, "end"))
    if not begin and not end:
        return None
    return Pressure(
        some_ns=_stalled_ns(begin, end, "some"),
        full_ns=_stalled_ns(begin, end, "full"),
        some_avg10_percent=_percent((end or begin).get("some.avg10")),
    )


def _fields(text: str | None) -> dict[str, str]:
    fields: dict[str, str] = {}
    for line in lines_of(text):
        kind, *pairs = words_of(line) or [""]
        for pair in pairs:
            key, _, value = pair.partition("=")
            fields[f"{kind}.{key}"] = value
    return fields


def _stalled_ns(begin: dict[str, str], end: dict[str, str], kind: str) -> int | None:
    delta = difference(number(begin.get(f"{kind}.total")), number(end.get(f"{kind}.total")))
    return None if delta is None else delta * 1000


def _percent(text: str | None) -> float | None:
    whole, dot, part = (text or "").partition(".")
    left, right = number(whole), number(part) if dot else 0
    return None if left is None or right is None or right < 0 else left + right / 10 ** len(part)


__all__ = ["Pressure", "read_pressure"]
