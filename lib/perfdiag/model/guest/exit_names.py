"""What virtual CPUs leave their guests for, in words: names of exit codes, devices behind ports and addresses."""

from collections.abc import Mapping, Sequence

# arch/x86/include/uapi/asm/svm.h, the SVM_EXIT_ left out
_SVM: Mapping[int, str] = {
    0x40: "EXCP_DE", 0x41: "EXCP_DB", 0x43: "EXCP_BP", 0x46: "EXCP_UD", 0x4D: "EXCP_GP", 0x4E: "EXCP_PF",
    0x51: "EXCP_AC", 0x52: "EXCP_MC", 0x60: "INTR", 0x61: "NMI", 0x62: "SMI", 0x63: "INIT", 0x64: "VINTR",
    0x65: "CR0_SEL_WRITE", 0x66: "IDTR_READ", 0x67: "GDTR_READ", 0x68: "LDTR_READ", 0x69: "TR_READ",
    0x6A: "IDTR_WRITE", 0x6B: "GDTR_WRITE", 0x6C: "LDTR_WRITE", 0x6D: "TR_WRITE", 0x6E: "RDTSC", 0x6F: "RDPMC",
    0x70: "PUSHF", 0x71: "POPF", 0x72: "CPUID", 0x73: "RSM", 0x74: "IRET", 0x75: "SWINT", 0x76: "INVD",
    0x77: "PAUSE", 0x78: "HLT", 0x79: "INVLPG", 0x7A: "INVLPGA", 0x7B: "IOIO", 0x7C: "MSR", 0x7D: "TASK_SWITCH",
    0x7E: "FERR_FREEZE", 0x7F: "SHUTDOWN", 0x80: "VMRUN", 0x81: "VMMCALL", 0x82: "VMLOAD", 0x83: "VMSAVE",
    0x84: "STGI", 0x85: "CLGI", 0x86: "SKINIT", 0x87: "RDTSCP", 0x88: "ICEBP", 0x89: "WBINVD", 0x8A: "MONITOR",
    0x8B: "MWAIT", 0x8C: "MWAIT_COND", 0x8D: "XSETBV", 0x8E: "RDPRU", 0x8F: "EFER_WRITE_TRAP", 0xA2: "INVPCID",
    0xA5: "BUS_LOCK", 0xA6: "IDLE_HLT", 0x400: "NPF", 0x401: "AVIC_INCOMPLETE_IPI",
    0x402: "AVIC_UNACCELERATED_ACCESS", 0x403: "VMGEXIT", 0xFFFFFFFF: "ERR",
}  # fmt: skip
# arch/x86/include/uapi/asm/vmx.h, the EXIT_REASON_ left out
_VMX: Mapping[int, str] = {
    0: "EXCEPTION_NMI", 1: "EXTERNAL_INTERRUPT", 2: "TRIPLE_FAULT", 3: "INIT_SIGNAL", 4: "SIPI_SIGNAL",
    6: "OTHER_SMI", 7: "INTERRUPT_WINDOW", 8: "NMI_WINDOW", 9: "TASK_SWITCH", 10: "CPUID", 12: "HLT", 13: "INVD",
    14: "INVLPG", 15: "RDPMC", 16: "RDTSC", 18: "VMCALL", 19: "VMCLEAR", 20: "VMLAUNCH", 21: "VMPTRLD",
    22: "VMPTRST", 23: "VMREAD", 24: "VMRESUME", 25: "VMWRITE", 26: "VMOFF", 27: "VMON", 28: "CR_ACCESS",
    29: "DR_ACCESS", 30: "IO_INSTRUCTION", 31: "MSR_READ", 32: "MSR_WRITE", 33: "INVALID_STATE",
    34: "MSR_LOAD_FAIL", 36: "MWAIT_INSTRUCTION", 37: "MONITOR_TRAP_FLAG", 39: "MONITOR_INSTRUCTION",
    40: "PAUSE_INSTRUCTION", 41: "MCE_DURING_VMENTRY", 43: "TPR_BELOW_THRESHOLD", 44: "APIC_ACCESS",
    45: "EOI_INDUCED", 46: "GDTR_IDTR", 47: "LDTR_TR", 48: "EPT_VIOLATION", 49: "EPT_MISCONFIG", 50: "INVEPT",
    51: "RDTSCP", 52: "PREEMPTION_TIMER", 53: "INVVPID", 54: "WBINVD", 55: "XSETBV", 56: "APIC_WRITE",
    57: "RDRAND", 58: "INVPCID", 59: "VMFUNC", 60: "ENCLS", 61: "RDSEED", 62: "PML_FULL", 63: "XSAVES",
    64: "XRSTORS", 67: "UMWAIT", 68: "TPAUSE", 74: "BUS_LOCK", 75: "NOTIFY", 77: "TDCALL", 84: "MSR_READ_IMM",
    85: "MSR_WRITE_IMM",
}  # fmt: skip
# Classes of arch/arm64/include/asm/esr.h, the ESR_ELx_EC_ left out; from 0x1000 on what is no trap
_ARM64: Mapping[int, str] = {
    0x00: "UNKNOWN", 0x01: "WFx", 0x12: "HVC32", 0x13: "SMC32", 0x16: "HVC64", 0x17: "SMC64", 0x18: "SYS64",
    0x19: "SVE", 0x20: "IABT_LOW", 0x24: "DABT_LOW", 0x30: "BREAKPT_LOW", 0x32: "SOFTSTP_LOW",
    0x1000: "IRQ", 0x1001: "EL1_SERROR", 0x1004: "IL",
}  # fmt: skip
_NAMES: Mapping[str, Mapping[int, str]] = {"svm": _SVM, "vmx": _VMX, "arm64": _ARM64}

HALTS = frozenset({"HLT", "IDLE_HLT", "WFx"})  # the guest had nothing to do
HOST_INTERRUPTS = frozenset({"INTR", "NMI", "SMI", "EXTERNAL_INTERRUPT", "IRQ"})  # not its doing
EXCEPTION_OR_NMI = "EXCEPTION_NMI"  # of VMX: an exception of the guest that its host takes, or an NMI of the host

# What listens on a port of a PC, whoever emulates it: first, last, name.
_PORTS: Sequence[tuple[int, int, str]] = (
    (0x20, 0x21, "interrupt controller (PIC)"),
    (0x40, 0x43, "timer (PIT)"),
    (0x60, 0x60, "keyboard (i8042)"),
    (0x61, 0x61, "timer (PIT)"),
    (0x64, 0x64, "keyboard (i8042)"),
    (0x70, 0x71, "clock (RTC)"),
    (0x80, 0x80, "delay port"),
    (0xA0, 0xA1, "interrupt controller (PIC)"),
    (0xB2, 0xB3, "ACPI"),
    (0x170, 0x177, "IDE disk"),
    (0x1F0, 0x1F7, "IDE disk"),
    (0x2F8, 0x2FF, "serial line"),
    (0x376, 0x376, "IDE disk"),
    (0x378, 0x37A, "parallel port"),
    (0x3B0, 0x3DF, "VGA"),
    (0x3F6, 0x3F6, "IDE disk"),
    (0x3F0, 0x3F7, "floppy disk"),
    (0x3F8, 0x3FF, "serial line"),
    (0x402, 0x402, "firmware console"),
    (0x510, 0x51B, "firmware configuration"),
    (0x608, 0x60B, "ACPI timer"),
    (0x600, 0x67F, "ACPI"),
    (0xB008, 0xB00B, "ACPI timer"),
    (0xB000, 0xB03F, "ACPI"),
    (0xCF8, 0xCFF, "PCI configuration"),
)
_ADDRESSES: Sequence[tuple[int, int, str]] = (
    (0xA0000, 0xBFFFF, "VGA"),
    (0xFEC00000, 0xFEC00FFF, "interrupt controller (IO-APIC)"),
    (0xFED00000, 0xFED00FFF, "timer (HPET)"),
    (0xFED40000, 0xFED44FFF, "TPM"),
    (0xFEE00000, 0xFEEFFFFF, "interrupt controller (local APIC)"),
)


def reason(vendor: str, code: int) -> str:
    """Return the name of an exit code as the kernel has it ("IOIO"); an unknown one stays a number ("svm 0x1f0")."""
    return _NAMES.get(vendor, {}).get(code) or f"{vendor} {code:#x}"


def device(text: str) -> str:
    """Return what a guest touched: "serial line (port 0x3f8)"; what only the guest can know is said so; "" for ""."""
    kind, _, number = text.partition(":")
    if not number:
        return ""
    try:
        value = int(number, 16)
    except ValueError:
        return text
    where = f"port {value:#x}" if kind == "port" else f"address {value:#x}"
    name = known_device(text)
    return f"{name} ({where})" if name else f"PCI device at {where}"


def place(text: str) -> str:
    """Return "port 0x3f8" or "address 0xa0000"."""
    kind, _, number = text.partition(":")
    return f"{'port' if kind == 'port' else 'address'} {number}"


def known_device(text: str) -> str:
    """Return the name of the device behind "port:0x3f8" or "mmio:0xa0000", "" where it is not the same in every PC."""
    kind, _, number = text.partition(":")
    table = {"port": _PORTS, "mmio": _ADDRESSES}.get(kind, ())
    try:
        value = int(number, 16)
    except ValueError:
        return ""
    return next((name for first, last, name in table if first <= value <= last), "")
