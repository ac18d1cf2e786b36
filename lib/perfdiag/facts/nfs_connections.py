"""Connections of this host to NFS servers, as sock_diag(7) tells of them: what held that which was to be sent."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

from perfdiag.facts.texts import Texts, lines_of, number, words_of

PATH = "/sock_diag/nfs"  # of the recorder: no file
MICROSECOND = 1_000


@dataclass(frozen=True)
class NfsConnections:
    """All connections to one address of a server; counters begin to end, in the kernel's steps of a tick."""

    count: int
    busy_ns: int  # something was to be sent, or to be acknowledged
    receiver_ns: int  # of that: held by the window the server gave
    window_bytes: int  # of the server, the smallest at the end
    acknowledged_bytes: int


def read_nfs_connections(texts: Texts) -> Mapping[str, NfsConnections]:
    """Read the connections there were at the end, by the server's address.

    One that was not there at the begin counts from its own; nothing is known where the begin was not recorded.
    """
    begin, end = texts.text(PATH, "begin"), texts.text(PATH, "end")
    if begin is None or end is None:
        return {}
    before = _parse(begin)
    found = sorted((key[1], _change(before.get(key), each)) for key, each in _parse(end).items())
    groups = {address: [each for _, each in group] for address, group in groupby(found, itemgetter(0))}
    return {
        address: NfsConnections(
            count=len(group),
            busy_ns=MICROSECOND * sum(each[0] for each in group),
            receiver_ns=MICROSECOND * sum(each[1] for each in group),
            window_bytes=min(each[3] for each in group),
            acknowledged_bytes=sum(each[4] for each in group),
        )
        for address, group in groups.items()
    }


def _parse(text: str) -> dict[tuple[int, str], tuple[int, ...]]:
    """Return the numbers of each connection, by its port here and the server's address."""
    found = {}
    for line in lines_of(text):
        port, address, *rest = [*words_of(line), "", ""]
        numbers = [value for value in map(number, [port, *rest]) if value is not None and value >= 0]
        if len(numbers) == 6:
            found[numbers[0], address] = tuple(numbers[1:])
    return found


def _change(begin: tuple[int, ...] | None, end: tuple[int, ...]) -> tuple[int, ...]:
    """Return the counters of the window, and the present size of the server's."""
    *counters, window, acknowledged = end
    if begin is None or begin[4] > acknowledged:  # the same port, connected anew
        return end
    return *(max(0, new - old) for new, old in zip(counters, begin, strict=False)), window, acknowledged - begin[4]
