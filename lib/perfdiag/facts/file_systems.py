"""Room on the file systems on which the targets have files open for writing."""

from collections.abc import Mapping
from dataclasses import dataclass

from perfdiag.facts.storage import best_mount, mounts_by_device
from perfdiag.facts.texts import Texts, lines_of, number, words_of

PATTERN = r"/file_systems/([0-9]{1,10})"  # of the recorder: no file


@dataclass(frozen=True, slots=True)
class FileSystem:
    """One file system of this host, when it was read last."""

    device: str  # "MAJOR:MINOR"
    size_bytes: int
    available_bytes: int  # to the targets that write there: root may use what is reserved
    inodes: int  # 0: it has no fixed number of them
    free_inodes: int
    pids: tuple[int, ...]  # those targets
    mountpoint: str = ""  # as the recorder sees it, or below /proc/PID/root of a target; "": not known


@dataclass(frozen=True)
class FileSystems:
    """Those of all targets."""

    known: tuple[FileSystem, ...] = ()
    complete: bool = True  # False: of a target with very many descriptors there may be more


def read_file_systems(texts: Texts) -> FileSystems | None:
    """Read those of all targets, at the end as far as they were there then; None where none was asked."""
    found: dict[str, FileSystem] = {}
    own = _mounted(texts.text("/proc/self/mountinfo"))
    complete = True
    asked = list(texts.match(PATTERN))
    for path, match in asked:
        pid, phase = match[1], "end" if texts.text(path, "end") else "begin"
        complete = complete and not texts.is_cut_off(path, phase)
        theirs = _mounted(texts.text(f"/proc/{pid}/mountinfo"))
        for line in lines_of(texts.text(path, phase)):
            device, *words = words_of(line) or [""]
            numbers = [value for word in words if (value := number(word)) is not None]
            if len(numbers) != 6:
                continue
            block, blocks, unused, available, inodes, free = numbers
            others = found[device].pids if device in found else ()
            room = min(blocks, unused if _is_root(texts, pid) else available)
            there = own.get(device) or (f"/proc/{pid}/root{theirs[device]}" if device in theirs else "")
            found[device] = FileSystem(device, block * blocks, block * room, inodes, free, (*others, int(pid)), there)
    return FileSystems(tuple(found.values()), complete) if asked else None


def _mounted(text: str | None) -> Mapping[str, str]:
    """Return where each device is mounted."""
    found = ((device, best_mount(mounts)) for device, mounts in mounts_by_device(text).items())
    return {device: mount.mountpoint for device, mount in found if mount}


def _is_root(texts: Texts, pid: str) -> bool:
    """Return whether a target may use what is reserved for root; who is not known may."""
    text = texts.text(f"/proc/{pid}/status")
    users = next((words_of(line)[1:] for line in lines_of(text) if line.startswith("Uid:")), [])
    return not users or "0" in users
