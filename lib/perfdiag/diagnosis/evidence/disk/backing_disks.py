"""From the device of a wait to the disks below it, and how long their requests took."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from perfdiag.diagnosis.policy import disk_policy
from perfdiag.diagnosis.significance import plain, typical_ns
from perfdiag.facts.host_facts import Disk
from perfdiag.facts.storage import MOST_MEMBERS
from perfdiag.model.model import Model, Row, once
from perfdiag.recording import schema
from perfdiag.recording.distribution import Distribution

DISK = ("disk.read", "disk.write", "disk.flush")
# Members of members: LVM on crypt on RAID on partitions.
DEEPEST = 8

# How long one request may take: a rotating disk needs a seek and half a turn (4 to 15 ms); flash answers reads and
# cached
# writes in 0.1 to 1 ms; a virtual or unknown disk is one of the two.
NORM_NS = {"rotational": 20_000_000, "solid": 2_000_000, "unknown": 10_000_000}
# Flash without power-loss protection needs some milliseconds to empty its write cache.
FLUSH_NORM_NS = {"rotational": 20_000_000, "solid": 4_000_000, "unknown": 10_000_000}


@dataclass(frozen=True)
class Requests:
    """Requests of some disks and operations, from all processes."""

    count: int
    bytes: int
    queue: Distribution
    service: Distribution

    @property
    def typical_ns(self) -> int:
        """Queue and service time of the request in which half of the time was spent."""
        return typical_ns(self.queue) + typical_ns(self.service) if self.count else 0

    @property
    def mean_ns(self) -> float:
        """Mean queue and service time per request, of those the kernel timed (not all)."""
        return _mean_ns(self.queue) + _mean_ns(self.service)

    @property
    def queued_part(self) -> float:
        """Share of queueing in the time of all requests."""
        whole = self.queue.sum_ns + self.service.sum_ns
        return self.queue.sum_ns / whole if whole else 0.0

    @property
    def streams(self) -> bool:
        """Whether the requests are so large that bytes per second limit them."""
        return self.count > 0 and self.bytes / self.count >= disk_policy.stream_request_bytes


@dataclass(frozen=True)
class Backing:
    """A device as waits name it, and the disks below it."""

    device: str  # "254:1"
    name: str  # "vda1 (254:1)"
    disks: tuple[str, ...]  # "254:0"
    medium: str  # "rotational", "solid" or "unknown"

    @property
    def paths(self) -> frozenset[str]:
        """The device and its disks, as facts may name either."""
        return frozenset((self.device, *self.disks))

    def requests(self, model: Model, *operations: str) -> Requests:
        """Return the disks' requests of these operations."""
        return requests_of(
            [line for disk in self.disks for line in model.devices_of(disk) if line.operation in operations]
        )

    def norm_ns(self, requests: Requests, flush: bool = False) -> float:
        """Return how long a request of this mean size may take; on an unknown device, on the slowest kind."""
        norms = FLUSH_NORM_NS if flush else NORM_NS
        base = norms[self.medium] if self.device else max(norms.values())
        return base + (
            requests.bytes / requests.count * 1e9 / disk_policy.slowest_bytes_per_second if requests.count else 0
        )


def requests_of(lines: Iterable[schema.Device]) -> Requests:
    """Sum device lines."""
    count = total_bytes = 0
    queue = service = Distribution(0, 0, 0)
    for line in lines:
        count, total_bytes = count + line.count, total_bytes + line.bytes
        queue = queue.merged(_timed(line.queue_ns, line.max_ns, line.queue_buckets))
        service = service.merged(_timed(line.service_ns, line.max_ns, line.service_buckets))
    return Requests(count, total_bytes, queue, service)


def _timed(sum_ns: int, max_ns: int, buckets: Iterable[tuple[int, int]]) -> Distribution:
    numbers = dict(buckets)
    return Distribution(sum(numbers.values()), sum_ns, max_ns, numbers)


def _mean_ns(timed: Distribution) -> float:
    return timed.sum_ns / timed.count if timed.count else 0.0


def device_of(row: Row) -> str:
    """Return "254:0" of a row with the key "device:254:0", "" of any other."""
    return row.key.removeprefix("device:") if row.key.startswith("device:") else ""


def backing(model: Model, device: str) -> Backing:
    """Resolve a device of a wait; without facts it is its own disk."""
    known = _resolved(model)
    if device not in known:
        known[device] = _resolve(model, device)
    return known[device]


@once
def _resolved(model: Model) -> dict[str, Backing]:
    """Return what backing() has resolved so far, and adds to: rules ask for a device again for each of its waits."""
    return {}


def _resolve(model: Model, device: str) -> Backing:
    known = model.facts.disks
    disks = _below(model, device) if device in known else (device,)
    mount = model.facts.mount_of(device) if device not in known else None
    if mount is not None and disks == (device,):  # btrfs and others: a device number of the file system's own
        source = next(
            (
                disk.device
                for disk in known.values()
                if f"/dev/{disk.name}" == mount.source or (disk.label and mount.source.endswith(f"/{disk.label}"))
            ),
            None,
        )
        disks = _below(model, source) if source else disks
    medium = _medium([known[disk] for disk in disks if disk in known])
    return Backing(device, _name(model, device, disks), disks, medium)


def _name(model: Model, device: str, disks: tuple[str, ...]) -> str:
    """Return the usual name of a device; a file system with its own number gets its disk's name."""
    facts, known = model.facts, model.facts.disks
    if not device:
        return "an unknown device"
    if device not in known and len(disks) == 1 and disks[0] in known:
        return plain(facts.disk_name(disks[0]))
    return plain(facts.disk_name(device))


def layers(model: Model, device: str) -> tuple[str, ...]:
    """Return a device and all below it, the highest first; each is visited once, whatever damaged facts say."""
    disks, by_name = model.facts.disks, _device_numbers(model)
    seen, level = {device: None}, [device]
    for _ in range(DEEPEST):
        deeper = (new for each in level for new in _directly_below(disks.get(each), by_name))
        below = dict.fromkeys(islice(deeper, MOST_MEMBERS))
        level = [each for each in below if each not in seen]
        seen |= dict.fromkeys(level)
    return tuple(seen)


def _below(model: Model, device: str) -> tuple[str, ...]:
    """Return the disks below a device: of its layers those with nothing below, and the deepest that are looked at."""
    disks, by_name = model.facts.disks, _device_numbers(model)
    known = dict.fromkeys(layers(model, device))
    leaves = [
        each
        for each in known
        if not any(below in known and below != each for below in _directly_below(disks.get(each), by_name))
    ]
    return tuple(leaves) or (device,)


def _directly_below(disk: Disk | None, by_name: Mapping[str, str]) -> Sequence[str]:
    if disk is None or disk.members or disk.whole == disk.name:
        return disk.members if disk else ()
    whole = by_name.get(disk.whole)
    return (whole,) if whole else ()


@once
def _device_numbers(model: Model) -> dict[str, str]:
    """Return device numbers by name; of two with one name the first."""
    found: dict[str, str] = {}
    for disk in model.facts.disks.values():
        found.setdefault(disk.name, disk.device)
    return found


def _medium(disks: Sequence[Disk]) -> str:
    """Return the medium; a virtual disk is "unknown": virtio calls itself rotational."""
    media = {
        "unknown"
        if disk.kind not in ("physical", None) or disk.rotational is None
        else "rotational"
        if disk.rotational
        else "solid"
        for disk in disks
    }
    return media.pop() if len(media) == 1 else "unknown"
