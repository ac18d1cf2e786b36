"""KVM-EXIT-EMULATED-IO: guests use devices emulated in user space."""

from collections.abc import Iterable, Mapping

from perfdiag.diagnosis.evidence.fix_checks import fewer
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
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import general_policy
from perfdiag.diagnosis.rule import Evidence, Mechanism, Outcome, Remedy, rule
from perfdiag.diagnosis.significance import about, brief, duration, fix, little, percent, plain, worth
from perfdiag.model.guest import exit_names
from perfdiag.model.model import Model
from perfdiag.recording import schema

ID = "KVM-EXIT-EMULATED-IO"
OTHER = "PCI device"  # its address is the guest's own choice
# Remedies by the start of the device's name.
_BETTER: Mapping[str, str] = {
    "IDE": "use virtio-blk or virtio-scsi instead of IDE",
    "serial": "make the guest write less to its serial console (loglevel, no getty), or use virtio-console",
    "VGA": "run the guest without a graphical console, or with a virtio display",
    "timer": "use kvm-clock and the APIC timer in the guest (check its clock source)",
    "ACPI timer": "use kvm-clock in the guest: its clock source is acpi_pm now",
    "clock": "find the program in the guest that reads the hardware clock (RTC) so often",
    "keyboard": "remove the emulated keyboard, mouse and USB tablet from the guest",
    "PCI configuration": "find the program in the guest that scans its PCI bus (lspci, monitoring agents)",
    OTHER: "use virtio devices instead of emulated cards (e1000, rtl8139, SATA); lspci -v in the guest shows which one"
    " has this address",
}


@rule(
    ID,
    title="A guest's device is emulated in user space",
    accounts=("vm.exit",),
    meaning=(
        "The target runs virtual machines. Their virtual CPUs leave the guest to emulate a device in user space: each"
        " register access takes some 10 us instead of 0.1 us, and the virtual CPU stops meanwhile. Virtio needs one"
        " access for many requests, inside the kernel."
    ),
    measured=(
        "Time on a CPU from each exit to user space until the guest resumes (vm.exit), by port or page. The loss is"
        " at most this: another device has exits, too."
    ),
    alternatives=(
        "A guest uses such devices for a moment at boot and shutdown. PCI addresses are the guest's choice: look up"
        " their names inside."
    ),
    remedies="Choose another device model in the guest's configuration, usually with the guest powered off.",
    verify="The same work of the guest makes fewer exits for the device.",
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
        exits_of = f"{duration(asked.running_ns)} in {asked.count:,} exits to user space"
        yield little(model, ID, f"emulated devices: {exits_of},", ns)
        return
    groups = grouped((_name(line), line) for line in asked.lines)
    top, exits = next(iter(groups.items()))
    yield conclude(
        model,
        claims,
        headline=f"Guests wait for an emulated device: {brief(plain(_words(top, exits)))}",
        claim=(
            f"Virtual CPUs left their guests {asked.count:,} times for devices emulated in user space. This took"
            f" {duration(ns)}, {percent(exits.running_ns / max(1, asked.running_ns))} of it for"
            f" {plain(_words(top, exits))}."
        ),
        mechanism=Mechanism.MANY,
        doubts=[_cut(model)],
        evidence=[_evidence(model, name, group) for name, group in list(groups.items())[:3]],
        remedies=_remedies(list(groups)[:2]),
        alternatives=["a guest that boots or shuts down"],
        verify=fewer(model, f"exits of {plain(top)}", exits.count),
    )


def _name(line: schema.VmExit) -> str:
    return exit_names.known_device(line.device) or OTHER


def _words(name: str, exits: Exits) -> str:
    """Return the device, with its most used port or address."""
    most = max(exits.lines, key=lambda line: (line.running_ns, line.device))
    return exit_names.device(most.device) if name == OTHER else f"{name} ({exit_names.place(most.device)})"


def _evidence(model: Model, name: str, exits: Exits) -> Evidence:
    distribution = exits.distribution
    p50, p99 = distribution.quantile_ns(0.5), distribution.quantile_ns(0.99)
    parts = [
        f"{duration(exits.running_ns)} in {exits.count:,} exits for {_words(name, exits)}"
        f" ({'/'.join(sorted({reason(line) for line in exits.lines}))}), {per_second(model, exits.count):,.0f}/s"
    ]
    if p50 is not None:
        parts.append(f"p50 {about(p50)}")
    if p99 is not None and exits.count >= general_policy.waits_for_p99:
        parts.append(f"p99 {about(p99)}")
    if (waited := exits.around_ns - exits.running_ns) > exits.running_ns // 10:
        parts.append(f"{duration(waited)} more waiting inside them")
    return Evidence(plain(", ".join(parts)), float(exits.running_ns), "ns", "kvm_exit, kvm_entry")


def _remedies(names: list[str]) -> list[Remedy]:
    texts = [
        text for name in names for text in [next((t for n, t in _BETTER.items() if name.startswith(n)), "")] if text
    ]
    return [fix(text) for text in dict.fromkeys(texts)] or [
        fix("use virtio devices instead of the emulated ones above")
    ]


def _cut(model: Model) -> str:
    lost = model.coverage.lost.get("vm_exits_full", 0)
    return f"the table of exits was full for {lost:,} exits" if lost else ""
