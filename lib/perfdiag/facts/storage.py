"""Disks and mounts."""

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from posixpath import basename
from re import findall

from perfdiag.common.by_key import groups_by_key
from perfdiag.facts.device_kinds import disk_kind
from perfdiag.facts.hypervisor import Hypervisor
from perfdiag.facts.texts import Texts, chosen, difference, lines_of, number, unescaped, words_of

MOST_MEMBERS = 512  # below one device: an array of md has up to 384
SECTOR_BYTES = 512  # of /proc/diskstats and /sys/block/*/size, whatever the device's own


@dataclass(frozen=True, slots=True)
class Mount:
    """One line of mountinfo."""

    device: str  # "MAJOR:MINOR"
    source: str
    fstype: str
    mountpoint: str
    root: str  # what of the file system is mounted; other than "/" for bind mounts
    options: frozenset[str]  # of the mount and of its file system

    @property
    def is_nfs(self) -> bool:
        """Whether calls of an NFS client serve it."""
        return self.fstype in ("nfs", "nfs4")


@dataclass(frozen=True)
class DiskActivity:
    """Counters of one device, begin to end."""

    reads: int
    read_bytes: int
    read_ns: int
    writes: int
    written_bytes: int
    write_ns: int
    busy_ns: int  # with at least one request in flight
    weighted_ns: int  # in flight, summed over requests
    flushes: int | None  # None: the kernel does not count them


@dataclass(frozen=True)
class Disk:
    """One block device or partition."""

    device: str  # "MAJOR:MINOR"
    name: str  # "sda1"
    whole: str  # "sda"; the settings below are of this one
    model: str | None
    vendor: str | None
    driver: str | None  # of the device or the host adapter: virtio_blk, nvme, ahci, mptspi ...
    kind: str | None  # physical, emulated, paravirtual, stacked (md, dm), loop, ram, network; None: unknown
    rotational: bool | None
    scheduler: str | None
    read_ahead_bytes: int | None  # at most, of a file system on it
    members: tuple[str, ...]  # devices ("MAJOR:MINOR") under md or dm
    label: str | None  # name of a device-mapper device, RAID level, file behind a loop device
    degraded: int | None  # missing members of an md array
    size_bytes: int | None  # of the whole
    activity: DiskActivity | None


def read_mounts(texts: Texts) -> Sequence[Mount]:
    """Read mountinfo of every recorded mount namespace, at the end and at the begin; what several show stands once."""
    paths = sorted((path for path, _ in texts.match(r"/proc/(self|[0-9]+)/mountinfo")), key=lambda p: "self" not in p)
    phases = [phase for path in paths for phase in texts.phases(path, ("begin", "end"))]
    mounts = (mount for text in phases for mount in parse_mounts(text))
    return list({(mount.device, mount.mountpoint, mount.root): mount for mount in mounts}.values())


def parse_mounts(text: str | None) -> Iterator[Mount]:
    """Yield the mounts of one mountinfo; lines cut short are left out."""
    for line in lines_of(text):
        left, separator, right = line.partition(" - ")
        words, tail = left.split(" "), right.split(" ")
        if separator and len(words) >= 6 and len(tail) >= 3:
            yield Mount(
                device=words[2],
                source=unescaped(tail[1]),
                fstype=tail[0],
                mountpoint=unescaped(words[4]),
                root=unescaped(words[3]),
                options=frozenset([*words[5].split(","), *tail[2].split(",")]),
            )


class Mounts:
    """Mounts by what they are looked up by, however many of each there are."""

    def __init__(self, texts: Texts, mounts: Iterable[Mount]) -> None:
        self._of_device: defaultdict[str, list[Mount]] = defaultdict(list)
        self._of_source: defaultdict[str, list[Mount]] = defaultdict(list)
        for mount in mounts:
            self._of_device[mount.device].append(mount)
            self._of_source[mount.source].append(mount)
        self._successors: dict[str, tuple[Mount, Mount] | None] = {}
        self._first, self._last = (
            mounts_by_device(texts.text("/proc/self/mountinfo", each)) for each in ("begin", "end")
        )

    def of_device(self, device: str) -> Sequence[Mount]:
        """Return the mounts of a device, in their order."""
        return self._of_device.get(device, ())

    def find(self, device: str, names: Iterable[str]) -> Mount | None:
        """Return the best mount of a device: by number, else (btrfs, ZFS: numbers of their own) by name."""
        found = self.of_device(device) or [m for name in names for m in self._of_source.get(f"/dev/{name}", ())]
        return best_mount(found)

    def find_successor(self, device: str) -> tuple[Mount, Mount] | None:
        """Return what had a number at the begin and what has it at the end, where these are two file systems: the
        kernel gives the number of one that was unmounted to the next that is mounted and has no device of its own."""
        if device not in self._successors:
            self._successors[device] = self._successor(device)
        return self._successors[device]

    def _successor(self, device: str) -> tuple[Mount, Mount] | None:
        after = dict.fromkeys(self._last.get(device, ()))
        before = [mount for mount in (*self._first.get(device, ()), *self.of_device(device)) if mount not in after]
        if not self._first or {(m.source, m.fstype) for m in before} & {(m.source, m.fstype) for m in after}:
            return None
        first, last = best_mount(before), best_mount(after)
        return (first, last) if first and last else None


def mounts_by_device(text: str | None) -> dict[str, list[Mount]]:
    """Return the mounts of one mountinfo by their device, in its order."""
    return groups_by_key((mount.device, mount) for mount in parse_mounts(text))


def best_mount(mounts: Iterable[Mount]) -> Mount | None:
    """Return the mount to name of one file system: of the whole before a part of it, with the shortest path; None
    without any."""
    return min(mounts, key=lambda mount: (mount.root != "/", len(mount.mountpoint)), default=None)


def read_disks(texts: Texts, hypervisor: Hypervisor | None) -> Mapping[str, Disk]:
    """Read all devices that /proc/diskstats or /sys/block know."""
    begin, end = (_statistics(texts.text("/proc/diskstats", phase)) for phase in ("begin", "end"))
    wholes = set(texts.names(r"/sys/block/([^/]+)"))
    parents = {match[2]: match[1] for _, match in texts.match(r"/sys/block/([^/]+)/([^/]+)/partition")}
    names = {device: name for device, (name, _) in {**begin, **end}.items()}
    for name in sorted(wholes):
        device = texts.word(f"/sys/block/{name}/dev")
        if device:
            names.setdefault(device, name)
    numbers = {name: device for device, name in names.items()}
    slaves = groups_by_key(
        (match[1], numbers[match[2]])
        for _, match in texts.match(r"/sys/block/([^/]+)/slaves/([^/]+)")
        if match[2] in numbers
    )
    disks = {}
    for device, name in names.items():
        whole = name if name in wholes else parents.get(name) or _longest_prefix(wholes, name)
        activity = _activity(begin.get(device, ("", []))[1], end.get(device, ("", []))[1])
        disks[device] = _disk(texts, device, name, whole, slaves.get(whole, [])[:MOST_MEMBERS], activity, hypervisor)
    return disks


def _longest_prefix(wholes: Container[str], name: str) -> str:
    return next((name[:length] for length in range(len(name), 0, -1) if name[:length] in wholes), name)


def _disk(
    texts: Texts,
    device: str,
    name: str,
    whole: str,
    members: Iterable[str],
    activity: DiskActivity | None,
    hypervisor: Hypervisor | None,
) -> Disk:
    base = f"/sys/block/{whole}"

    def word(file: str) -> str | None:
        return texts.word_if_recorded(f"{base}/{file}")

    place = texts.word(base) or ""
    model, driver = word("device/model"), _driver(texts, base, place)
    rotational, size = word("queue/rotational"), number(word("size"))
    read_ahead = number(word("queue/read_ahead_kb"))
    return Disk(
        device=device,
        name=name,
        whole=whole,
        model=model,
        vendor=word("device/vendor"),
        driver=driver,
        kind=disk_kind(whole, driver, model, place, word("device/transport"), hypervisor),
        rotational=None if rotational is None else rotational == "1",
        scheduler=chosen(word("queue/scheduler")),
        read_ahead_bytes=None if read_ahead is None else read_ahead * 1024,
        members=tuple(members),
        label=word("dm/name") or word("md/level") or word("loop/backing_file"),
        degraded=number(word("md/degraded")),
        size_bytes=None if size is None else size * SECTOR_BYTES,
        activity=activity,
    )


def _driver(texts: Texts, base: str, place: str) -> str | None:
    """Return the driver that talks to the hardware: of a SCSI disk that is its host adapter's."""
    hosts = findall(r"/(host[0-9]+)/", place)
    adapter = texts.word(f"/sys/class/scsi_host/{hosts[-1]}/proc_name") if hosts else None
    if adapter and adapter not in ("(null)", "<NULL>"):
        return adapter
    for file in ("device/driver", "device/device/driver"):
        link = texts.word_if_recorded(f"{base}/{file}")
        if link:
            return basename(link)
    return None


def _statistics(text: str | None) -> dict[str, tuple[str, list[int]]]:
    found: dict[str, tuple[str, list[int]]] = {}
    for line in lines_of(text):
        words = words_of(line)
        values = [value for value in map(number, words[3:]) if value is not None]
        if len(values) >= 11 and len(values) == len(words) - 3:
            found[f"{words[0]}:{words[1]}"] = (words[2], values)
    return found


def _activity(begin: list[int], end: list[int]) -> DiskActivity | None:
    deltas = [difference(first, last) for first, last in zip(begin, end, strict=False)]
    needed = [delta for index, delta in enumerate(deltas[:11]) if index != 8]  # 8 is a gauge: in flight
    known = [delta for delta in needed if delta is not None]
    if len(known) < 10:
        return None
    reads, _, read_sectors, read_ms, writes, _, written_sectors, write_ms, busy_ms, weighted_ms = known
    return DiskActivity(
        reads=reads,
        read_bytes=read_sectors * SECTOR_BYTES,
        read_ns=read_ms * 1_000_000,
        writes=writes,
        written_bytes=written_sectors * SECTOR_BYTES,
        write_ns=write_ms * 1_000_000,
        busy_ns=busy_ms * 1_000_000,
        weighted_ns=weighted_ms * 1_000_000,
        flushes=deltas[15] if len(deltas) >= 17 else None,
    )
