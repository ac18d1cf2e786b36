"""Network interfaces and protocol counters."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from posixpath import basename

from perfdiag.facts.device_kinds import interface_kind
from perfdiag.facts.hypervisor import Hypervisor
from perfdiag.facts.texts import Texts, changes, lines_of, number, words_of


@dataclass(frozen=True)
class Interface:
    """One network interface, with its counters begin to end."""

    name: str
    driver: str | None
    kind: str | None  # physical, emulated, paravirtual, virtual (bridge, veth, tun ...), loopback; None: unknown
    counters: Mapping[str, int]  # names of statistics/: rx_bytes, rx_packets, rx_errors, rx_dropped, tx_...


@dataclass(frozen=True)
class Tcp:
    """Counters of the targets' network namespaces, begin to end; None: this kernel does not have the counter."""

    segments_out: int | None
    retransmitted_segments: int | None
    timeouts: int | None


def read_interfaces(texts: Texts, hypervisor: Hypervisor | None) -> Sequence[Interface]:
    """Read all interfaces of the recorder's network namespace."""
    counters: dict[str, dict[str, int]] = {}
    for path, match in texts.match(r"/sys/class/net/([^/]+)/statistics/([a-z_]+)"):
        delta = texts.delta(path)
        if delta is not None:
            counters.setdefault(match[1], {})[match[2]] = delta
    names = texts.names(r"/sys/class/net/([^/]+)/mtu")
    return [_interface(texts, name, counters.get(name, {}), hypervisor) for name in names]


def _interface(texts: Texts, name: str, counters: Mapping[str, int], hypervisor: Hypervisor | None) -> Interface:
    base = f"/sys/class/net/{name}"
    link = texts.word_if_recorded(f"{base}/device/driver")
    driver = basename(link) if link else None
    return Interface(
        name=name,
        driver=driver,
        kind=interface_kind(name, driver, texts.word(base) or "", hypervisor),
        counters=counters,
    )


def read_network_deltas(texts: Texts) -> Mapping[str, int]:
    """Return the deltas of net/snmp and net/netstat, and of UDP in net/snmp6, summed over the targets' namespaces:
    {"Tcp.RetransSegs": 3, "Udp6.InErrors": 2}.

    Of a target that is gone at the end, net/snmp of the series stands for it: a lower bound."""
    sums: dict[str, int] = {}
    for path, match in texts.match(r"/proc/([0-9]+|self)/net/(snmp|netstat|snmp6)"):
        counters = _counters_of_ipv6 if match[2] == "snmp6" else _counters
        begin, end = (counters(text) for text in (texts.text(path, "begin"), texts.last(path)))
        for name, delta in changes(begin, end).items():
            sums[name] = sums.get(name, 0) + delta
    return sums


def _counters(text: str | None) -> dict[str, int]:
    """Parse pairs of lines "Tcp: names" and "Tcp: values"."""
    counters: dict[str, int] = {}
    lines = lines_of(text)
    for names, values in pairwise(lines):
        (prefix, *keys), (same, *numbers) = words_of(names) or [""], words_of(values) or [""]
        if prefix == same and prefix.endswith(":"):
            for key, value in zip(keys, map(number, numbers), strict=False):
                if value is not None and number(key) is None:
                    counters[f"{prefix[:-1]}.{key}"] = value
    return counters


def _counters_of_ipv6(text: str | None) -> dict[str, int]:
    """Parse lines "Udp6InErrors 2" of UDP."""
    counters = ((words[0], number(words[1])) for words in map(words_of, lines_of(text)) if len(words) == 2)
    return {
        f"Udp6.{name.removeprefix('Udp6')}": value
        for name, value in counters
        if value is not None and name.startswith("Udp6")
    }


def read_tcp(deltas: Mapping[str, int]) -> Tcp | None:
    """Pick the counters of TCP."""
    if not any(name.startswith(("Tcp.", "TcpExt.")) for name in deltas):
        return None
    return Tcp(
        segments_out=deltas.get("Tcp.OutSegs"),
        retransmitted_segments=deltas.get("Tcp.RetransSegs"),
        timeouts=deltas.get("TcpExt.TCPTimeouts"),
    )
