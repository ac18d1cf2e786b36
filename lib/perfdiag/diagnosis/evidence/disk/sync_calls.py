"""Calls of sync(), which waits until all disks of the host have flushed what anybody has written."""

from dataclasses import replace

from perfdiag.common.by_key import sums_by_key
from perfdiag.diagnosis.evidence.disk.backing_disks import Backing, backing
from perfdiag.model.model import Model
from perfdiag.model.stacks.symbols import any_begins

_FLUSH, _SYNC = "disk.flush", ("ksys_sync",)
REMEDY = (
    "flush what has to be safe (fsync of the file, or syncfs of its file system) instead of all disks of the host"
    " (sync, whoever has written)"
)


def slowest_disk_of_sync(model: Model) -> Backing | None:
    """Return the disk that took longest for writes and flushes, if most waits for flushes of no device in particular
    are in sync(); None: they are not, or no request to any disk was seen."""
    stacks = model.wait_stacks(_FLUSH, key="")
    inside_ns = sum(stack.weight_ns for stack in stacks if any_begins(stack.kernel, _SYNC))
    lines = [line for line in model.devices if line.operation in ("write", "flush")]
    took_ns = sums_by_key((line.device, line.queue_ns + line.service_ns) for line in lines)
    if not took_ns or 2 * inside_ns <= sum(stack.weight_ns for stack in stacks):
        return None
    slowest = backing(model, max(took_ns, key=lambda device: (took_ns[device], device)))
    return replace(slowest, name=f"{slowest.name} and all other disks (sync)")


__all__ = ["REMEDY", "slowest_disk_of_sync"]
