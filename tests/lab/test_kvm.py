"""Virtual machines inside the guest, whose kernel has KVM for its emulated AMD processor: exits by count and time."""

from __future__ import annotations

from collections import Counter

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.model.guest import exit_names
from perfdiag.recording import schema

from lab.support.guest import Guest
from live.support import laws
from live.support.fixtures import Attach, Record, Start
from live.support.model import check_model, model_of
from live.support.recording import Recording, ns_of, table

PARAMETER = "/sys/module/kvm/parameters/halt_poll_ns"
SERIAL, DISK, PIC, NOWHERE = "port:0x3f8", "port:0x1f0", "port:0x20", "mmio:0x20000"
MODULES = ("kvm_amd", "kvm")
VCPUS = 307


@pytest.fixture(autouse=True)
def _kvm(guest: Guest) -> None:
    guest.run("modprobe kvm_amd")


def exits(recording: Recording) -> dict[tuple[str, str, bool], int]:
    """Return how often guests were left: by reason, device, and whether user space was asked."""
    counts: Counter[tuple[str, str, bool]] = Counter()
    for line in recording.of(schema.VmExit):
        counts[exit_names.reason(line.vendor, line.code), line.device, line.user] += line.count
        assert sum(count for _, count in line.buckets) == line.count, line
        assert line.running_ns <= line.sum_ns + 1000 * line.count and line.polled_ns <= line.running_ns, line
    return counts


def exit_ns(recording: Recording, *devices: str) -> int:
    """Return the time on a CPU for exits that touched one of `devices`."""
    return sum(line.running_ns for line in recording.of(schema.VmExit) if line.device in devices)


def test_every_exit_is_counted_by_its_reason(start: Start, record: Record) -> None:
    recording, truth = record(start("kvm_guest", "--rounds", 3))
    found = exits(recording)
    assert found["IOIO", SERIAL, True] == truth["outs"] == 3 * 101
    assert found["IOIO", DISK, True] == truth["ins"] == 3 * 53
    assert found["CPUID", "", False] == 3 * 211
    assert found["NPF", NOWHERE, True] == truth["mmios"] == 3 * 31
    assert found["HLT", "", True] == truth["halts"] == 3 * 23
    thread = recording.thread(truth["pid"])
    whole_ns = truth["run_ns"] + truth["service_ns"]
    inside_ns = ns_of(thread, "vm.", "runq.", "cpu.irq")
    assert ns_of(thread, "vm.guest") and 0.9 * whole_ns <= inside_ns <= 1.2 * whole_ns, (truth, table(thread))


def test_the_emulator_s_work_is_time_of_the_exits_it_was_asked_in(start: Start, record: Record) -> None:
    """User space emulates a slow disk: so much time, at that port, and that is the first finding."""
    recording, truth = record(start("kvm_guest", "--ins", 211, "--outs", 0, "--service-us", 500, "--spins", 0))
    busy_ns = 211 * 500_000
    assert exits(recording)["IOIO", DISK, True] == 211
    taken_ns = exit_ns(recording, DISK)
    around_ns = sum(line.sum_ns for line in recording.of(schema.VmExit) if line.device == DISK)
    assert 0.8 * busy_ns <= taken_ns <= truth["service_ns"] + truth["run_ns"], (busy_ns, taken_ns, truth)
    assert around_ns >= busy_ns, (around_ns, truth)
    first = diagnose(model_of(recording)).findings[0]
    assert first.id == "KVM-EXIT-EMULATED-IO" and "IDE disk (port 0x1f0)" in first.claim, first
    assert 0.8 * busy_ns <= first.claimed_ns, (busy_ns, first)


def test_a_guest_that_halts_is_idle(start: Start, record: Record) -> None:
    """With the kernel's interrupt controller a halt waits inside KVM_RUN, and ends by an interrupt."""
    options = ("--irqchip", 1, "--halts", 61, "--halt-us", 5000, "--outs", 7, "--ins", 0, "--writes", 0)
    recording, truth = record(start("kvm_guest", *options))
    found = exits(recording)
    assert found["HLT", "", False] == 61
    assert found["IOIO", PIC, False] >= 61  # an end of interrupt for each
    assert found["IOIO", SERIAL, True] == 7 and truth["halts"] == 0
    thread = recording.thread(truth["pid"])
    idle_ns = ns_of(thread, "vm.halt")
    halts = [line for line in recording.of(schema.VmExit) if exit_names.reason(line.vendor, line.code) == "HLT"]
    assert sum(line.halted_ns for line in halts) == pytest.approx(idle_ns, abs=1000 * 61)
    assert 0.3 * 61 * 5_000_000 <= idle_ns <= truth["run_ns"], (truth, table(thread))


def test_a_page_that_user_space_supplies_is_no_halt(start: Start, record: Record) -> None:
    """As of a guest that is being migrated: touched by the guest, it comes 20 ms later."""
    options = ("--pages", 13, "--page-us", 20_000, "--outs", 3, "--ins", 0, "--writes", 0, "--halts", 0)
    recording, truth = record(start("kvm_guest", *options))
    thread = recording.thread(truth["pid"])
    assert truth["pages"] == 13
    assert ns_of(thread, "vm.halt") < 20_000_000, table(thread)
    waits = {line.object: line for line in recording.of(schema.Detail) if line.account == "kernel.other"}
    pages = waits["function:handle_userfault"]  # besides it the machine is made and taken down
    assert pages.count == 13 and 13 * 20_000_000 <= pages.sum_ns <= truth["run_ns"], waits


def test_time_in_guests_is_told_where_kvm_cannot_be_followed(guest: Guest, start: Start, record: Record) -> None:
    """As in a container without its device: the kernel's ticks have counted it, as no time of the emulator's own."""
    few = ("--outs", 3, "--ins", 0, "--cpuids", 0, "--writes", 0, "--halts", 0)  # each exit is the kernel's time
    workload = start("kvm_guest", "--rounds", 3, "--spins", 15_000_000, *few)
    guest.run("mv /dev/kvm /dev/kvm.away")
    try:
        recording, truth = record(workload)
    finally:
        guest.run("mv /dev/kvm.away /dev/kvm")
    thread = recording.thread(truth["pid"])
    guest_ns, ran_ns = ns_of(thread, "vm.guest"), ns_of(thread, "vm.guest", "cpu.")
    counted_ns = guest_ns + thread.user_ns + thread.kernel_ns  # of an emulator that loses its own CPU, ticks are lost
    assert 0 < 0.5 * counted_ns <= guest_ns <= ran_ns, (counted_ns, table(thread))
    assert not ns_of(thread, "vm.exit", "vm.halt") and not recording.of(schema.VmExit), table(thread)
    found = {finding.id: finding for finding in diagnose(model_of(recording)).findings}
    assert any("ticks" in limit for limit in found["KVM-GUEST-CPU"].limits), found


def test_a_host_that_polls_is_busy_for_idle_guests(guest: Guest, start: Start, record: Record) -> None:
    """Halts of 3 ms, and a host that asks for up to 40 ms before it goes to sleep."""
    before = guest.run(f"cat {PARAMETER}; echo 40000000 >{PARAMETER}")
    try:
        options = ("--irqchip", 1, "--halts", 101, "--halt-us", 3000, "--spins", 0)
        recording, truth = record(start("kvm_guest", *options))
    finally:
        guest.run(f"echo {before} >{PARAMETER}")
    assert exits(recording)["HLT", "", False] == 101
    polled_ns = sum(line.polled_ns for line in recording.of(schema.VmExit))
    thread = recording.thread(truth["pid"])
    assert 0.2 * 101 * 3_000_000 <= polled_ns <= ns_of(thread, "vm.exit"), table(thread)
    model = model_of(recording)
    assert model.facts.halt_poll_ns in (40_000_000, None)  # not read in time on a busy host
    if model.facts.halt_poll_ns:
        assert "KVM-HALT-POLLING" in [finding.id for finding in diagnose(model).findings]


def test_hundreds_of_virtual_cpus(start: Start, attach: Attach) -> None:
    """All leave for the same reasons: one line each, and books that close, whatever the number of threads."""
    options = ("--vcpus", VCPUS, "--outs", 5, "--ins", 3, "--cpuids", 7, "--writes", 2, "--halts", 1, "--spins", 100)
    emulator = start("kvm_guest", *options)
    recorder = attach(emulator, start("spin"))  # which never spins: for it the recorder goes on at the end of the other
    before_bytes = recorder.resident_bytes()
    truth = emulator.run()
    after_bytes = recorder.resident_bytes()
    recording = recorder.stop()
    laws.check(recording)
    check_model(recording)
    found, left_out = exits(recording), recording.footer.lost["programs_skipped"]
    asked = {("IOIO", SERIAL): truth["outs"], ("IOIO", DISK): truth["ins"], ("NPF", NOWHERE): truth["mmios"]}
    assert list(asked.values()) == [VCPUS * 5, VCPUS * 3, VCPUS * 2] and truth["halts"] == VCPUS
    for (reason, device), count in asked.items():  # 7.0 and later leave programs out, but not those of exits
        assert count - left_out <= found[reason, device, True] <= count, (found, left_out)
    for reason, count in (("IOIO", VCPUS * 8), ("CPUID", VCPUS * 7), ("HLT", VCPUS)):
        assert sum(number for key, number in found.items() if key[0] == reason) == count, found
    assert recording.footer.lost["vm_exits_full"] == 0 and recording.footer.lost["detail_full"] == 0
    books = [row for row in recording.books if row.comm == "kvm_guest"]  # shorter lives than 10 ms are folded
    assert sum(getattr(row, "threads", 1) for row in books) == VCPUS == recording.footer.threads_seen - 1
    assert not [table(row) for row in books if not (ns_of(row, "vm.guest") and ns_of(row, "vm.exit"))]
    inside_ns, around_ns = (sum(ns_of(row, *names) for row in books) for names in (("vm.",), ("runq.", "cpu.")))
    whole_ns = truth["run_ns"] + truth["service_ns"]  # with waits for a CPU, but for those before a thread's first step
    assert inside_ns <= 1.05 * whole_ns and inside_ns + around_ns >= 0.95 * whole_ns, (truth, inside_ns, around_ns)
    print(f"recorder: {after_bytes:,} bytes, {after_bytes - before_bytes:,} more than before {VCPUS} virtual CPUs")
    assert after_bytes - before_bytes < 1 << 20, (before_bytes, after_bytes)


def test_thousands_of_ports_are_counted_the_last_ones_together(start: Start, record: Record) -> None:
    options = ("--ports", 4099, "--outs", 0, "--ins", 0, "--cpuids", 3, "--writes", 0, "--halts", 1, "--spins", 0)
    recording, _ = record(start("kvm_guest", *options))
    found = {device: count for (name, device, user), count in exits(recording).items() if name == "IOIO" and user}
    assert sum(found.values()) == 4099 and found[""] == 4099 - 3072 and set(found.values()) == {1, 4099 - 3072}
    assert recording.footer.lost["vm_exits_full"] == 0


def test_without_the_modules_it_is_said(guest: Guest, start: Start, record: Record) -> None:
    guest.run(f"rmmod {' '.join(MODULES)}")
    recording, _ = record(start("spin", "--duration-ms", 100))
    probes = [probe for probe in recording.header.probes if probe.feature.startswith("vm")]
    assert len(probes) == 7 and not any(probe.attached for probe in probes)
    assert {probe.reason for probe in probes} == {"the module kvm is not loaded"}
    assert not recording.of(schema.VmExit)
