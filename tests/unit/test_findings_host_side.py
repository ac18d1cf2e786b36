"""A guest's findings with its host's recording beside it: bounded, disproved, or left as they are."""

from __future__ import annotations

from typing import Any

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.facts.host_facts import Clocksource, Interface
from perfdiag.model.model import Model

from unit.support import Builder
from unit.support.disks import disk, disks
from unit.support.joined import HLT, IOIO, NPF, guest, host, joined, later
from unit.support.judging import check, finding, knowing, silence
from unit.support.known import blank

CLOCK, DEVICE, STOLEN = "VIRT-CLOCKSOURCE", "VIRT-EMULATED-DEVICE", "CPU-STOLEN"
S, MS, US = 1_000_000_000, 1_000_000, 1_000
CARD = {"interfaces": [blank(Interface, name="eth0", driver="e1000", kind="emulated", counters={})], "disks": {}}
SENDING, READING = ["e1000_xmit_frame", "dev_hard_start_xmit"], ["acpi_pm_read", "ktime_get_ts64"]
CLOCKSOURCE = {"clocksource": Clocksource("acpi_pm", ("tsc", "acpi_pm"), None, None)}


def sending(host: Model | None = None) -> Model:
    """A guest in which 3 s of CPU time stand in the driver of an emulated card."""
    model = guest(SENDING, **CARD)
    return joined(model, host) if host else model


def card(running: str, count: int = 40_000, **more: Any) -> Builder:
    return host().vm_exit(NPF, running, count, user=True, device="mmio:0xfebc0000", **more)


def test_exits_that_take_as_long_as_the_samples_say_bear_them_out() -> None:
    found = finding(sending(card("2500 ms", waiting="700 ms").model()), DEVICE)
    assert found.claims["cpu.kernel"] == finding(sending(), DEVICE).claims["cpu.kernel"] == 3 * S
    (said,) = (each for each in found.evidence if "host" in each.probe)
    assert "40,000" in said.text and "3.20 s" in said.text and said.value == 3200 * MS
    assert not any("samples alone" in limit for limit in found.limits)


def test_a_share_is_bounded_by_the_exits_and_their_price() -> None:
    """1 s in exits, and 1 us for each that the host cannot time: more of it no other card gives back."""
    found = finding(sending(card("1 s").model()), DEVICE)
    assert found.claims["cpu.kernel"] == 1 * S + 40_000 * US
    assert any("3.00 s" in limit for limit in found.limits)
    diagnosis = diagnose(sending(card("1 s").model()))
    assert sum(each.claimed_ns for each in diagnosis.findings) + diagnosis.unclaimed_ns == 9 * S


def test_a_device_that_the_host_does_not_emulate_is_no_finding() -> None:
    """A real card passed through has the same driver: the samples are its own work."""
    said = check(sending(host().vm_exit(IOIO, "1 s", 9_000, user=True, device="port:0x3f8").model()), DEVICE)
    assert "33 %" in said.text and "3.00 s" in said.text
    assert said.number == pytest.approx(1 / 3)


def test_time_that_the_host_did_not_see_bounds_nothing_away() -> None:
    unseen = joined(later(guest(SENDING, **CARD), "1 s"), card("500 ms").model())
    assert finding(unseen, DEVICE).claims["cpu.kernel"] == 500 * MS + 40_000 * US + 2 * S, "two CPUs, one second"
    nameless = card("500 ms").vm_exit(IOIO, "1 s", 9, user=True)
    assert finding(sending(nameless.model()), DEVICE).claims["cpu.kernel"] == 1500 * MS + 40_000 * US


@pytest.mark.parametrize("flaw", ["cut", "full", "no devices", "another guest"])
def test_a_host_that_cannot_tell_says_nothing(flaw: str) -> None:
    builder = card("1 s")
    if flaw == "cut":
        builder.cut()
    elif flaw == "full":
        builder.lost(vm_exits_full=3)
    elif flaw == "no devices":
        builder.without("vm_device", "no kvm_pio")
    else:
        builder.thread("CPU 2/KVM", vm_guest="1 s")
    found = finding(sending(builder.model()), DEVICE)
    assert found.claims["cpu.kernel"] == 3 * S and not any("its host" in each.text for each in found.evidence)


def test_an_ide_disk_is_known_by_its_ports() -> None:
    known = disks(disk("8:0", "sda", driver="ata_piix", kind="emulated"))
    outside = host().vm_exit(IOIO, "1 s", 1_000, user=True, device="port:0x1f0")
    outside.vm_exit(IOIO, "200 ms", 1_000, user=True, device="port:0xc040")
    outside.vm_exit(IOIO, "900 ms", 1_000, user=True, device="port:0x3f8")
    model = joined(guest(["ata_sff_data_pio"], interfaces=[], disks=known), outside.model())
    assert finding(model, DEVICE).claims["cpu.kernel"] == 1200 * MS + 2_000 * US


def test_a_clock_read_is_bounded_by_the_exits_for_its_device() -> None:
    model = guest(READING, **CLOCKSOURCE)
    outside = host().vm_exit(IOIO, "1500 ms", 90_000, user=True, device="port:0x608")
    found = finding(joined(model, outside.model()), CLOCK)
    assert found.claims["cpu.kernel"] == 1500 * MS + 90_000 * US
    assert any("acpi_pm" in each.text for each in found.evidence)
    said = check(joined(model, host().vm_exit(HLT, "1 s", 9, halted="1 s").model()), CLOCK)
    assert "33 %" in said.text


# CPU-STOLEN


def waiting(**accounts: Any) -> Model:
    return host(**({"vm_guest": "4 s", "vm_halt": "2 s"} | accounts)).model()


def test_the_host_says_behind_whom_virtual_cpus_waited() -> None:
    inside = knowing(
        Builder(comm="app", cpus=2).thread("app", cpu_user="4 s", cpu_stolen=("1 s", 200)).model(),
        hypervisor=guest().facts.hypervisor,
    )
    outside = host(vm_guest="4 s", vm_halt="2 s").row("runq.busy", "task:77:backup", "1100 ms", count=300)
    found = finding(joined(inside, outside.model()), STOLEN)
    (said,) = (each for each in found.evidence if "host" in each.probe)
    assert "1.10 s" in said.text and "backup" in said.text and said.value == 1100 * MS
    assert found.claims == finding(inside, STOLEN).claims, "the guest's own clock of it is exact"


def test_a_steal_counter_that_never_moved_is_answered_by_the_host() -> None:
    inside = guest()
    assert "never moved" in silence(inside, STOLEN).reason
    said = check(joined(inside, waiting(runq_busy=("1 s", 90))), STOLEN)
    assert "virtual CPUs waited 1.00 s" in said.text and said.number == pytest.approx(0.125)
    assert check(joined(inside, waiting()), STOLEN).number == 0
