"""The sockets the targets listen on, as sock_diag(7) tells of them: who waits to be accepted, and who was dropped."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from sys import intern

from perfdiag.facts.texts import Texts, difference, lines_of, number, words_of

PATTERN = r"/sock_diag/listen/([0-9]{1,10})"  # of the recorder: no file

# "ADDRESS PORT QUEUE LIMIT DROPS INODE": thousands of lines of each target, so one search finds those of a text.
_SOCKET = re.compile(r"^[ \t]*([^ \t\n]+)" + r"[ \t]+([0-9]{1,20})" * 5 + r"[ \t]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Listener:
    """One listening socket at the end of the window."""

    address: str
    port: int
    queued: int  # connections that wait to be accepted
    limit: int  # more than so many: the queue is full
    dropped: int | None  # begin to end; None: the begin is not known
    pids: tuple[int, ...]  # targets that hold it


@dataclass(frozen=True)
class Listeners:
    """Those of all targets, of which something was dropped in their network namespace at any time."""

    sockets: Sequence[Listener]
    somaxconn: int | None  # of their network namespace; None: not known, or several that differ
    own_namespace: bool  # all targets live in the recorder's network namespace
    complete: bool  # False: of a target that has ended, or has very many descriptors, there may be more

    def enter(self, socket: Listener) -> str:
        """Return the begin of a command that runs in the network namespace of one of them, "" where that is here."""
        return "" if self.own_namespace else f"nsenter -t {socket.pids[0]} -n "


def read_listeners(texts: Texts) -> Listeners | None:
    """Read those of all targets that could be asked at the end; None where none could."""
    found: dict[int, Listener] = {}
    settings: list[tuple[int, str]] = []
    complete, asked = True, 0
    for path, match in texts.match(PATTERN):
        end, begin = texts.text(path, "end"), texts.text(path, "begin")
        cut = any(texts.is_cut_off(path, phase) for phase in ("begin", "end"))
        complete = complete and end is not None and not cut
        if end is None:
            continue
        asked += 1
        settings += _settings(end)
        before = None if begin is None or cut else {int(words[5]): int(words[4]) for words in _parse(begin)}
        holder = (int(match[1]),)
        for address, *numbers in _parse(end):
            port, queued, limit, dropped, inode = map(int, numbers)
            others = found[inode].pids if inode in found else ()
            change = _change(before, inode, dropped)
            found[inode] = Listener(intern(address), port, queued, limit, change, others + holder)
    limits = {limit for limit, _ in settings}
    return (
        Listeners(
            sockets=list(found.values()),
            somaxconn=limits.pop() if len(limits) == 1 else None,
            own_namespace=all(where == "own" for _, where in settings),
            complete=complete,
        )
        if asked
        else None
    )


def _settings(text: str) -> list[tuple[int, str]]:
    """Return the limit of the network namespace, and whose it is: "somaxconn 4096 own"."""
    words = [words_of(line) for line in lines_of(text) if line.lstrip(" \t").startswith("somaxconn")]
    return [
        (limit, each[2])
        for each in words
        if len(each) == 3 and each[0] == "somaxconn" and (limit := number(each[1])) is not None
    ]


def _parse(text: str) -> list[tuple[str, ...]]:
    """Return the words of each socket."""
    return _SOCKET.findall(text)


def _change(before: Mapping[int, int] | None, inode: int, end: int) -> int | None:
    """Return how many were dropped in the window: of a socket that was not there at its begin all of them."""
    if before is None:
        return None
    return difference(before.get(inode, 0), end)
