"""Numbers as text: the only place where a duration, a share, a count or a size is formatted."""

import re
from collections.abc import Sequence

SECOND_NS = 1_000_000_000
_DURATIONS = ((SECOND_NS, "s"), (1_000_000, "ms"), (1_000, "us"))
_HOUR_NS = 3_600_000_000_000
_MINUTE_NS = 60_000_000_000
_FIRST_PLURAL = re.compile(r"(?<=\w)s\b")
_SIZES = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def duration(ns: float) -> str:
    """Return `ns` nanoseconds with three significant digits: "79.7 s", "4.12 ms", "2.08 h"."""
    if ns < 0:
        return "-" + duration(-ns)
    if ns >= _HOUR_NS:
        return f"{_three_digits(ns / _HOUR_NS)} h"
    if ns >= 10 * _MINUTE_NS:
        return f"{ns / _MINUTE_NS:.0f} min"
    for unit_ns, unit in _DURATIONS:
        # 999.6 ms would print as "1000 ms": leave it to the next larger unit.
        if ns >= 0.9995 * unit_ns:
            return f"{_three_digits(ns / unit_ns)} {unit}"
    return f"{ns:.0f} ns"


def short(ns: int) -> str:
    """Return a duration as typed on a command line, to the nanosecond: "250ms"."""
    unit_ns, unit = next(each for each in (*_DURATIONS, (1, "ns")) if ns % each[0] == 0)
    return f"{ns // unit_ns}{unit}"


def about(ns: float) -> str:
    """Return a duration of which only a log2 bucket is known, with two digits at most: "1.4 ms"."""
    for unit_ns, unit in ((_HOUR_NS, "h"), (_MINUTE_NS, "min"), *_DURATIONS, (1, "ns")):
        rounded = float(f"{ns / unit_ns:.2g}")
        if rounded >= (10 if unit == "min" else 1):
            return f"{rounded:g} {unit}"
    return "0 ns"


def about_at_most(ns: float, longest_ns: float) -> str:
    """Return about how long one of some durations is, of which the longest is known: rounded to two digits it is not
    shown above that."""
    return duration(longest_ns) if float(f"{ns:.2g}") > longest_ns > 0 else about(ns)


def share(part: float) -> str:
    """Return a share of 1 as a whole percentage; a small share is "<1 %", never "0 %"."""
    if 0 < part < 0.005:
        return "<1 %"
    if 0.995 <= part < 1:
        return ">99 %"
    return f"{int(100 * part + 0.5)} %"


def fine_share(part: float) -> str:
    """Return a share of 1 with one more digit, for errors and costs: "0.2 %", never zero by rounding."""
    if 0 < part < 0.0005:
        return "<0.1 %"
    if 0.9995 <= part < 1:
        return ">99.9 %"
    return f"{100 * part:.1f} %"


def count(number: int) -> str:
    """Return a whole number with separators: "61,204"."""
    return f"{number:,}"


def rate(per_second: float) -> str:
    """Return "62,403/s", or "2.35/s" with three significant digits."""
    return f"{count(round(per_second))}/s" if per_second >= 99.95 else f"{per_second:.3g}/s"


def size(number: float) -> str:
    """Return `number` bytes with three significant digits: "11.2 MiB"."""
    for unit in _SIZES:
        if abs(number) < 1023.5 or unit == _SIZES[-1]:
            return f"{number:.0f} B" if unit == "B" else f"{_three_digits(number)} {unit}"
        number /= 1024
    raise AssertionError("unreachable: the last unit takes everything")


def give_or_take(error: int) -> str:
    """Return what follows a number that is an estimate, " +-1,200"; "" if it is exact."""
    return f" +-{count(error)}" if error else ""


def plural(number: int, noun: str) -> str:
    """Return "1 thread", "2 threads" or "2 processes"; only for nouns that take an s or es."""
    ending = "es" if noun.endswith("s") else "s"
    return f"{count(number)} {noun}{'' if number == 1 else ending}"


_OF_SEVERAL = {"flushes": "flush", "has": "have", "is": "are", "it": "them"}


def of_several(word: str) -> str:
    """Return a verb of one, "answers", or "it", as it goes with several: "answer", "them"."""
    return _OF_SEVERAL.get(word) or word.removesuffix("s")


def counted(number: int, what: str) -> str:
    """Return "1 short wait for a lock" or "2 short waits for a lock", given "short waits for a lock"."""
    return f"{count(number)} {_FIRST_PLURAL.sub('', what, count=1) if number == 1 else what}"


def known(number: int | None, noun: str) -> str:
    """Return the same, or that the number is unknown."""
    return plural(number, noun) if number is not None else f"unknown number of {noun}s"


def first_of(names: Sequence[str], most: int) -> str:
    """Return at most so many names, and how many more there are: "a, b and 3 more"."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def _three_digits(value: float) -> str:
    if value >= 99.95:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"
