"""Settings of the whole kernel: files of /proc/sys and /sys with one value each.

What is usual is what Linux has without anybody's doing (Documentation/admin-guide/sysctl, mm and their sources); common
tuning towards more speed is usual, too.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from perfdiag.common.text import printable
from perfdiag.common.units import size
from perfdiag.diagnosis.settings.unusual import CPU, DISK, NETWORK, RUN_QUEUE, SYSCTL, Unusual, set_back, time_in
from perfdiag.diagnosis.settings.usual_values import (
    Departure,
    at_least,
    at_most,
    none_of,
    one_of,
    span_at_least,
    unset_or_at_least,
)
from perfdiag.facts.network_settings import Sysctl
from perfdiag.facts.texts import lines_of, number, words_of
from perfdiag.model.model import Model

_RECLAIM = ("memory.reclaim", "memory.swap_in", "memory.major_fault", "disk.read")
_PAUSES = ("memory.dirty_throttle",)
_WRITERS = ("memory.dirty_throttle", "disk.write", "disk.flush", "nfs.write", "nfs.commit")
_MIB = 1 << 20
USED_UP = 0.95  # of a limit
KEPT_FREE = 0.1  # of memory: the kernel itself keeps a hundredth of a few GB, and less of more


@dataclass(frozen=True)
class KernelSetting:
    """One of them."""

    path: str
    departure: Departure
    accounts: tuple[str, ...]  # that it makes longer
    effect: str
    explains: tuple[str, ...] = ()  # as in Unusual


def _sysctl(
    name: str, departure: Departure, accounts: tuple[str, ...], effect: str, *, explains: tuple[str, ...] = ()
) -> KernelSetting:
    return KernelSetting(SYSCTL + name.replace(".", "/"), departure, accounts, effect, explains)


MEMORY = (
    _sysctl("vm.swappiness", at_most(60), ("memory.swap_in",), "memory of programs goes to swap sooner"),
    _sysctl("vm.page-cluster", at_least(1, "3"), ("memory.swap_in",), "pages come back from swap one by one"),
    _sysctl(
        "vm.vfs_cache_pressure",
        at_most(100),
        ("cpu.kernel", "disk.read", "nfs.metadata", "remote.fs"),
        "names and inodes leave the cache sooner than contents of files",
    ),
    _sysctl("vm.watermark_scale_factor", at_most(200, "10"), _RECLAIM, "memory is freed long before it runs out"),
    _sysctl("vm.zone_reclaim_mode", at_most(0), _RECLAIM, "each NUMA node frees memory before it uses another's"),
    KernelSetting(
        "/sys/kernel/mm/transparent_hugepage/defrag",
        one_of("madvise", "defer", "defer+madvise", "never"),
        ("memory.compaction", "cpu.kernel", "memory.reclaim"),
        "page faults make room for huge pages before they return",
    ),
    KernelSetting(
        "/sys/kernel/mm/ksm/run", at_most(0), ("runq.busy", "cpu.kernel"), "ksmd compares pages, and writes copy them"
    ),
    KernelSetting(
        "/sys/module/zswap/parameters/enabled",
        one_of("N"),
        ("memory.swap_in", "cpu.kernel"),
        "swapped pages are packed",
    ),
)
WRITEBACK = (
    *(
        _sysctl(name, departure, _WRITERS, "writers are paused with few dirty pages already", explains=_PAUSES)
        for name, departure in (
            ("vm.dirty_ratio", unset_or_at_least(10, "20")),
            ("vm.dirty_bytes", unset_or_at_least(256 * _MIB, "0: not set")),
        )
    ),
    _sysctl("vm.dirty_background_ratio", at_most(20, "10"), _WRITERS, "more is written at once, and later"),
    _sysctl("vm.dirty_writeback_centisecs", at_least(1, "500"), _WRITERS, "old pages are not written by themselves"),
    _sysctl("vm.dirty_expire_centisecs", at_most(6000, "3000"), _WRITERS, "more is written at once, and later"),
    _sysctl("vm.laptop_mode", at_most(0), _WRITERS, "writes are held back and go out together"),
)
CPUS = (
    _sysctl(
        "kernel.sched_rt_runtime_us", at_least(0, "950000"), RUN_QUEUE, "real-time threads may keep a CPU for good"
    ),
    *(
        KernelSetting(
            f"/sys/kernel/debug/sched/{name}_ns",
            at_most(20_000_000, usually),
            RUN_QUEUE,
            "whoever wakes up waits until others have used up long slices",
        )
        for name, usually in (
            ("base_slice", "3000000"),
            ("min_granularity", "3000000"),
            ("wakeup_granularity", "4000000"),
        )
    ),
    KernelSetting("/sys/devices/system/cpu/cpufreq/boost", at_least(1), CPU, "CPUs never go above their nominal clock"),
    KernelSetting(
        "/sys/devices/system/cpu/intel_pstate/no_turbo", at_most(0), CPU, "CPUs never go above their nominal clock"
    ),
    KernelSetting(
        "/sys/devices/system/cpu/intel_pstate/max_perf_pct", at_least(100), CPU, "CPUs never reach their highest clock"
    ),
    KernelSetting(
        "/sys/kernel/rcu_normal",
        at_most(0),
        ("kernel.other",),
        "the kernel hurries no RCU grace period, as on real-time kernels: umount() and network changes wait longer",
    ),
    _sysctl(
        "net.core.bpf_jit_enable", at_least(1), ("cpu.kernel", "cpu.irq"), "BPF programs and filters are interpreted"
    ),
)
TCP = (
    _sysctl("net.ipv4.tcp_sack", at_least(1), NETWORK, "what was sent behind a lost packet is sent again, too"),
    _sysctl("net.ipv4.tcp_timestamps", at_least(1), NETWORK, "round trips and losses are judged worse"),
    _sysctl("net.ipv4.tcp_window_scaling", at_least(1), NETWORK, "at most 64 KiB of a connection are under way"),
    _sysctl("net.ipv4.tcp_moderate_rcvbuf", at_least(1), NETWORK, "receive buffers do not grow with the connection"),
    _sysctl("net.ipv4.tcp_rmem", at_least(2 * _MIB, "6291456", 2), NETWORK, "less of a connection can be under way"),
    _sysctl("net.ipv4.tcp_wmem", at_least(2 * _MIB, "4194304", 2), NETWORK, "less of a connection can be under way"),
    _sysctl("net.ipv4.tcp_mem", at_least(8192, "more", 2), NETWORK, "TCP of the whole host has little memory"),
    _sysctl(
        "net.ipv4.tcp_congestion_control",
        one_of("cubic", "bbr", "bbr2", "bbr3"),
        NETWORK,
        "it decides how much of a connection is under way",
    ),
    # 5 accepts AccECN, too, and asks for nothing either (enum tcp_ecn_mode of include/net/tcp_ecn.h).
    _sysctl("net.ipv4.tcp_ecn", one_of("2", "0", "5"), ("net.connect",), "SYNs ask for ECN: some firewalls drop such"),
    _sysctl("net.ipv4.tcp_limit_output_bytes", at_least(256 * 1024, "4194304"), NETWORK, "a connection queues less"),
    _sysctl("net.ipv4.tcp_notsent_lowat", at_least(16384, "no limit"), NETWORK, "senders are woken for little room"),
)
SOCKETS = (
    _sysctl(
        "net.ipv4.ip_local_port_range",
        span_at_least(10_000, "32768 60999"),
        ("net.connect",),
        "few connections to one peer fit beside each other",
    ),
    _sysctl("net.core.rmem_default", at_least(212_992), (*NETWORK, "ipc.unix"), "sockets hold less data unread"),
    _sysctl("net.core.wmem_default", at_least(212_992), (*NETWORK, "ipc.unix"), "sockets hold less data unsent"),
    _sysctl("net.core.netdev_max_backlog", at_least(1000), NETWORK, "packets are dropped when a CPU is short of time"),
    _sysctl("net.core.netdev_budget", at_least(300), NETWORK, "a CPU takes fewer packets in one go"),
    _sysctl("net.core.busy_read", at_most(0), CPU, "a read spins so many microseconds before it sleeps"),
    _sysctl("net.core.busy_poll", at_most(0), CPU, "poll and select spin so many microseconds before they sleep"),
    _sysctl(
        "net.ipv4.neigh.default.gc_thresh3",
        at_least(1024),
        NETWORK,
        "few peers of the local network fit into the ARP table",
    ),
)
FILES = (
    _sysctl(
        "fs.leases-enable",
        at_least(1),
        ("nfs.metadata",),
        "where this host is the NFS server, it delegates no files: each open and close is a round trip",
    ),
    _sysctl("fs.aio-max-nr", at_least(65_536), DISK, "programs without asynchronous I/O read and write one by one"),
)
TRACING = (
    KernelSetting(
        "/sys/kernel/tracing/current_tracer", one_of("nop"), ("cpu.kernel",), "each function of the kernel is traced"
    ),
    KernelSetting(
        "/sys/kernel/tracing/set_event",
        none_of("event", but="bpf_trace:bpf_trace_printk"),  # on once any BPF program that could print was loaded
        ("cpu.kernel",),
        "somebody traces the kernel",
    ),
    KernelSetting("/sys/kernel/tracing/kprobe_events", none_of("probe"), ("cpu.kernel",), "somebody traces the kernel"),
    KernelSetting("/sys/kernel/tracing/uprobe_events", none_of("probe"), CPU, "somebody traces programs"),
)
KERNEL_SETTINGS = (*MEMORY, *WRITEBACK, *CPUS, *TCP, *SOCKETS, *FILES, *TRACING)


def kernel_settings(model: Model) -> Iterator[Unusual]:
    """Yield those that are unusual."""
    for each in KERNEL_SETTINGS:
        ns = time_in(model, each.accounts)
        for found in _values(model, each.path) if ns else ():
            if departure := each.departure(found.value):
                yield _unusual(each, found, departure, ns)


def _values(model: Model, path: str) -> Sequence[Sysctl]:
    """Return what is set where targets live."""
    if path.startswith(SYSCTL):
        return model.facts.sysctls(path.removeprefix(SYSCTL))
    text = model.facts.texts.word_if_recorded(path)
    return [Sysctl(text, None)] if text else []


def _unusual(each: KernelSetting, found: Sysctl, departure: str, ns: int) -> Unusual:
    name = _name(each.path)
    there = f" in the network namespace of {found.pid}" if found.enter else ""
    shown_by = f"{found.enter}sysctl {name}" if found.enter else each.path
    return Unusual(
        f"{name} {departure}{there}",
        each.effect,
        shown_by,
        ns,
        each.accounts,
        set_back(each.path, each.departure, found.value, found.enter),
        explains=each.explains,
        loses_nothing=True,
    )


def used_up(model: Model) -> Iterator[Unusual]:
    """Yield what the whole host has little left of: slots of asynchronous I/O, and memory that is kept free."""
    facts, aio_ns, memory_ns = model.facts, time_in(model, DISK), time_in(model, _RECLAIM)
    used, most = number(facts.sysctl("fs/aio-nr")), number(facts.sysctl("fs/aio-max-nr"))
    if used is not None and most and used >= USED_UP * most:
        effect = "programs that get none read and write one by one"
        yield Unusual(f"fs.aio-nr is {used:,} of fs.aio-max-nr {most:,}", effect, "/proc/sys/fs/aio-nr", aio_ns)
    kept_kib, total_bytes = number(facts.sysctl("vm/min_free_kbytes")), facts.meminfo("MemTotal")
    if kept_kib and total_bytes and kept_kib * 1024 >= KEPT_FREE * total_bytes:
        text = f"vm.min_free_kbytes keeps {size(kept_kib * 1024)} of {size(total_bytes)} free"
        effect = "pages are freed, and read again, to keep it so"
        yield Unusual(text, effect, "/proc/sys/vm/min_free_kbytes", memory_ns)


def swap_order(model: Model) -> Iterator[Unusual]:
    """Yield that pages go to a disk while there is compressed memory for them, which the kernel takes only then."""
    areas = [
        words for line in lines_of(model.facts.texts.text("/proc/swaps") or "") if len(words := words_of(line)) == 5
    ]
    ranks = [(rank, words[0]) for words in areas if (rank := _rank(words[4])) is not None]
    packed = [each for each in ranks if each[1].startswith("/dev/zram")]
    disks = [each for each in ranks if each not in packed]
    if packed and disks:
        (first, disk), (later, memory) = max(disks), max(packed)
        if first > later:
            text = f"swap fills {printable(disk, 64)} (priority {first}) before {printable(memory, 64)} ({later})"
            effect = "pages that compressed memory would hold come back from a disk"
            ns = time_in(model, ("memory.swap_in",))
            yield Unusual(text, effect, "/proc/swaps", ns, ("memory.swap_in",))


def _rank(word: str) -> int | None:
    """Return a priority of /proc/swaps: those that the kernel chose are below zero."""
    value = number(word.removeprefix("-"))
    return -value if value is not None and word.startswith("-") else value


def _name(path: str) -> str:
    """Return "vm.swappiness" of /proc/sys/vm/swappiness, and any other path as it is."""
    return path.removeprefix(SYSCTL).replace("/", ".") if path.startswith(SYSCTL) else path
