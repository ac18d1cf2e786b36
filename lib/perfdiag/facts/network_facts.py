"""The part of the host facts that is about the network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perfdiag.facts import network
from perfdiag.facts.hypervisor import Hypervisor
from perfdiag.facts.link_settings import LinkSettings, read_inner_link_settings, read_link_settings
from perfdiag.facts.listeners import Listeners, read_listeners
from perfdiag.facts.network import Interface, Tcp
from perfdiag.facts.network_settings import NetworkNamespace, Sysctl, read_network_namespaces, read_sysctls
from perfdiag.facts.texts import Texts, fact
from perfdiag.facts.traffic_control import TrafficQueue, read_traffic_queues
from perfdiag.facts.udp_sockets import read_udp_drops


class NetworkFacts:
    """Interfaces, counters and sockets, of the recorder's network namespace or of the targets'."""

    texts: Texts
    hypervisor: fact[Hypervisor | None]

    @fact
    def interfaces(self) -> Sequence[Interface]:
        """Of the recorder's network namespace."""
        return network.read_interfaces(self.texts, self.hypervisor)

    @fact
    def link_settings(self) -> Mapping[str, LinkSettings]:
        """What the drivers of those interfaces are set to, by name."""
        return read_link_settings(self.texts)

    @fact
    def inner_link_settings(self) -> Mapping[str, LinkSettings]:
        """The same of interfaces in network namespaces of the targets that are not the recorder's."""
        return read_inner_link_settings(self.texts)

    @fact
    def network_namespaces(self) -> Sequence[NetworkNamespace]:
        """Those of the targets, each with its settings of the kernel; empty: recorded before they were told apart."""
        return read_network_namespaces(self.texts)

    def sysctls(self, name: str) -> Sequence[Sysctl]:
        """Return a setting of /proc/sys, "vm/swappiness"; of "net/" in each network namespace of the targets."""
        if name.startswith("net/"):
            return read_sysctls(self.texts, self.network_namespaces, name)
        value = self.texts.word_if_recorded(f"/proc/sys/{name}")
        return [] if value is None else [Sysctl(value, None)]

    @fact
    def tcp(self) -> Tcp | None:
        """Counters of the target's network namespace."""
        return network.read_tcp(self.network_deltas)

    @fact
    def network_deltas(self) -> Mapping[str, int]:
        """All deltas of net/snmp, net/netstat and, of UDP, net/snmp6 of the targets, by "Protocol.Counter"."""
        return network.read_network_deltas(self.texts)

    def network_delta(self, name: str) -> int | None:
        """Return how far a counter of net/snmp or net/netstat went: "TcpExt.ListenOverflows", "Udp.InErrors"."""
        return self.network_deltas.get(name)

    @fact
    def traffic_queues(self) -> Sequence[TrafficQueue]:
        """Where packets wait to leave the targets' network namespaces."""
        return read_traffic_queues(self.texts)

    @fact
    def udp_drops(self) -> Mapping[int, int] | None:
        """How many datagrams sockets dropped in the window, by local port; None: not recorded."""
        return read_udp_drops(self.texts)

    @fact
    def listeners(self) -> Listeners | None:
        """The sockets the targets listen on; None where none of them could be asked."""
        return read_listeners(self.texts)
