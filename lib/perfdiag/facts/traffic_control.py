"""The queues in which packets wait to leave the targets' network namespaces (tc -s qdisc, tc -s class)."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from perfdiag.common.by_key import groups_by_key
from perfdiag.facts.texts import Texts, difference

PATTERN = r"/traffic_control/([0-9]{1,10})"  # of the recorder: no file
TEST_KIND = "netem"  # makes a network slower on purpose
REFUSING_KINDS = ("clsact", "ingress")  # hold nothing: what they drop is what somebody's filter refuses

# "INTERFACE KIND HANDLE PARENT RATE DELAY BYTES PACKETS DROPS OVERLIMITS BACKLOG"
_HANDLE = r" ([0-9a-f]{1,4}:[0-9a-f]{1,4})"
_QUEUE = re.compile(r"([^ \t]{1,64}) ([a-z0-9_]{1,16})" + 2 * _HANDLE + 7 * r" ([0-9]{1,20})")
_ADDRESS = re.compile(r"([^ \t]{1,64}) address ([0-9a-f.:]{2,45})")
_NUMBERS = ("rate", "delay_ns", "bytes", "packets", "drops", "held_back", "backlog")


@dataclass(frozen=True)
class TrafficQueue:
    """A queueing discipline of an interface, or a class of htb; `interface` is hostile."""

    pid: int  # of a target in its network namespace
    interface: str
    kind: str  # tbf, htb, fq_codel, pfifo_fast ...
    handle: str  # "1:10"
    rate: int  # bytes a second that it lets out at most; 0: as many as the interface can
    delay_ns: int  # that it adds to each packet
    drops: int | None  # begin to end; None: one of them is not known
    held_back: int | None  # packets that came too early for the rate, likewise
    addresses: frozenset[str]  # of the interface


def read_traffic_queues(texts: Texts) -> Sequence[TrafficQueue]:
    """Read those of the network namespaces of all targets."""
    found: list[TrafficQueue] = []
    for path, match in texts.match(PATTERN):
        text = texts.last(path)
        begin, end = _queues(texts.text(path, "begin")), _queues(text)
        known = groups_by_key(_addresses(text or texts.text(path, "begin")))
        addresses = {interface: frozenset(of_interface) for interface, of_interface in known.items()}
        for key, numbers in (end or begin).items():
            before, (interface, kind, handle, _) = begin.get(key, {}) if end else {}, key
            found.append(
                TrafficQueue(
                    pid=int(match[1]),
                    interface=interface,
                    kind=kind,
                    handle=handle,
                    rate=numbers["rate"],
                    delay_ns=numbers["delay_ns"],
                    drops=difference(before.get("drops"), numbers["drops"]),
                    held_back=difference(before.get("held_back"), numbers["held_back"]),
                    addresses=addresses.get(interface, frozenset()),
                )
            )
    return found


def _queues(text: str | None) -> dict[tuple[str, str, str, str], Mapping[str, int]]:
    found: dict[tuple[str, str, str, str], Mapping[str, int]] = {}
    for line in (text or "").split("\n"):
        if match := _QUEUE.fullmatch(line):
            interface, kind, handle, parent, *numbers = match.groups()
            found[interface, kind, handle, parent] = dict(zip(_NUMBERS, map(int, numbers), strict=True))
    return found


def _addresses(text: str | None) -> list[tuple[str, str]]:
    matches = (_ADDRESS.fullmatch(line) for line in (text or "").split("\n"))
    return [(match[1], match[2]) for match in matches if match]
