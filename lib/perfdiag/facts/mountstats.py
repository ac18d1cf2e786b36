"""NFS mounts as /proc/self/mountstats counts their calls: by procedure, begin to end, whoever asked."""

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from perfdiag.facts.texts import Texts, add, difference, lines_of, number, unescaped, words_of

MILLISECOND = 1_000_000
MOUNTED = re.compile(r"device ([^ ]+) mounted on ([^ ]+) with fstype (nfs4?) statvers=[0-9.]+")
# "GETATTR: 5 5 0 880 1040 0 3 4 0": the last number, errors, came with Linux 5.3.
CALLS = re.compile(r"\t *([A-Z0-9_]{1,32}): ([0-9 ]+)")
# Of "xprt: tcp port binds connects connect_time idle_time sends ..." the words that count.
TCP = {"connects": 4, "sends": 7, "requests": 10, "backlog": 11, "most_slots": 12, "sending": 13}


@dataclass(frozen=True)
class Calls:
    """Calls of one procedure; the times are sums over them, in steps of a millisecond."""

    count: int
    transmissions: int  # more than `count` where calls were sent again
    timeouts: int  # of the major kind: "server not responding"
    sent_bytes: int
    received_bytes: int
    queue_ns: int  # until they were sent: no slot, no connection, the link full
    answer_ns: int  # from sent to answered: wire and server
    whole_ns: int  # from asked for to done
    errors: int | None  # None: the kernel does not count them


@dataclass(frozen=True)
class Transport:
    """The connections of one mount; the queues are sums of their length at each send, as the kernel counts them."""

    connections: int
    connects: int | None  # of the window; None of a transport that is not TCP, here and below
    sends: int | None
    backlog: int | None  # calls that had no slot
    sending: int | None  # calls that waited for earlier ones to be written to the connection
    most_slots: int | None  # most in use at once since the mount, of any one connection


@dataclass(frozen=True)
class NfsMount:
    """One NFS mount; counters begin to end, options at the end."""

    source: str  # "nas1:/jobs"
    mountpoint: str
    fstype: str  # "nfs" or "nfs4"
    options: Mapping[str, str]  # "vers" -> "4.2", "hard" -> ""
    calls: Mapping[str, Calls]  # by procedure, those that were called in the window
    since_mount: Mapping[str, Calls]  # the same since it was mounted
    transport: Transport

    def option(self, name: str) -> str | None:
        """Return the value of a mount option, "" of one without, None where it is not set."""
        return self.options.get(name)

    @property
    def retransmissions(self) -> int:
        """Calls that were sent more than once in the window."""
        return sum(max(0, calls.transmissions - calls.count) for calls in self.calls.values())

    @property
    def timeouts(self) -> int:
        """Calls that a server did not answer for so long that the kernel log says so."""
        return sum(calls.timeouts for calls in self.calls.values())


def read_nfs_mounts(texts: Texts) -> Sequence[NfsMount]:
    """Read the NFS mounts of the recorder's mount namespace, those at the end of the window.

    A mount that was not there at the begin counts from its first call; one that went back was mounted anew.
    """
    path = "/proc/self/mountstats"
    begin_text, end_text = texts.text(path, "begin"), texts.text(path, "end")
    if end_text is None:
        return []
    if begin_text is None:  # then nothing is known of the window
        return [replace(each, calls={}, transport=_unknown(each.transport)) for each in _parse(end_text)]
    before = {(mount.source, mount.mountpoint): mount for mount in _parse(begin_text)}
    return [_change(before.get((mount.source, mount.mountpoint)), mount) for mount in _parse(end_text)]


def _parse(text: str) -> Iterable[NfsMount]:
    """Yield the mounts of one text, with all they counted; a line cut short is left out."""
    lines = lines_of(text if text.endswith("\n") else text[: text.rfind("\n") + 1])
    starts = [index for index, line in enumerate(lines) if line.startswith(("device ", "no device "))]
    for start, end in itertools.pairwise([*starts, len(lines)]):
        match = MOUNTED.fullmatch(lines[start])
        if match:
            yield _mount(unescaped(match[1]), unescaped(match[2]), match[3], lines[start + 1 : end])


def _mount(source: str, mountpoint: str, fstype: str, lines: Sequence[str]) -> NfsMount:
    options: dict[str, str] = {}
    calls: dict[str, Calls] = {}
    transports: list[list[str]] = []
    for line in lines:
        if line.startswith("\topts:\t"):
            pairs = (option.partition("=") for option in line.removeprefix("\topts:\t").split(","))
            options = {name: unescaped(value) for name, _, value in pairs}
        elif line.startswith("\txprt:\t"):
            transports.append(words_of(line))
        elif match := CALLS.fullmatch(line):
            parsed = _calls(match[2])
            calls |= {match[1]: parsed} if parsed else {}
    return NfsMount(source, mountpoint, fstype, options, calls, calls, _transport(transports))


def _calls(text: str) -> Calls | None:
    values = [value for value in map(number, words_of(text)) if value is not None]
    if len(values) not in (8, 9):
        return None
    queue_ns, answer_ns, whole_ns = (value * MILLISECOND for value in values[5:8])
    errors = values[8] if len(values) == 9 else None
    return Calls(values[0], values[1], values[2], values[3], values[4], queue_ns, answer_ns, whole_ns, errors)


def _transport(lines: Sequence[Sequence[str]]) -> Transport:
    """Sum the connections of a mount (nconnect makes several)."""
    tcp = [words for words in lines if len(words) > max(TCP.values()) and words[1] == "tcp"]
    known = {name: [number(words[place]) for words in tcp] for name, place in TCP.items()}
    return Transport(
        connections=len(lines),
        connects=add(known["connects"]),
        sends=add(known["sends"]),
        backlog=add(known["backlog"]),
        sending=add(known["sending"]),
        most_slots=max((value for value in known["most_slots"] if value is not None), default=None),
    )


def _unknown(transport: Transport) -> Transport:
    return replace(transport, connects=None, sends=None, backlog=None, sending=None)


def _change(begin: NfsMount | None, end: NfsMount) -> NfsMount:
    """Return the mount with what it counted in the window."""
    if begin is None or _anew(begin, end):
        return end
    calls = {name: _difference(begin.calls.get(name), calls) for name, calls in end.calls.items()}
    old, new = begin.transport, end.transport
    return replace(
        end,
        calls={name: each for name, each in calls.items() if each.count},
        transport=replace(
            new,
            connects=difference(old.connects, new.connects),
            sends=difference(old.sends, new.sends),
            backlog=difference(old.backlog, new.backlog),
            sending=difference(old.sending, new.sending),
        ),
    )


def _anew(begin: NfsMount, end: NfsMount) -> bool:
    """Whether the same place was mounted again in between: then its counters began at zero."""
    return any(calls.count < begin.calls[name].count for name, calls in end.calls.items() if name in begin.calls)


def _difference(begin: Calls | None, end: Calls) -> Calls:
    if begin is None:
        return end
    return Calls(
        count=end.count - begin.count,
        transmissions=max(0, end.transmissions - begin.transmissions),
        timeouts=max(0, end.timeouts - begin.timeouts),
        sent_bytes=max(0, end.sent_bytes - begin.sent_bytes),
        received_bytes=max(0, end.received_bytes - begin.received_bytes),
        queue_ns=max(0, end.queue_ns - begin.queue_ns),
        answer_ns=max(0, end.answer_ns - begin.answer_ns),
        whole_ns=max(0, end.whole_ns - begin.whole_ns),
        errors=difference(begin.errors, end.errors),
    )
