"""Packets that this host's own kernel drops on their way from or to a peer, and why: skb:kfree_skb gives reasons since
Linux 5.17."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

from perfdiag.common.by_key import sums_by_key
from perfdiag.common.units import plural
from perfdiag.diagnosis.policy import network_policy
from perfdiag.diagnosis.rule import Evidence, Remedy
from perfdiag.diagnosis.significance import fix
from perfdiag.model.model import Model

_PROBE = "kfree_skb"


@dataclass(frozen=True)
class _Kind:
    """What drops them, and what to do about it."""

    dropper: str  # "a firewall rule of this host"
    remedy: str


_KINDS = {
    "firewall": _Kind(
        "a firewall rule of this host",
        "find the rule that counts them: iptables-save -c, nft list ruleset; raise its limit, or let the peer through",
    ),
    "filter": _Kind(
        "a filter of this host (BPF or tc)",
        "find the filter: bpftool net, bpftool cgroup tree, tc -s filter show dev DEVICE",
    ),
    "receive_buffer": _Kind(
        "a full receive buffer of this host",
        "read sooner, or enlarge it: SO_RCVBUF, net.core.rmem_max, net.ipv4.tcp_mem; ss -tuam shows each",
    ),
    "queue": _Kind("a full queue of an interface of this host", "see which queue drops: tc -s qdisc"),
    "backlog": _Kind(
        "a full backlog of a CPU of this host",
        "raise net.core.netdev_max_backlog, or spread packets over CPUs (RPS); /proc/net/softnet_stat counts them",
    ),
    "link_address": _Kind(
        "the kernel of this host, which finds no link address (ARP)",
        "look at ip neigh show, and whether the peer is up",
    ),
    "reverse_path": _Kind(
        "the reverse path filter of this host (rp_filter)",
        "let answers leave where questions come in, or set net.ipv4.conf.*.rp_filter to 2",
    ),
    "route": _Kind("the kernel of this host, which has no route", "look at ip route get PEER"),
    "checksum": _Kind(
        "the kernel of this host, for wrong checksums",
        "look for a broken NIC, cable or offload: ethtool -k, ethtool -S",
    ),
    "too_big": _Kind(
        "the kernel of this host, as too big", "look at MTUs on the way: ip link, ping -M do -s 1472 PEER"
    ),
}


@dataclass(frozen=True)
class DroppedHere:
    """Packets of some peers that this host dropped for one reason."""

    kind: _Kind
    count: int

    @property
    def words(self) -> str:
        """Return who drops them: "a firewall rule of this host drops packets"."""
        return f"{self.kind.dropper} drops packets"

    @property
    def evidence(self) -> Evidence:
        """Return the number that carries it."""
        text = f"{plural(self.count, 'packet')} from or to this peer, whoever sent them, dropped by {self.kind.dropper}"
        return Evidence(text, float(self.count), "count", _PROBE)

    @property
    def remedy(self) -> Remedy:
        """Return what ends it."""
        return fix(self.kind.remedy)


def dropped_by_peer(model: Model) -> Counter[str]:
    """Return how many packets from or to each peer this host dropped."""
    return sums_by_key((line.object, line.count) for line in model.packet_drops if line.kind in _KINDS)


def dropped_here(model: Model, peers: Collection[str], lost: int) -> DroppedHere | None:
    """Return the reason for which this host dropped most packets of some peers; None where it dropped far fewer than
    were `lost`: the others are lost elsewhere."""
    sums = sums_by_key((line.kind, line.count) for line in model.packet_drops if line.object in peers)
    kind = max((name for name in sums if name in _KINDS), key=lambda name: (sums[name], name), default="")
    if not kind or not lost or sums[kind] < max(network_policy.retransmits, network_policy.dropped_here_share * lost):
        return None
    return DroppedHere(_KINDS[kind], sums[kind])
