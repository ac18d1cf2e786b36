"""Rules on what a guest pays for: a clock source read through the hypervisor, devices that only exist in software."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from perfdiag.diagnosis.evidence.cpu.stack_samples import ENOUGH, SAMPLED, CpuSamples, Part
from perfdiag.diagnosis.evidence.target import CPU, again
from perfdiag.diagnosis.evidence.virtual.host_side import of_clock, of_driver
from perfdiag.diagnosis.rule import Check, Confidence, Evidence, Finding, Mechanism, Outcome, Silence, rule
from perfdiag.diagnosis.significance import brief, duration, fault, fix, judged, percent, plain, worth
from perfdiag.facts.host_facts import Disk, Hypervisor, Interface
from perfdiag.model.model import Model

# Clock sources read without leaving the CPU (or the guest); any other one goes to a device at every reading.
FAST_CLOCKS = frozenset(
    {
        "tsc",
        "tsc-early",
        "kvm-clock",
        "arch_sys_counter",
        "hyperv_clocksource_tsc_page",
        "xen",
        "timebase",
        "tod",
        "riscv_clocksource",
    }
)
CLOCK_READS = ("acpi_pm_read", "read_hpet", "hpet_read", "pit_read", "i8253_read", "read_hv_clock_msr")
# An access that leaves the guest is interrupted when it has come back: often in the function that asked for it, which
# hardly takes time of its own.  Only where a device is known to be the source: of a fast one nothing is slow.
CLOCK_READERS = (*CLOCK_READS, "ktime_get")
# Reading the clock takes a thousandth of a program's time from a fast source; one in fifty is the source's fault.
CLOCK_SHARE = 0.02
# Driver of an emulated device -> how its functions begin.  The register accesses themselves are counted with them,
# because the innermost function of a trapped access is often the accessor.
EMULATED: Mapping[str, tuple[str, ...]] = {
    "e1000": ("e1000_",),
    "e1000e": ("e1000e_", "e1000_"),
    "8139too": ("rtl8139_",),
    "8139cp": ("cp_rx_poll", "cp_start_xmit", "cp_interrupt", "cp_tx"),
    "pcnet32": ("pcnet32_",),
    "ne2k-pci": ("ei_", "ne2k_"),
    "tulip": ("tulip_",),
    "igb": ("igb_",),
    "ata_piix": ("ata_", "piix_"),
    "ata_generic": ("ata_",),
    "ahci": ("ahci_", "ata_"),
    "sym53c8xx": ("sym_", "sym53c8xx_"),
    "mptspi": ("mpt_", "mptspi_", "mptscsih_"),
    "mptsas": ("mpt_", "mptscsih_"),
    "lsi": ("sym_",),
    "megaraid_sas": ("megasas_",),
    "BusLogic": ("blogic_",),
    "am53c974": ("pci_esp_", "scsi_esp_"),
}
_DRIVERS = tuple(prefix for prefixes in EMULATED.values() for prefix in prefixes)
# An emulated device is worth replacing when a fiftieth of the CPU time goes to touching it.
EMULATED_SHARE = 0.02


@rule(
    "VIRT-CLOCKSOURCE",
    title="Reading the clock is slow",
    accounts=("cpu.kernel", "cpu.irq"),
    meaning="The kernel's clock source is a device (acpi_pm, hpet) instead of the CPU's own counter: each reading costs"
    " 1 us on hardware and some 10 us in a guest, because it leaves the virtual CPU, and clock_gettime becomes a real"
    " system call.",
    measured="CPU samples whose kernel stack is inside the clock source's read function (share of all CPU samples with"
    " its 95 % interval, times the exact CPU time), over the whole window; joined with the clock source in use, the"
    " ones offered, and what the kernel log says about the counter. With the recording of its host (perfdiag report"
    " HOST GUEST) at most what the exits for that device took.",
    alternatives="None for the time itself. Why the counter is not used: it was found unstable (between sockets,"
    " after migration), or the hypervisor does not offer it.",
    remedies="Make the counter trustworthy: hypervisor and firmware settings, its paravirtual clock. Read the"
    " clock less often (log timestamps, statistics). Never choose by force a counter that the kernel has found"
    " unstable: a wrong clock breaks more than time.",
    verify="current_clocksource shows the counter; the read function is gone from the samples.",
    beats=(
        "CPU-KERNEL-HEAVY",
        "CPU-BOUND",
        "CPU-SINGLE-THREAD",
        "CPU-FREQUENCY-LOW",
        "NUMA-REMOTE",
        "CPU-IRQ-HEAVY",
        "CPU-SPINNING",
        "DIR-HUGE",
        "PROC-CHILD-SLOW",
        "PROC-FORK-SLOW",
    ),
)
def clocksource(model: Model) -> Iterable[Outcome]:
    """Join samples in clock reads with the clock source in use."""
    clock = model.facts.clocksource
    current = plain(clock.current) if clock else "unknown"
    if clock is not None and clock.current in FAST_CLOCKS:
        yield Check("VIRT-CLOCKSOURCE", f"clock source {current}, read without a device", 0.0, "share")
        return
    samples = CpuSamples(model)
    if samples.count < ENOUGH:
        if worth(model, model.ns(*CPU)):
            yield Silence(
                "VIRT-CLOCKSOURCE",
                f"clock source {current}, and {samples.count} CPU samples are too few to see its price",
                f"record longer: {again(model, '--duration 60')}",
            )
        return
    part, claims = samples.charged(model, CLOCK_READERS if clock else CLOCK_READS, others=_DRIVERS)
    bound, sampled_ns = of_clock(model, clock.current if clock else ""), sum(claims.values())
    claims = bound.limited(claims)
    ns = sum(claims.values())
    if part.share - part.error < CLOCK_SHARE or not worth(model, ns):
        if clock is not None or part.count:
            yield Check(
                "VIRT-CLOCKSOURCE",
                _said(f"clock source {current}: reading it took {part} of CPU samples", bound.contradicts(sampled_ns)),
                part.share,
                "share",
            )
        else:
            yield Silence(
                "VIRT-CLOCKSOURCE",
                f"the clock source is not known: {model.facts.reason('clocksource') or 'not recorded'}",
                "cat /sys/devices/system/clocksource/clocksource0/current_clocksource",
            )
        return
    unstable = clock is not None and clock.marked_unstable
    confidence, limits = judged(model, Confidence.MEDIUM, [bound.contradicts(sampled_ns)])
    evidence = [_evidence(part, samples, f"reading {current}", sampled_ns, model), *bound.evidence]
    if clock is not None:
        evidence.append(
            Evidence(
                f"in use: {current}; offered: {plain(', '.join(clock.available))}"
                + (f"; kernel log: {plain(clock.log_line)}" if clock.log_line else ""),
                float(len(clock.available)),
                "count",
                "clocksource0",
            )
        )
    why = (
        "ask first why the counter was marked unstable (kernel log): firmware, migration, hypervisor settings"
        if unstable
        else "let the hypervisor offer its paravirtual clock or an invariant counter to this guest"
    )
    yield Finding(
        "VIRT-CLOCKSOURCE",
        fault(model, ns),
        confidence,
        f"Reading the clock takes {duration(ns)}: the clock source is {current}, a device, not the CPU's counter.",
        claims,
        evidence,
        [fix(why), fix("read the clock less often: cached timestamps for logs and statistics")],
        limits=limits,
        verify=f"{again(model)}; cat /sys/devices/system/clocksource/clocksource0/current_clocksource",
        headline=f"Reading the clock is slow: its source is {current}, a device",
        mechanism=Mechanism.SLOW,
    )


@dataclass(frozen=True)
class Emulated:
    """An emulated device of this guest."""

    name: str
    driver: str


@rule(
    "VIRT-EMULATED-DEVICE",
    title="Time goes to touching an emulated device",
    accounts=("cpu.kernel", "cpu.irq"),
    meaning="This host is a guest, and a network card or disk controller in use exists only in the hypervisor's"
    " software: every register access leaves the guest and takes microseconds instead of a tenth of one. It shows up as"
    " kernel CPU time in the driver, and no tuning inside the guest removes it.",
    measured="CPU samples whose kernel stack is inside the device's driver (share of all CPU samples with its 95 %"
    " interval, times the exact CPU time), over the whole window; joined with the drivers of the host's interfaces and"
    " disks and the hypervisor. With the recording of its host (perfdiag report HOST GUEST) at most what the exits for"
    " such a device took.",
    alternatives="A real device passed through to the guest that uses the same driver.",
    remedies="A paravirtual device (virtio, vmxnet3, pvscsi, the provider's own): needs a change of the guest's"
    " configuration, mostly powered off.",
    verify="The driver of the device has changed, and its functions are gone from the samples.",
    beats=(
        "CPU-KERNEL-HEAVY",
        "CPU-IRQ-HEAVY",
        "CPU-BOUND",
        "CPU-SINGLE-THREAD",
        "CPU-FREQUENCY-LOW",
        "NUMA-REMOTE",
        "CPU-SPINNING",
        "DIR-HUGE",
        "PROC-CHILD-SLOW",
        "PROC-FORK-SLOW",
    ),
)
def emulated_device(model: Model) -> Iterable[Outcome]:
    """Join samples in drivers with the emulated devices of a guest."""
    machine = model.facts.hypervisor
    devices = _emulated(model)
    if machine is None or machine.name == "none" or not devices:
        yield _no_device(model, machine)
        return
    samples = CpuSamples(model)
    names = ", ".join(f"{device.name} ({device.driver})" for device in devices[:3])
    if samples.count < ENOUGH:
        if worth(model, model.ns(*CPU)):
            yield Silence(
                "VIRT-EMULATED-DEVICE",
                f"{names} emulated, and {samples.count} CPU samples are too few to see the price",
                f"record longer: {again(model, '--duration 60')}",
            )
        return
    worst = max(devices, key=lambda device: samples.inside(EMULATED[device.driver]).share)
    part, claims = samples.charged(model, EMULATED[worst.driver], others=CLOCK_READS)
    bound, sampled_ns = of_driver(model, worst.driver), sum(claims.values())
    claims = bound.limited(claims)
    if part.share - part.error < EMULATED_SHARE or not worth(model, sum(claims.values())):
        text = _said(f"{names} emulated; its driver took {part} of CPU samples", bound.contradicts(sampled_ns))
        yield Check("VIRT-EMULATED-DEVICE", text, part.share, "share")
        return
    guest = f"guest of {machine.name} ({plain(machine.recognised_by)}); emulated: {names}"
    if machine.exit_ns:
        guest += f"; one exit to the hypervisor takes {duration(machine.exit_ns)}, one access to a device more"
    guest += _waking(model)
    evidence = [
        _evidence(part, samples, f"in the driver {worst.driver}", sampled_ns, model),
        *bound.evidence,
        Evidence(guest, float(len(devices)), "count", "/sys/class/net, /sys/block"),
    ]
    yield _touched(model, machine, worst, claims, evidence, bound.contradicts(sampled_ns))


def _no_device(model: Model, machine: Hypervisor | None) -> Outcome:
    """Return that there is no emulated device, or why that is not known."""
    id = "VIRT-EMULATED-DEVICE"
    if machine is None:
        reason = model.facts.reason("hypervisor") or "no sign either way"
        return Silence(id, f"whether this host is a guest is not known: {reason}", "systemd-detect-virt")
    if machine.name == "none":
        return Check(id, "no emulated device: bare metal", 0.0, "count")
    if not model.facts.disks and not model.facts.interfaces:
        return Silence(id, "the drivers of disks and interfaces are not known", "lspci -k; ethtool -i INTERFACE")
    price = (f"; an exit takes {duration(machine.exit_ns)}" if machine.exit_ns else "") + _waking(model)
    return Check(id, f"emulated devices 0 of {_known(model)} known ({machine.name}){price}", 0.0, "count")


def _waking(model: Model) -> str:
    """Return how late this guest wakes up, by the recorder's own sleeps; "" where none was timed."""
    timed = [each for each in model.calibrations if each.late_shortest_ns is not None]
    if not timed:
        return ""
    least_ns = min(each.late_shortest_ns or 0 for each in timed)
    medians = dict.fromkeys(map(duration, sorted(each.late_median_ns or 0 for each in timed)))
    sleeps = sum(each.sleeps for each in timed)
    return f"; waking up takes {duration(least_ns)} at best, p50 {' and '.join(medians)} ({sleeps} timed sleeps)"


def _touched(
    model: Model,
    machine: Hypervisor,
    worst: Emulated,
    claims: dict[str | tuple[str, str], int],
    evidence: list[Evidence],
    limit: str,
) -> Finding:
    ns = sum(claims.values())
    confidence, limits = judged(model, Confidence.MEDIUM, [limit])
    return Finding(
        "VIRT-EMULATED-DEVICE",
        fault(model, ns),
        confidence,
        f"{worst.name} is an emulated device ({worst.driver}) of this {machine.name} guest: touching it takes"
        f" {duration(ns)} of CPU time.",
        claims,
        evidence,
        [
            fix(
                "give the guest a paravirtual device (virtio, vmxnet3, pvscsi or the provider's own); the guest must"
                " mostly be powered off for it"
            ),
            fix("or move this work out of the guest"),
        ],
        alternatives=["a real device passed through to the guest"],
        limits=limits,
        verify=f"{again(model)}: no samples in {worst.driver}; ethtool -i or lspci -k shows the new driver",
        headline=f"{brief(worst.name)} is an emulated device ({worst.driver}) and takes CPU time",
        mechanism=Mechanism.SLOW,
    )


def _said(text: str, contradiction: str) -> str:
    """Return what samples say, with what the host says against it."""
    return f"{text}; but {contradiction}" if contradiction else text


def _emulated(model: Model) -> list[Emulated]:
    devices: list[Interface | Disk] = [
        *model.facts.interfaces,
        *(disk for disk in model.facts.disks.values() if disk.whole == disk.name),
    ]
    return [
        Emulated(plain(device.name), device.driver)
        for device in devices
        if device.kind == "emulated" and device.driver and device.driver in EMULATED
    ]


def _known(model: Model) -> int:
    return len(model.facts.interfaces) + sum(disk.whole == disk.name for disk in model.facts.disks.values())


def _evidence(part: Part, samples: CpuSamples, what: str, ns: int, model: Model) -> Evidence:
    error_ns = part.error * model.ns(*SAMPLED)
    return Evidence(
        f"{part.count:,} of {samples.count:,} CPU samples {what}: {percent(part.share)}, {duration(ns)}"
        f" +-{duration(error_ns)}",
        float(ns),
        "ns",
        "stack samples",
        error=error_ns,
    )


__all__ = ["CLOCK_READS", "EMULATED", "clocksource", "emulated_device"]
