"""What stands between waits and a disk that answers: encryption, a file system's own accounts, or the function in which
most of the waits were sampled."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from perfdiag.common.by_key import sums_by_key
from perfdiag.diagnosis.evidence.cpu.kernel_work import around, awaited_in, parts_of_work, remedy_of, waiting_in
from perfdiag.diagnosis.evidence.cpu.kernel_work_kinds import ENCRYPTION, QUOTAS
from perfdiag.diagnosis.evidence.disk.backing_disks import DEEPEST, Backing, backing
from perfdiag.diagnosis.policy import disk_policy
from perfdiag.diagnosis.significance import percent, plain
from perfdiag.facts.host_facts import Disk
from perfdiag.model.model import Model
from perfdiag.recording import schema

_CRYPT = "CRYPT-"  # how cryptsetup begins the uuid of a volume
_CRYPT_WRITER = "dmcrypt_write"  # the thread that writes what dm-crypt has encrypted
# Functions in which everybody waits for a page, whatever for.
_PAGES = ("folio_wait_", "__folio_wait", "wait_on_page", "__filemap_fdatawait", "filemap_fdatawait", "bit_wait")


@dataclass(frozen=True)
class Layer:
    """One of them."""

    words: str  # behind "wait in the kernel": ", which dm-crypt encrypts"
    remedy: str  # "": only the function is known
    doubt: str


def layer_of(model: Model, where: Backing, stacks: Sequence[schema.Stack]) -> Layer | None:
    """Return what waits on a device, sampled in `stacks`, stand in above the disk; None where nothing tells."""
    if _is_encrypted(model, where):
        remedy = (
            f"{remedy_of(ENCRYPTION)}; cryptsetup refresh --perf-no_read_workqueue --perf-no_write_workqueue VOLUME"
        )
        return Layer(": dm-crypt encrypts it", remedy, "how long encryption takes was not measured")
    share = parts_of_work(model).get(QUOTAS, 0.0)
    if share >= disk_policy.layer_work_share and _is_on_btrfs(model, where):
        doubt = "that these waits are for the same work is inferred from CPU samples of the kernel"
        return Layer(f": {QUOTAS} takes {percent(share)} of kernel time", remedy_of(QUOTAS), doubt)
    function = "" if around(stacks) else _of_most(stacks)
    if kind := awaited_in(function):
        return Layer(f", {kind.name}", kind.remedy, "")
    return Layer(f", in {function}", "", "") if function else None


def _of_most(stacks: Sequence[schema.Stack]) -> str:
    """Return the innermost function that tells something, of most of the sampled time; "" where there is none."""
    weights = sums_by_key((_place(stack), stack.weight_ns) for stack in stacks)
    most = max(weights, key=lambda name: weights[name], default="")
    return plain(most) if most and 2 * weights[most] > weights.total() else ""


def _place(stack: schema.Stack) -> str:
    return next((name for name in waiting_in(stack) if not name.startswith(_PAGES)), "")


def _is_on_btrfs(model: Model, where: Backing) -> bool:
    volumes = (backing(model, mount.device) for mount in model.facts.mounts if mount.fstype == "btrfs")
    return any(set(where.disks) & set(volume.disks) for volume in volumes)


def _is_encrypted(model: Model, where: Backing) -> bool:
    volumes = list(_volumes(model, where.device))
    paths = [f"/sys/block/{each.name}/dm/uuid" for each in volumes]
    uuids = [model.facts.texts.word_if_recorded(path) or "" for path in paths]
    writes = any(
        line.kernel_thread and line.comm.startswith(_CRYPT_WRITER) and line.device in where.disks
        for line in model.disk_users
    )
    return any(uuid.startswith(_CRYPT) for uuid in uuids) or (writes and "" in uuids)


def _volumes(model: Model, device: str) -> Iterator[Disk]:
    """Yield the volumes of device-mapper from a device down to its disks."""
    level, seen = [device], set[str]()
    for _ in range(DEEPEST):
        found = [disk for each in level if each not in seen and (disk := model.facts.disks.get(each))]
        seen |= set(level)
        yield from (disk for disk in found if disk.name.startswith("dm-"))
        level = [member for disk in found for member in disk.members]
