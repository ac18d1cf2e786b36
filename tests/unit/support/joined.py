"""A guest's recording and its host's, made of lines: no machine of the lab runs perfdiag two levels deep."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
from perfdiag.facts.host_facts import Hypervisor
from perfdiag.model.guest.join_recordings import Source, join
from perfdiag.model.model import Model

from unit.support.amounts import Time, nanoseconds
from unit.support.judging import knowing
from unit.support.recording import Builder

KVM = Hypervisor("kvm", "CPUID says KVMKVMKVM", 1_000)
IOIO, NPF, HLT = 0x7B, 0x400, 0x78


def host(window: Time = "10 s", **accounts: Any) -> Builder:
    """Return an emulator with two virtual CPUs, one of which has these accounts, and a thread that writes a disk."""
    builder = Builder(window=window, comm="qemu-system-x86", pid=4121)
    builder.thread("worker", disk_write=("2 s", 500)).thread("CPU 1/KVM", vm_halt="10 s")
    return builder.thread("CPU 0/KVM", **({"vm_guest": ("4 s", 20_000), "vm_halt": ("2 s", 5_000)} | accounts))


def guest_builder(window: Time = "10 s") -> Builder:
    """Return what the guest's own recording is made of: a program that spends 5 s of 9 in the kernel."""
    return Builder(window=window, comm="mover", cpus=2).thread("mover", cpu_user="4 s", cpu_kernel="5 s")


def guest(functions: list[str] | None = None, hits: int = 300, other: int = 600, **facts: Any) -> Model:
    """Return a guest of KVM whose CPU samples stand `hits` times inside these functions, `other` times elsewhere."""
    builder = guest_builder().stack("cpu", user=["copy (app)"], count=other)
    if functions:
        builder.stack("cpu", "cpu.kernel", kernel=functions, count=hits)
    return knowing(builder.model(), **({"hypervisor": KVM} | facts))


def later(model: Model, time: Time) -> Model:
    """Return a recording that began so much later."""
    began_ns = model.header.realtime_ns + nanoseconds(time)
    return replace(model, header=msgspec.structs.replace(model.header, realtime_ns=began_ns))


def joined(guest: Model, host: Model) -> Model:
    """Return the two as one, given in the order in which nobody thinks of them."""
    return join(Source("guest.rec", guest), Source("host.rec", host))


__all__ = ["HLT", "IOIO", "KVM", "NPF", "guest", "guest_builder", "host", "joined", "later"]
