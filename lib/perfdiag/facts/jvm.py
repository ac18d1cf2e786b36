"""Counters of Java virtual machines (HotSpot), as the recorder found them in the memory of the targets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from perfdiag.common.text import printable
from perfdiag.facts.texts import Texts, lines_of, number

PATTERN = r"/hotspot/([0-9]{1,10})"  # of the recorder: no file
LONGEST_TEXT = 64
_UNREAD = {
    "off": "it was started with -XX:-UsePerfData",
    "unknown": "its libjvm.so does not export gHotSpotVMStructs",
    "unreadable": "its libjvm.so or its counters are of an unknown form",
}


@dataclass(frozen=True)
class Counters:
    """All counters of a virtual machine at one time."""

    at_ns: int
    way: str  # by which they were read: "memory" or "file"
    numbers: Mapping[str, int]
    texts: Mapping[str, str]  # untrusted; printable

    def number(self, name: str) -> int | None:
        """Return a counter that is no less than 0, None where there is none."""
        value = self.numbers.get(name)
        return value if value is not None and value >= 0 else None


@dataclass(frozen=True)
class HotSpot:
    """One virtual machine: its counters at the begin and the last time they were read, as far as that was possible."""

    pid: int
    begin: Counters | None  # the first that were read: of a descendant perhaps later; None: they were read only once
    end: Counters | None
    unread: str = ""  # why there is none at all
    between: Sequence[Counters] = field(default=())  # all that were read, in time


def read_machines(texts: Texts) -> dict[int, HotSpot]:
    """Return the virtual machines of the targets by pid, also those whose counters could not be read."""
    found = {}
    for path, match in texts.match(PATTERN):
        pid = int(match[1])
        readings = [counters for at_ns, text in texts.series(path) if (counters := parse(at_ns, text))]
        first = readings[0] if len(readings) > 1 else None
        unread = _why_not(texts, path) if not readings else ""
        if readings or unread:
            found[pid] = HotSpot(pid, first, readings[-1] if readings else None, unread, readings)
    return found


def parse(at_ns: int, text: str) -> Counters | None:
    """Return the counters of a text: "read memory", then "NAME VALUE" in each line; None where it has none."""
    first, *rest = lines_of(text) or [""]
    word, _, way = first.partition(" ")
    if word != "read":
        return None
    numbers: dict[str, int] = {}
    words: dict[str, str] = {}
    for line in rest:
        name, _, value = line.partition(" ")
        parsed = number(value)
        if parsed is None:
            words[name] = printable(value, LONGEST_TEXT)
        else:
            numbers[name] = parsed
    return Counters(at_ns, printable(way, LONGEST_TEXT), numbers, words)


def _why_not(texts: Texts, path: str) -> str:
    """Return why the counters of a virtual machine are not known, "" where there is no virtual machine."""
    text = texts.text(path)
    if text is None:
        return texts.misses.last
    word, _, reason = text.strip().partition(" ")
    return _UNREAD.get(reason, "") if word == "unread" else ""
