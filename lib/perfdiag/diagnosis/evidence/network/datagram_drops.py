"""Why sockets of UDP dropped datagrams: the kernel counts reasons of all sockets of a network namespace together."""

from dataclasses import dataclass

from perfdiag.diagnosis.rule import Evidence, Mechanism
from perfdiag.model.model import Model

LARGER = (
    "a larger receive buffer (SO_RCVBUF, or sysctl net.core.rmem_default, and rmem_max as its limit), read it from more"
    " threads, or send less at once"
)


@dataclass(frozen=True)
class Reason:
    """Why the kernel drops a datagram at a socket."""

    words: str  # behind "dropped 44 datagrams"
    mechanism: Mechanism
    remedy: str  # at "{port}"
    counter: str  # of net/snmp


BUFFER = Reason(
    "because its receive buffer was full", Mechanism.LIMIT, f"give the socket at port {{port}} {LARGER}", "RcvbufErrors"
)
CHECKSUM = Reason(
    "because their checksums were wrong",
    Mechanism.FAILED,
    "look for a broken NIC, cable or offload: ethtool -k, ethtool -S",
    "InCsumErrors",
)
MEMORY = Reason(
    "because memory for UDP was short",
    Mechanism.LIMIT,
    "raise the third value of net.ipv4.udp_mem; /proc/net/sockstat shows what is used, in pages",
    "MemErrors",
)
REFUSED = Reason(
    "but not because its receive buffer was full",
    Mechanism.FAILED,
    "see the kernel's reason: perf trace -a -e skb:kfree_skb (SOCKET_FILTER: the program at port {port} has attached a"
    " BPF filter, or a security module refuses them; XFRM_POLICY: IPsec)",
    "InErrors",
)


@dataclass(frozen=True)
class Why:
    """What is known of the reason for which a port dropped datagrams."""

    reason: Reason
    doubt: str
    alternative: str
    evidence: list[Evidence]


def why_dropped(model: Model, dropped: int) -> Why:
    """Return the reason that the counters leave for so many: a full buffer, unless it is not among them."""
    errors = _grown(model, REFUSED)
    if errors < dropped / 2:  # they were not recorded
        return Why(BUFFER, "", "datagrams with a wrong checksum, or that a filter refuses, count as well", [])
    counted = {each: _grown(model, each) for each in (BUFFER, CHECKSUM, MEMORY)}
    told = ", ".join(f"{each.counter} {count:,}" for each, count in counted.items())
    counted[REFUSED] = errors - sum(counted.values())
    possible = [each for each, count in counted.items() if count >= dropped / 2]
    likely = BUFFER if BUFFER in possible else max(counted, key=lambda each: counted[each])
    doubt = "" if len(possible) == 1 else "sockets of its network namespace drop datagrams for several reasons"
    text = f"{errors:,} dropped in its network namespace (InErrors), of these: {told}"
    return Why(likely, doubt, "", [Evidence(text, float(errors), "count", "net/snmp, net/snmp6")])


def _grown(model: Model, reason: Reason) -> int:
    return sum(model.facts.network_delta(f"{protocol}.{reason.counter}") or 0 for protocol in ("Udp", "Udp6"))


__all__ = ["BUFFER", "LARGER", "Why", "why_dropped"]
