"""What a lock inside the kernel protects, read from the stacks of the threads that wait for it."""

from dataclasses import dataclass, replace

from perfdiag.common.by_key import sums_by_key
from perfdiag.diagnosis.evidence.debuggers import with_stacks
from perfdiag.model.model import Model
from perfdiag.recording import schema


@dataclass(frozen=True)
class Subject:
    """What the lock protects, and what makes it contended."""

    name: str
    remedy: str


_ADDRESS_SPACE = Subject(
    "the lock of the address space, mmap_lock",
    "map and unmap less: keep freed memory (malloc trim and mmap thresholds), map large ranges once, avoid mprotect"
    " in a loop, do not read /proc/PID/maps under load",
)
_INODE = Subject(
    "the write lock of one file (i_rwsem)",
    "several threads write one file: use one writer, separate files, or direct I/O to preallocated space",
)
_DIRECTORY = Subject(
    "the lock of one directory",
    "several threads create, rename or delete in one directory: use a directory for each",
)
_PIPE = Subject("a pipe's lock", "many readers or writers share one pipe: use a pipe for each")
_CGROUP = Subject(
    "the cgroup lock", "something creates or removes cgroups, or moves tasks between them: look at the service manager"
)
_NETWORK = Subject(
    "the network configuration lock (rtnl)",
    "something configures interfaces or reads their state all the time: look for agents that poll links",
)
_PROCESS = Subject(
    "the lock of process credentials and tracing",
    "a monitoring tool reads /proc/PID files all the time",
)
_JOURNAL = Subject(
    "the file system's journal",
    "its journal writes one commit at a time: flush less often, or use a disk that flushes faster",
)
_METADATA = Subject(
    "the lock on a block of the file system's metadata",
    "find what else works on the file system meanwhile, as fstrim, a defragmenter or a check does (iotop -obP,"
    " systemctl list-timers), and do that at another time or in smaller steps (fstrim --minimum)",
)
_FROZEN = Subject(
    "a frozen file system",
    "find what freezes it, as a backup agent or a snapshot of the guest does, and let it thaw sooner (fsfreeze"
    " --unfreeze MOUNT ends it), or put this data on another file system",
)
# Of the kernel's locks for many readers (percpu_rw_semaphore) that writers of files take, as sb_start_write() does, all
# tell whether the file system is frozen (struct sb_writers); others are of fork, exec and the hotplug of CPUs.
_FREEZABLE = "percpu_rwsem_wait"
_OF_FREEZABLE = ("schedule", "percpu_", "__percpu_")
_WRITING = (
    *("vfs_", "mnt_want_write", "sb_start", "file_start_write", "do_iter", "iter_file", "do_splice", "aio_write"),
    *("do_truncate", "do_ftruncate", "do_sys_ftruncate", "io_write", "open_last_lookups", "ovl_"),
    *("do_unlinkat", "do_renameat2", "do_mkdirat", "do_rmdir", "filename_create"),
    *("do_page_mkwrite", "filemap_page_mkwrite", "ext4_page_mkwrite", "xfs_filemap_", "btrfs_page_mkwrite"),
)
_UNKNOWN = Subject(
    "a lock",
    "shows what the waiting threads were doing: do less of that at once",
)

# The first match from the innermost function outwards decides: nearer functions took the lock.
_SUBJECTS: tuple[tuple[tuple[str, ...], Subject], ...] = (
    (("xfs_buf_lock", "xfs_buf_find_lock", "btrfs_tree_lock", "btrfs_tree_read_lock"), _METADATA),
    (
        (
            "lock_mm_and_find_vma",
            "mmap_read_lock",
            "mmap_write_lock",
            "do_user_addr_fault",
            "vm_mmap_pgoff",
            "__vm_munmap",
            "do_mprotect_pkey",
            "__do_sys_brk",
            "__x64_sys_brk",
            "do_madvise",
            "madvise_lock",
            "exit_mmap",
            "__mm_populate",
            "__do_sys_mremap",
            "__x64_sys_munmap",
            "vma_start_read",
            "__vma_start_write",
            "m_start",
        ),
        _ADDRESS_SPACE,
    ),
    (
        (
            "ext4_buffered_write_iter",
            "ext4_dio_write_iter",
            "ext4_file_write_iter",
            "xfs_ilock",
            "xfs_file_buffered_write",
            "xfs_file_dio_write",
            "btrfs_buffered_write",
            "btrfs_direct_write",
            "generic_file_write_iter",
            "ext4_sync_file",
            "inode_lock",
            "do_truncate",
            "vfs_fallocate",
        ),
        _INODE,
    ),
    (
        (
            "open_last_lookups",
            "do_unlinkat",
            "lock_rename",
            "do_rmdir",
            "filename_create",
            "do_renameat2",
            "lookup_slow",
            "__lookup_slow",
            "iterate_dir",
            "start_dirop",
            "do_mkdirat",
        ),
        _DIRECTORY,
    ),
    (("pipe_read", "pipe_write", "pipe_wait_readable", "pipe_wait_writable"), _PIPE),
    (("cgroup_",), _CGROUP),
    (("rtnl_lock", "rtnetlink_rcv_msg", "rtnl_"), _NETWORK),
    (("ptrace_", "mm_access", "proc_pid_", "lock_trace"), _PROCESS),
    (("jbd2_", "start_this_handle", "xlog_", "xfs_log_", "btrfs_commit_transaction", "wait_current_trans"), _JOURNAL),
)


def subject_of(model: Model, key: str) -> Subject:
    """Return what most of the sampled waits for the lock with this object were for, by time."""
    weights = sums_by_key((_named(stack), stack.weight_ns) for stack in model.wait_stacks("lock.kernel", key=key))
    found = max(weights, key=lambda subject: weights[subject]) if weights else _UNKNOWN
    return replace(found, remedy=with_stacks(model, found.remedy)) if found is _UNKNOWN else found


def _named(stack: schema.Stack) -> Subject:
    if _FREEZABLE in stack.kernel:
        taker = next((each for each in stack.kernel if not each.startswith(_OF_FREEZABLE)), "")
        if taker.startswith(_WRITING):
            return _FROZEN
    for function in stack.kernel:
        for prefixes, subject in _SUBJECTS:
            if function.startswith(prefixes):
                return subject
    return _UNKNOWN
