"""The other end of a connection: who it is, and which side asked."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from perfdiag.common.by_key import sums_by_key
from perfdiag.common.text import endpoint
from perfdiag.diagnosis.rule import LOST_ANSWERS, LOST_PACKETS, OtherCause
from perfdiag.diagnosis.significance import plain
from perfdiag.facts.texts import number, words_of
from perfdiag.model.model import Model, Row, once
from perfdiag.model.requests.exchanges import is_loopback
from perfdiag.recording import schema

# Linux hands out ports from here on to those who connect, unless net.ipv4.ip_local_port_range says otherwise.
EPHEMERAL_PORT = 32_768
# The kernel's mark for a minimum round trip that was never measured.
NEVER_MEASURED_US = 1 << 31
# More than a recording has: of fewer each rule that asks for all, one after the other, would make all anew.
_KEPT = 1 << 17
DNS_PORT = 53


@dataclass(frozen=True)
class Peer:
    """One end of a connection, from the object "peer:IP:PORT"."""

    address: str
    port: int

    @property
    def local(self) -> bool:
        """Whether it is this host."""
        return is_loopback(self.address)

    @property
    def unconnected(self) -> bool:
        """Whether the socket receives datagrams from anybody, so that nobody in particular is waited for."""
        return self.port == 0

    def __str__(self) -> str:
        name = endpoint(f"{self.address}:{self.port}")
        return f"name server {name}" if self.port == DNS_PORT else name


@lru_cache(maxsize=_KEPT)
def peer_of(key: str) -> Peer | None:
    """Return the peer an object names, None for any other object."""
    address, _, port = key.removeprefix("peer:").rpartition(":")
    if not key.startswith("peer:") or not address or not port.isascii() or not port.isdigit() or len(port) > 5:
        return None
    return Peer(address, int(port))


def name_of(key: str, otherwise: str) -> str:
    """Return the name of a peer for a report: address and port, or `otherwise` if the object names none."""
    return plain(str(peer_of(key) or otherwise))


def lost_between(peers: Sequence[Peer | None]) -> OtherCause:
    """Return the alternative that packets are lost. On this host all that are sent again are seen."""
    return LOST_PACKETS if peers and all(peer is None or peer.local for peer in peers) else LOST_ANSWERS


class Connections:
    """The TCP sockets of a recording by the object their waits have, and who asked on each."""

    def __init__(self, model: Model) -> None:
        self.sockets: Mapping[str, schema.Socket] = {socket.object: socket for socket in model.sockets}
        self._near: dict[str, bool] = {}  # rules ask for each peer again and again
        # Where the target listens, waits for connections, or was asked: an event loop waits for all at once.
        answers = _asked_at(model)
        listeners = model.facts.listeners
        self._listens = {str(each.port) for each in listeners.sockets} if listeners else set()
        self._accepts = answers | self._listens
        words = words_of(model.facts.sysctl("net/ipv4/ip_local_port_range"))
        self._first = number(next(iter(words), None)) or EPHEMERAL_PORT
        near = {key: socket for key, socket in self.sockets.items() if self.near(key)}
        told = {local_port(socket) for key, socket in near.items() if not self._asked_by_port(key)}
        # Who has inherited a listening socket holds it, too, and answers nothing there.  Of a host all are its own.
        known = model.measured("requests") and model.host is None
        self._own_ports = told | (answers if known else self._accepts)
        self._own_ports |= _answering(model, {key: s for key, s in near.items() if not self._known(key)})

    def asked(self, key: str) -> bool:
        """Return False if the target is the server of the connection and waits for its own clients.

        Ports tell: the target waited for connections on its port, or its port is below the ephemeral range and the
        peer's is within it. If that says nothing and the target is both ends, the end that is waited for
        longer is the server. Otherwise (no TCP socket seen, similar ports) the target is taken to be the
        client.
        """
        socket = self.sockets.get(key)
        return self._asked_by_port(key) and not (socket and self.near(key) and local_port(socket) in self._own_ports)

    def told(self, row: Row) -> bool:
        """Return whether port numbers alone tell which side of a row's connection asked."""
        return row.key not in self.sockets or self._known(row.key)

    def _known(self, key: str) -> bool:
        peer, own = peer_of(key), local_port(self.sockets[key])
        below = peer and own.isascii() and own.isdigit() and (int(own) < self._first) != (peer.port < self._first)
        return bool(below) or own in self._accepts or bool(peer and str(peer.port) in self._accepts)

    def _asked_by_port(self, key: str) -> bool:
        peer, socket = peer_of(key), self.sockets.get(key)
        own = local_port(socket) if socket else ""
        if peer is None or not own.isascii() or not own.isdigit():
            return True
        return own not in self._accepts and not 0 < int(own) < self._first <= peer.port

    def near(self, key: str) -> bool:
        """Return whether the peer is on this host: it has a local address, or the address of the connection's own
        end."""
        known = self._near.get(key)
        if known is None:
            peer, socket = peer_of(key), self.sockets.get(key)
            same = peer is not None and socket is not None and socket.local.rpartition(":")[0] == peer.address
            known = self._near[key] = peer is not None and (peer.local or same)
        return known

    def way_ns(self, key: str) -> int | None:
        """Return the shortest round trip of the connections to a peer, None where it was not measured."""
        return round_trip_ns([self.sockets[key]]) if key in self.sockets else None

    def perhaps_answered_here(self, key: str) -> bool:
        """Return whether the target holds the listening socket at the other end, and nothing shows that it answers."""
        peer = peer_of(key)
        held = peer is not None and self.near(key) and str(peer.port) in self._listens
        return held and not self.answered_here(key)

    def answered_here(self, key: str) -> bool:
        """Return whether the target is also the other end: on this host, at a port where it accepts or answers."""
        peer = peer_of(key)
        return peer is not None and self.near(key) and str(peer.port) in self._own_ports


@once
def connections_of(model: Model) -> Connections:
    """Return the connections of a recording, sorted by who asked: several rules want them."""
    return Connections(model)


def _asked_at(model: Model) -> set[str]:
    """Return the ports at which threads of the target waited for connections, or clients asked it for something."""
    objects = {row.key for row in model.rows_of("net.accept")}
    objects |= {each.line.object for each in model.exchanges if each.served}
    objects |= {line.object for line in model.silent if line.direction == "accepted"}
    return {object.removeprefix("port:") for object in objects}


def _answering(model: Model, sockets: Mapping[str, schema.Socket]) -> set[str]:
    """Return the server ports among `sockets`, of connections of which the target is both ends: ports with several
    connections (each client gets a port of its own), else the end that is waited for longer."""
    waited_ns = sums_by_key((row.key, row.distribution.sum_ns) for row in model.rows)
    ends = Counter(map(local_port, sockets.values()))
    for_ns: Counter[str] = Counter()
    by_ns: Counter[str] = Counter()
    rival: dict[str, str] = {}  # at the other end
    for key, socket in sockets.items():
        other = key.rpartition(":")[2]
        for_ns[other] += waited_ns.get(key, 0)
        by_ns[local_port(socket)] += waited_ns.get(key, 0)
        rival[other] = local_port(socket)
    both = for_ns.keys() & by_ns.keys()
    shared = {port for port in both if ends[port] > 1}
    return shared | {port for port in both if rival[port] not in shared and for_ns[port] > by_ns[port]}


def local_port(socket: schema.Socket) -> str:
    """Return the port at this end."""
    return socket.local.rpartition(":")[2]


def round_trip_ns(sockets: Iterable[schema.Socket]) -> int | None:
    """Return the shortest round trip known of any of `sockets`; None if none was measured."""
    known = [
        socket.minimum_rtt_us if 0 < socket.minimum_rtt_us < NEVER_MEASURED_US else socket.rtt_us
        for socket in sockets
        if socket.rtt_us
    ]
    return min(known) * 1000 if known else None


ACCOUNTS = ("net.receive", "net.connect", "net.send")
