"""What kernel time is spent for, read from sampled kernel stacks, and what to do about each kind of work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from perfdiag.diagnosis.evidence.cpu.stack_samples import ENOUGH, CpuSamples, Part, part_of
from perfdiag.diagnosis.rule import Remedy
from perfdiag.diagnosis.significance import fix, plain, size
from perfdiag.model.model import Model

LOCK_SPINS = (
    "native_queued_spin_lock_slowpath",
    "__pv_queued_spin_lock_slowpath",
    "queued_spin_lock_slowpath",
    "queued_read_lock_slowpath",
    "queued_write_lock_slowpath",
    "osq_lock",
    "rwsem_spin_on_owner",
    "mutex_spin_on_owner",
    "rwsem_optimistic_spin",
)
# A kind of work has its own remedy if surely a third of the kernel's samples are of it.
PROVEN = 1 / 3
# The kernel copies a page in about the time that a system call costs: below, the calls cost more than the data.
SMALL_CALL_BYTES = 1024
# Fewer calls a second cannot take a CPU's time worth naming, at under 10 us each.
MANY_CALLS = 10_000
GENERAL = "fewer, larger system calls; keep memory instead of mapping it anew; see the functions named"


@dataclass(frozen=True)
class Kind:
    """A kind of work of the kernel's, by functions that stand anywhere on its stacks."""

    name: str
    functions: tuple[str, ...]
    remedy: str = ""  # "": nothing that holds for all of it


# A stack counts for the first kind that it matches: the special ones stand before the general ones.
KINDS = (
    Kind("kernel locks held by other CPUs", LOCK_SPINS),
    Kind(
        "asking for work again and again",
        ("__x64_sys_sched_yield", "do_sched_yield", "do_sys_poll", "do_select", "core_sys_select"),
        "block until there is work (no timeout of 0, no sched_yield in a loop); with many descriptors epoll instead of"
        " poll or select, which look at all of them in every call",
    ),
    Kind(
        "packet filters",
        ("nft_do_chain", "nf_conntrack_in", "ipt_do_table", "nf_hook_slow"),
        "shorten what every packet passes (nft list ruleset): accept established connections first, sets instead of"
        " long lists of rules",
    ),
    Kind(
        "auditing or filtering system calls",
        ("audit_", "__audit_", "__seccomp_filter", "seccomp_"),
        "see who audits or filters (auditctl -l; grep Seccomp /proc/PID/status), and narrow the rules that match every"
        " call: each is a decision of whoever set it",
    ),
    Kind(
        "creating and ending processes",
        ("kernel_clone", "copy_process", "do_exit", "do_group_exit", "bprm_execve"),
        "start fewer processes and threads: a pool that stays; from a process with much memory posix_spawn or vfork,"
        " because fork copies its page tables",
    ),
    Kind(
        "mapping and unmapping memory",
        (
            "__x64_sys_mmap",
            "__x64_sys_munmap",
            "__x64_sys_madvise",
            "__x64_sys_mprotect",
            "__x64_sys_mremap",
            "__x64_sys_brk",
            "vm_mmap_pgoff",
            "__vm_munmap",
            "unmap_vmas",
        ),
        "reuse buffers in the program; where malloc and free do it, let glibc keep what is freed (costs memory), at the"
        " next start: GLIBC_TUNABLES=glibc.malloc.mmap_threshold=33554432:glibc.malloc.trim_threshold=33554432",
    ),
    Kind(
        "faults in mapped files",
        ("filemap_fault", "filemap_map_pages", "do_read_fault", "do_shared_fault"),
        "read mapped files ahead or in larger pieces: madvise(MADV_WILLNEED), MAP_POPULATE, or read() into a buffer",
    ),
    Kind(
        "page faults",
        ("exc_page_fault", "do_user_addr_fault", "handle_mm_fault", "exit_mmap"),
        "touch less new memory: reuse buffers instead of freeing and allocating them; for large ones that stay,"
        " madvise(MADV_HUGEPAGE) takes one fault for 512 pages",
    ),
    Kind(
        "handing over between threads",
        ("do_futex", "futex_wake", "futex_wait", "__x64_sys_futex"),
        "fewer hand-overs: larger pieces of work in a queue, wake one thread and not all, shorter locks",
    ),
    Kind(
        "registering descriptors for events",
        ("do_epoll_ctl", "__x64_sys_epoll_ctl", "ep_insert", "ep_remove"),
        "register each descriptor with epoll once (EPOLLET, or a changed interest only), not around every read",
    ),
    Kind(
        "looking up names of files",
        ("do_sys_openat2", "path_openat", "filename_lookup", "vfs_statx", "vfs_fstatat", "do_faccessat"),
        "look up fewer names: keep files open, cache what is found or missing (open_file_cache of nginx, opcache of"
        " PHP, fewer search paths); strace -c -f -e trace=%file -p PID counts them, but slows that process",
    ),
    Kind(
        "reading statistics of the kernel",
        ("proc_reg_read", "proc_single_show", "proc_pid_", "proc_tgid_", "kernfs_fop_read", "proc_readdir"),
        "read /proc, /sys and cgroup files less often",
    ),
    Kind(
        "packets that arrive",
        ("net_rx_action", "__napi_poll", "napi_", "process_backlog"),
        "fewer packets for the same data: larger messages, segmentation and receive offload (ethtool -k INTERFACE)",
    ),
    Kind(  # before the network, whose functions unix sockets share
        "pipes and local sockets",
        ("pipe_read", "pipe_write", "anon_pipe_", "unix_stream_", "unix_dgram_"),
        "write and read larger pieces: a buffer before the pipe or socket, 64 KiB and more at a time, or several"
        " messages in one write; each hand-over from one side to the other costs two switches",
    ),
    Kind(
        "the network",
        ("tcp_", "udp_", "ip_", "__sys_sendto", "__sys_recvfrom", "____sys_sendmsg", "____sys_recvmsg", "sock_"),
        "more data in each call: collect before sending, larger receive buffers, sendmmsg and recvmmsg for datagrams",
    ),
    Kind("files", ("vfs_", "ksys_read", "ksys_write", "iterate_dir", "filemap_")),
)


@dataclass(frozen=True)
class Work:
    """A kind of work, by its name, with its part of the kernel's samples."""

    name: str
    part: Part
    remedy: str


def work(samples: CpuSamples) -> list[Work]:
    """Return what the kernel works for, the largest part first; nothing from too few samples."""
    if samples.count < ENOUGH:
        return []
    counts: dict[str, int] = {}
    for stack in samples.stacks:
        if stack.kernel:
            name = _purpose(stack.kernel)
            counts[name] = counts.get(name, 0) + stack.count
    inside = sum(counts.values())
    remedies = {kind.name: kind.remedy for kind in KINDS}
    ranked = sorted((item for item in counts.items() if item[0]), key=lambda item: -item[1])
    return [Work(name, part_of(count, inside), remedies.get(name, "")) for name, count in ranked[:3]]


def remedies(model: Model, found: Sequence[Work]) -> list[Remedy]:
    """Return what helps against the work that is proven; nothing where none is."""
    proven = [each for each in found if each.part.count >= ENOUGH and each.part.share - each.part.error >= PROVEN]
    small = _small_calls(model) if any(each.name in ("files", "pipes and local sockets") for each in proven) else ""
    texts = ([small] if small else []) + [each.remedy for each in proven if each.remedy]
    return [fix(text) for text in texts]


def _small_calls(model: Model) -> str:
    """Return what to do about reads and writes of a few bytes, "" where calls are few, larger or not counted."""
    facts = model.facts.processes.values()
    calls = sum((process.read_calls or 0) + (process.write_calls or 0) for process in facts)
    moved = sum((process.read_characters or 0) + (process.written_characters or 0) for process in facts)
    if calls * 1e9 < MANY_CALLS * model.window_ns or moved >= SMALL_CALL_BYTES * calls:
        return ""
    return (
        f"larger buffers: {calls:,} calls of read and write moved {size(moved / calls)} each on average (setvbuf,"
        " BufferedWriter, bufio; fewer flushes)"
    )


def _purpose(functions: Sequence[str]) -> str:
    """Return what a kernel stack works for: the first known kind, else its system call, else nothing."""
    for kind in KINDS:
        if any(function.startswith(kind.functions) for function in functions):
            return kind.name
    calls = (function.removeprefix("__x64_sys_") for function in functions if function.startswith("__x64_sys_"))
    return next((f"{plain(call)}()" for call in calls), "")


__all__ = ["GENERAL", "LOCK_SPINS", "Work", "remedies", "work"]
