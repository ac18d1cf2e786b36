"""Waits for a commit of a file system's journal that the waiting thread did not ask for."""

from perfdiag.diagnosis.evidence.disk.disk_waits import FLUSH
from perfdiag.model.model import Model
from perfdiag.model.stacks.symbols import any_begins

# Functions of ext4's and XFS's journals, in which also those wait who only change a file.
_JOURNAL = ("jbd2_", "do_get_write_access", "start_this_handle", "xlog_", "xfs_log_")
# What a thread calls, or what the kernel calls for it, to have something on the disk.
_FLUSHES = (
    "do_fsync",
    "vfs_fsync",
    "ext4_sync_file",
    "xfs_file_fsync",
    "generic_write_sync",
    "ksys_sync",
    "sync_filesystem",
    "__x64_sys_msync",
    "__arm64_sys_msync",
)

HEADLINE = "Changes of files wait for a commit of the journal that others began"
REMEDY = (
    "find who flushes on the same file system (perfdiag host lists who waits in disk.flush), and let it flush less"
    " often or use another file system"
)
ALTERNATIVE = "the journal's own commit, every 5 s with ext4's defaults"


def are_waits_for_journal(model: Model, key: str) -> bool:
    """Return whether most of the sampled time that threads waited for flushes on a device is in its journal, without a
    flush of their own."""
    stacks = model.wait_stacks(FLUSH.account, key=key)
    inside = sum(s.weight_ns for s in stacks if any_begins(s.kernel, _JOURNAL) and not any_begins(s.kernel, _FLUSHES))
    return 2 * inside > sum(stack.weight_ns for stack in stacks)
