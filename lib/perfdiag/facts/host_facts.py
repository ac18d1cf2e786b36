"""Host facts, typed: what the recorded texts of /proc and /sys mean.

Every property is parsed when first asked for.  What is not known is None (or absent from a mapping), never zero, and
`Facts.reason` says why.  Deltas run over the window.  The parsers are our own: psutil and pyroute2 read a live host.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perfdiag.facts import (
    clock_limits,
    hypervisor,
    memory,
    power,
    process,
    processor,
)
from perfdiag.facts.cgroup import CpuGroup, IoGroup, MemoryGroup
from perfdiag.facts.clock_limits import ClockLimits, PowerZone
from perfdiag.facts.competitors import Competitor, read_competitors
from perfdiag.facts.file_locks import read_file_locks
from perfdiag.facts.file_systems import FileSystems, read_file_systems
from perfdiag.facts.group_facts import GroupFacts
from perfdiag.facts.hypervisor import Hypervisor
from perfdiag.facts.jvm import HotSpot, read_machines
from perfdiag.facts.kernel_log import KernelLog, LogLine, OomReport, read_kernel_log
from perfdiag.facts.listeners import Listener, Listeners
from perfdiag.facts.memory import DirtyLimits, NumaNode, SamePageMerging, Swap, TransparentHugePages
from perfdiag.facts.mountstats import NfsMount
from perfdiag.facts.network import Interface, Tcp
from perfdiag.facts.network_facts import NetworkFacts
from perfdiag.facts.power import DeliveredClock, FrequencyPolicy, IdleState
from perfdiag.facts.process import Descriptors, Process
from perfdiag.facts.processor import Clocksource, Processor
from perfdiag.facts.storage import Disk, DiskActivity, Mount
from perfdiag.facts.texts import Texts, fact, table
from perfdiag.facts.traffic_control import TrafficQueue
from perfdiag.facts.writeback import WritebackLimits, read_writeback_limits
from perfdiag.recording import schema


class Facts(NetworkFacts, GroupFacts):
    """The host and the targets at the begin and the end of a recording."""

    def __init__(self, texts: Texts) -> None:
        self.texts = texts
        self.reasons: dict[str, list[str]] = {}

    @classmethod
    def parse(cls, lines: Sequence[schema.Fact]) -> Facts:
        """Take the fact lines of a recording, in any order."""
        return cls(Texts(lines))

    def reason(self, name: str) -> str:
        """Return why property `name` (or a part of it) is unknown: "/proc/pressure/cpu: no such file"; "" if known."""
        getattr(self, name)
        return "; ".join(self.reasons.get(name, [])[:3])

    # CPUs

    @fact
    def processor(self) -> Processor | None:
        """The CPU model."""
        return processor.read_processor(self.texts)

    @fact
    def hypervisor(self) -> Hypervisor | None:
        """What the host runs on: name "none" is known bare metal, None is unknown."""
        return hypervisor.read_hypervisor(self.texts)

    @fact
    def clocksource(self) -> Clocksource | None:
        """The clock source in use, and what was offered."""
        return processor.read_clocksource(self.texts)

    @fact
    def frequency_policies(self) -> Sequence[FrequencyPolicy]:
        """All recorded cpufreq policies; empty where the host has none (most guests)."""
        return power.read_policies(self.texts)

    @fact
    def delivered_clock(self) -> DeliveredClock | None:
        """The clock busy CPUs really had."""
        return power.read_delivered_clock(self.texts)

    @fact
    def clock_limits(self) -> ClockLimits | None:
        """What may hold the clock of all CPUs down; None where the host shows none of it."""
        return clock_limits.read_clock_limits(self.texts)

    @fact
    def thermal_throttle_events(self) -> int | None:
        """Delta over all CPUs; None where the host does not count them."""
        return processor.read_thermal_events(self.texts)

    @fact
    def idle_states(self) -> Sequence[IdleState]:
        """By index, summed over the recorded CPUs; empty where the guest or host has no cpuidle driver."""
        return power.read_idle_states(self.texts)

    @fact
    def idle_driver(self) -> str | None:
        """Of cpuidle: intel_idle, acpi_idle, haltpoll, none."""
        return self.texts.word("/sys/devices/system/cpu/cpuidle/current_driver")

    @fact
    def cpu_times_ns(self) -> Mapping[str, int]:
        """Delta over all CPUs: user, nice, system, idle, iowait, irq, softirq, steal, guest, guest_nice."""
        return processor.read_cpu_times(self.texts)

    @property
    def steal_share(self) -> float | None:
        """Share of stolen time of all CPU time of the host (0 to 1)."""
        times = self.cpu_times_ns
        total = sum(ns for name, ns in times.items() if not name.startswith("guest"))
        return times["steal"] / total if total and "steal" in times else None

    @fact
    def softirqs(self) -> Mapping[str, int]:
        """Delta over all CPUs by vector: NET_RX, TIMER, ..."""
        return processor.read_softirqs(self.texts)

    @fact
    def timer_interrupts(self) -> Sequence[int]:
        """Delta of each CPU."""
        return processor.read_timer_interrupts(self.texts)

    @fact
    def device_interrupts(self) -> Mapping[str, int]:
        """Delta over all CPUs by device: "ttyS0"; absent where its lines did not fit."""
        return processor.read_device_interrupts(self.texts)

    # Memory

    def vmstat_delta(self, name: str) -> int | None:
        """Return how far a counter of /proc/vmstat went; of names older kernels split by zone, give the prefix."""
        return memory.vmstat_delta(self.texts, name)

    def meminfo(self, name: str) -> int | None:
        """Return a value of /proc/meminfo at the end in bytes (counts such as HugePages_Total as they are)."""
        return table(self.texts.text("/proc/meminfo")).get(name)

    def sysctl(self, name: str) -> str | None:
        """Return a setting of /proc/sys: "vm/swappiness"; of "net/" that of the targets, if it is the same for all."""
        if not name.startswith("net/"):
            return self.texts.word(f"/proc/sys/{name}")
        values = {each.value for each in self.sysctls(name)}
        return values.pop() if len(values) == 1 else None

    @fact
    def halt_poll_ns(self) -> int | None:
        """How long KVM polls for a halted guest at most; None where it is not loaded."""
        return self.texts.number("/sys/module/kvm/parameters/halt_poll_ns")

    @fact
    def transparent_huge_pages(self) -> TransparentHugePages | None:
        """Policy of THP."""
        return memory.read_thp(self.texts)

    @fact
    def free_pieces(self) -> Sequence[int]:
        """Free pieces of memory by order (2**order pages each), over all zones, at the end; empty: not known."""
        return memory.read_free_pieces(self.texts)

    @fact
    def same_page_merging(self) -> SamePageMerging | None:
        """KSM."""
        return memory.read_ksm(self.texts)

    @fact
    def kernel_threads(self) -> Mapping[str, memory.KernelThread]:
        """The threads "ksmd" and "khugepaged"; absent: not recorded."""
        return memory.read_kernel_threads(self.texts)

    @fact
    def file_systems(self) -> FileSystems | None:
        """Those of this host on which the targets have files open for writing."""
        return read_file_systems(self.texts)

    @fact
    def numa_nodes(self) -> Sequence[NumaNode]:
        """By number; one node (or none recorded) means that memory cannot be remote."""
        return memory.read_numa_nodes(self.texts)

    @fact
    def dirty_limits(self) -> DirtyLimits | None:
        """When writers are paused."""
        return memory.read_dirty_limits(self.texts)

    @fact
    def writeback_limits(self) -> Mapping[str, WritebackLimits]:
        """By backing device ("MAJOR:MINOR"): how much of the dirty limit it may have."""
        return read_writeback_limits(self.texts)

    @fact
    def swap(self) -> Swap | None:
        """Swap space; total_bytes 0 is known to have none."""
        return memory.read_swap(self.texts)

    # Locks and competitors

    @fact
    def file_locks(self) -> Mapping[str, frozenset[int]]:
        """The processes that hold locks of files at the end, by file: "file:254:0:1234"."""
        return read_file_locks(self.texts)

    @fact
    def competitors(self) -> Mapping[int, Competitor]:
        """The processes behind which the target waited longest for a CPU, by pid; empty where nobody looked."""
        return read_competitors(self.texts, self.mounts)

    # Processes

    @fact
    def processes(self) -> Mapping[int, Process]:
        """The targets by pid."""
        return process.read_processes(self.texts)

    @fact
    def descriptors(self) -> Mapping[int, Descriptors]:
        """Open files of the targets by pid."""
        return {pid: process.read_descriptors(self.texts, pid) for pid in process.pids(self.texts)}

    @fact
    def system_descriptors(self) -> Descriptors | None:
        """Open files of the whole system against fs.file-max."""
        return process.read_system_descriptors(self.texts)

    @fact
    def java_machines(self) -> Mapping[int, HotSpot]:
        """Java virtual machines among the targets, by pid."""
        return read_machines(self.texts)

    # Kernel log

    @fact
    def kernel_log(self) -> KernelLog | None:
        """The tail of the kernel log; None: not readable, so silence proves nothing."""
        return read_kernel_log(self.texts)


__all__ = [
    "ClockLimits",
    "Clocksource",
    "CpuGroup",
    "DeliveredClock",
    "Descriptors",
    "Disk",
    "DiskActivity",
    "Facts",
    "FrequencyPolicy",
    "Hypervisor",
    "IdleState",
    "Interface",
    "IoGroup",
    "KernelLog",
    "Listener",
    "Listeners",
    "LogLine",
    "MemoryGroup",
    "Mount",
    "NfsMount",
    "NumaNode",
    "OomReport",
    "PowerZone",
    "Process",
    "SamePageMerging",
    "Swap",
    "Tcp",
    "TrafficQueue",
    "TransparentHugePages",
    "WritebackLimits",
]
