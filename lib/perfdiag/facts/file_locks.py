"""The processes that hold locks of files at the end of the window, as /proc/locks tells."""

import re
from collections import defaultdict
from collections.abc import Mapping

from perfdiag.facts.texts import Texts

PATH = "/proc/locks"
# "1: FLOCK  ADVISORY  WRITE 3217 fe:00:1234 0 EOF"; "1: -> FLOCK ..." is who waits for it.
_HELD = re.compile(
    r"^[0-9]{1,10}:(?: +[A-Z]{1,10}){3} +(-?[0-9]{1,10}) +([0-9a-f]{1,4}):([0-9a-f]{1,8}):([0-9]{1,20}) ",
    re.MULTILINE,
)


def read_file_locks(texts: Texts) -> Mapping[str, frozenset[int]]:
    """Return the processes that hold locks, by file as objects name it: "file:254:0:1234".

    Of a lock of an open file it is the process that took it.  One of another pid namespace is not known.
    """
    found: defaultdict[str, set[int]] = defaultdict(set)
    for pid, major, minor, inode in _HELD.findall(texts.text(PATH, "end") or ""):
        if int(pid) > 0:
            found[f"file:{int(major, 16)}:{int(minor, 16)}:{inode}"].add(int(pid))
    return {file: frozenset(pids) for file, pids in found.items()}


__all__ = ["PATH", "read_file_locks"]
