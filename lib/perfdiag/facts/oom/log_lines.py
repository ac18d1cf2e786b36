"""Lines of a kernel log in any form it is kept in, with the clock each form has.

Forms: records of /dev/kmsg, what dmesg prints (-T, -x, -r and --time-format=iso too), journalctl -k (short, short-iso,
short-precise, short-monotonic), and files of a syslog daemon.  All of it is hostile: a process name of the log can
hold a newline, so a line that begins like none of these forms belongs to the one before.
"""

import calendar
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from perfdiag.common.units import SECOND_NS

KERNEL = 0  # the facility of what the kernel itself says; anybody who may can write others into /dev/kmsg
LONGEST_LINE = 20_000  # a record of the kernel has at most 8 KiB, escaped at most four times that in rare cases

_KMSG = re.compile(r"([0-9]{1,6}),([0-9]{1,19}),([0-9]{1,16}),([^;]{0,100});(.*)", re.DOTALL)
_CALLER = re.compile(r"caller=([TC][0-9]{1,9})")
_ESCAPE = re.compile(rb"\\x([0-9a-f]{2})")
_STAMP = r"\[ {0,12}([0-9]{1,10})\.([0-9]{6})\] ?"
_LEVEL = r"(?:<[0-9]{1,4}>|[a-z0-9]{3,8} {0,4}:[a-z]{3,6} {0,4}: )?"
_OTHERS = re.compile(r"(?:<([0-9]{1,4})>|(?!kern )[a-z0-9]{3,8} {0,4}:[a-z]{3,6} {0,4}: )\[")
_MONOTONIC = re.compile(rf"{_LEVEL}{_STAMP}(?:\[ {{0,8}}([TC][0-9]{{1,9}})\] ?)?(.*)", re.DOTALL)
_OF_KERNEL = " kernel: "
_JOURNAL_MONOTONIC = re.compile(rf"{_STAMP}([^ :]{{1,255}}){_OF_KERNEL}(.*)", re.DOTALL)
_MONTHS = {name: number for number, name in enumerate(calendar.month_abbr) if name}
_MONTH = "|".join(_MONTHS)
_CLOCK = r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]{1,9}))?"
_CTIME = re.compile(rf"{_LEVEL}\[[A-Z][a-z]{{2}} ({_MONTH}) +([0-9]{{1,2}}) {_CLOCK} ([0-9]{{4}})\] ?(.*)", re.DOTALL)
_SHORT = re.compile(rf"({_MONTH}) +([0-9]{{1,2}}) {_CLOCK} [^ ]{{1,255}} ([^ ].*)", re.DOTALL)
_DATE = r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
_ZONE = r"(Z|[+-][0-9]{2}:?[0-9]{2})?"
_ISO = re.compile(rf"{_DATE}[T ]{_CLOCK} ?{_ZONE} [^ ]{{1,255}} ([^ ].*)", re.DOTALL)
_DMESG_ISO = re.compile(rf"{_DATE}T([0-9]{{2}}):([0-9]{{2}}):([0-9]{{2}}),([0-9]{{6}}){_ZONE} (.*)", re.DOTALL)
_SAYS = re.compile(r"kernel: ?(.*)", re.DOTALL)


@dataclass(frozen=True)
class Entry:
    """One message; `text` is hostile and may hold newlines, but nothing that was escaped."""

    text: str
    clock_ns: int | None = None  # the kernel log's own clock, since boot and without suspend; None: not in this form
    realtime_ns: int | None = None  # None: not in this form
    caller: str = ""  # "T123" or "C0", where the kernel says it
    sequence: int | None = None  # of a record of /dev/kmsg: a gap means that some were overwritten


def entries(lines: Iterable[str], now_ns: int) -> Iterator[Entry]:
    """Yield the messages of a log of any form; `now_ns` (realtime) gives times without a year theirs.

    What stands before the first line of a known form is left out.
    """
    pending: Entry | None = None
    for line in lines:
        line = line.rstrip("\r\n")[:LONGEST_LINE]
        found = _kmsg(line)
        if found is None and not (pending is not None and pending.sequence is not None):
            found = _of_form(line, now_ns)
            if found is _NOT_OURS and pending is not None:
                yield pending  # what follows below is not its text
                pending = None
        if found is _NOT_OURS:
            continue
        if found is None:
            if line and pending is not None and pending.sequence is None and len(pending.text) < LONGEST_LINE:
                pending = replace(pending, text=f"{pending.text}\n{line.lstrip(' ')}"[:LONGEST_LINE])
            continue  # of a record of /dev/kmsg, lines below it name its device
        if pending is not None:
            yield pending
        pending = found
    if pending is not None:
        yield pending


_NOT_OURS = Entry("")


def _of_form(line: str, now_ns: int) -> Entry | None:
    if line.startswith("["):  # no level: nobody else's, and the only date that begins so is that of dmesg -T
        return _monotonic(line) or _dated(line, now_ns)
    return _NOT_OURS if _is_of_others(line) else _dated(line, now_ns) or _monotonic(line)


def _kmsg(line: str) -> Entry | None:
    match = _KMSG.fullmatch(line) if line[:1].isdigit() else None  # most lines of most logs are none
    if match is None:
        return None
    if int(match[1]) >> 3 != KERNEL:
        return _NOT_OURS
    caller = _CALLER.search(match[4])
    return Entry(unescaped(match[5]), int(match[3]) * 1000, None, caller[1] if caller else "", int(match[2]))


def _is_of_others(line: str) -> bool:
    """Whether dmesg -x, or -r of syslog(2), says that somebody else than the kernel wrote a line."""
    match = _OTHERS.match(line)
    return match is not None and (match[1] is None or int(match[1]) >> 3 != KERNEL)


def unescaped(text: str) -> str:
    """Return the text of a record of /dev/kmsg as the kernel was given it."""
    raw = text.encode("utf-8", "backslashreplace")
    return _ESCAPE.sub(lambda match: bytes([int(match[1], 16)]), raw).decode("utf-8", "backslashreplace")


def _monotonic(line: str) -> Entry | None:
    if _OF_KERNEL in line and (match := _JOURNAL_MONOTONIC.fullmatch(line)):
        return Entry(match[4], _stamp(match[1], match[2]))
    match = _MONOTONIC.fullmatch(line)
    return Entry(match[4], _stamp(match[1], match[2]), None, match[3] or "") if match else None


def _stamp(seconds: str, microseconds: str) -> int:
    return int(seconds) * SECOND_NS + int(microseconds) * 1000


def _dated(line: str, now_ns: int) -> Entry | None:
    """Return a line with a date; behind that a syslog daemon may have kept the kernel's own clock.

    Only dmesg gives a date and no host: the lines of others name who speaks, and are the kernel's or not.
    """
    if match := _CTIME.fullmatch(line):
        at_ns = _local([int(match[7]), _MONTHS[match[1]], *(int(match[n]) for n in (2, 3, 4, 5))], match[6])
        rest = match[8]
    elif match := _SHORT.fullmatch(line):
        at_ns = _without_year(_MONTHS[match[1]], [int(match[n]) for n in (2, 3, 4, 5)], match[6], now_ns)
        rest = match[7]
    elif match := _DMESG_ISO.fullmatch(line) or _ISO.fullmatch(line):
        at_ns = _local([int(match[n]) for n in range(1, 7)], match[7], match[8])
        rest = match[9]
    else:
        return None
    if match.re in (_SHORT, _ISO):
        says = _SAYS.fullmatch(rest)
        if says is None:
            return _NOT_OURS
        rest = says[1]
    if at_ns is None:
        return None
    own = _MONOTONIC.fullmatch(rest)
    if own:
        return Entry(own[4], _stamp(own[1], own[2]), at_ns, own[3] or "")
    return Entry(rest, None, at_ns)


def _local(date: Sequence[int], fraction: str | None, zone: str | None = None) -> int | None:
    """Return a date in this host's time zone, unless it names one, in nanoseconds since 1970; None if there is none."""
    year, month, day, hour, minute, second = date
    fraction_ns = int((fraction or "0").ljust(9, "0"))
    try:
        when = datetime(year, month, day, hour, minute, min(second, 59))
        if zone is None:
            seconds = int(time.mktime(when.timetuple()))
        else:
            seconds = int(when.replace(tzinfo=UTC).timestamp()) - _offset_s(zone)
    except (ValueError, OverflowError, OSError):
        return None
    return seconds * SECOND_NS + fraction_ns if seconds >= 0 else None


def _offset_s(zone: str) -> int:
    if zone == "Z":
        return 0
    digits = zone.replace(":", "")
    return (-1 if digits[0] == "-" else 1) * (int(digits[1:3]) * 3600 + int(digits[3:5]) * 60)


def _without_year(month: int, rest: list[int], fraction: str | None, now_ns: int) -> int | None:
    """Return the last such date that is not in the future; a day is left for clocks that differ."""
    year = time.localtime(now_ns // SECOND_NS).tm_year
    for candidate in (year + 1, year, year - 1):
        at_ns = _local([candidate, month, *rest], fraction)
        if at_ns is not None and at_ns <= now_ns + 86_400 * SECOND_NS:
            return at_ns
    return None
