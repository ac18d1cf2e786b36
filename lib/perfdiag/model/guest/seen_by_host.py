"""What a host knows of its guest: the time of its virtual CPUs, and of the exits for a device.

All of it is of the whole guest: the host sees virtual CPUs, not which of the guest's processes were on them.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from perfdiag.common.by_key import sums_by_key
from perfdiag.model.guest import exit_names
from perfdiag.model.model import HostSide, Model, once
from perfdiag.model.thread_accounts import ThreadLedger

VIRTUAL = ("vm.guest", "vm.exit", "vm.halt")
QUEUED = "runq."  # how the accounts of waiting for a CPU begin
# As qemu, firecracker and cloud-hypervisor name the threads that run a virtual CPU.
VCPU = re.compile(r"(?:CPU [0-9]+/(?:KVM|TCG)|fc_vcpu [0-9]+|vcpu[0-9]+)")
OTHER = ""  # a device whose address the guest chose: its name is not known here


@dataclass(frozen=True)
class DeviceTime:
    """What exits for some devices took of a guest, as its host saw them."""

    exits: int
    away_ns: int  # from exit to entry, less the time that the guest was idle
    most_ns: int  # in the guest's own window at most: with what the host's window did not see
    window_ns: int  # of the host, in which these exits were


@once
def virtual_cpus(model: Model) -> list[ThreadLedger]:
    """Return the threads that ran a guest or were halted for one; where there are any, also those that slept all along
    and have the name of a virtual CPU."""
    running = [thread for thread in model.threads if thread.ns(*VIRTUAL)]
    pids = {thread.pid for thread in running}
    asleep = [
        thread
        for thread in model.threads
        if thread.pid in pids and thread.tid and VCPU.fullmatch(thread.comm) and not thread.ns(*VIRTUAL)
    ]
    return running + asleep


def fits(guest: Model) -> bool:
    """Return whether the host saw as many virtual CPUs as the guest has: else it is another guest, or not all of it."""
    side = guest.host_side
    return side is not None and number_of_virtual_cpus(side) == guest.header.host.cpus_online


def number_of_virtual_cpus(side: HostSide) -> int:
    """Return how many virtual CPUs the host saw."""
    return sum(thread.threads for thread in virtual_cpus(side.model))


def summed(threads: Iterable[ThreadLedger]) -> dict[str, int]:
    """Return the time of threads by account, the largest first."""
    found = sums_by_key((name, total.ns) for thread in threads for name, total in thread.accounts.items())
    return dict(sorted(((name, ns) for name, ns in found.items() if ns), key=lambda item: (-item[1], item[0])))


def queued_ns(side: HostSide) -> int:
    """Return how long virtual CPUs could run and had no CPU: what a guest calls stolen."""
    accounts = summed(virtual_cpus(side.model))
    return sum(ns for name, ns in accounts.items() if name.startswith(QUEUED))


def wanted_ns(side: HostSide) -> int:
    """Return how long virtual CPUs had something to do."""
    accounts = summed(virtual_cpus(side.model))
    return sum(ns for name, ns in accounts.items() if name != "vm.halt")


def device_time(guest: Model, names: Sequence[str]) -> DeviceTime | None:
    """Return what the devices called `names` took; None where the host's recording cannot tell.

    `most_ns` counts everything that could be theirs: each exit's own price, which lies on both sides of what the host
    can time, exits to user space whose device was not kept, and all the time of all virtual CPUs that the guest's
    window has and the host's has not.
    """
    side = guest.host_side
    if side is None or not fits(guest) or not _knows_devices(side.model):
        return None
    touched = [line for line in side.model.vm_exits if line.device or line.user]
    lines = [line for line in touched if line.device and exit_names.known_device(line.device) in names]
    exits, away_ns = sum(line.count for line in lines), sum(line.sum_ns for line in lines)
    machine = guest.facts.hypervisor
    price_ns = (machine.exit_ns if machine else None) or 0
    unseen_ns = max(0, guest.window_ns - side.overlap_ns) * number_of_virtual_cpus(side)
    nameless_ns = sum(line.sum_ns for line in touched if not line.device)
    most_ns = away_ns + exits * price_ns + nameless_ns + unseen_ns
    return DeviceTime(exits, away_ns, most_ns, side.model.window_ns)


def _knows_devices(model: Model) -> bool:
    whole = model.coverage.complete and not model.coverage.lost.get("vm_exits_full")
    return whole and model.measured("vm") and model.measured("vm_device")
