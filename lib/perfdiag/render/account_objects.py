"""What an account's time was spent at: its largest objects, as many as a row has room for."""

import re
from collections.abc import Iterable, Sequence

from rich.cells import cell_len

from perfdiag.common.units import duration
from perfdiag.render.layout import clip
from perfdiag.report.contract import Account

OWN_THREAD = "own thread "  # how objects.py begins the name of a thread of the target
_LEAST_OBJECT = 0.005  # of its account
_PROCESS = re.compile(r"(.*\S) \((\d+)\)")
_LEAST_COMM = 6  # letters of a name, if it has to be cut


def objects(entries: Sequence[Account], width: int) -> str:
    """Return the largest objects with their time, as many as fit: "vda (254:0) 9.10 s, sdb (8:16) 512 ms".

    No shares: those of the report are of all busy time, and these would be of their account.
    """
    named = _named(entries)
    whole_ns = sum_ns(entries)
    if 2 * sum(named.values()) < whole_ns:  # of most is not known at what: what is left may be next to nothing
        named = {object: ns for object, ns in named.items() if ns >= _LEAST_OBJECT * whole_ns}
    if len(named) == 1 and all(entry.object for entry in entries):
        return _clipped(next(iter(named)), width)
    line = ""
    for object, object_ns in list(named.items())[:3]:
        part = f" {duration(object_ns)}"
        if not line:
            line = _clipped(object, max(3, width - len(part))) + part
        elif cell_len(line) + 2 + cell_len(object) + len(part) <= width:
            line += f", {object}{part}"
    return line


def _clipped(object: str, width: int) -> str:
    """Return an object that fits; of "COMM (PID)" only the name is cut."""
    who = _PROCESS.fullmatch(object)
    behind = f" ({who[2]})" if who else ""
    if who is None or cell_len(object) <= width or width < len(behind) + _LEAST_COMM:
        return clip(object, width)
    return clip(who[1], width - len(behind)) + behind


def _named(entries: Sequence[Account]) -> dict[str, int]:
    """Return the time of each object, the largest first. The target's own small threads count as one, and so do other
    processes of one name, as in findings."""
    found: dict[str, int] = {}
    alike: dict[str, list[Account]] = {}
    for entry in entries:
        who = _PROCESS.fullmatch(entry.object) if entry.account == "runq.busy" else None
        own = entry.object.startswith(OWN_THREAD)
        alike.setdefault(OWN_THREAD if own else who[1] if who else entry.object, []).append(entry)
    for name, same in alike.items():
        if name:
            several = "own threads" if name == OWN_THREAD else f"{len(same)} x {name}"
            found[several if len(same) > 1 else same[0].object] = sum_ns(same)
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def sum_ns(entries: Iterable[Account]) -> int:
    """Return the time of some entries together."""
    return sum(entry.ns for entry in entries)
