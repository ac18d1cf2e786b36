"""Network interfaces of this host: bonds, what their drivers are set to, and queues that hold packets up.

They bear on what was waited for at peers beyond this host: what stays on it passes none of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from perfdiag.common.units import duration
from perfdiag.diagnosis.evidence.network.own_queues import bits
from perfdiag.diagnosis.evidence.peers import peer_of
from perfdiag.diagnosis.settings.unusual import NETWORK, Unusual, time_at
from perfdiag.diagnosis.significance import plain
from perfdiag.facts.host_facts import Interface
from perfdiag.facts.link_settings import LinkSettings
from perfdiag.facts.texts import words_of
from perfdiag.facts.traffic_control import TrafficQueue
from perfdiag.model.model import Model

_WITHOUT_A_DRIVER = ("loopback", "virtual")
SLOWEST_MBITS = 1000  # what any wired network of a server carries
SMALLEST_MTU = 1280  # of IPv6
LONGEST_COALESCING_US = 250  # drivers wait for some dozens, or for this under load; what is sent nobody waits for
SHORTEST_RING = 128  # packets: drivers begin with 200 (tg3) and more
_MOST_LINKS = 64  # of a bond
_ORDERED_MODES = ("active-backup", "802.3ad", "balance-xor", "balance-tlb", "balance-alb", "broadcast")


def interfaces(model: Model) -> Iterator[Unusual]:
    """Yield what is unusual about those that are up."""
    ns = time_at(model, NETWORK, _beyond_this_host(model))
    if not ns:
        return
    passed = _Passed.of(model)
    for each in model.facts.interfaces:
        if passed.may_be(each.name):
            yield from _bond(model, each.name, ns)
            if each.kind not in _WITHOUT_A_DRIVER and _word(model, each.name, "operstate") in ("up", "unknown"):
                yield from _link(model, each, ns)
    for name, settings in model.facts.inner_link_settings.items():
        if name != "lo" and passed.may_be(name):
            yield from _driver(plain(name), settings, ns, ("gso", "tso"))  # of veth gro is off by itself
    for queue in model.facts.traffic_queues:
        if passed.may_be(queue.interface):
            yield from _queue(queue, ns)


@dataclass(frozen=True)
class _Passed:
    """Which interfaces the connections pass that the target waited on, by the addresses at this end."""

    local: frozenset[str]  # of the connections; empty: not known
    addresses: Mapping[str, frozenset[str]]  # of each interface, as far as they are known

    @classmethod
    def of(cls, model: Model) -> _Passed:
        """Return what a recording says."""
        local = frozenset(socket.local.rpartition(":")[0].strip("[]") for socket in model.sockets)
        addresses = {queue.interface: queue.addresses for queue in model.facts.traffic_queues}
        return cls(frozenset() if "" in local else local, addresses)

    def may_be(self, interface: str) -> bool:
        """Return whether an interface may be passed: those below a bond or a bridge have no addresses of their own."""
        own = self.addresses.get(interface)
        return not own or not self.local or bool(own & self.local)


def _queue(queue: TrafficQueue, ns: int) -> Iterator[Unusual]:
    name = plain(queue.interface)
    if queue.delay_ns:
        text = f"{queue.kind} on {name} delays each packet by {duration(queue.delay_ns)}"
        yield Unusual(text, "each round trip takes that longer", f"tc -s qdisc show dev {name}", ns)
    elif queue.rate:
        text = f"{queue.kind} on {name} lets {bits(queue.rate)} out"
        yield Unusual(text, "packets wait or are dropped above that", f"tc -s qdisc show dev {name}", ns)


def _beyond_this_host(model: Model) -> list[str]:
    """Return the keys of what was waited for in the network, but peers on this host."""
    own = {address for queue in model.facts.traffic_queues for address in queue.addresses}
    return [row.key for row in model.rows_of(*NETWORK) if not _is_here(row.key, own)]


def _is_here(key: str, own: set[str]) -> bool:
    peer = peer_of(key)
    return peer is not None and (peer.local or peer.address.strip("[]") in own)


def _word(model: Model, interface: str, file: str) -> str:
    return model.facts.texts.word_if_recorded(f"/sys/class/net/{interface}/{file}") or ""


def _bond(model: Model, interface: str, ns: int) -> Iterator[Unusual]:
    words = words_of(_word(model, interface, "bonding/mode"))
    if not words:
        return
    name, mode = plain(interface), plain(words[0])
    shown_by = f"/proc/net/bonding/{name}"
    if mode not in _ORDERED_MODES:
        yield Unusual(f"{name} sends in mode {mode}", "packets of a connection overtake each other", shown_by, ns)
    if all(_word(model, interface, f"bonding/{file}") in ("", "0") for file in ("miimon", "arp_interval")):
        effect = "packets that go to a dead link are lost"
        yield Unusual(f"{name} does not monitor its links (miimon and arp_interval are 0)", effect, shown_by, ns)
    for link in list(dict.fromkeys(words_of(_word(model, interface, "bonding/slaves"))))[:_MOST_LINKS]:
        if _word(model, link, "operstate") == "down":
            yield Unusual(f"{plain(link)} of {name} is down", "the other links carry its packets", shown_by, ns)


def _link(model: Model, interface: Interface, ns: int) -> Iterator[Unusual]:
    name = plain(interface.name)
    speed, mtu = (model.facts.texts.number(f"/sys/class/net/{interface.name}/{file}") for file in ("speed", "mtu"))
    if speed is not None and 0 < speed < SLOWEST_MBITS:
        yield Unusual(f"{name} runs at {speed} Mbit/s", "it carries no more", f"ethtool {name}", ns)
    if _word(model, interface.name, "duplex") == "half":
        yield Unusual(f"{name} is half duplex", "packets collide", f"ethtool {name}", ns)
    if mtu is not None and 0 < mtu < SMALLEST_MTU:
        yield Unusual(f"mtu of {name} is {mtu} (usually 1500)", "data takes more packets", f"ip link show {name}", ns)
    settings = model.facts.link_settings.get(interface.name)
    if settings is not None:
        yield from _driver(name, settings, ns)


def _driver(
    name: str, settings: LinkSettings, ns: int, switches: Sequence[str] = ("gso", "gro", "tso")
) -> Iterator[Unusual]:
    off = [each for each in switches if settings.switches.get(each) is False]
    if off and off != ["tso"]:  # which many a virtual NIC does not have at all
        text = f"{' and '.join(off)} of {name} {'is' if len(off) == 1 else 'are'} off"
        yield Unusual(text, "a CPU handles each packet by itself", f"ethtool -k {name}", ns)
    if settings.receive_coalescing_us and settings.receive_coalescing_us > LONGEST_COALESCING_US:
        text = f"{name} waits {settings.receive_coalescing_us} us before it interrupts for packets (rx-usecs)"
        yield Unusual(text, "each answer comes that much later", f"ethtool -c {name}", ns)
    if settings.receive_ring is not None:
        length, most = settings.receive_ring
        if 0 < length < min(SHORTEST_RING, most):
            text = f"the rx ring of {name} has {length} entries (at most {most})"
            yield Unusual(text, "packets are dropped in bursts", f"ethtool -g {name}", ns)
