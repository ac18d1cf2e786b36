"""The books of a thread while they are being settled: sums by account, and time moved between two of them."""

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from operator import attrgetter

import msgspec

from perfdiag.model.thread_accounts import AccountTotal, summed, times_of
from perfdiag.recording import schema
from perfdiag.recording.accounts import Kind, kind_of
from perfdiag.recording.packed_numbers import ByName, Sums
from perfdiag.recording.recording import Recording

_LAYOUT, _numbers = struct.Struct("=QQQ"), attrgetter("ns", "count", "max_ns")
UNLISTED = "(not yet listed by thread)"  # too long for the name of a thread: none can pose as it


@dataclass
class Books:
    """One thread's (or fold's) books while they are being settled."""

    line: schema.Thread | schema.Exited | schema.Process
    accounts: Mapping[str, AccountTotal]
    cpu_error: float | None = None

    @property
    def pid(self) -> int:
        return 0 if isinstance(self.line, schema.Exited) else self.line.pid

    def move(self, source: str, target: str, ns: int, count: int = 0, max_ns: int = 0) -> int:
        """Move up to `ns` from one account to another; return how much there was to move."""
        if source not in self.accounts:
            return 0
        if not isinstance(self.accounts, dict):
            self.accounts = dict(self.accounts.items())
        return move(self.accounts, source, target, ns, count, max_ns)

    def pack(self) -> None:
        """Let the books of thousands of threads take little memory while nothing is moved in them."""
        if isinstance(self.accounts, dict):
            self.accounts = packed(self.accounts)


def move(accounts: dict[str, AccountTotal], source: str, target: str, ns: int, count: int = 0, max_ns: int = 0) -> int:
    """Move up to `ns` and `count` waits, the longest `max_ns`, between two accounts; return how much was moved."""
    have = accounts.get(source)
    moved = min(ns, have.ns) if have else 0
    if have is None or moved <= 0:
        return 0
    count, left_ns = min(count, have.count), have.ns - moved
    if left_ns:
        accounts[source] = AccountTotal(source, left_ns, have.count - count, min(have.max_ns, left_ns))
    else:
        del accounts[source]
    had = accounts.get(target, AccountTotal(target, 0, 0, 0))
    longest = max(had.max_ns, min(max_ns, moved))
    accounts[target] = AccountTotal(target, had.ns + moved, had.count + count, longest)
    return moved


@lru_cache(maxsize=1024)
def _shared(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return names that threads with the same accounts share."""
    return names


def packed(accounts: Mapping[str, AccountTotal]) -> Mapping[str, AccountTotal]:
    """Return the same sums in less memory."""
    try:
        return ByName(
            Sums(AccountTotal, _LAYOUT, _shared(tuple(accounts)), chain.from_iterable(map(_numbers, accounts.values())))
        )
    except struct.error:
        return accounts  # a sum of more than 64 bits, which no thread has


def totals(sums: Iterable[schema.AccountSum]) -> Mapping[str, AccountTotal]:
    """Return the sums by account, empty ones left out; those of an account that stands there twice together."""
    return packed(_totals(sums))


def _totals(sums: Iterable[schema.AccountSum]) -> dict[str, AccountTotal]:
    found: dict[str, AccountTotal] = {}
    for each in (AccountTotal(s.account, s.sum_ns, s.count, s.max_ns) for s in sums if s.sum_ns or s.count):
        had = found.get(each.account)
        found[each.account] = (
            each
            if had is None
            else AccountTotal(each.account, had.ns + each.ns, had.count + each.count, max(had.max_ns, each.max_ns))
        )
    return found


def busy_ns(accounts: Mapping[str, AccountTotal]) -> int:
    """Return the time that counts: neither idle nor "cannot tell"; accounts of newer recorders count."""
    return sum_of(accounts, Kind.LATENCY)


def sum_of(accounts: Mapping[str, AccountTotal], kind: Kind) -> int:
    """Return the time in all accounts of one kind."""
    return sum(ns for name, ns in times_of(accounts) if kind_of(name) is kind)


def newest_unlisted(recording: Recording, books: Sequence[Books]) -> list[Books]:
    """Of a recording without its end: what the last interval knows and the rarer thread rows do not, as one fold."""
    if not recording.intervals:
        return []
    last = recording.intervals[-1]
    listed = summed(books)
    left = [
        msgspec.structs.replace(s, sum_ns=s.sum_ns - listed[s.account].ns if s.account in listed else s.sum_ns)
        for s in last.accounts
        if s.account not in listed or s.sum_ns > listed[s.account].ns
    ]
    wall_ns = last.wall_ns - sum(book.line.wall_ns for book in books)
    if wall_ns <= 0 or not left:
        return []
    line = schema.Exited(
        at_ns=last.at_ns,
        comm=UNLISTED,
        threads=last.threads,
        processes=0,
        wall_ns=wall_ns,
        user_ns=0,
        kernel_ns=0,
        accounts=left,
    )
    return [Books(line, totals(left))]


__all__ = ["UNLISTED", "Books", "busy_ns", "move", "newest_unlisted", "sum_of", "summed", "totals"]
