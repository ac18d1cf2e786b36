"""What the memory of a control group at its limit is used for: not all of it shows in a list of processes."""

import math

from perfdiag.diagnosis.evidence.memory.oom_causes import Holder, Holding, holdings_by_statistics
from perfdiag.diagnosis.evidence.memory.oom_remedies import remedies_for_holder
from perfdiag.diagnosis.policy import memory_policy
from perfdiag.diagnosis.rule import Evidence, Remedy
from perfdiag.diagnosis.significance import fix, plain, size
from perfdiag.facts.host_facts import MemoryGroup

_NAMES = {
    Holder.ANONYMOUS: "memory of processes",
    Holder.SHARED: "tmpfs and shared memory",
    Holder.LOCKED_FILE: "locked files",
    Holder.DIRTY: "pages not yet written",
    Holder.CLEAN: "page cache",
    Holder.KERNEL: "the kernel's own memory",
}
_HIDDEN = (Holder.SHARED, Holder.LOCKED_FILE, Holder.KERNEL)  # from who looks at processes


def uses(group: MemoryGroup) -> list[Evidence]:
    """Return what the group's memory was used for at the end, the largest first; nothing where nobody recorded that."""
    held = holdings_by_statistics(group.stat)
    least = memory_policy.oom_part_share * sum(each.bytes for each in held)
    named = [f"{_NAMES[each.holder]} {size(each.bytes)}" for each in held if each.bytes >= max(1, least)]
    if not named:
        return []
    whole = f"{size(group.usage_bytes)} in use" if group.usage_bytes is not None else "in use"
    probe = f"{plain(group.path)}/memory.stat"
    return [Evidence(f"{whole}: {', '.join(named)}", float(held[0].bytes), "bytes", probe)]


def hidden(group: MemoryGroup) -> str:
    """Return the use that no list of processes shows, "" unless that is the largest which cannot be given back at once:
    "tmpfs and shared memory take 52.0 MiB"."""
    worst = _hidden(group)
    verb = "takes" if worst and worst.holder is Holder.KERNEL else "take"
    return f"{_NAMES[worst.holder]} {verb} {size(worst.bytes)}" if worst else ""


def hidden_remedies(group: MemoryGroup | None) -> list[Remedy]:
    """Return what makes such a use smaller."""
    return remedies_for_holder(_hidden(group)) if group else []


def limit_remedies(group: MemoryGroup | None) -> list[Remedy]:
    """Return what makes room below the limit of a group: a higher one, or less in it."""
    less = fix("use less memory in the group: fewer workers, smaller caches and heaps; or find the leak")
    if group is None:
        return [less]
    if group.high_bytes and group.events.get("high") and not group.events.get("max"):
        high = f"raise memory.high of {plain(group.path)} (now {size(group.high_bytes)})"
        return [fix(f"{high} in its unit (MemoryHigh), container or pod"), less]
    if not group.limit_bytes or math.isinf(group.limit_bytes):
        return [fix(f"raise the memory limit of {plain(group.path)} in its unit, container or pod"), less]
    # No trial: an undo below the memory in use calls the OOM killer.
    name = "memory.max" if group.version == 2 else "memory.limit_in_bytes"
    higher = f"raise {name} of {plain(group.path)} (now {size(group.limit_bytes)}) in its unit, container or pod"
    return [fix(f"{higher}; lowering it later below the memory in use kills processes"), less]


def _hidden(group: MemoryGroup) -> Holding | None:
    stuck = [each for each in holdings_by_statistics(group.stat) if each.holder is not Holder.CLEAN and each.bytes]
    return stuck[0] if stuck and stuck[0].holder in _HIDDEN and not _is_small(stuck[0], group) else None


def _is_small(held: Holding, group: MemoryGroup) -> bool:
    free_bytes = group.stat.get("slab_reclaimable", 0) if held.holder is Holder.KERNEL else 0
    return 2 * (held.bytes - free_bytes) < (group.usage_bytes or 0)
