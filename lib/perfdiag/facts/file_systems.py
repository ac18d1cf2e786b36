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
    available_bytes: int  # to all but root
    inodes: int  # 0: it has no fixed number of them
    free_inodes: int
    pids: tuple[int, ...]  # targets that write there


def read_file_systems(texts: Texts) -> Sequence[FileSystem]:
    """Read those of all targets, at the end as far as they were there then."""
    found: dict[str, FileSystem] = {}
    for path, match in texts.match(PATTERN):
        text = texts.text(path, "end") or texts.text(path, "begin")
        for line in lines_of(text):
            device, *words = words_of(line) or [""]
            numbers = [value for word in words if (value := number(word)) is not None]
            if len(numbers) != 6:
                continue
            block, blocks, _, available, inodes, free = numbers
            others = found[device].pids if device in found else ()
            pids = (*others, int(match[1]))
            found[device] = FileSystem(device, block * blocks, block * available, inodes, free, pids)
    return list(found.values())


__all__ = ["PATTERN", "FileSystem", "read_file_systems"]
