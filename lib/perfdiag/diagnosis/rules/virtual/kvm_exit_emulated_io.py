"""A rule on the host of virtual machines: exits to user space, which emulates a device there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from perfdiag.diagnosis.evidence.target import again
from perfdiag.diagnosis.evidence.virtual.virtual_cpus import (
    Exits,
    grouped,
    limited,
    none_ran,
    per_second,
    reason,
    runs_guests,
    unknown,
)
from perfdiag.diagnosis.rule import Check, Confidence, Evidence, Finding, Mechanism, Outcome, Remedy, rule
from perfdiag.diagnosis.significance import about, brief, duration, fault, fix, judged, percent, plain, worth
from perfdiag.model.guest import exit_names
from perfdiag.model.model import Model
from perfdiag.recording import schema

ID = "KVM-EXIT-EMULATED-IO"
OTHER = "PCI device"  # its address is the guest's own choice
# What would serve the guest better, by the beginning of the device's name.
_BETTER: Mapping[str, str] = {
    "IDE": "give the guest its disks by virtio-blk or virtio-scsi instead of IDE",
    "serial": "let the guest write less to its serial console (loglevel, no getty there), or use virtio-console",
    "VGA": "run the guest without a graphical console, or with a virtio display",
    "timer": "let the guest take its time from kvm-clock and its own APIC timer: see its clock source",
    "ACPI timer": "let the guest take its time from kvm-clock: its clock source is acpi_pm now",
    "clock": "find who in the guest reads its hardware clock (RTC) so often",
    "keyboard": "take the emulated keyboard and mouse from the guest (USB tablets poll, too)",
    "PCI configuration": "find who in the guest scans its PCI bus (lspci, monitoring agents)",
    OTHER: "give the guest virtio devices instead of emulated cards (e1000, rtl8139, SATA): look inside it which one"
    " has this address: lspci -v",
}


@rule(
    ID,
    title="A guest's device is emulated in user space",
    accounts=("vm.exit",),
    meaning="The target runs virtual machines, and their virtual CPUs leave the guest to have a device emulated by a"
    " program in user space: each access to a register takes some 10 us instead of a tenth of one, and the guest stands"
    " still meanwhile. Virtual devices made for it (virtio) need one access for many requests, answered in the kernel.",
    measured="Exact time on a CPU from each exit that was handed to user space until its guest went on (ledger,"
    " vm.exit), by the port or page that was touched, over the whole window. What waiting for the emulator's own locks"
    " takes is told beside it. At most that is what another device gives back: its own exits, fewer, remain.",
    alternatives="A guest that boots, or shuts down, uses such devices for a moment. A device with a fixed port is"
    " known by it; addresses of PCI devices are the guest's choice, so their names are to be looked up inside.",
    remedies="Another device model: a change of the guest's configuration, mostly with the guest powered off.",
    verify="The device is gone from the exits to user space, and vm.exit has shrunk by its time.",
    beats=("KVM-EXIT-STORM",),
)
def emulated_io(model: Model) -> Iterable[Outcome]:
    """Join exits that went to user space with the devices behind their ports and pages."""
    if not runs_guests(model):
        yield from none_ran(model, ID, "emulated devices")
        return
    if silence := unknown(model, ID, "emulated devices are", "vm_device"):
        yield silence
        return
    asked = Exits(tuple(line for line in model.vm_exits if line.user and line.device))
    claims = limited(model, asked.claims)
    ns = sum(claims.values())
    if not worth(model, ns):
        share = ns / model.busy_ns if model.busy_ns else 0.0
        yield Check(
            ID,
            f"emulated devices: {asked.count:,} exits to user space, {duration(asked.running_ns)}, {percent(share)} of"
            " busy time",
            share,
            "share",
        )
        return
    groups = grouped((_name(line), line) for line in asked.lines)
    confidence, limits = judged(model, Confidence.HIGH, [_cut(model)])
    top, exits = next(iter(groups.items()))
    yield Finding(
        ID,
        fault(model, ns),
        confidence,
        f"Virtual CPUs left their guests {asked.count:,} times for devices that user space emulates: that took"
        f" {duration(ns)}, {percent(exits.running_ns / max(1, asked.running_ns))} of it for"
        f" {plain(_words(top, exits))}.",
        claims,
        [_evidence(model, name, group) for name, group in list(groups.items())[:3]],
        _remedies(list(groups)[:2]),
        alternatives=["a guest that boots or shuts down"],
        limits=limits,
        verify=f"{again(model)}: exits of {plain(top)} in this finding or under RULED OUT (--full), and vm.exit",
        headline=f"Guests wait for an emulated device: {brief(plain(_words(top, exits)))}",
        mechanism=Mechanism.MANY,
    )


def _name(line: schema.VmExit) -> str:
    return exit_names.known_device(line.device) or OTHER


def _words(name: str, exits: Exits) -> str:
    """Return the device, with the port or address most of its exits touched."""
    most = max(exits.lines, key=lambda line: (line.running_ns, line.device))
    return exit_names.device(most.device) if name == OTHER else f"{name} ({exit_names.place(most.device)})"


def _evidence(model: Model, name: str, exits: Exits) -> Evidence:
    distribution = exits.distribution
    p50, p99 = distribution.quantile_ns(0.5), distribution.quantile_ns(0.99)
    parts = [
        f"{_words(name, exits)}: {exits.count:,} exits ({'/'.join(sorted({reason(line) for line in exits.lines}))}),"
        f" {per_second(model, exits.count):,.0f} a second, {duration(exits.running_ns)} on a CPU"
    ]
    if p50 is not None:
        parts.append(f"p50 {about(p50)}")
    if p99 is not None and exits.count >= 300:
        parts.append(f"p99 {about(p99)}")
    if (waited := exits.around_ns - exits.running_ns) > exits.running_ns // 10:
        parts.append(f"waiting inside them {duration(waited)}")
    return Evidence(plain(", ".join(parts)), float(exits.running_ns), "ns", "kvm_exit, kvm_entry")


def _remedies(names: list[str]) -> list[Remedy]:
    texts = [
        text for name in names for text in [next((t for n, t in _BETTER.items() if name.startswith(n)), "")] if text
    ]
    return [fix(text) for text in dict.fromkeys(texts)] or [
        fix("give the guest virtio devices instead of the emulated ones named here")
    ]


def _cut(model: Model) -> str:
    lost = model.coverage.lost.get("vm_exits_full", 0)
    return f"{lost:,} exits were not counted by reason: their table was full" if lost else ""


__all__ = ["emulated_io"]
