"""What the kernel works, or waits, for by the functions on its stacks, with a remedy for each."""

from collections.abc import Mapping
from dataclasses import dataclass, field

LOCK_SPINS = (
    *("native_queued_spin_lock_slowpath", "__pv_queued_spin_lock_slowpath", "queued_spin_lock_slowpath"),
    *("queued_read_lock_slowpath", "queued_write_lock_slowpath"),
    *("osq_lock", "rwsem_spin_on_owner", "mutex_spin_on_owner", "rwsem_optimistic_spin"),
)
# Kinds that tell what calls to others cost on CPUs.
LOCAL_SOCKETS, NETWORK, PACKETS = "pipes and local sockets", "the network", "receiving packets"
ENCRYPTION, QUOTAS = "encrypting or decrypting", "accounting btrfs quotas (qgroups)"

# What recordings have for code of the kernel that it knows no symbol of: only compiled classic filters have none.
FILTERS = "code without a symbol"


@dataclass(frozen=True)
class Kind:
    """A kind of kernel work, by functions anywhere on the stack."""

    name: str
    functions: tuple[str, ...]
    remedy: str = ""  # "": nothing that holds for all of it
    whole: bool = False  # also what a wait inside of it is for, however far out
    answered: bool = True  # of waits: whoever ends them is who is waited for
    foreign: bool = False  # others have it done, and it is of no use to the target
    # What programs call that, by how the names of their threads begin.
    settings: Mapping[str, str] = field(default_factory=dict, hash=False)


# Of waits alone: who computes in these functions does something else.
AWAITED = (
    Kind(
        "asking a supervisor about system calls",
        ("seccomp_do_user_notification", "__seccomp_filter"),
        "let the supervisor of these calls answer sooner, or ask it about fewer (SECCOMP_RET_USER_NOTIF)",
    ),
    Kind(
        "waiting for an NFS server that asks to try later",
        ("nfs4_delay", "nfs4_handle_exception"),
        "see on the server why: a grace period after its restart, in which clients claim what they had, or a client"
        " that keeps a delegation of the file",
    ),
    Kind(
        "until modprobe has looked for a kernel module",
        ("__request_module", "call_usermodehelper_exec"),
        "find what it asks for (perfdiag latency --stacks --full; journalctl -k; grep -rE 'install|blacklist'"
        " /etc/modprobe.d): load that module at boot, or let the program not ask for it",
        answered=False,
    ),
    Kind(
        "until another process gives up its file lease",
        ("__break_lease",),
        "find who holds leases: grep -E 'LEASE|DELEG' /proc/locks (a file server, nfsd), and why they answer late;"
        " fs.lease-break-time limits the wait",
    ),
    Kind(
        "until btrfs has room for metadata",
        ("__reserve_bytes", "handle_reserve_ticket", "wait_reserve_ticket"),
        "give btrfs unallocated space (btrfs filesystem usage MOUNT), write less at once, or keep fewer snapshots",
    ),
    Kind(
        "asking a program for memory",
        ("handle_userfault",),
        "let the program that supplies this memory (userfaultfd) do so sooner, or before it is used",
    ),
)

# The first matching kind counts: special kinds stand before general ones.
KINDS = (
    Kind("kernel locks held by other CPUs", LOCK_SPINS),
    Kind(
        "breakpoints of a tracer (uprobes) or debugger",
        ("asm_exc_int3", "exc_debug_user", "uprobe_", "handle_swbp", "el0_brk64", "el0_dbg", "el0_softstp"),
        "find who probes its functions, and end that: perf probe -l, bpftool perf list, cat"
        " /sys/kernel/tracing/uprobe_events; a debugger shows as TracerPid in /proc/PID/status",
        foreign=True,
    ),
    Kind(
        "tracing its own functions (ftrace)",
        ("function_trace_call", "trace_function", "trace_graph_entry", "prepare_ftrace_return", "ftrace_graph_func"),
        "end the trace that somebody left on: echo nop >/sys/kernel/tracing/current_tracer",
        foreign=True,
    ),
    Kind(  # their callers tell them from tracers
        "BPF programs in the way of packets",
        ("cls_bpf_classify", "tcx_run", "__cgroup_bpf_run_filter", "bpf_prog_run_generic_xdp", "sk_psock_"),
        "see which they are, and let them do less: bpftool net show; bpftool cgroup tree",
    ),
    Kind(  # perfdiag's own have other names: see own_probes.py
        "BPF programs of another tracer or agent",
        ("bpf_prog_", "trace_call_bpf", "perf_trace_run_bpf_submit"),
        "find who attached them, and end that or let them do less: bpftool perf list; bpftool prog show; bpftool link"
        " show",
        foreign=True,
    ),
    Kind(
        "writing messages to its console",
        ("console_emit_next_record", "console_unlock", "console_flush_all", "vprintk_emit"),
        "find what logs so much (dmesg -w), such as debugging that was left on, and end that; meanwhile keep it off the"
        " console: dmesg -n 1; undo: dmesg -n 7",
        whole=True,
    ),
    Kind(
        "telling which pages guests have written (dirty log)",
        (
            "kvm_get_dirty_log",
            "kvm_vm_ioctl_get_dirty",
            "kvm_clear_dirty_log",
            "kvm_arch_sync_dirty_log",
            "kvm_mmu_slot_",
        ),
        "let the migration or backup end that copies the guest's memory, or slow it down (virsh domjobinfo DOMAIN)",
    ),
    Kind(
        "measuring files (IMA)",
        ("ima_", "process_measurement", "evm_", "integrity_kernel_read"),
        "narrow the policy that hashes each file when it is opened: cat /sys/kernel/security/ima/policy",
        whole=True,
    ),
    Kind(
        "asking a security module",
        ("apparmor_", "selinux_", "avc_has_perm", "smack_", "tomoyo_", "bpf_lsm_"),
        "see which module (cat /sys/kernel/security/lsm), and narrow its policy for these files",
    ),
    Kind(
        "polling a ring of io_uring (SQPOLL)",
        ("io_sq_thread",),
        "let the poller sleep sooner (sq_thread_idle), or set the ring up without IORING_SETUP_SQPOLL",
    ),
    Kind(
        "polling for work",
        ("__x64_sys_sched_yield", "do_sched_yield"),
        "block until there is work (no sched_yield loop)",
    ),
    Kind(
        "going through descriptors (poll, select)",
        ("do_sys_poll", "do_select", "core_sys_select"),
        "with many descriptors use epoll, which looks only at those that are ready, or watch fewer; block until there"
        " is work (no timeout of 0)",
    ),
    Kind(
        "copying whole files up in overlayfs",
        ("ovl_copy_up",),
        "change such files where the image is made, keep them on a volume, or mount the overlay with metacopy=on, which"
        " copies no data when owner or mode change",
        whole=True,
    ),
    Kind(
        "looking names up in each layer of an overlay",
        ("ovl_lookup",),
        "give the image fewer layers (squash it), or keep what is searched on a volume: a missing file is looked"
        " up in every layer",
    ),
    Kind(
        "going through the names that are remembered of a directory",
        ("fsnotify_set_children_dentry_flags", "__fsnotify_update_child_dentry_flags"),
        "look up fewer names that do not exist in one directory (the fifth number of /proc/sys/fs/dentry-state), or"
        " begin with a new directory",
    ),
    Kind(
        "asking scanners about files",
        ("fanotify_handle_event",),
        "exclude these paths from the scanner that allows each open or read (fanotify)",
    ),
    Kind(
        ENCRYPTION,
        ("crypt_convert", "kcryptd", "fscrypt_", "esp_output", "esp_input", "tls_sw_", "wg_"),
        "see which cipher is used, and whether the CPU has instructions for it: cryptsetup benchmark; cat /proc/crypto",
    ),
    Kind(
        "compressing or decompressing",
        ("zram_", "zswap_", "squashfs_", "btrfs_compress", "btrfs_decompress", "z_erofs_", "f2fs_compress"),
        "keep what is read or written often uncompressed, or use a cheaper algorithm (lz4)",
    ),
    Kind(
        QUOTAS,
        ("btrfs_qgroup_", "qgroup_"),
        "turn these quotas off where nobody needs the sizes of subvolumes (btrfs quota disable MOUNT), or keep fewer"
        " snapshots: each commit looks up who shares what has changed",
    ),
    Kind(
        "moving pages between NUMA nodes",
        ("task_numa_work", "do_numa_page", "migrate_misplaced_"),
        "bind the process to a node (numactl --cpunodebind=0 --membind=0), or stop the balancing:"
        " sysctl kernel.numa_balancing=0",
    ),
    Kind(
        "making and removing namespaces",
        ("copy_net_ns", "setup_net", "cleanup_net", "create_new_namespaces"),
        "start fewer containers or sandboxes, and reuse them",
    ),
    Kind(
        "writing core files",
        ("do_coredump", "vfs_coredump", "elf_core_dump"),
        "find out why processes crash (coredumpctl list), or limit their core files (ulimit -c)",
        whole=True,
    ),
    Kind(
        "packet filters",
        ("nft_do_chain", "nf_conntrack_in", "ipt_do_table", "nf_hook_slow"),
        "shorten the rules for every packet (nft list ruleset, iptables-save): accept established connections first,"
        " use sets",
    ),
    Kind(
        "auditing system calls",
        ("audit_", "__audit_"),
        "narrow the audit rules that are tried at every call: auditctl -l lists them, in their order",
    ),
    Kind(
        "filtering system calls",
        ("__seccomp_filter", "seccomp_", FILTERS),
        "find who sets seccomp filters (grep Seccomp /proc/PID/status; a container engine, systemd), and let them"
        " decide in fewer instructions",
    ),
    Kind(
        "creating and ending processes",
        ("kernel_clone", "copy_process", "do_exit", "do_group_exit", "bprm_execve"),
        "start fewer processes and threads (a pool); in a process with much memory use posix_spawn, because fork"
        " copies its page tables",
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
        "reuse buffers, or let malloc keep freed memory (costs memory), at the next start:"
        " GLIBC_TUNABLES=glibc.malloc.mmap_threshold=33554432:glibc.malloc.trim_threshold=33554432",
    ),
    Kind(
        "faults in mapped files",
        ("filemap_fault", "filemap_map_pages", "do_read_fault", "do_shared_fault"),
        "read mapped files ahead: madvise(MADV_WILLNEED), MAP_POPULATE, or read() into a buffer",
    ),
    Kind(
        "clearing huge pages at page faults",
        ("do_huge_pmd_anonymous_page", "vma_alloc_anon_folio_pmd", "clear_huge_page"),
        "reuse buffers instead of freeing and allocating them; where few bytes of each are used, ask for small pages:"
        " madvise(MADV_NOHUGEPAGE), or no MADV_HUGEPAGE (grep AnonHuge /proc/PID/smaps_rollup)",
    ),
    Kind(
        "page faults",
        ("exc_page_fault", "do_user_addr_fault", "handle_mm_fault", "exit_mmap"),
        "reuse buffers instead of freeing and allocating them; for large ones use madvise(MADV_HUGEPAGE): one fault"
        " for 512 pages",
    ),
    Kind(
        "waking and waiting for threads",
        ("do_futex", "futex_wake", "futex_wait", "__x64_sys_futex"),
        "wake threads less often: queue larger pieces of work, wake one thread instead of all, hold locks shorter",
    ),
    Kind(
        "registering descriptors for events",
        ("do_epoll_ctl", "__x64_sys_epoll_ctl", "ep_insert", "ep_remove"),
        "register each descriptor with epoll once (EPOLLET), not around every read",
    ),
    Kind(
        "looking up file names",
        ("do_sys_openat2", "path_openat", "filename_lookup", "vfs_statx", "vfs_fstatat", "do_faccessat"),
        "look up fewer names: keep files open, cache look-ups, shorten search paths; strace -c -f -e trace=%file -p PID"
        " counts them, but slows the process",
        settings={"nginx": "of nginx: open_file_cache", "php": "of PHP: opcache, realpath_cache_size"},
    ),
    Kind(
        "reading directories",
        ("iterate_dir",),
        "go through fewer files and directories, and less often: keep what was read, and watch for changes (inotify)",
        settings={"git": "of git: core.untrackedCache, core.fsmonitor, and .gitignore for whole directories"},
    ),
    Kind(
        "reading kernel statistics",
        ("proc_reg_read", "proc_single_show", "proc_pid_", "proc_tgid_", "kernfs_fop_read", "proc_readdir"),
        "read /proc, /sys and cgroup files less often",
    ),
    Kind(
        PACKETS,
        ("net_rx_action", "__napi_poll", "napi_", "process_backlog"),
        "send larger messages, and enable segmentation and receive offload (ethtool -k INTERFACE)",
    ),
    Kind(  # before the network, whose functions unix sockets share
        LOCAL_SOCKETS,
        ("pipe_read", "pipe_write", "anon_pipe_", "unix_stream_", "unix_dgram_"),
        "read and write larger pieces: 64 KiB or more at a time, or several messages in one write",
    ),
    Kind(
        "listing addresses or routes (netlink)",
        ("netlink_dump", "rtnetlink_rcv", "inet_diag_", "rtnl_dump"),
        "ask for these less often, and keep the answer: a library may list all at each call; see who has so many (ip"
        " -oneline address | wc -l; ip route | wc -l; ss -s)",
    ),
    Kind(
        NETWORK,
        ("tcp_", "udp_", "ip_", "__sys_sendto", "__sys_recvfrom", "____sys_sendmsg", "____sys_recvmsg", "sock_"),
        "move more data per call: collect before sending, larger receive buffers, sendmmsg and recvmmsg for datagrams",
    ),
    Kind(
        "closing descriptors",
        ("__x64_sys_close", "__arm64_sys_close", "__x64_sys_close_range", "__arm64_sys_close_range"),
        "close what is open only (close_range): some programs close every number up to the limit of open files before"
        " they start another one, so lower that limit (ulimit -n, LimitNOFILE=)",
    ),
    Kind("files", ("vfs_", "ksys_read", "ksys_write", "filemap_")),
)
