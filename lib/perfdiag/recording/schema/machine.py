"""The machine below the threads: facts about it, its CPUs, exits of virtual ones, the clock of a guest."""

from collections.abc import Sequence
from typing import Annotated

import msgspec

from perfdiag.recording.schema.base import LARGEST, Buckets, Count, Line, Nanoseconds
from perfdiag.recording.schema.limits import RECORDER, Path, Text, Word, at_most

IdleStates = Annotated[Sequence[tuple[Count, Count, Nanoseconds]], at_most(RECORDER["IDLE_STATES"])]


class Fact(Line, tag="fact"):
    """One small file of /proc or /sys as it was read, or why it could not be.

    A symbolic link is recorded with its destination as text, a directory as "N inode M": entries and inode number.
    What is below /cpuid is no file: the CPUID instruction told it, in a guest; below /sock_diag it is sock_diag(7),
    and /hotspot/PID are counters in the memory of a Java virtual machine.
    """

    at_ns: Nanoseconds
    phase: Word  # "begin", "series" or "end"
    path: Path
    text: Text | None = None
    error: Word | None = None
    truncated: bool = False  # only the beginning; of /dev/kmsg only the end


class Cpu(Line, tag="cpu"):
    """One CPU that threads of the target ran on: for how long, at which clock, and how the CPU slept in the window."""

    cpu: Count
    ran_ns: Nanoseconds
    clock_ns: Nanoseconds  # of ran_ns: since its clock was set for the first time in the window
    clock_cycles: Count  # in clock_ns, at the clocks that were asked for
    clock_changes: Count
    # (index of the idle state, how often it was left, time in it)
    idle: IdleStates
    clock_ticks: Count = 0  # at whose end the target ran; 0: not counted, likewise the next two
    delivered_cycles: Count = 0  # APERF
    rated_cycles: Count = 0  # MPERF


class VmExit(Line, tag="vm_exit"):
    """Exits of the virtual CPUs of one process for one reason, at one device.

    An exit lasts until its guest goes on, or until user space turned to something else; time in which the guest was
    idle is not part of `sum_ns`, `max_ns` and `buckets`.  It is counted when its guest goes on.
    """

    pid: Count
    vendor: Word  # whose exit codes these are: svm, vmx or arm64
    code: Count
    user: bool  # the emulator in user space was asked to handle it
    device: Word  # the port or page that was touched: "port:0x3f8", "mmio:0xfee00000", or ""
    count: Count
    sum_ns: Nanoseconds
    max_ns: Nanoseconds
    running_ns: Nanoseconds  # of sum_ns, on a CPU (vm.exit); in the rest it waited
    halted_ns: Nanoseconds  # the guest was idle (vm.halt)
    polled_ns: Nanoseconds  # of running_ns, waiting for the end of a halt without going to sleep
    buckets: Buckets


class Calibration(Line, tag="calibration"):
    """In a guest, at the begin and at the end: how long a loop of a known number of cycles took on one CPU, and how
    late the recorder went on after sleeps of half a millisecond."""

    at_ns: Nanoseconds
    cycles: Annotated[int, msgspec.Meta(ge=1, le=LARGEST)]
    shortest_ns: Nanoseconds
    median_ns: Nanoseconds
    tries: Count
    late_shortest_ns: Nanoseconds | None = None  # None, here and below: no sleep was timed
    late_median_ns: Nanoseconds | None = None
    sleeps: Count = 0
