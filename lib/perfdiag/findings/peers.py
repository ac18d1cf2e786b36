"""Who is at the other end of a connection, which side asked, and what the connection itself looked like."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from perfdiag import schema
from perfdiag.facts.texts import words_of
from perfdiag.model import Model

# Linux hands out ports from here on to those who connect, unless net.ipv4.ip_local_port_range says otherwise.
EPHEMERAL_PORT = 32_768
# The kernel's mark for a minimum round trip that was never measured.
NEVER_MEASURED_US = 1 << 31
DNS_PORT = 53


@dataclass(frozen=True)
class Peer:
    """One end of a connection, as the object "peer:IP:PORT" names it."""

    address: str
    port: int

    @property
    def local(self) -> bool:
        """Whether it is this host itself."""
        return self.address.startswith(("127.", "[::ffff:127.")) or self.address == "[::1]"

    @property
    def unconnected(self) -> bool:
        """Whether the socket takes datagrams from anybody: nobody in particular is waited for."""
        return self.port == 0

    def __str__(self) -> str:
        name = f"{self.address}:{self.port}"
        return f"name server {name}" if self.port == DNS_PORT else name


def peer_of(key: str) -> Peer | None:
    """Return the peer an object names, None for any other object."""
    address, _, port = key.removeprefix("peer:").rpartition(":")
    if not key.startswith("peer:") or not address or not port.isascii() or not port.isdigit() or len(port) > 5:
        return None
    return Peer(address, int(port))


class Connections:
    """The TCP sockets of a recording by the object their waits have, and who asked on each."""

    def __init__(self, model: Model) -> None:
        self.sockets: Mapping[str, schema.Socket] = {socket.object: socket for socket in model.sockets}
        self._accepts = {row.key.removeprefix("port:") for row in model.rows_of("net.accept")}
        words = words_of(model.facts.sysctl("net/ipv4/ip_local_port_range"))
        self._first = int(words[0]) if words and words[0].isascii() and words[0].isdigit() else EPHEMERAL_PORT
        self._own_ports = self._accepts | {_port(socket) for key, socket in self.sockets.items() if self.near(key)}

    def asked(self, key: str) -> bool:
        """Return False where the target is the side that was asked: it listens, and waits for its own clients.

        Told by ports: its own is one on which the target waited for connections, or lies below the range handed out
        to those who connect while the peer's lies inside it.  Where that says nothing (no TCP socket seen, both ports
        alike) the target is taken to have asked.
        """
        peer, socket = peer_of(key), self.sockets.get(key)
        own = _port(socket) if socket else ""
        if peer is None or not own.isascii() or not own.isdigit():
            return True
        return own not in self._accepts and not 0 < int(own) < self._first <= peer.port

    def near(self, key: str) -> bool:
        """Return whether the peer is on this host: by a local address, or the connection's own."""
        peer, socket = peer_of(key), self.sockets.get(key)
        same = peer is not None and socket is not None and socket.local.rpartition(":")[0] == peer.address
        return peer is not None and (peer.local or same)

    def answered_here(self, key: str) -> bool:
        """Return whether the target is at the other end too: on this host, at a port on which it waits itself."""
        peer = peer_of(key)
        return peer is not None and self.near(key) and str(peer.port) in self._own_ports


def _port(socket: schema.Socket) -> str:
    return socket.local.rpartition(":")[2]


def round_trip_ns(sockets: Iterable[schema.Socket]) -> int | None:
    """Return the shortest round trip known of any of `sockets`; None if none was measured."""
    known = [
        socket.minimum_rtt_us if 0 < socket.minimum_rtt_us < NEVER_MEASURED_US else socket.rtt_us
        for socket in sockets
        if socket.rtt_us
    ]
    return min(known) * 1000 if known else None


__all__ = ["Connections", "Peer", "peer_of", "round_trip_ns"]
