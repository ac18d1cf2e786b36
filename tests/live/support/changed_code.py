"""Where the code that a process runs differs from its program's file: a probe stands there."""

from __future__ import annotations

import re
from pathlib import Path


def changed_code(pid: int, program: Path) -> list[int]:
    """Return the places in the file."""
    maps = Path(f"/proc/{pid}/maps").read_text()
    [found] = re.findall(rf"^(\w+)-(\w+) r-xp (\w+) .* {program}$", maps, re.MULTILINE)
    begin, end, offset = (int(number, 16) for number in found)
    with open(f"/proc/{pid}/mem", "rb") as memory:
        memory.seek(begin)
        runs = memory.read(end - begin)
    wanted = program.read_bytes()[offset:][: end - begin]
    return [offset + at for at, byte in enumerate(wanted) if runs[at] != byte]


__all__ = ["changed_code"]
