"""Connections of the network that the target waited on."""

from perfdiag.recording.schema.base import Count, Line
from perfdiag.recording.schema.limits import Object, Word


class Socket(Line, tag="socket"):
    """A TCP socket the target waited on, as last seen when a wait on it began."""

    object: Object  # as in Detail
    local: Word
    rtt_us: Count
    minimum_rtt_us: Count
    congestion_window: Count
    in_flight: Count
    send_window_bytes: Count
    receive_window_bytes: Count
    retransmits: Count  # of this connection since it was opened
    retransmits_seen: Count  # inside the window
    waits_congestion: Count
    waits_receiver: Count
    waits_buffer: Count
    waits_unasked: Count | None = None  # to receive, nothing written on the same connection since the wait before


class PacketDrop(Line, tag="packet_drop"):
    """Packets from a peer, or to it, that this host's own kernel dropped for one reason."""

    object: Object  # the peer, as in Detail
    kind: Word  # firewall, filter, receive_buffer, queue, backlog, link_address, reverse_path, route, checksum, too_big
    count: Count
