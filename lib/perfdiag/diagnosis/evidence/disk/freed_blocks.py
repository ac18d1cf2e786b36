"""Threads that delete, empty or shrink files and wait until a disk has discarded the blocks: mounts with discard."""

from perfdiag.common.text import typed_path
from perfdiag.diagnosis.evidence.disk.backing_disks import Backing, backing
from perfdiag.diagnosis.evidence.disk.disk_waits import Case, Kind
from perfdiag.diagnosis.evidence.fix_checks import shorter
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import disk_policy
from perfdiag.diagnosis.rule import Evidence, Finding, Mechanism, Remedy, Severity
from perfdiag.diagnosis.significance import about, brief, duration, fault, fix, size, total_ns, waits
from perfdiag.model.model import Model
from perfdiag.model.stacks.symbols import any_begins

_DISCARDS = ("blkdev_issue_discard", "__blkdev_issue_discard", "f2fs_wait_discard")
# Somebody asks for discards there, and nothing is deleted: fstrim, blkdiscard, the maker of a file system.
_ASKED = ("ext4_trim", "xfs_ioc_trim", "btrfs_trim", "f2fs_trim", "blk_ioctl_discard", "blkdev_common_ioctl")
_DISCARD = "discard"


def discarding(model: Model, kind: Kind, case: Case) -> Finding | None:
    """Return the finding of waits that are mostly for discards of blocks that the threads themselves set free; None
    where they are not, or take little."""
    key, ns = case.rows[0].key, total_ns(case.rows)
    if not _mostly_discards(model, kind, key):
        return None
    alone = None if case.where.device else _only_disk(model)
    where = alone or case.where
    of = where.requests(model, _DISCARD)
    norm_ns = where.norm_ns(of)
    slow = case.wait_ns >= norm_ns
    if not slow and ns < disk_policy.profile_share * model.busy_ns:
        return None
    text = f"{of.count:,} discards, {size(of.bytes)}, took {where.name} {duration(of.service.sum_ns)}"
    return conclude(
        model,
        {(kind.account, key): ns},
        headline=f"Deleting or emptying files waits until {brief(where.name)} has discarded their blocks",
        claim=(
            f"Threads that delete, empty or shrink files wait until {where.name} has discarded the blocks that are free"
            f" then: {case.wait.count:,} waits, half of that time in waits of {about(case.wait_ns)} or more."
        ),
        mechanism=Mechanism.SLOW if slow else Mechanism.MANY,
        severity=fault(model, ns) if slow else Severity.INFO,
        doubts=[f"that it is {where.name} is inferred: no other disk discarded anything" if alone else ""],
        evidence=[
            waits(case.wait, f"waits for discards on {where.name}"),
            *([Evidence(text, float(of.service.sum_ns), "ns", "block_rq_complete")] if of.count else []),
        ],
        remedies=[_without(model, where)],
        verify=shorter(model, f"waits for discards on {where.name}", case.wait_ns, norm_ns),
    )


def _mostly_discards(model: Model, kind: Kind, key: str) -> bool:
    """Return whether most of the sampled waits are for discards; a stack without time of its own is one wait."""
    stacks = model.wait_stacks(kind.account, key=key)
    inside = [each for each in stacks if any_begins(each.kernel, _DISCARDS) and not any_begins(each.kernel, _ASKED)]
    return 2 * sum(each.weight_ns or 1 for each in inside) > sum(each.weight_ns or 1 for each in stacks)


def _only_disk(model: Model) -> Backing | None:
    """Return the disk that discarded, where it is one: of a path that is opened no wait names the device."""
    found = {line.device for line in model.devices if line.operation == _DISCARD and line.count}
    return backing(model, found.pop()) if len(found) == 1 else None


def _without(model: Model, where: Backing) -> Remedy:
    """Return the remedy, with the commands where it is known what is mounted so."""
    mount = next(filter(None, map(model.facts.mount_of, sorted(where.paths))), None) if where.device else None
    how = f"mount -o remount,nodiscard {typed_path(mount.mountpoint)}" if mount and _DISCARD in mount.options else ""
    how = how or "mount shows which file systems have it"
    return fix(
        f"mount without discard ({how}; also in /etc/fstab), and discard free blocks once a week instead: systemctl"
        " enable --now fstrim.timer"
    )
