"""What was set on this host that is not usual, and makes some of the target's time longer."""

from collections.abc import Iterable
from dataclasses import dataclass

from perfdiag.diagnosis.evidence.target import setting, sysctl
from perfdiag.diagnosis.rule import Remedy
from perfdiag.diagnosis.settings.usual_values import Departure, set_to
from perfdiag.diagnosis.significance import total_ns
from perfdiag.model.model import Model, Row, once
from perfdiag.model.share_denominator import whole_accounts

CPU = ("cpu.user", "cpu.kernel")
DISK = ("disk.read", "disk.write", "disk.flush", "memory.major_fault", "memory.dirty_throttle", "memory.swap_in")
NETWORK = ("net.connect", "net.receive", "net.send", "nfs.read", "nfs.write", "nfs.commit", "nfs.metadata", "nfs.lock")
RUN_QUEUE = ("runq.busy", "runq.throttled")
SYSCTL = "/proc/sys/"
_MOST_OBJECTS = 64  # that are looked at
_LONGEST_VALUE = 40


@dataclass(frozen=True)
class Unusual:
    """One such setting."""

    text: str  # "/srv (ext4) is mounted with sync"
    effect: str  # what that does, as a part of a sentence: "each write waits for the disk"
    shown_by: str  # a file or a command
    ns: int  # the target's time that it may have made longer
    accounts: tuple[str, ...] = ()  # in which that is
    remedy: Remedy | None = None  # None: it takes more than one command, or nobody knows whether it may be changed
    explains: tuple[str, ...] = ()  # accounts whose waits are long because of it: it is no cause among others there
    loses_nothing: bool = False  # the remedy, so that it may stand first
    told_by: tuple[str, ...] = ()  # ids of the findings that name it themselves


@once
def accounts_ns(model: Model) -> dict[str, int]:
    """Return the time that shares are shares of, by account."""
    return whole_accounts(model)


def time_in(model: Model, accounts: Iterable[str]) -> int:
    """Return how much of that time is in some accounts."""
    known = accounts_ns(model)
    return sum(known.get(name, 0) for name in accounts)


def time_at(model: Model, accounts: Iterable[str], keys: Iterable[str]) -> int:
    """Return how much of that time was waited for in some accounts at some objects ("device:8:0").

    What requests waited for has no objects; their time is divided as the threads' time is.
    """
    wanted, known = frozenset(keys), accounts_ns(model)
    found = 0.0
    for name in accounts:
        rows = model.rows_of(name)
        all_ns = total_ns(rows)
        if all_ns and known.get(name):
            found += known[name] * total_ns(row for row in rows if row.key in wanted) / all_ns
    return int(found)


def waited_for(model: Model, accounts: Iterable[str], kinds: tuple[str, ...]) -> list[str]:
    """Return the keys of the objects of these kinds ("device:") in some accounts, those waited for longest first."""
    rows = [row for row in model.rows_of(*accounts) if row.key.startswith(kinds)]
    return list(dict.fromkeys(row.key for row in sorted(rows, key=_longest_first)))[:_MOST_OBJECTS]


def set_back(path: str, departure: Departure, text: str, enter: str = "") -> Remedy | None:
    """Return the trial that gives a file its usual value; `enter` is the begin of a command that runs where it is."""
    present = set_to(text)
    if not departure.usual or not present.isprintable() or len(present) > _LONGEST_VALUE:
        return None
    if path.startswith(SYSCTL):
        name, several = path.removeprefix(SYSCTL).replace("/", "."), " " in departure.usual or " " in present
        return None if several else sysctl(name, departure.usual, present, enter)
    return setting(path, departure.usual, present)


def _longest_first(row: Row) -> tuple[int, str]:
    return -row.distribution.sum_ns, row.key
