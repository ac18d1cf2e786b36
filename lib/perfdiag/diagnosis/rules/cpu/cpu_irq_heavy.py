"""A rule on CPUs that interrupts and softirqs take from the thread that was running."""

from __future__ import annotations

from collections.abc import Iterable

from perfdiag.diagnosis.evidence.cpu.stack_samples import CpuSamples
from perfdiag.diagnosis.evidence.network.peers import connections_of, peer_of
from perfdiag.diagnosis.evidence.target import CPU, again, subject
from perfdiag.diagnosis.rule import (
    Check,
    Confidence,
    Evidence,
    Finding,
    Mechanism,
    Outcome,
    Remedy,
    Severity,
    Silence,
    rule,
)
from perfdiag.diagnosis.significance import duration, fault, fix, judged, percent, plain, worth
from perfdiag.model.model import Model

# A server that moves packets gives a tenth of its CPU time to interrupts; a quarter is more than it should.
USUAL_PART = 0.1
HEAVY_PART = 0.25
# A CPU that serves too much is busy with it: below a twentieth of one, what few running threads suffer is no fault.
LOADED_PART = 0.05
# Where nine in ten packets and half of the softirqs are loopback's, no device's queues are worth a word.
LOOPBACK_PART = 0.9
LOOPBACK_OF_SOFTIRQS = 0.5
# Who sends receives as well, on loopback: the functions a sender is in, which need not ever wait.
SENDING = ("sock_sendmsg", "__sock_sendmsg", "sock_write_iter", "tcp_sendmsg", "udp_sendmsg", "udpv6_sendmsg")


@rule(
    "CPU-IRQ-HEAVY",
    title="Interrupts take the CPU from running threads",
    accounts=("cpu.irq",),
    meaning="Threads of the target were on their CPU, but interrupts and softirqs (mostly network receive work) had it."
    " A tenth of the CPU time is usual where packets are served; from a quarter on, and a twentieth of a CPU, it is a"
    " fault, most often because one CPU serves all queues of a device. What the target's own local connections take is"
    " the price of its messages, and profile.",
    measured="Exact time between entry and exit of interrupt and softirq handlers while a thread of the target was"
    " current, over the whole window; joined with the softirq counts of the host by vector, and packets per second of"
    " its interfaces: where nearly all are loopback's, they are received inside the sender's own call. They are the"
    " target's own where it waits at local connections, or is sampled while it sends. The local timer and"
    " inter-processor interrupts are not in it.",
    alternatives="A flood of small packets; an emulated network card (VIRT-EMULATED-DEVICE); traffic of others: the"
    " interrupts a thread suffers are often not its own.",
    remedies="Of a device: spread the queues over CPUs (irqbalance, RPS), coalesce interrupts, or keep the target off"
    " that CPU. Of local connections: fewer, larger messages, or unix sockets.",
    verify="cpu.irq in the next report; mpstat -P ALL 1 shows %soft spread over the CPUs.",
)
def heavy(model: Model) -> Iterable[Outcome]:
    """Join cpu.irq with the host's softirqs by vector and its packets."""
    ns = model.ns("cpu.irq")
    cpu = ns + model.ns(*CPU)
    part = ns / cpu if cpu else 0.0
    if not model.measured("irq"):
        if worth(model, model.ns(*CPU)):
            host = _host_part(model)
            known = f" (of all the host's busy CPU time: {percent(host)})" if host is not None else ""
            yield Silence(
                "CPU-IRQ-HEAVY",
                f"interrupts that hit running threads were not measured{known}",
                "perfdiag check (feature irq)",
            )
        return
    if part < USUAL_PART or not worth(model, ns):
        yield Check("CPU-IRQ-HEAVY", f"interrupts {percent(part)} of CPU time", part, "share")
        return
    loopback = _loopback(model)
    own = loopback is not None and _talks_locally(model)
    loaded = part >= HEAVY_PART and ns >= LOADED_PART * model.window_ns
    severity = fault(model, ns) if loaded and not own else Severity.INFO
    confidence, limits = judged(
        model, Confidence.HIGH, ["which softirqs took the time is told by their number" if loopback else ""]
    )
    whose = "its own local connections" if own else "local connections on this host"
    mostly = f", mostly for {whose} (loopback)" if loopback else ""
    yield Finding(
        "CPU-IRQ-HEAVY",
        severity,
        confidence,
        f"Interrupts and softirqs had the CPU for {duration(ns)} while threads of {subject(model)} were on it:"
        f" {percent(part)} of its CPU time{mostly}.",
        {"cpu.irq": ns},
        [
            Evidence(f"{duration(ns)} of {duration(cpu)} on the CPU", float(ns), "ns", "ledger, irq"),
            *_vectors(model),
            *([loopback] if loopback else _packets(model)),
        ],
        _local_remedies(own=own) if loopback else _device_remedies(),
        alternatives=["packets of other processes: a thread suffers the interrupts of its CPU, not only its own"],
        limits=limits,
        verify=f"{again(model)}: cpu.irq; mpstat -P ALL 1, column %soft",
        headline=f"Interrupts take {percent(part)} of the CPU time",
        mechanism=Mechanism.BUSY,
    )


def _talks_locally(model: Model) -> bool:
    """Whether the target is seen at local connections: loopback's packets are counted for its whole namespace."""
    connections = connections_of(model)
    waited = {row.key for row in model.rows if row.account.startswith("net.")} | connections.sockets.keys()
    peers = {key: peer_of(key) for key in waited}
    # What takes questions from anybody, or listens, may take them from this host.
    local = any(peer is None or peer.unconnected or connections.near(key) for key, peer in peers.items())
    return local or CpuSamples(model).inside(SENDING).count > 0


def _waits_locally(model: Model) -> bool:
    """Whether the target is surely seen to wait at connections within a host."""
    connections = connections_of(model)
    keys = {row.key for row in model.rows if row.account.startswith("net.")}
    return any(peer_of(key) is not None and connections.near(key) for key in keys)


def _local_remedies(*, own: bool) -> list[Remedy]:
    if not own:
        return [
            fix(
                "see who talks locally (ss -tnp, pidstat -w 1 5: who has many system calls and sockets of 127.0.0.1),"
                " and keep it off these CPUs, or let it send fewer, larger messages"
            )
        ]
    return [
        fix(
            "send less often over the local connections: several requests at once (pipelining, batches), larger"
            " messages; or a unix socket, which needs no packets"
        )
    ]


def _device_remedies() -> list[Remedy]:
    return [
        fix(
            "spread the device's queues over CPUs: irqbalance, or RPS (rps_cpus of the receive queues); check that "
            "the device has more than one queue (ethtool -l)"
        ),
        fix("coalesce interrupts (ethtool -C), larger packets, or keep busy threads off the CPU that serves them"),
    ]


def _loopback(model: Model) -> Evidence | None:
    """Return the packets of local connections where most softirqs receive them, inside the call of the sender."""
    packets: dict[bool, int] = {True: 0, False: 0}
    for interface in model.facts.interfaces:
        if "rx_packets" not in interface.counters:
            return None
        packets[interface.kind == "loopback"] += interface.counters["rx_packets"]
    local, whole, softirqs = packets[True], sum(packets.values()), sum(model.facts.softirqs.values())
    receiving = model.facts.softirqs.get("NET_RX", 0)
    elsewhere = receiving > 2 * local  # interfaces of other network namespaces are not counted here
    unseen = receiving - whole
    if unseen > max(LOOPBACK_PART * receiving, LOOPBACK_OF_SOFTIRQS * softirqs) and _waits_locally(model):
        text = (
            f"{receiving:,} softirqs received packets, interfaces seen from here {whole:,}: another network namespace"
        )
        return Evidence(text, float(receiving), "count", "/proc/softirqs, /sys/class/net")
    if not local or local < LOOPBACK_PART * whole or receiving < LOOPBACK_OF_SOFTIRQS * softirqs or elsewhere:
        return None
    text = f"{local:,} of {whole:,} packets received were local ones"
    return Evidence(text, local / whole, "share", "/sys/class/net")


def _host_part(model: Model) -> float | None:
    times = model.facts.cpu_times_ns
    busy = sum(ns for name, ns in times.items() if name not in ("idle", "iowait") and not name.startswith("guest"))
    return (times["irq"] + times["softirq"]) / busy if busy and "irq" in times and "softirq" in times else None


def _vectors(model: Model) -> list[Evidence]:
    counts = sorted(model.facts.softirqs.items(), key=lambda item: -item[1])
    whole = sum(model.facts.softirqs.values())
    if not whole:
        return []
    text = ", ".join(f"{plain(name)} {percent(count / whole)}" for name, count in counts[:3])
    return [Evidence(f"softirqs of the host: {text} of {whole:,}", float(whole), "count", "/proc/softirqs")]


def _packets(model: Model) -> list[Evidence]:
    seconds = model.window_ns / 1e9
    found = []
    for interface in model.facts.interfaces:
        packets = interface.counters.get("rx_packets", 0) + interface.counters.get("tx_packets", 0)
        if packets and interface.kind not in ("loopback", "virtual") and seconds:
            found.append((packets, plain(interface.name)))
    return [
        Evidence(f"{name}: {packets / seconds:,.0f} packets a second", packets / seconds, "1/s", "/sys/class/net")
        for packets, name in sorted(found, reverse=True)[:1]
    ]


__all__ = ["heavy"]
