"""Room on the file systems on which the targets have files open for writing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
    own_mount: bool = True  # mounted in the recorder's mount namespace; False: perhaps elsewhere in that of a target


def read_file_systems(texts: Texts) -> Sequence[FileSystem]:
    """Read those of all targets, at the end as far as they were there then."""
    found: dict[str, FileSystem] = {}
    own_mounts = texts.text("/proc/self/mountinfo", "end") or texts.text("/proc/self/mountinfo", "begin")
    own = {word for line in lines_of(own_mounts) for word in words_of(line)[2:3]}
    for path, match in texts.match(PATTERN):
        text = texts.text(path, "end") or texts.text(path, "begin")
        for line in lines_of(text):
            device, *words = words_of(line) or [""]
            numbers = [value for word in words if (value := number(word)) is not None]
            if len(numbers) != 6:
                continue
            block, blocks, unused, available, inodes, free = numbers
            others = found[device].pids if device in found else ()
            pids = (*others, int(match[1]))
            room = block * (unused if _is_root(texts, match[1]) else available)
            found[device] = FileSystem(device, block * blocks, room, inodes, free, pids, device in own)
    return list(found.values())


def _is_root(texts: Texts, pid: str) -> bool:
    """Return whether a target may use what is reserved for root; who is not known may."""
    text = texts.text(f"/proc/{pid}/status", "end") or texts.text(f"/proc/{pid}/status", "begin") or ""
    users = next((words_of(line)[1:] for line in lines_of(text) if line.startswith("Uid:")), [])
    return not users or "0" in users


__all__ = ["PATTERN", "FileSystem", "read_file_systems"]
