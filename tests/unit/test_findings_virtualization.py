"""VIRT-CLOCKSOURCE, VIRT-EMULATED-DEVICE and NUMA-REMOTE."""

from __future__ import annotations

from typing import Any

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.evidence.virtual.emulated_access import CLOCK_READS, EMULATED
from perfdiag.diagnosis.rule import Confidence, Finding, RemedyKind, Severity
from perfdiag.facts.host_facts import Clocksource, Hypervisor, Interface, NumaNode, Process
from perfdiag.model.model import Model

from unit.support import Builder
from unit.support.disks import disk, disks
from unit.support.judging import check, finding, knowing, silence
from unit.support.known import blank
from unit.support.never import forbidden

CLOCK, DEVICE, NUMA = "VIRT-CLOCKSOURCE", "VIRT-EMULATED-DEVICE", "NUMA-REMOTE"
S = 1_000_000_000
VMWARE = Hypervisor("vmware", "DMI system vendor VMware, Inc.")
READING = ["acpi_pm_read", "ktime_get_ts64", "__x64_sys_clock_gettime", "do_syscall_64"]


def sampled(functions: list[str], hits: int, other: int, **facts: Any) -> Model:
    """5 s in the kernel and 4 s in own code; `hits` samples inside these functions, `other` elsewhere."""
    builder = Builder().thread("mover", cpu_user="4 s", cpu_kernel="5 s")
    if hits:
        builder.stack("cpu", "cpu.kernel", kernel=functions, count=hits)
    if other:
        builder.stack("cpu", user=["copy (app)"], count=other)
    return knowing(builder.model(), **facts)


def source(current: str = "acpi_pm", unstable: bool | None = True) -> Clocksource:
    line = "Marking clocksource 'tsc' as unstable" if unstable else None
    return Clocksource(current, ("tsc", "acpi_pm"), unstable, line)


def test_reading_a_device_for_the_time_is_named_with_its_error() -> None:
    found = finding(sampled(READING, 100, 800, clocksource=source()), CLOCK)
    assert found.severity is Severity.WARNING and found.confidence is Confidence.MEDIUM
    assert found.claims["cpu.kernel"] == pytest.approx(1e9)
    assert found.evidence[0].error and "acpi_pm" in found.claim
    assert any("Marking clocksource" in evidence.text for evidence in found.evidence)


def test_a_reading_is_known_by_who_asked_where_the_source_is_a_device() -> None:
    asked = READING[1:]
    found = finding(sampled(asked, 100, 800, clocksource=source()), CLOCK)
    assert found.claims["cpu.kernel"] == pytest.approx(1e9)
    assert check(sampled(asked, 100, 800, clocksource=source("tsc")), CLOCK)
    assert silence(sampled(asked, 100, 800), CLOCK)


def test_no_trial_is_offered_for_the_clock() -> None:
    for unstable in (True, False, None):
        found = finding(sampled(READING, 100, 800, clocksource=source(unstable=unstable)), CLOCK)
        assert all(remedy.kind is RemedyKind.FIX for remedy in found.remedies)
        assert not any(forbidden(remedy.text) for remedy in found.remedies)


def test_a_slow_source_that_is_hardly_read_costs_nothing() -> None:
    assert check(sampled(READING, 9, 900, clocksource=source()), CLOCK).number == pytest.approx(0.0099, abs=1e-4)
    assert check(sampled([], 0, 900, clocksource=source("tsc")), CLOCK)


def test_without_samples_or_source_it_cannot_tell() -> None:
    assert "too few" in silence(sampled(READING, 4, 20, clocksource=source()), CLOCK).reason
    assert silence(sampled([], 0, 900), CLOCK)
    assert finding(sampled(READING, 100, 800), CLOCK)  # the function names itself


# VIRT-EMULATED-DEVICE

POLLING = ["e1000_clean", "__napi_poll", "net_rx_action", "handle_softirqs", "irq_exit_rcu"]


def card(driver: str = "e1000", kind: str = "emulated") -> Interface:
    return blank(Interface, name="eth0", driver=driver, kind=kind, counters={})


def test_an_emulated_card_is_named_with_what_touching_it_takes() -> None:
    found = finding(
        sampled(
            ["e1000_xmit_frame", "dev_hard_start_xmit"], 300, 600, hypervisor=VMWARE, interfaces=[card()], disks={}
        ),
        DEVICE,
    )
    assert found.severity is Severity.WARNING
    assert "1000" in found.claim
    assert found.claims["cpu.kernel"] == pytest.approx(3e9)
    assert found.evidence[0].error == pytest.approx(0.0308 * 9e9, rel=0.01)


def test_time_inside_interrupts_is_claimed_where_it_was_measured() -> None:
    builder = Builder().thread(cpu_user="4 s", cpu_kernel="1 s", cpu_irq=("4 s", 100))
    builder.stack("cpu", "cpu.kernel", kernel=POLLING, count=300).stack("cpu", user=["copy (app)"], count=600)
    model = knowing(builder.model(), hypervisor=VMWARE, interfaces=[card()], disks={})
    assert dict(finding(model, DEVICE).claims) == {"cpu.irq": 3_000_000_000}


def test_an_emulated_controller_counts_too() -> None:
    known = disks(disk("8:0", "sda", driver="ata_piix", kind="emulated"))
    found = finding(
        sampled(["ata_sff_data_pio", "ata_sff_hsm_move"], 200, 700, hypervisor=VMWARE, interfaces=[], disks=known),
        DEVICE,
    )
    assert "ata_piix" in found.claim


@pytest.mark.parametrize(
    "facts",
    [
        {"hypervisor": Hypervisor("none", "no sign"), "interfaces": [card(kind="physical")]},
        {"hypervisor": VMWARE, "interfaces": [card("vmxnet3", "paravirtual")], "disks": {}},
    ],
    ids=["real card", "paravirtual card"],
)
def test_no_emulated_device(facts: dict[str, Any]) -> None:
    check(sampled(["e1000_xmit_frame"], 300, 600, **facts), DEVICE)


def test_an_emulated_device_that_is_hardly_used_costs_nothing() -> None:
    model = sampled(["e1000_xmit_frame"], 10, 890, hypervisor=VMWARE, interfaces=[card()], disks={})
    assert check(model, DEVICE)


def test_unknown_hypervisor_drivers_or_samples_are_said() -> None:
    assert "whether this host is a guest" in silence(sampled([], 0, 900), DEVICE).reason
    assert "drivers" in silence(sampled([], 0, 900, hypervisor=VMWARE, interfaces=[], disks={}), DEVICE).reason
    few = sampled([], 0, 20, hypervisor=VMWARE, interfaces=[card()], disks={})
    assert "too few" in silence(few, DEVICE).reason


def test_driver_names_match_no_other_subsystem() -> None:
    """IPsec is esp_, stat(2) is cp_new_stat: neither is a device."""
    prefixes = tuple(prefix for each in EMULATED.values() for prefix in each)
    for innocent in ("esp_input", "cp_new_stat", "cp_statx", "copy_page", "sync_filesystem", "igb", "mptcp_sendmsg"):
        assert not innocent.startswith(prefixes), innocent


def test_it_comes_before_kernel_time_in_general() -> None:
    diagnosis = diagnose(sampled(["e1000_xmit_frame"], 500, 400, hypervisor=VMWARE, interfaces=[card()], disks={}))
    assert diagnosis.findings[0].id == DEVICE


# Both


def both(stacks: dict[tuple[str, ...], int], **accounts: Any) -> list[Finding]:
    """What the two rules claim, each asked alone: nothing but the claims keeps them apart."""
    builder = Builder().thread("mover", **{"cpu_user": "4 s", "cpu_kernel": "5 s", **accounts})
    for functions, count in stacks.items():
        builder.stack("cpu", "cpu.kernel", kernel=list(functions), count=count)
    builder.stack("cpu", user=["copy (app)"], count=400)
    model = knowing(builder.model(), clocksource=source(), hypervisor=VMWARE, interfaces=[card()], disks={})
    return [finding(model, id) for id in (CLOCK, DEVICE)]


def test_a_sample_in_both_is_claimed_by_the_innermost_only() -> None:
    inside_driver = ("acpi_pm_read", "ktime_get", "e1000_xmit_frame")
    interrupted = ("e1000_clean", "net_rx_action", "handle_softirqs", "acpi_pm_read", "ktime_get")
    clock, device = both({inside_driver: 200, interrupted: 300})
    assert dict(clock.claims) == {"cpu.kernel": 2_000_000_000}
    assert dict(device.claims) == {"cpu.kernel": 3_000_000_000}


def test_two_findings_never_claim_more_of_an_account_than_there_is() -> None:
    """Interrupts are measured by their hooks, and samples see twice as much of them: each gets its part."""
    late_clock = ("acpi_pm_read", "handle_softirqs", "irq_exit_rcu")
    for user_s, kernel_s, irq_s in ((3, 5, 2), (4, 1, 2), (4, 1, 0)):
        accounts = {"cpu_user": f"{user_s} s", "cpu_kernel": f"{kernel_s} s", "cpu_irq": (f"{irq_s} s", 9)}
        claimed = [each.claims for each in both({late_clock: 300, tuple(POLLING): 200}, **accounts)]
        for account, whole_s in (("cpu.irq", irq_s), ("cpu.kernel", kernel_s)):
            assert sum(claims.get(account, 0) for claims in claimed) <= whole_s * S
        assert all(claims for claims in claimed)


def test_no_function_belongs_to_both() -> None:
    drivers = tuple(prefix for each in EMULATED.values() for prefix in each)
    assert not any(read.startswith(drivers) for read in CLOCK_READS)
    assert not any(prefix.startswith(CLOCK_READS) for prefix in drivers)


# NUMA-REMOTE


def node(number: int, cpus: str, local: int | None = 0, other: int | None = 0, memory: int = 1 << 30) -> NumaNode:
    return blank(NumaNode, node=number, cpus=cpus, total_bytes=memory, distances=(10, 21), local=local, other=other)


def computing(*nodes: NumaNode, **facts: Any) -> Model:
    return knowing(Builder().thread(cpu_user="8 s").model(), numa_nodes=nodes, **facts)


def process(cpus: str, memory: str) -> dict[int, Process]:
    return {100: blank(Process, pid=100, cpus_allowed=cpus, status={"Mems_allowed_list": memory})}


def test_memory_that_may_only_come_from_elsewhere_is_remote() -> None:
    found = finding(computing(node(0, "0-1"), node(1, "2-3"), processes=process("0-1", "1")), NUMA)
    assert found.severity is Severity.WARNING and found.confidence is Confidence.MEDIUM
    assert found.claims["cpu.user"] == pytest.approx(8e9 * (1 - 10 / 21), rel=1e-6)
    assert "node 0" in found.claim and "node 1" in found.claim


def test_allocations_on_the_wrong_node_are_a_hint() -> None:
    found = finding(computing(node(0, "0-1", 30_000, 40_000), node(1, "2-3", 30_000, 0)), NUMA)
    assert found.confidence is Confidence.LOW and "whole host" in found.limits[0]


def test_local_allocations_do_not_prove_local_memory() -> None:
    assert "older memory" in silence(computing(node(0, "0-1", 90_000, 500), node(1, "2-3")), NUMA).reason
    allowed = process("0-1", "0-1")
    assert "not measured" in silence(computing(node(0, "0-1"), node(1, "2-3"), processes=allowed), NUMA).reason


def test_counters_that_were_not_read_are_not_zero() -> None:
    model = computing(node(0, "0-1", None, None), node(1, "2-3", None, None))
    assert "0 pages" in silence(model, NUMA).reason


def test_accesses_that_the_kernel_looked_at_say_where_memory_lies() -> None:
    """Of old memory, too: then the allocations of the window are not asked."""
    nodes = node(0, "0-1", 90_000, 500), node(1, "2-3")
    faults = {"numa_hint_faults": 20_000, "numa_hint_faults_local": 19_960, "numa_pages_migrated": 12, "numa_miss": 7}
    fine = check(computing(*nodes, vmstat=faults), NUMA)
    assert "99 %" in fine.text and "20,000" in fine.text and fine.number == pytest.approx(0.002)
    assert "12" in fine.text
    remote = finding(computing(*nodes, vmstat=faults | {"numa_hint_faults_local": 8_000}), NUMA)
    assert "60 %" in remote.claim and "20,000" in remote.claim and remote.confidence is Confidence.LOW
    assert remote.claims["cpu.user"] == pytest.approx(8e9 * 0.6 * (1 - 10 / 21), rel=1e-6)
    few = {"numa_hint_faults": 400, "numa_hint_faults_local": 0}
    assert "older memory" in silence(computing(*nodes, vmstat=few), NUMA).reason


def test_one_node_has_no_remote_memory() -> None:
    assert "one memory node" in check(computing(node(0, "0-3")), NUMA).text
    assert "one memory node" in check(computing(node(0, "0-3"), node(1, "", memory=0)), NUMA).text
    assert silence(computing(), NUMA)


def test_the_price_of_an_exit_stands_beside_what_touching_a_device_takes() -> None:
    machine = Hypervisor("kvm", "CPUID says KVMKVMKVM", 1400)
    model = sampled(["e1000_xmit_frame"], 300, 600, hypervisor=machine, interfaces=[card()], disks={})
    assert "1.40 us" in finding(model, DEVICE).evidence[1].text
    clean = sampled([], 0, 600, hypervisor=machine, interfaces=[card("virtio_net", "paravirtual")], disks={})
    assert "1.40 us" in check(clean, DEVICE).text


def test_how_late_a_guest_wakes_up_stands_beside_the_price_of_an_exit() -> None:
    builder = Builder().thread("mover", cpu_user="4 s").stack("cpu", user=["copy (app)"], count=600)
    machine = {"hypervisor": Hypervisor("kvm", "CPUID says KVMKVMKVM", 1400)}
    virtual: dict[str, Any] = {**machine, "interfaces": [card("virtio_net", "paravirtual")], "disks": {}}
    unknown = builder.calibration(8000).model()
    assert "waking" not in check(knowing(unknown, **virtual), DEVICE).text
    timed = builder.calibration(8000, late=("26 us", "35 us")).calibration(8000, late=("21 us", "91 us")).model()
    said = check(knowing(timed, **virtual), DEVICE).text
    assert "21.0 us" in said and "50" in said and "35.0 us" in said and "91.0 us" in said and "20" in said
    builder.stack("cpu", "cpu.kernel", kernel=["e1000_xmit_frame"], count=300)
    emulated = knowing(builder.thread(cpu_kernel="2 s").model(), **machine, interfaces=[card()], disks={})
    assert "21.0 us" in finding(emulated, DEVICE).evidence[1].text
