"""VIRT-EMULATED-DEVICE: this guest uses an emulated device."""

from collections.abc import Iterable
from dataclasses import dataclass

from perfdiag.diagnosis.evidence.cpu.stack_samples import CpuSamples
from perfdiag.diagnosis.evidence.fix_checks import checked
from perfdiag.diagnosis.evidence.target import CPU, again
from perfdiag.diagnosis.evidence.virtual.emulated_access import CLOCK_READS, EMULATED, said, sampled
from perfdiag.diagnosis.evidence.virtual.host_side import of_driver
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import cpu_policy, virtual_policy
from perfdiag.diagnosis.rule import Check, Claim, Confidence, Evidence, Finding, Mechanism, Outcome, Silence, rule
from perfdiag.diagnosis.significance import brief, duration, fix, plain, worth
from perfdiag.facts.host_facts import Disk, Hypervisor, Interface
from perfdiag.model.model import Model


@dataclass(frozen=True)
class Emulated:
    """An emulated device of this guest."""

    name: str
    driver: str


@rule(
    "VIRT-EMULATED-DEVICE",
    title="CPU time goes to an emulated device",
    accounts=("cpu.kernel", "cpu.irq"),
    meaning=(
        "This host is a guest, and a network card or disk controller exists only in the hypervisor's software. Every"
        " register access leaves the guest and takes microseconds. No tuning inside the guest removes it."
    ),
    measured=(
        "CPU samples inside the device's driver, times CPU time, with the drivers of interfaces and disks. With the"
        " host's recording (perfdiag report HOST GUEST) at most the time of its exits."
    ),
    alternatives="A real device passed through to the guest with the same driver.",
    remedies=(
        "Use a paravirtual device (virtio, vmxnet3, pvscsi, the provider's own), usually with the guest powered off."
    ),
    verify="The driver has changed, and its functions are gone from the samples.",
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
    met=False,
)
def emulated_device(model: Model) -> Iterable[Outcome]:
    """Judge samples in drivers by the emulated devices of a guest."""
    machine = model.facts.hypervisor
    devices = _emulated(model)
    if machine is None or machine.name == "none" or not devices:
        yield _no_device(model, machine)
        return
    samples = CpuSamples(model)
    names = ", ".join(f"{device.name} ({device.driver})" for device in devices[:3])
    if samples.count < cpu_policy.samples_for_function:
        if worth(model, model.ns(*CPU)):
            yield Silence(
                "VIRT-EMULATED-DEVICE",
                f"{names} emulated; {samples.count} CPU samples are too few to see the cost",
                f"record longer: {again(model, '--duration 60')}",
            )
        return
    worst = max(devices, key=lambda device: samples.inside(EMULATED[device.driver]).share)
    part, claims = samples.charged(model, EMULATED[worst.driver], others=CLOCK_READS)
    bound, sampled_ns = of_driver(model, worst.driver), sum(claims.values())
    claims = bound.limited(claims)
    if part.share - part.error < virtual_policy.emulated_share or not worth(model, sum(claims.values())):
        text = said(f"{names} emulated; driver {part} of CPU samples", bound.contradicts(sampled_ns))
        yield Check("VIRT-EMULATED-DEVICE", text, part.share, "share")
        return
    guest = f"{machine.name} guest ({plain(machine.recognised_by)}); emulated: {names}"
    if machine.exit_ns:
        guest += f"; {duration(machine.exit_ns)} per exit"
    guest += _waking(model)
    evidence = [
        sampled(part, samples, f"in the driver {worst.driver}", sampled_ns, model),
        *bound.evidence,
        Evidence(guest, float(len(devices)), "count", "/sys/class/net, /sys/block"),
    ]
    yield _touched(model, machine, worst, claims, evidence, bound.contradicts(sampled_ns))


def _no_device(model: Model, machine: Hypervisor | None) -> Outcome:
    """Return the check of no emulated device, or the silence."""
    id = "VIRT-EMULATED-DEVICE"
    if machine is None:
        reason = model.facts.reason("hypervisor") or "no sign either way"
        return Silence(id, f"it is unknown whether this host is a guest: {reason}", "systemd-detect-virt")
    if machine.name == "none":
        return Check(id, "no emulated device: bare metal", 0.0, "count")
    if not model.facts.disks and not model.facts.interfaces:
        return Silence(id, "the drivers of disks and interfaces are unknown", "lspci -k; ethtool -i INTERFACE")
    price = (f"; {duration(machine.exit_ns)} per exit" if machine.exit_ns else "") + _waking(model)
    return Check(id, f"emulated devices 0 of {_known(model)} known ({machine.name}){price}", 0.0, "count")


def _waking(model: Model) -> str:
    """Return how late this guest wakes up, by the recorder's own sleeps; "" if none was timed."""
    timed = [each for each in model.calibrations if each.late_shortest_ns is not None]
    if not timed:
        return ""
    least_ns = min(each.late_shortest_ns or 0 for each in timed)
    medians = dict.fromkeys(map(duration, sorted(each.late_median_ns or 0 for each in timed)))
    sleeps = sum(each.sleeps for each in timed)
    return f"; wake-ups take {duration(least_ns)} at best, p50 {' and '.join(medians)} ({sleeps} timed)"


def _touched(
    model: Model,
    machine: Hypervisor,
    worst: Emulated,
    claims: dict[Claim, int],
    evidence: list[Evidence],
    limit: str,
) -> Finding:
    ns = sum(claims.values())
    return conclude(
        model,
        claims,
        headline=f"{brief(worst.name)} is an emulated device ({worst.driver}) and takes CPU time",
        claim=(
            f"Accesses to {worst.name}, an emulated device ({worst.driver}) of this {machine.name} guest, took"
            f" {duration(ns)} of CPU time."
        ),
        mechanism=Mechanism.SLOW,
        best=Confidence.MEDIUM,
        doubts=[limit],
        evidence=evidence,
        remedies=[
            fix(
                "give the guest a paravirtual device (virtio, vmxnet3, pvscsi or the provider's own), usually powered"
                " off"
            ),
            fix("move this work out of the guest"),
        ],
        alternatives=["a real device passed through to the guest"],
        verify=checked("lspci -k", f"another driver than {worst.driver}"),
    )


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
