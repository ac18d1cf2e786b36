"""What a setting usually is: tests of a recorded text, each of which says what the setting is instead."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from perfdiag.common.text import printable
from perfdiag.common.units import plural
from perfdiag.facts.texts import lines_of, number, words_of

_LONGEST_WORD = 40
_VALUE = re.compile(r"[0-9]+(?: [0-9]+)*")


@dataclass(frozen=True)
class Departure:
    """Called with a text it returns "is 90 (usually 60)", or "" where the setting is as usual."""

    says: Callable[[str], str]
    usual: str = ""  # what to write to set it back; "" where no value fits all hosts

    def __call__(self, text: str) -> str:
        return self.says(text)


def _value(usually: str) -> str:
    """Return the number that "64 or more" begins with."""
    found = _VALUE.match(usually)
    return found[0] if found else ""


def _field(text: str, field: int) -> int | None:
    words = words_of(text)
    return number(words[field]) if field < len(words) else None


def at_most(most: int, usually: str = "") -> Departure:
    """Numbers up to this one are usual."""

    def departure(text: str) -> str:
        value = number(text)
        return "" if value is None or value <= most else f"is {value} (usually {usually or most})"

    return Departure(departure, _value(usually or str(most)))


def at_least(least: int, usually: str = "", field: int = 0) -> Departure:
    """Numbers from this one on are usual; of several in one text the one at `field` counts."""

    def departure(text: str) -> str:
        value = _field(text, field)
        if value is None or value >= least:
            return ""
        of_several = f"ends in {value}" if field else f"is {value}"
        return f"{of_several} (usually {usually or least})"

    return Departure(departure, "" if field else _value(usually or str(least)))


def unset_or_at_least(least: int, usually: str, set_back: str = "") -> Departure:
    """Zero means that another setting counts, or none; other numbers are usual from this one on.  What sets it back is
    the first usual value where nothing else is given."""

    def departure(text: str) -> str:
        value = number(text)
        return "" if not value or value >= least else f"is {value} (usually {usually})"

    return Departure(departure, set_back or _value(usually))


def span_at_least(least: int, usually: str) -> Departure:
    """Two numbers, from the first to the second of which there are usually so many."""

    def departure(text: str) -> str:
        first, last = _field(text, 0), _field(text, 1)
        if first is None or last is None or last - first + 1 >= least:
            return ""
        return f"is {first} {last} (usually {usually})"

    return Departure(departure, _value(usually))


def one_of(*usual: str) -> Departure:
    """One of these words is usual; of "[a] b" the word in brackets is the setting."""

    def departure(text: str) -> str:
        chosen = _chosen(text)
        return "" if not chosen or chosen in usual else f"is {printable(chosen, _LONGEST_WORD)} (usually {usual[0]})"

    return Departure(departure, usual[0])


def none_of(noun: str, but: str = "") -> Departure:
    """Usually there is nothing in it, or one thing that says nothing; each line is one of what it lists."""

    def departure(text: str) -> str:
        entries = sum(line not in ("", but) and not line.startswith("#") for line in lines_of(text.strip()))
        return f"has {plural(entries, noun)} (usually none)" if entries else ""

    return Departure(departure)


def set_to(text: str) -> str:
    """Return the value that a text of one setting shows, as it is written back."""
    return _chosen(text) if "[" in text else " ".join(words_of(text))


def _chosen(text: str) -> str:
    words = words_of(text)
    return next((word.strip("[]") for word in words if word.startswith("[")), words[0] if words else "")
