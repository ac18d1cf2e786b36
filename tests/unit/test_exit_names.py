"""Names of exits and of what is behind ports and addresses."""

from __future__ import annotations

import io

import pytest
from perfdiag.model.guest import exit_names
from perfdiag.recording import reader, schema

from unit.support import Builder

EMULATOR = "qemu-system-x86"


@pytest.mark.parametrize(
    ("vendor", "code", "name"),
    [
        ("svm", 0x7B, "IOIO"),
        ("svm", 0x400, "NPF"),
        ("vmx", 12, "HLT"),
        ("vmx", 48, "EPT_VIOLATION"),
        ("arm64", 1, "WFx"),
        ("svm", 0x1F0, "svm 0x1f0"),
        ("other", 3, "other 0x3"),
    ],
)
def test_reasons(vendor: str, code: int, name: str) -> None:
    assert exit_names.reason(vendor, code) == name


def test_groups_of_reasons_are_names_there_are() -> None:
    names = {
        exit_names.reason(vendor, code) for vendor in ("svm", "vmx", "arm64") for code in [*range(0x2000), 0xFFFFFFFF]
    }
    assert names >= exit_names.HALTS | exit_names.HOST_INTERRUPTS


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("port:0x3f8", "serial line (port 0x3f8)"),
        ("port:0x1f7", "IDE disk (port 0x1f7)"),
        ("port:0x3f6", "IDE disk (port 0x3f6)"),
        ("port:0x3f2", "floppy disk (port 0x3f2)"),
        ("port:0x608", "ACPI timer (port 0x608)"),
        ("port:0xc040", "PCI device at port 0xc040"),
        ("mmio:0xfee00000", "interrupt controller (local APIC) (address 0xfee00000)"),
        ("mmio:0xfebc0000", "PCI device at address 0xfebc0000"),
        ("", ""),
        ("port:nonsense", "port:nonsense"),
    ],
)
def test_devices(text: str, words: str) -> None:
    assert exit_names.device(text) == words


def test_a_row_of_exits_has_the_reason_as_its_object() -> None:
    builder = Builder(comm=EMULATOR).thread(vm_guest="2 s").vm_exit(0x7B, "1 s", 1000)
    builder.row("vm.exit", "vmexit:vmx:x", "1 ms")
    objects = {row.key: row.object for row in builder.model().rows_of("vm.exit")}
    assert objects["vmexit:svm:123"] == "IOIO" and objects["vmexit:vmx:x"] == "vmexit:vmx:x"


def test_exits_are_read_back() -> None:
    builder = Builder(comm=EMULATOR).thread(vm_guest="2 s")
    builder.vm_exit(0x7B, "1 s", 1000, user=True, device="port:0x1f0", waiting="2 ms")
    [line] = reader.read(io.BytesIO(builder.bytes())).vm_exits
    assert isinstance(line, schema.VmExit)
    assert (line.device, line.user, line.running_ns, line.sum_ns) == ("port:0x1f0", True, 10**9, 1_002_000_000)


# What is not measured


def missing(builder: Builder) -> list[str]:
    return [item.reason for item in builder.model().not_measured if item.feature == "vm"]


def test_only_who_runs_guests_misses_their_exits() -> None:
    reason = "the module kvm is not loaded"
    assert missing(Builder(comm=EMULATOR).thread(cpu_user="1 s").without("vm", reason)) == [reason]
    assert missing(Builder(comm="postgres").thread(cpu_user="1 s").without("vm", reason)) == []


def test_a_module_that_came_late_is_told() -> None:
    def late(builder: Builder) -> list[str]:
        lines = builder.thread(cpu_user="1 s").lines()
        end_ns = lines[-1].at_ns  # type: ignore[attr-defined]
        begin = schema.Fact(at_ns=end_ns - 10, phase="begin", path="/sys/module/kvm", error="No such file")
        end = schema.Fact(at_ns=end_ns, phase="end", path="/sys/module/kvm", text="9 inode 77")
        builder._lines += [begin, end]
        return missing(builder)

    assert late(Builder(comm="vmm").without("vm", "")) == ["the module kvm was loaded after the recording began"]
    assert late(Builder(comm="vmm")) == []


@pytest.mark.parametrize(
    ("signature", "command"),
    [
        ("KVMKVMKVM", "perfdiag report HOST.rec"),
        ("VMwareVMware", "esxtop"),
        ("XenVMMXenVMM", "xentop"),
        ("Microsoft Hv", "Wait"),
    ],
)
def test_a_guest_is_told_whom_to_ask(signature: str, command: str) -> None:
    builder = Builder().thread(cpu_user="1 s").fact("/proc/cpuinfo", "flags : fpu hypervisor\n")
    model = builder.fact("/cpuid/hypervisor", signature).model()
    [item] = [item for item in model.not_measured if item.what.startswith("the host's side")]
    assert command in item.fix and model.measured("vm")
