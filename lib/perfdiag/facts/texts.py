"""The recorded texts themselves: look-ups by path and phase, differences, and why something is not known."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import update_wrapper
from typing import Any, Generic, TypeVar, overload

import msgspec

from perfdiag.recording import schema

T = TypeVar("T")
PHASES = ("end", "begin", "series")  # where a value is looked for when no phase is asked for: the newest first
KEPT_MISSES = 8
NUMBER_DIGITS = 20  # of 2**64 - 1; what is longer is no counter
WORD = re.compile(r"[^ \t\n]+")
NUMBERS = re.compile(r"([0-9]{1,18})")


def number(text: str | None) -> int | None:
    """Return a decimal integer, or None for anything else."""
    text = (text or "").strip()
    digits = text.removeprefix("-")
    if not digits.isascii() or not digits.isdigit() or len(digits) > NUMBER_DIGITS:
        return None
    return int(text)


def lines_of(text: str | None) -> list[str]:
    """Return the lines of a kernel text; U+2028, form feeds and the like are part of a name, not the end of a line."""
    return text.removesuffix("\n").split("\n") if text else []


def words_of(text: str | None) -> list[str]:
    """Return the words of a kernel text; other blanks than the kernel's own (U+2003, say) are part of a name."""
    return WORD.findall(text or "")


def chosen(text: str | None) -> str | None:
    """Return the bracketed word of "always [madvise] never"; a lone word is its own choice."""
    if not text or not text.strip():
        return None
    match = re.search(r"\[([^\[\]]+)\]", text)
    if match:
        return match[1]
    words = words_of(text)
    return words[0] if len(words) == 1 else None


def difference(begin: int | None, end: int | None) -> int | None:
    """Return end - begin; None if either is unknown or the counter was reset."""
    if begin is None or end is None or end < begin:
        return None
    return end - begin


def table(text: str | None) -> dict[str, int]:
    """Parse lines "name value" or "name: value [unit]" as in vmstat, memory.stat and meminfo; kB becomes bytes."""
    values: dict[str, int] = {}
    for line in lines_of(text):
        words = words_of(line)
        value = number(words[1]) if len(words) in (2, 3) else None
        if value is not None:
            values[words[0].rstrip(":")] = value * 1024 if words[2:] == ["kB"] else value
    return values


class Misses:
    """The first look-ups that failed, each once: a reason names three, and a recording may lack thousands of paths."""

    def __init__(self) -> None:
        self.first: list[str] = []
        self.last = ""

    def append(self, why: str) -> None:
        """Note a look-up that failed."""
        self.last = why
        if len(self.first) < KEPT_MISSES and why not in self.first:
            self.first.append(why)

    def add(self, others: Sequence[str]) -> None:
        """Note look-ups that failed for a fact: facts are asked for again for each of thousands of lines."""
        if len(self.first) == KEPT_MISSES and others:
            self.last = others[-1]
            return
        for why in others:
            self.append(why)

    def put_first(self, why: str) -> None:
        """Note a reason that is told before all others."""
        self.first = [why, *(each for each in self.first if each != why)][:KEPT_MISSES]


class Texts:
    """All facts of a recording by path; remembers which look-ups failed, for `Facts.reason`."""

    def __init__(self, lines: Sequence[schema.Fact]) -> None:
        self._lines: dict[str, list[schema.Fact]] = {}
        self.misses = Misses()
        for line in lines:
            self._lines.setdefault(line.path, []).append(_without_part_of_a_line(line))

    def __contains__(self, path: str) -> bool:
        return any(line.text is not None for line in self._lines.get(path, ()))

    def text(self, path: str, phase: str | None = None) -> str | None:
        """Return the text of a path at a phase, or the newest of the end, the begin and the series."""
        found = self._lines.get(path, [])
        for wanted in (phase,) if phase else PHASES:
            for line in reversed(found):
                if line.phase == wanted and line.text is not None:
                    return line.text
        errors = [line.error for line in found if line.error]
        self.misses.append(f"{path}: {errors[-1] if errors else 'not recorded'}")
        return None

    def errors(self, path: str) -> list[str]:
        """Return why a path could not be read."""
        return [line.error for line in self._lines.get(path, ()) if line.error]

    def phases(self, path: str, phases: Iterable[str]) -> list[str]:
        """Return the texts of a path at some phases, in that order; the newest of those that are not known."""
        lines = self._lines.get(path, ())
        found = [line.text for phase in phases for line in lines if line.phase == phase and line.text is not None]
        newest = self.text(path) if not found else None
        return found if newest is None else [newest]

    def is_cut_off(self, path: str, phase: str) -> bool:
        """Return True when the text of a path at a phase was longer than is kept."""
        return any(line.truncated for line in self._lines.get(path, ()) if line.phase == phase)

    def word(self, path: str, phase: str | None = None) -> str | None:
        """Return the text without surrounding blanks; None when nothing is left."""
        return (self.text(path, phase) or "").strip() or None

    def word_if_recorded(self, path: str) -> str | None:
        """Return what `word` does of a file that not every host has: where there is none, nothing is missed."""
        return self.word(path) if path in self else None

    def number(self, path: str, phase: str | None = None) -> int | None:
        """Return the text as an integer."""
        return number(self.text(path, phase))

    def last(self, path: str) -> str | None:
        """Return the text of the end; the newest of the series where the end could not be read, as that of a target
        that is gone by then."""
        newest = max((each for each in self._lines.get(path, ()) if each.text is not None), key=_at_ns, default=None)
        gone = newest is not None and newest.phase == "series" and self.errors(path)
        return newest.text if newest is not None and gone else self.text(path, "end")

    def delta(self, path: str) -> int | None:
        """Return how far a counter went from the begin to the end, or to the last time that it could be read."""
        return difference(self.number(path, "begin"), number(self.last(path)))

    def series(self, path: str) -> list[tuple[int, str]]:
        """Return (at_ns, text) of all phases, in time."""
        return sorted((line.at_ns, line.text) for line in self._lines.get(path, ()) if line.text is not None)

    def at_ns(self, phase: str) -> int | None:
        """Return when the first fact of a phase was read."""
        times = (line.at_ns for found in self._lines.values() for line in found if line.phase == phase)
        return min(times, default=None)

    def missing(self, why: str) -> None:
        """Note a reason that says more than a missing file: it is told first."""
        self.misses.put_first(why)

    def match(self, pattern: str) -> Iterator[tuple[str, re.Match[str]]]:
        """Yield (path, match) of every recorded path that the regular expression matches as a whole."""
        compiled = re.compile(pattern)
        found = False
        for path in self._lines:
            match = compiled.fullmatch(path)
            if match:
                found = True
                yield path, match
        if not found:
            self.misses.append(self._why_none(re.split(r"[(\[*.]", pattern)[0]))

    def names(self, pattern: str) -> list[str]:
        """Return the distinct first groups of all matching paths, in natural order (cpu2 before cpu10)."""
        return sorted({match[1] for _, match in self.match(pattern)}, key=natural)

    def _why_none(self, beginning: str) -> str:
        """A pattern that matched nothing on the host is recorded with its error."""
        for path, found in self._lines.items():
            before, star, _ = path.partition("*")
            if star and before.startswith(beginning) and found[-1].error:
                return f"{path}: {found[-1].error}"
        return f"{beginning}...: not recorded"


def _at_ns(line: schema.Fact) -> int:
    return line.at_ns


def _without_part_of_a_line(line: schema.Fact) -> schema.Fact:
    """Of a text that was cut off within a line, what is left of that says something else than the line did."""
    if not line.truncated or not line.text or "\n" not in line.text:
        return line
    return msgspec.structs.replace(line, text=line.text[: line.text.rindex("\n") + 1])


def natural(name: str) -> list[tuple[int, str]]:
    """Return a key that sorts numbers in names by value."""
    return [(int(part), "") if part.isascii() and part.isdigit() else (-1, part) for part in NUMBERS.split(name)]


class fact(Generic[T]):
    """A property that is computed once and keeps why it is unknown."""

    def __init__(self, function: Callable[[Any], T]) -> None:
        self._function = function
        update_wrapper(self, function)  # type: ignore[arg-type]

    @overload
    def __get__(self, instance: None, owner: type) -> fact[T]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: Any, owner: type) -> fact[T] | T:
        if instance is None:
            return self
        texts: Texts = instance.texts
        name = self._function.__name__
        if name not in instance.__dict__:
            outer, texts.misses = texts.misses, Misses()
            instance.__dict__[name] = self._function(instance)
            instance.reasons[name] = texts.misses.first
            texts.misses = outer
        texts.misses.add(instance.reasons[name])  # they are also those of whoever asks
        value: T = instance.__dict__[name]
        return value

    def __set__(self, instance: object, value: T) -> None:
        raise AttributeError(f"{self._function.__name__} is a fact")


def add(values: Iterable[int | None]) -> int | None:
    """Return the sum of what is known, None if nothing is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def changes(begin: Mapping[str, int], end: Mapping[str, int]) -> dict[str, int]:
    """Return the difference of each counter that both know; those that went back are left out."""
    deltas = {name: difference(begin.get(name), value) for name, value in end.items()}
    return {name: delta for name, delta in deltas.items() if delta is not None}


def unescaped(text: str) -> str:
    """Undo the octal escapes of mountinfo."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)
