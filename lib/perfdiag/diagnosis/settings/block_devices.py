"""Block devices that the target waited for, and what lies below them: layers, and settings of their queues."""

from collections.abc import Iterator
from dataclasses import dataclass

from perfdiag.diagnosis.evidence.disk.backing_disks import layers
from perfdiag.diagnosis.settings.unusual import DISK, Unusual, set_back, time_at, waited_for
from perfdiag.diagnosis.settings.usual_values import Departure, at_least, at_most, one_of, unset_or_at_least
from perfdiag.diagnosis.significance import plain
from perfdiag.facts.host_facts import Disk
from perfdiag.model.model import Model

_READS = ("disk.read", "memory.major_fault", "memory.swap_in")
_WRITES = ("disk.write", "disk.flush", "memory.dirty_throttle")
_LAYERS = ("stacked", "loop", "ram")


@dataclass(frozen=True)
class QueueSetting:
    """A file below /sys/block/NAME."""

    file: str
    departure: Departure
    accounts: tuple[str, ...]
    effect: str
    of_hardware: bool = False  # layers, such as an array, have what they need
    is_set: bool = True  # by writing to the file
    may_be_meant: bool = False  # advised for some loads, or better than what sets it back: it explains no waits alone


@dataclass(frozen=True)
class DeviceLayer:
    """A kind of device that costs something by itself, known by how the text of a file below /sys/block/NAME begins."""

    file: str
    begins: str
    words: str
    accounts: tuple[str, ...]
    effect: str


QUEUE_SETTINGS = (
    QueueSetting(
        "queue/wbt_lat_usec",
        unset_or_at_least(1000, "2000 or 75000", set_back="-1"),  # the kernel chooses one of the two
        _WRITES,
        "writes go to the disk one at a time (writeback throttling)",
    ),
    QueueSetting("queue/read_ahead_kb", at_least(128), _READS, "files are read in small requests", may_be_meant=True),
    QueueSetting(
        "queue/read_ahead_kb", at_most(4096, "128"), _READS, "a small read takes much along", True, may_be_meant=True
    ),
    QueueSetting("queue/max_sectors_kb", at_least(128, "more"), DISK, "large requests are split", True),
    QueueSetting("queue/nr_requests", at_least(32, "64 or more"), DISK, "few requests are queued at a time", True),
    QueueSetting("queue/nomerges", at_most(0), DISK, "requests that follow each other are not joined", True),
    QueueSetting("device/queue_depth", at_least(4, "31 or more"), DISK, "the disk gets few requests at a time"),
    QueueSetting(
        "device/state", one_of("running", "live", "Connected"), DISK, "requests wait or fail there", False, False
    ),
    QueueSetting("md/degraded", at_most(0), DISK, "what is missing is computed from the other members", False, False),
    QueueSetting(
        "md/sync_action", one_of("idle", "frozen"), DISK, "that reads or writes all of it meanwhile", may_be_meant=True
    ),
)
DEVICE_LAYERS = (
    DeviceLayer("dm/uuid", "CRYPT-VERITY", "verifies what is read (dm-verity)", _READS, "CPUs hash each block"),
    DeviceLayer("dm/uuid", "CRYPT-INTEGRITY", "has checksums (dm-integrity)", DISK, "each block is written twice"),
    DeviceLayer("dm/uuid", "CRYPT-", "is encrypted (dm-crypt)", DISK, "threads of the kernel encrypt and decrypt it"),
    DeviceLayer("md/level", "raid4", "is a RAID of level 4", _WRITES, "small writes read parity first"),
    DeviceLayer("md/level", "raid5", "is a RAID of level 5", _WRITES, "small writes read parity first"),
    DeviceLayer("md/level", "raid6", "is a RAID of level 6", _WRITES, "small writes read parity first"),
)


def block_devices(model: Model) -> Iterator[Unusual]:
    """Yield what is unusual about them, each device once."""
    waits: dict[str, dict[str, None]] = {}  # by whole disk
    disks: dict[str, Disk] = {}
    for key in waited_for(model, DISK, ("device:",)):
        for device in layers(model, key.removeprefix("device:")):
            if (disk := model.facts.disks.get(device)) is not None:
                disks.setdefault(disk.whole, disk)
                waits.setdefault(disk.whole, {})[key] = None
    for whole, keys in waits.items():
        yield from _of_device(model, disks[whole], list(keys))


def _of_device(model: Model, disk: Disk, keys: list[str]) -> Iterator[Unusual]:
    name = plain(disk.whole)
    for layer in DEVICE_LAYERS:
        if _text(model, disk, layer.file).startswith(layer.begins):
            ns = time_at(model, layer.accounts, keys)
            yield Unusual(f"{name} {layer.words}", layer.effect, f"/sys/block/{name}/{layer.file}", ns)
            break
    if _text(model, disk, "dm/uuid").startswith("mpath-") and len(disk.members) == 1:
        ns = time_at(model, DISK, keys)
        yield Unusual(f"{name} has one path (usually 2 or more)", "it waits when that fails", "multipath -ll", ns)
    for each in QUEUE_SETTINGS:
        given = not each.of_hardware or disk.kind not in _LAYERS
        text = _text(model, disk, each.file) if given else ""
        departure, path = each.departure(text), f"/sys/block/{name}/{each.file}"
        if departure:
            ns, remedy = time_at(model, each.accounts, keys), set_back(path, each.departure, text)
            told = f"{each.file} of {name} {departure}"
            remedy, explains = remedy if each.is_set else None, () if each.may_be_meant else each.accounts
            yield Unusual(told, each.effect, path, ns, each.accounts, remedy, explains=explains, loses_nothing=True)


def _text(model: Model, disk: Disk, file: str) -> str:
    return model.facts.texts.word_if_recorded(f"/sys/block/{disk.whole}/{file}") or ""
