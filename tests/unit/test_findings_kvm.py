"""KVM-EXIT-EMULATED-IO, KVM-EXIT-STORM, KVM-HALT-POLLING and KVM-GUEST-CPU: the time of virtual CPUs."""

from __future__ import annotations

from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Confidence, RemedyKind, Severity
from perfdiag.model.model import Model
from perfdiag.recording import schema

from unit.support import Builder
from unit.support.hosts import host as whole_host
from unit.support.judging import check, finding, knowing, outcomes, silence
from unit.support.threads import START_NS

DEVICES, STORM, POLLING, GUEST = "KVM-EXIT-EMULATED-IO", "KVM-EXIT-STORM", "KVM-HALT-POLLING", "KVM-GUEST-CPU"
ALL = (DEVICES, STORM, POLLING, GUEST)
HLT, IOIO, MSR, NPF, INTR, PAUSE = 0x78, 0x7B, 0x7C, 0x400, 0x60, 0x77
S, MS = 1_000_000_000, 1_000_000


def machine(guest: str = "4 s", halt: str = "4 s") -> Builder:
    return Builder(comm="qemu-system-x86").thread("CPU 0/KVM", vm_guest=(guest, 20_000), vm_halt=(halt, 5_000))


# KVM-EXIT-EMULATED-IO


def test_an_emulated_disk_is_named_with_its_time() -> None:
    builder = machine().vm_exit(IOIO, "1200 ms", 40_000, user=True, device="port:0x1f0", waiting="300 ms")
    builder.vm_exit(NPF, "100 ms", 500, user=True, device="mmio:0xfebc0000")
    found = finding(builder.model(), DEVICES)
    assert found.severity is Severity.WARNING and found.confidence is Confidence.HIGH
    assert dict(found.claims) == {
        ("vm.exit", "vmexit:svm:123"): 1200 * MS,
        ("vm.exit", "vmexit:svm:1024"): 100 * MS,
    }
    assert "IDE disk (port 0x1f0)" in found.claim and "40,500 times" in found.claim
    assert "4,000" in found.evidence[0].text and "300 ms" in found.evidence[0].text
    assert "virtio-blk" in found.remedies[0].text and "virtio devices" in found.remedies[1].text
    assert all(remedy.kind is RemedyKind.FIX for remedy in found.remedies)


def test_a_card_whose_address_the_guest_chose_is_to_be_asked_for_there() -> None:
    found = finding(machine().vm_exit(NPF, "1 s", 9000, user=True, device="mmio:0xfebc0000").model(), DEVICES)
    assert "PCI device at address 0xfebc0000" in found.claim and "lspci -v" in found.remedies[0].text


def test_exits_the_kernel_answers_itself_are_no_emulation() -> None:
    builder = machine().vm_exit(IOIO, "1 s", 40_000, device="port:0x20").vm_exit(IOIO, "12 ms", 212, user=True)
    builder.vm_exit(IOIO, "3 ms", 200, user=True, device="port:0x3f8")
    said = check(builder.model(), DEVICES)
    assert "200" in said.text and "3.00 ms" in said.text and said.number < 0.01


def test_a_share_that_is_small_is_profile() -> None:
    found = finding(machine().vm_exit(IOIO, "100 ms", 900, user=True, device="port:0x3f8").model(), DEVICES)
    assert found.severity is Severity.INFO


def test_exits_without_a_reason_lower_the_confidence() -> None:
    builder = machine().vm_exit(IOIO, "1 s", 4000, user=True, device="port:0x3f8").lost(vm_exits_full=7)
    found = finding(builder.model(), DEVICES)
    assert found.confidence is Confidence.MEDIUM and any("7 exits" in limit for limit in found.limits)


# KVM-EXIT-STORM


def test_a_guest_that_spins_for_locks_is_left_too_often() -> None:
    builder = machine().vm_exit(PAUSE, "900 ms", 300_000).vm_exit(MSR, "100 ms", 20_000).vm_exit(INTR, "50 ms", 2500)
    found = finding(builder.model(), STORM)
    assert found.severity is Severity.WARNING
    assert dict(found.claims) == {("vm.exit", "vmexit:svm:119"): 900 * MS, ("vm.exit", "vmexit:svm:124"): 100 * MS}
    assert "320,000 times" in found.claim and "90 % of it for PAUSE" in found.claim
    assert "30,000" in found.evidence[0].text and "3.00 us" in found.evidence[0].text
    assert "locks" in found.remedies[0].text


def test_exits_that_are_few_but_long_are_profile() -> None:
    found = finding(machine().vm_exit(NPF, "900 ms", 9_000).model(), STORM)
    assert found.severity is Severity.INFO and "memory" in found.remedies[0].text


def test_halts_and_interrupts_of_the_host_are_no_storm() -> None:
    builder = machine().vm_exit(HLT, "900 ms", 200_000, halted="4 s").vm_exit(INTR, "900 ms", 200_000)
    assert check(builder.model(), STORM).number == 0


def test_exceptions_are_told_from_nmis_of_the_host_by_their_number() -> None:
    """Both are exit code 0 of VMX; of 5 s in guests and exits perf has 20,000 NMIs."""
    found = finding(machine().vm_exit(0, "900 ms", 300_000, vendor="vmx").model(), STORM)
    assert found.severity is Severity.WARNING and "EXCEPTION_NMI" in found.claim and "NMIs" in found.remedies[0].text
    assert check(machine().vm_exit(0, "900 ms", 20_000, vendor="vmx").model(), STORM).number == 0


def test_a_reason_without_a_name_is_told_as_its_number() -> None:
    found = finding(machine().vm_exit(0x1F0, "900 ms", 300_000).model(), STORM)
    assert "svm 0x1f0" in found.claim and "perf kvm stat" in found.remedies[0].text


# KVM-HALT-POLLING


def polling(polled: str = "700 ms", setting_ns: int | None = 200_000, running: str = "900 ms") -> Model:
    builder = machine().vm_exit(HLT, running, 9000, halted="4 s", polled=polled)
    return knowing(builder.model(), halt_poll_ns=setting_ns)


def test_polling_is_profile_with_a_trial() -> None:
    found = finding(polling(), POLLING)
    assert found.severity is Severity.INFO and dict(found.claims) == {("vm.exit", "vmexit:svm:120"): 900 * MS}
    trial = found.remedies[0]
    assert trial.kind is RemedyKind.TRY and trial.text == "echo 0 > /sys/module/kvm/parameters/halt_poll_ns"
    assert trial.undo == "echo 200000 > /sys/module/kvm/parameters/halt_poll_ns" and "200000" in trial.present_value
    assert "700 ms" in found.evidence[0].text


def test_without_polling_halts_are_only_many() -> None:
    assert check(polling(polled="0 ms"), POLLING).number > 0.1
    assert check(polling(setting_ns=0), POLLING).number > 0.1
    assert check(polling(running="20 ms", polled="10 ms"), POLLING).number < 0.01


def test_a_setting_that_is_not_known_is_not_tried() -> None:
    found = finding(polling(setting_ns=None), POLLING)
    assert all(remedy.kind is RemedyKind.FIX for remedy in found.remedies) and found.confidence is Confidence.MEDIUM


# KVM-GUEST-CPU


def test_the_guests_own_time_is_profile() -> None:
    found = finding(machine().vm_exit(MSR, "20 ms", 900).model(), GUEST)
    assert found.severity is Severity.INFO and dict(found.claims) == {"vm.guest": 4 * S}
    assert "inside the guest" in found.remedies[0].text
    assert check(machine(guest="10 ms").vm_exit(MSR, "2 s", 900).model(), GUEST).number < 0.01


# All


def test_who_runs_no_guests_is_not_asked() -> None:
    model = Builder(comm="postgres").thread(cpu_user="4 s").model()
    assert [outcomes(model, id) for id in ALL] == [[], [], [], []]


def test_time_in_guests_that_ticks_counted_says_so() -> None:
    blind = machine(halt="0 s").without("vm", "there is no /dev/kvm: no guests, or a container without it").model()
    found = finding(blind, "KVM-GUEST-CPU")
    assert found.confidence is Confidence.MEDIUM and any("ticks" in limit for limit in found.limits)
    assert "halt" not in found.evidence[0].text, "not known"


def test_of_a_host_that_no_virtual_cpu_ran_is_an_answer() -> None:
    model = whole_host(Builder().thread(cpu_user="4 s"))
    for id in ALL:
        said = check(model, id)
        assert said.number == 0 and "no virtual CPU was seen" in said.text
    guests = whole_host(machine().vm_exit(MSR, "1 s", 400_000))
    assert finding(guests, STORM) and finding(guests, GUEST)


def test_a_host_that_could_not_look_says_so_and_one_without_kvm_has_no_guests() -> None:
    def told(reason: str, fact: schema.Fact) -> Model:
        builder = Builder().thread(cpu_user="4 s").without("vm", reason).without("vm_device", reason)
        builder._lines.append(fact)
        return whole_host(builder)

    absent = schema.Fact(at_ns=START_NS, phase="begin", path="/sys/module/kvm", error="No such file or directory")
    present = schema.Fact(at_ns=START_NS, phase="begin", path="/sys/module/kvm", text="9 inode 77")
    for id in ALL:
        assert "no virtual CPU was seen" in check(told("the module kvm is not loaded", absent), id).text
        assert "no /dev/kvm" in silence(told("there is no /dev/kvm: this host runs no guests", present), id).reason
        unread = schema.Fact(at_ns=START_NS, phase="begin", path="/elsewhere", text="")
        assert "not loaded" in silence(told("the module kvm is not loaded", unread), id).reason


def test_what_was_not_recorded_is_said() -> None:
    builder = machine(guest="0 s").vm_exit(IOIO, "1 s", 4000, user=True, device="port:0x3f8")
    for id in ALL:
        assert "not loaded" in silence(builder.without("vm", "the module kvm is not loaded").model(), id).reason
    ports = machine().vm_exit(IOIO, "1 s", 4000).without("vm_device", "no kvm_pio")
    assert "no kvm_pio" in silence(ports.model(), DEVICES).reason
    assert finding(machine().vm_exit(IOIO, "1 s", 400_000).without("vm_device", "no kvm_pio").model(), STORM)


def test_a_recording_without_its_end_knows_no_reasons() -> None:
    model = machine().row("vm.exit", "", "1 s", count=900).model()
    assert silence(model, DEVICES)


def test_every_nanosecond_of_the_exits_has_one_owner() -> None:
    builder = machine().vm_exit(IOIO, "1 s", 40_000, user=True, device="port:0x1f0").vm_exit(PAUSE, "500 ms", 200_000)
    builder.vm_exit(HLT, "400 ms", 9000, polled="300 ms", halted="4 s")
    model = knowing(builder.model(), halt_poll_ns=200_000)
    settled = {each.id: each.claimed_ns for each in diagnose(model).findings}
    assert settled[DEVICES] == S and settled[STORM] == 500 * MS and settled[POLLING] == 400 * MS
    assert settled[GUEST] == 4 * S
