"""CPU-IRQ-HEAVY: interrupts and softirqs take the CPU from running threads."""

from collections.abc import Iterable

from perfdiag.diagnosis.evidence.cpu.device_interrupts import DeviceInterrupts, busiest_device
from perfdiag.diagnosis.evidence.cpu.kernel_work import Work, work
from perfdiag.diagnosis.evidence.cpu.stack_samples import PURPOSES, CpuSamples, interrupted
from perfdiag.diagnosis.evidence.cpu.timer_interrupts import TimerInterrupts, frequent_timers
from perfdiag.diagnosis.evidence.fix_checks import part_under
from perfdiag.diagnosis.evidence.peers import connections_of, peer_of
from perfdiag.diagnosis.evidence.target import CPU, subject
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import cpu_policy
from perfdiag.diagnosis.rule import (
    Check,
    Evidence,
    Mechanism,
    Outcome,
    Remedy,
    Severity,
    Silence,
    rule,
)
from perfdiag.diagnosis.significance import duration, fault, fix, percent, plain, worth
from perfdiag.model.model import Model

# On loopback the sender also does the receive work, inside these functions, and need not wait.
SENDING = ("sock_sendmsg", "__sock_sendmsg", "sock_write_iter", "tcp_sendmsg", "udp_sendmsg", "udpv6_sendmsg")

MOVING_PACKETS = ("", "receiving packets", "the network")  # what interrupts of a network are for


@rule(
    "CPU-IRQ-HEAVY",
    title="Interrupts take the CPU from running threads",
    accounts=("cpu.irq",),
    meaning=(
        "Interrupts and softirqs, mostly network receive work, ran on CPUs that threads of the target were using. A"
        " tenth of CPU time is usual for a network server. A quarter, and a twentieth of a CPU, is a fault, often"
        " because one CPU serves all queues of a device. The cost of the target's own loopback connections is a"
        " profile."
    ),
    measured=(
        "Time from entry to exit of interrupt, softirq and timer handlers on a CPU with a target thread, without the"
        " scheduler's tick and inter-processor interrupts. Softirq counts by type, packet rates by interface, rates of"
        " timer interrupts and stack samples inside interrupts tell what for."
    ),
    alternatives=(
        "A flood of small packets, an emulated network card (VIRT-EMULATED-DEVICE), or other processes' traffic."
    ),
    remedies=(
        "For a device, spread its queues over CPUs (irqbalance, RPS), coalesce interrupts, or move the target to"
        " other CPUs. For loopback, send fewer and larger messages, or use unix sockets."
    ),
    verify="With --full, interrupts take less than 10 % of CPU time; mpstat -P ALL 1 shows %soft per CPU.",
    met=False,
)
def heavy(model: Model) -> Iterable[Outcome]:
    """Join cpu.irq with the host's softirqs by vector and its packets."""
    ns = model.ns("cpu.irq")
    cpu = ns + model.ns(*CPU)
    part = ns / cpu if cpu else 0.0
    if not model.measured("irq"):
        if worth(model, model.ns(*CPU)):
            host = _host_part(model)
            known = f" ({percent(host)} of the host's busy CPU time)" if host is not None else ""
            yield Silence(
                "CPU-IRQ-HEAVY",
                f"interrupts on running threads were not measured{known}",
                "perfdiag check (feature irq)",
            )
        return
    if part < cpu_policy.irq_usual_share or not worth(model, ns):
        yield Check("CPU-IRQ-HEAVY", f"interrupts {percent(part)} of CPU time", part, "share")
        return
    loopback, purpose = _loopback(model), _purpose(model)
    timers = frequent_timers(model) if not purpose and not loopback else None
    device = busiest_device(model) if not purpose and not loopback and not timers else None
    own = loopback is not None and _talks_locally(model)
    loaded = part >= cpu_policy.irq_heavy_share and ns >= cpu_policy.irq_loaded_share * model.window_ns
    severity = fault(model, ns) if loaded and (purpose or not own) else Severity.INFO
    whose = "its own loopback connections" if own else "loopback connections on this host"
    mostly = f", mostly for {whose}" if loopback else ""
    does = f"; {purpose.part} of that is {purpose.name}" if purpose else ""
    what = purpose.name if purpose else _traffic(model, own=own) if loopback else "timers" if timers else ""
    yield conclude(
        model,
        {"cpu.irq": ns},
        headline=f"Interrupts take {percent(part)} of the CPU time{f' for {what}' if what else ''}",
        claim=(
            f"Interrupts and softirqs took {duration(ns)} of CPU from {subject(model)}, {percent(part)} of its CPU"
            f" time{mostly}{does}."
        ),
        mechanism=Mechanism.BUSY,
        severity=severity,
        doubts=["softirqs were counted by type, not timed" if loopback else ""],
        evidence=[
            Evidence(f"{duration(ns)} of {duration(cpu)} on a CPU", float(ns), "ns", "ledger, irq"),
            *([_samples(purpose)] if purpose else []),
            *(each.evidence for each in (timers, device) if each),
            *_vectors(model),
            *([loopback] if loopback else _packets(model)),
        ],
        remedies=_remedies(purpose, timers, device, own=own, local=loopback is not None),
        alternatives=["packets of other processes arrive on the same CPU"],
        verify=part_under(model, "interrupts", "CPU time", part, cpu_policy.irq_usual_share),
    )


def _purpose(model: Model) -> Work | None:
    """Return what samples show that interrupts do besides moving packets."""
    found = next(iter(work(CpuSamples(model), interrupted)), None)
    return found if found and found.proven and found.name not in MOVING_PACKETS else None


def _samples(purpose: Work) -> Evidence:
    text = f"{purpose.part.count:,} samples in interrupts are {purpose.name}"
    return Evidence(text, float(purpose.part.count), "count", PURPOSES)


def _talks_locally(model: Model) -> bool:
    """Return whether the target uses loopback: packets are counted for its whole namespace."""
    connections = connections_of(model)
    waited = {row.key for row in model.rows if row.account.startswith("net.")} | connections.sockets.keys()
    peers = {key: peer_of(key) for key in waited}
    # A listening or unconnected socket may get its requests from this host.
    local = any(peer is None or peer.unconnected or connections.near(key) for key, peer in peers.items())
    return local or CpuSamples(model).inside(SENDING).count > 0


def _traffic(model: Model, *, own: bool) -> str:
    """Return "loopback traffic", if it is the target's own with the function that makes most system calls, where most
    samples in the kernel send something."""
    samples = CpuSamples(model)
    sends = own and samples.inside(SENDING).share >= cpu_policy.hot_spot_share
    sender = samples.calls_from()[1] if sends and samples.count >= cpu_policy.samples_for_function else ""
    return f"loopback traffic{f' from {sender}' if sender else ''}"


def _waits_locally(model: Model) -> bool:
    """Return whether the target waits at connections within this host."""
    connections = connections_of(model)
    keys = {row.key for row in model.rows if row.account.startswith("net.")}
    return any(peer_of(key) is not None and connections.near(key) for key in keys)


def _remedies(
    purpose: Work | None, timers: TimerInterrupts | None, device: DeviceInterrupts | None, *, own: bool, local: bool
) -> list[Remedy]:
    if purpose:
        return [fix(purpose.remedy)]
    if local:
        return _local_remedies(own=own)
    return [*([timers.remedy] if timers else []), *_device_remedies(), *([device.remedy] if device else [])]


def _local_remedies(*, own: bool) -> list[Remedy]:
    if not own:
        return [
            fix(
                "find the process with busy loopback sockets (ss -tnp, pidstat -w 1 5), and move it to other CPUs or"
                " make"
                " it send fewer, larger messages"
            )
        ]
    return [fix("send fewer, larger messages over loopback (pipelining, batches), or use a unix socket")]


def _device_remedies() -> list[Remedy]:
    return [
        fix("spread the device's queues over CPUs: irqbalance, or RPS (rps_cpus); ethtool -l shows how many it has"),
        fix("coalesce interrupts (ethtool -C), or move busy threads off the CPU with the interrupts"),
    ]


def _loopback(model: Model) -> Evidence | None:
    """Return the evidence that most softirqs receive loopback packets, inside the sender's call."""
    packets: dict[bool, int] = {True: 0, False: 0}
    for interface in model.facts.interfaces:
        if "rx_packets" not in interface.counters:
            return None
        packets[interface.kind == "loopback"] += interface.counters["rx_packets"]
    local, whole, softirqs = packets[True], sum(packets.values()), sum(model.facts.softirqs.values())
    receiving = model.facts.softirqs.get("NET_RX", 0)
    elsewhere = receiving > 2 * local  # interfaces of other network namespaces are not counted here
    unseen = receiving - whole
    if unseen > max(
        cpu_policy.loopback_packets_share * receiving, cpu_policy.loopback_softirqs_share * softirqs
    ) and _waits_locally(model):
        text = f"{receiving:,} receive softirqs, {whole:,} packets here: the rest is in another network namespace"
        return Evidence(text, float(receiving), "count", "/proc/softirqs, /sys/class/net")
    if (
        not local
        or local < cpu_policy.loopback_packets_share * whole
        or receiving < cpu_policy.loopback_softirqs_share * softirqs
        or elsewhere
    ):
        return None
    text = f"{local:,} of {whole:,} received packets were loopback"
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
    return [Evidence(f"{whole:,} softirqs on the host: {text}", float(whole), "count", "/proc/softirqs")]


def _packets(model: Model) -> list[Evidence]:
    seconds = model.window_ns / 1e9
    found = []
    for interface in model.facts.interfaces:
        packets = interface.counters.get("rx_packets", 0) + interface.counters.get("tx_packets", 0)
        if packets and interface.kind not in ("loopback", "virtual") and seconds:
            found.append((packets, plain(interface.name)))
    return [
        Evidence(f"{packets / seconds:,.0f} packets/s on {name}", packets / seconds, "1/s", "/sys/class/net")
        for packets, name in sorted(found, reverse=True)[:1]
    ]
