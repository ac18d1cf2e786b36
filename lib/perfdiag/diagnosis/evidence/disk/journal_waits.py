"""Waits for a file system's journal: for a commit that the waiting thread did not ask for, or for room in it."""

from dataclasses import dataclass

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

# In these a thread waits until blocks of older transactions are written back: the journal has no room for another.
_FOR_ROOM = ("jbd2_log_do_checkpoint", "__jbd2_log_wait_for_space", "xlog_grant_head_wait", "xlog_grant_head_check")


@dataclass(frozen=True)
class JournalWait:
    """Why the waits last, and what ends that."""

    headline: str
    who: str  # a sentence on the threads that wait
    remedy: str
    alternative: str


_COMMIT = JournalWait(
    "Changes of files wait for a commit of the journal that others began",
    "Those who wait flush nothing themselves.",
    "find who flushes on the same file system (perfdiag host lists who waits in disk.flush), and let it flush less"
    " often or use another file system",
    "the journal's own commit, every 5 s with ext4's defaults",
)
_ROOM = JournalWait(
    "Changes of files wait for room in the journal, which is full",
    "Each waits until blocks of older changes are written to their places.",
    "give the file system a larger journal: dumpe2fs -h DEVICE shows its size (xfs_info: log); for ext4, unmounted:"
    " tune2fs -O ^has_journal DEVICE, then tune2fs -J size=TWICE_AS_MANY_MB DEVICE; XFS has to be made anew",
    "a disk that is too slow to write back what the journal holds",
)


def journal_wait(model: Model, key: str) -> JournalWait | None:
    """Return why, if most of the sampled time that threads waited for flushes on a device is in its journal, without a
    flush of their own."""
    stacks = model.wait_stacks(FLUSH.account, key=key)
    whole = sum(stack.weight_ns for stack in stacks)
    inside = [s for s in stacks if any_begins(s.kernel, _JOURNAL) and not any_begins(s.kernel, _FLUSHES)]
    for_room = sum(stack.weight_ns for stack in stacks if any_begins(stack.kernel, _FOR_ROOM))
    if 2 * for_room > whole:
        return _ROOM
    return _COMMIT if 2 * sum(stack.weight_ns for stack in inside) > whole else None
