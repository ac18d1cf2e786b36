"""How to look at the health of one disk: SMART tells of real ones only."""

import shlex

from perfdiag.diagnosis.significance import plain
from perfdiag.facts.storage import Disk

_SMART = "smartctl -a {device}, cable and port"
_HOST = "on the host or at the provider, the state of the volume {device}"
_BY_KIND = {
    "physical": _SMART,
    "emulated": _HOST,
    "paravirtual": _HOST,
    "network": "the server of {device} and the network to it",
    "loop": "the disk and the free space under {label}, the file of {device}",
    "ram": "the host's memory (edac-util, or dmesg for MCE): {device} is in memory",
    "stacked": "the devices under {device}: lsblk -s {device}",
}
_UNKNOWN = "smartctl -a {device}, or on the host or at the provider the state of the volume, if it is a virtual disk"


def health_of(disk: Disk | None) -> str:
    """Return what to check of a disk that fails or is slow, by its kind."""
    if disk is None:
        return "smartctl -a of a real disk, at the provider the state of a virtual one"
    device = f"/dev/{shlex.quote(plain(disk.whole))}"
    return _BY_KIND.get(disk.kind or "", _UNKNOWN).format(device=device, label=plain(disk.label or "its file"))
