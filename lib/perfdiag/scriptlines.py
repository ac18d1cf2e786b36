"""Lines of recordings that scripts print (tools/ledger.bt): made into those that the recorder writes.

Neither bpftrace nor DTrace can escape a text, and their programs must be short.  So in their recordings, known by
`accounts` in the header, two things differ: a sum may name its account by its place in that list, and `comm` is the
last field of its line, with nothing in it escaped.  perfdiag-recording(5) has this under SCRIPTS.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import msgspec

from perfdiag import schema

# What bpftrace says before its script does, on the same output, unless it is told to be quiet.
GREETING = re.compile(rb"Attach(?:ing|ed) [0-9]+ probes?(?:\.\.\.)?\n")

_PLACE = re.compile(rb"\[([0-9]{1,2}),")
_COMM, _END = b',"comm":"', b'"}'


class ScriptLines:
    """Makes the lines of one recording proper."""

    def __init__(self, accounts: Sequence[str]) -> None:
        """`accounts` are those of the header."""
        self._names = [msgspec.json.encode(name) for name in accounts]

    def proper(self, line: bytes) -> bytes:
        """Return a line as the recorder would have written it; one that is cut off, or foreign, as it is."""
        head, mark, rest = line.partition(_COMM)
        if mark and rest.rstrip(b"\n").endswith(_END):
            comm = rest.rstrip(b"\n").removesuffix(_END)
            end = b"\n" if line.endswith(b"\n") else b""
            rest = msgspec.json.encode(comm.decode("utf-8", "replace")).removeprefix(b'"') + b"}" + end
        return _PLACE.sub(self._named, head) + mark + rest

    def _named(self, place: re.Match[bytes]) -> bytes:
        number = int(place[1])
        return b"[%b," % self._names[number] if number < len(self._names) else place[0]


def details_of(threads: Iterable[schema.Thread]) -> dict[tuple[int, str, str], schema.Detail]:
    """Return the waits of each process by account, for nothing in particular: a script tells no object of them."""
    found: dict[tuple[int, str, str], schema.Detail] = {}
    for line in threads:
        for each in line.accounts:
            if not each.sum_ns or each.account.startswith("cpu."):
                continue
            key = line.pid, each.account, ""
            had = found.get(key)
            found[key] = schema.Detail(
                pid=line.pid,
                account=each.account,
                object="",
                sum_ns=each.sum_ns + (had.sum_ns if had else 0),
                count=each.count + (had.count if had else 0),
                max_ns=max(each.max_ns, had.max_ns if had else 0),
                buckets=[],
            )
    return found


__all__ = ["GREETING", "ScriptLines", "details_of"]
