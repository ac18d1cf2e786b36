"""What the host runs on: bare metal, or a guest of which hypervisor, and how it was recognised."""

from dataclasses import dataclass, replace

from perfdiag.facts.processor import cpuinfo
from perfdiag.facts.texts import Texts, lines_of, words_of


@dataclass(frozen=True)
class Hypervisor:
    """What the host runs on; `name` is "none" on bare metal."""

    name: str  # none, kvm, nitro, google, vmware, hyperv, xen, virtualbox, bhyve, parallels, qemu, unknown
    recognised_by: str  # for people: "DMI system vendor VMware, Inc."
    exit_ns: int | None = None  # leaving the guest and coming back takes so long (the CPUID instruction always does)


# (beginning of the text, name); the first that fits counts, in this order of files.
DMI_VENDORS = {
    "sys_vendor": (
        ("VMware", "vmware"),
        ("Amazon EC2", "nitro"),
        ("Google", "google"),
        ("innotek", "virtualbox"),
        ("Xen", "xen"),
        ("BHYVE", "bhyve"),
        ("Parallels", "parallels"),
        ("OpenStack", "kvm"),
        ("Red Hat", "kvm"),
        ("oVirt", "kvm"),
        ("Nutanix", "kvm"),
        ("Alibaba Cloud", "kvm"),
        ("DigitalOcean", "kvm"),
        ("Hetzner", "kvm"),
    ),
    "product_name": (
        ("VMware", "vmware"),
        ("VirtualBox", "virtualbox"),
        ("HVM domU", "xen"),
        ("KVM", "kvm"),
        ("RHEV", "kvm"),
        ("OpenStack", "kvm"),
        ("Google Compute Engine", "google"),
        ("BHYVE", "bhyve"),
        ("Virtual Machine", "hyperv"),
    ),
    "bios_vendor": (("Xen", "xen"), ("innotek", "virtualbox"), ("BHYVE", "bhyve"), ("Amazon EC2", "nitro")),
}
# The others build real machines as well, or rent them out: there the CPU's flag decides.
ONLY_GUESTS = ("vmware", "virtualbox", "bhyve", "parallels", "hyperv")
DMI_PEOPLE = {"sys_vendor": "system vendor", "product_name": "product name", "bios_vendor": "BIOS vendor"}

LOG_NAMES = (
    ("KVM", "kvm"),
    ("VMware", "vmware"),
    ("Microsoft", "hyperv"),
    ("Xen", "xen"),
    ("Bhyve", "bhyve"),
)
# What hypervisors call themselves; some also offer the names of others, for guests that know only those.
SIGNATURES = (
    ("KVMKVMKVM", "kvm"),
    ("Linux KVM", "kvm"),
    ("VMwareVMware", "vmware"),
    ("Microsoft Hv", "hyperv"),
    ("XenVMMXenVMM", "xen"),
    ("TCGTCGTCGTCG", "qemu"),
    ("bhyve", "bhyve"),
    ("VBoxVBoxVBox", "virtualbox"),
    (" lrpepyh", "parallels"),
    ("prl hyperv", "parallels"),
)
CLOCKSOURCE_NAMES = (("kvm-clock", "kvm"), ("hyperv", "hyperv"), ("xen", "xen"))


def read_hypervisor(texts: Texts) -> Hypervisor | None:
    """Decide by the most specific evidence; without any, the CPU's missing hypervisor flag shows bare metal."""
    found, price = _recognise(texts), texts.number("/cpuid/exit_ns")
    return replace(found, exit_ns=price) if found and found.name != "none" else found


def _recognise(texts: Texts) -> Hypervisor | None:
    fields = cpuinfo(texts)
    flags = words_of(fields.get("flags"))
    if texts.word("/sys/hypervisor/type") == "xen":
        kind = texts.word("/sys/hypervisor/guest_type")
        return Hypervisor("xen", f"/sys/hypervisor/type{f', guest type {kind}' if kind else ''}")
    found = _by_dmi(texts)
    if flags and "hypervisor" not in flags and not (found and found.name in ONLY_GUESTS):
        return Hypervisor("none", "the CPU has no hypervisor flag")
    found = found or _by_signature(texts) or _by_log(texts) or _by_clocksource(texts) or _by_device_tree(texts)
    if found:
        return found
    if (texts.word("/sys/class/dmi/id/sys_vendor") or "").startswith("QEMU"):
        return Hypervisor("qemu", "DMI system vendor QEMU; nothing shows KVM")
    return Hypervisor("unknown", "the CPU has the hypervisor flag, nothing tells which") if flags else None


def _by_dmi(texts: Texts) -> Hypervisor | None:
    for file, names in DMI_VENDORS.items():
        text = texts.word(f"/sys/class/dmi/id/{file}") or ""
        for beginning, name in names:
            if text.startswith(beginning):
                return Hypervisor(name, f"DMI {DMI_PEOPLE[file]} {text}")
    return None


def _by_log(texts: Texts) -> Hypervisor | None:
    for line in lines_of(texts.text("/dev/kmsg", "begin")):
        _, found, text = line.partition("Hypervisor detected: ")
        for beginning, name in LOG_NAMES if found else ():
            if text.startswith(beginning):
                return Hypervisor(name, f"kernel log: Hypervisor detected: {text}")
    return None


def _by_signature(texts: Texts) -> Hypervisor | None:
    signature = texts.text("/cpuid/hypervisor") or ""
    for beginning, name in SIGNATURES:
        if signature.startswith(beginning):
            return Hypervisor(name, f"CPUID says {signature.strip()}")
    return None


def _by_clocksource(texts: Texts) -> Hypervisor | None:
    path = "/sys/devices/system/clocksource/clocksource0/available_clocksource"
    for word in words_of(texts.text(path)):
        for beginning, name in CLOCKSOURCE_NAMES:
            if word.startswith(beginning):
                return Hypervisor(name, f"clock source {word}")
    return None


def _by_device_tree(texts: Texts) -> Hypervisor | None:
    compatible = texts.text("/proc/device-tree/hypervisor/compatible") or ""
    for word, name in (("kvm", "kvm"), ("xen", "xen")):
        if word in compatible:
            return Hypervisor(name, "device tree")
    return None
