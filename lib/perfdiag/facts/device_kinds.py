"""Which drivers stand for emulated, paravirtual or real hardware."""

import re

from perfdiag.facts.hypervisor import Hypervisor

PARAVIRTUAL_DISKS = frozenset(
    {
        "virtio_blk",
        "virtio_scsi",
        "vbd",
        "xen_blkfront",
        "storvsc",
        "storvsc_host_t",
        "hv_storvsc",
        "vmw_pvscsi",
        "pvscsi",
    }
)
# Controllers that a hypervisor imitates register by register; on bare metal they are what they say.
IMITATED_DISKS = frozenset(
    {
        "ata_piix",
        "ahci",
        "mptspi",
        "mptsas",
        "sym53c8xx",
        "BusLogic",
        "pata_legacy",
        "ata_generic",
        "megaraid_sas",
        "lsi53c895a",
        "esp",
        "am53c974",
        "sata_via",
    }
)
IMITATED_MODELS = re.compile(r"QEMU|VBOX|VMware Virtual|ORCL-VBOX|Virtual (HD|Disk)", re.IGNORECASE)
NETWORK_MODELS = re.compile(r"Amazon Elastic Block Store|nvme_card-pd|MSFT NVMe Accelerator", re.IGNORECASE)

PARAVIRTUAL_INTERFACES = frozenset(
    {
        "virtio_net",
        "vmxnet3",
        "vif",
        "xen_netfront",
        "hv_netvsc",
        "netvsc",
        "ena",
        "gve",
        "xen-netfront",
    }
)
IMITATED_INTERFACES = frozenset(
    {
        "e1000",
        "e1000e",
        "8139cp",
        "8139too",
        "pcnet32",
        "ne2k-pci",
        "ne2k_pci",
        "tulip",
        "rtl8139",
        "vlance",
        "igb",
        "sungem",
        "i82551",
        "e100",
        "de2104x",
    }
)


def disk_kind(
    name: str, driver: str | None, model: str | None, place: str, transport: str | None, hypervisor: Hypervisor | None
) -> str | None:
    """Return the kind of a disk (as in `Disk.kind`) from its name, driver, model and place in /sys/devices."""
    stem = re.match(r"[a-z]+", name)
    by_name = {
        "md": "stacked",
        "dm": "stacked",
        "drbd": "stacked",
        "bcache": "stacked",
        "loop": "loop",
        "ram": "ram",
        "zram": "ram",
        "nbd": "network",
        "rbd": "network",
    }.get(stem[0] if stem else "")
    if by_name:
        return by_name
    if transport in ("tcp", "rdma", "fc") or "/session" in place or (model and NETWORK_MODELS.search(model)):
        return "network"
    if driver in PARAVIRTUAL_DISKS or "/virtio" in place:
        return "paravirtual"
    return _by_hypervisor(driver, IMITATED_DISKS, hypervisor, bool(model and IMITATED_MODELS.search(model)))


def interface_kind(name: str, driver: str | None, place: str, hypervisor: Hypervisor | None) -> str | None:
    """Return the kind of a network interface (as in `Interface.kind`)."""
    if name == "lo":
        return "loopback"
    if "/devices/virtual/" in place:
        return "virtual"
    if driver in PARAVIRTUAL_INTERFACES:
        return "paravirtual"
    # igb is imitated by QEMU since 8.0 and passed through far more often: in a guest nobody can tell
    if driver == "igb" and hypervisor and hypervisor.name != "none":
        return None
    return _by_hypervisor(driver, IMITATED_INTERFACES, hypervisor, False)


def _by_hypervisor(
    driver: str | None, imitated: frozenset[str], hypervisor: Hypervisor | None, shown: bool
) -> str | None:
    if shown:
        return "emulated"
    if not driver or not hypervisor:
        return None
    if hypervisor.name == "none":
        return "physical"
    return "emulated" if driver in imitated else "physical"  # a driver nobody imitates: passed through
