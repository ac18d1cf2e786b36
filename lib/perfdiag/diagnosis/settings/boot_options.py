"""Options that the kernel was started with, and that cost time.

The recorder keeps only options that its list names (boot_options.c): a command line may hold secrets.  What a file
shows as well is not told from here: it may have been changed since.  Of an option that is given twice the last counts.
"""

from collections.abc import Iterator

from perfdiag.diagnosis.settings.unusual import CPU, DISK, NETWORK, RUN_QUEUE, Unusual, time_in
from perfdiag.facts.texts import lines_of
from perfdiag.model.model import Model

_PATH = "/proc/cmdline"
_LONGEST_OPTION = 64  # bytes that the recorder keeps of one
_DEVICES = (*DISK, *NETWORK, "cpu.irq")
# Each begins as given; with a value only that one is meant.
BOOT_OPTIONS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("idle=poll", (*CPU, *RUN_QUEUE), "idle CPUs spin, and leave less power and less of a core to others"),
    ("nosmp", RUN_QUEUE, "one CPU is used"),
    ("isolcpus=", RUN_QUEUE, "the scheduler keeps threads off these CPUs"),
    ("mem=", ("memory.reclaim", "memory.swap_in", *DISK), "the rest of the memory is not used"),
    ("slub_debug=", CPU, "each object of the kernel is checked"),
    ("slab_debug=", CPU, "each object of the kernel is checked"),
    ("slub_debug", CPU, "each object of the kernel is checked"),
    ("slab_debug", CPU, "each object of the kernel is checked"),
    ("page_owner=on", CPU, "the stack of each allocation is kept"),
    ("debug_pagealloc=on", CPU, "pages are unmapped when they are freed"),
    ("page_poison=1", CPU, "pages are filled when they are freed"),
    ("init_on_free=1", CPU, "memory is zeroed when it is freed"),
    ("kmemleak=on", CPU, "each allocation of the kernel is tracked"),
    ("nohz=off", (*CPU, "cpu.irq"), "idle CPUs are interrupted by each tick"),
    ("highres=off", RUN_QUEUE, "timers end at the next tick"),
    ("cpufreq.off=1", CPU, "CPUs keep the clock that the firmware gave them"),
    ("acpi=off", (*CPU, *_DEVICES), "CPUs and interrupts work without the firmware's tables"),
    ("noapic", _DEVICES, "devices share interrupts on one CPU"),
    ("nolapic", (*CPU, *_DEVICES), "devices share interrupts on one CPU"),
    ("pci=nomsi", _DEVICES, "devices share interrupts"),
    ("irqpoll", _DEVICES, "each interrupt asks all devices"),
    ("iommu.strict=1", _DEVICES, "each transfer of a device flushes the IOMMU"),
    ("intel_iommu=strict", _DEVICES, "each transfer of a device flushes the IOMMU"),
    ("audit=1", ("cpu.kernel",), "system calls are audited, if there are rules (auditctl -l)"),
    ("ftrace=", ("cpu.kernel",), "functions of the kernel are traced"),
    ("trace_event=", ("cpu.kernel",), "events of the kernel are traced"),
    ("ignore_loglevel", ("cpu.kernel",), "all messages go to the console, however slow that is"),
    ("numa=off", CPU, "memory of other nodes is used like the own"),
)


def boot_options(model: Model) -> Iterator[Unusual]:
    """Yield those that cost time."""
    text = model.facts.texts.text(_PATH) if _PATH in model.facts.texts else None
    last = {option.partition("=")[0]: option for option in lines_of(text)}
    for option in last.values():
        for begins, accounts, effect in BOOT_OPTIONS:
            meant = option == begins or (begins.endswith("=") and option.startswith(begins))
            if meant and not option.endswith("=-") and len(option) <= _LONGEST_OPTION and option.isprintable():
                yield Unusual(f"the kernel was started with {option}", effect, _PATH, time_in(model, accounts))
                break
