"""The queues in which packets wait to leave the targets' network namespaces (tc -s qdisc, tc -s class)."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from perfdiag.facts.texts import Texts, difference

PATTERN = r"/traffic_control/([0-9]{1,10})"  # of the recorder: no file
TEST_KIND = "netem"  # makes a network slower on purpose

# "INTERFACE KIND MAJOR:MINOR RATE DELAY BYTES PACKETS DROPS OVERLIMITS BACKLOG"
_QUEUE = re.compile(r"([^ \t]{1,64}) ([a-z0-9_]{1,16}) ([0-9a-f]{1,4}:[0-9a-f]{1,4})" + r" ([0-9]{1,20})" * 7)


@dataclass(frozen=True)
class TrafficQueue:
    """A queueing discipline of an interface, or a class of htb; `interface` is hostile."""

    interface: str
    kind: str  # tbf, htb, fq_codel, pfifo_fast ...
    handle: str  # "1:10"
    rate: int  # bytes a second that it lets out at most; 0: as many as the interface can
    delay_ns: int  # that it adds to each packet
    drops: int | None  # begin to end; None: one of them is not known
    held_back: int | None  # packets that came too early for the rate, likewise


def read_traffic_queues(texts: Texts) -> Sequence[TrafficQueue]:
    """Read those of the network namespaces of all targets."""
    found: list[TrafficQueue] = []
    for path, _ in texts.match(PATTERN):
        begin, end = (_queues(texts.text(path, phase)) for phase in ("begin", "end"))
        for key, numbers in (end or begin).items():
            before = begin.get(key, {}) if end else {}
            changes = [difference(before.get(name), numbers[name]) for name in ("drops", "held_back")]
            found.append(TrafficQueue(*key, numbers["rate"], numbers["delay_ns"], *changes))
    return found


def _queues(text: str | None) -> dict[tuple[str, str, str], Mapping[str, int]]:
    names = ("rate", "delay_ns", "bytes", "packets", "drops", "held_back", "backlog")
    found: dict[tuple[str, str, str], Mapping[str, int]] = {}
    for line in (text or "").split("\n"):
        if match := _QUEUE.fullmatch(line):
            interface, kind, handle, *numbers = match.groups()
            found[interface, kind, handle] = dict(zip(names, map(int, numbers), strict=True))
    return found
