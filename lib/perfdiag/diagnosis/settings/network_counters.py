"""What the network of this host dropped in the window, by the kernel's own counters: each tells a setting or a fault.

Whose packets these were is not known: they stand beside what the target waited for in the network, as settings do.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from perfdiag.common.units import plural
from perfdiag.diagnosis.settings.unusual import NETWORK, Unusual, time_in
from perfdiag.facts.texts import lines_of, words_of
from perfdiag.model.model import Model

_SOFTNET = "/proc/net/softnet_stat"
_HEXADECIMAL = re.compile(r"[0-9a-f]{1,8}")
_LEAST = 5  # that were counted: one or two come from a scan of ports, or a host that went away


@dataclass(frozen=True)
class NetworkCounter:
    """A counter of net/snmp or net/netstat that grows only where something is wrong."""

    name: str
    noun: str  # what was counted
    did: str  # what this host did with them, and why
    effect: str


NETWORK_COUNTERS = (
    NetworkCounter(
        "TcpExt.IPReversePathFilter",
        "packet",
        "dropped: answers would leave by another way (rp_filter)",
        "who sent them gets no answer, or was answering",
    ),
    NetworkCounter(
        "Ip.ReasmFails",
        "datagram",
        "not put together from fragments (net.ipv4.ipfrag_high_thresh, or fragments are lost)",
        "who waits for them waits for a timeout",
    ),
    NetworkCounter("Ip.OutNoRoutes", "packet", "not sent, as there is no route", "whom they are for never gets them"),
    NetworkCounter(
        "TcpExt.TCPMemoryPressuresChrono",
        "millisecond",
        "spent short of memory for TCP (net.ipv4.tcp_mem)",
        "sockets get less room to send and receive",
    ),
    NetworkCounter(
        "TcpExt.PFMemallocDrop", "packet", "dropped for lack of memory", "what they carried has to be sent again"
    ),
    NetworkCounter(
        "TcpExt.TCPZeroWindowDrop", "packet", "dropped at a full receive buffer", "they have to be sent again"
    ),
)


def network_counters(model: Model) -> Iterator[Unusual]:
    """Yield those that grew."""
    ns = time_in(model, NETWORK)
    for each in NETWORK_COUNTERS if ns else ():
        grown = model.facts.network_delta(each.name)
        if grown is not None and grown >= _LEAST:
            file = "netstat" if each.name.startswith("TcpExt.") else "snmp"
            text = f"{plural(grown, each.noun)} {'was' if grown == 1 else 'were'} {each.did}"
            yield Unusual(text, each.effect, f"/proc/net/{file} ({each.name})", ns, NETWORK)
    yield from _backlogs(model, ns)


def _backlogs(model: Model, ns: int) -> Iterator[Unusual]:
    """Yield what queues of CPUs dropped: one line a CPU, hexadecimal numbers."""
    if not ns or _SOFTNET not in model.facts.texts:
        return
    texts = [model.facts.texts.text(_SOFTNET, phase) for phase in ("begin", "end")]
    before, after = (_second_column(text) if text is not None else None for text in texts)
    if before is not None and after is not None and after - before >= _LEAST:
        text = f"{plural(after - before, 'packet')} that came in were dropped at a full queue of a CPU"
        file = f"{_SOFTNET} (2nd column)"
        yield Unusual(f"{text} (netdev_max_backlog)", "they have to be sent again", file, ns, NETWORK)


def _second_column(text: str) -> int:
    lines = (words_of(line) for line in lines_of(text))
    return sum(int(words[1], 16) for words in lines if len(words) > 1 and _HEXADECIMAL.fullmatch(words[1]))
