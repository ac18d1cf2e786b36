"""Which device interrupts CPUs most."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.evidence.cpu.device_interrupts import busiest_device

from unit.support import Builder
from unit.support.facts import facts

HEAD = "           CPU0       CPU1       \n"
LINES = "  4: {} 3   IO-APIC   4-edge      ttyS0\n 25: {} 229   PCI-MSI 16386-edge      virtio0-req.1\n"
OTHERS = "NMI: 0 0   Non-maskable interrupts\nLOC: 19172 21303   Local timer interrupts\n"


def text(serial: int, disk: int) -> str:
    return HEAD + LINES.format(serial, disk) + OTHERS


def test_interrupts_of_devices_are_counted_by_name() -> None:
    found = facts({"/proc/interrupts": text(5384, 246)}, {"/proc/interrupts": text(6750, 300)}).device_interrupts
    assert found == {"ttyS0": 1366, "virtio0-req.1": 54}


@pytest.mark.parametrize(
    ("serial", "disk", "name"), [(1366, 54, "ttyS0"), (1366, 1300, "ttyS0"), (1366, 4000, "virtio0-req.1"), (90, 0, "")]
)
def test_the_device_with_most_is_named_if_they_are_many(serial: int, disk: int, name: str) -> None:
    model = Builder().thread("a", cpu_user="1 s").fact("/proc/interrupts", text(0, 0), text(serial, disk)).model()
    found = busiest_device(model)
    assert (found.name if found else "") == name


@pytest.mark.parametrize("damaged", ["", HEAD, HEAD + " 4:\n", HEAD + " 4: 1 2\n", " 4: x y z\n", HEAD + "²: 1 2 a\n"])
def test_damaged_lines_count_nothing(damaged: str) -> None:
    assert not facts({"/proc/interrupts": damaged}, {"/proc/interrupts": damaged}).device_interrupts
