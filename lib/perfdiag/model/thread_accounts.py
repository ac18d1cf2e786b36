"""The accounts of a thread: nanoseconds and counts by account, and their sums."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Protocol

import msgspec

from perfdiag.common.text import named
from perfdiag.recording import schema
from perfdiag.recording.packed_numbers import ByName, Columns, added


class AccountTotal(msgspec.Struct, frozen=True):
    """One account over a thread, a process or the whole target."""

    account: str
    ns: int
    count: int
    max_ns: int


def ns_of(accounts: Mapping[str, AccountTotal], *names: str) -> int:
    """Return the time in some of the accounts; there is no entry where nobody was."""
    if isinstance(accounts, ByName):
        return accounts.firsts(names)
    return sum(accounts[name].ns for name in names if name in accounts)


def times_of(accounts: Mapping[str, AccountTotal]) -> Iterable[tuple[str, int]]:
    """Return each account with its time."""
    names, numbers = _columns(accounts)
    return zip(names, numbers[::3], strict=True)


class HasAccounts(Protocol):
    """A thread, or its books."""

    @property
    def accounts(self) -> Mapping[str, AccountTotal]:
        """Its time."""


def summed(several: Iterable[HasAccounts]) -> dict[str, AccountTotal]:
    """Return the sums of all of them by account."""
    sums = added(_columns(each.accounts) for each in several)
    return {name: AccountTotal(name, *numbers) for name, numbers in sums.items()}


def _columns(accounts: Mapping[str, AccountTotal]) -> Columns:
    if isinstance(accounts, ByName):
        return accounts.columns()
    return tuple(accounts), tuple(chain.from_iterable((each.ns, each.count, each.max_ns) for each in accounts.values()))


@dataclass(frozen=True, slots=True)
class ThreadLedger:
    """One thread (or one fold of exited threads: tid 0) and its closed books."""

    pid: int
    tid: int
    namespace_tid: int
    comm: str
    wall_ns: int
    accounts: Mapping[str, AccountTotal]
    threads: int = 1  # more than one only for a fold
    processes: int = 0  # how many of them were the first of their process
    exited: bool = False
    still_waiting: schema.OpenWait | None = None  # the wait it was in at the end
    cpu_split_error: float | None = None  # half width of the user share of cpu.*, from the number of ticks
    requests_read: int | None = None  # None: not recorded, or not of this thread alone
    requests_turned: int = 0  # of these, for which it left another connection that was open
    helped: bool = False  # it woke threads of its process that read requests, and waited for events

    @property
    def booked_ns(self) -> int:
        """Sum of all accounts; equals `wall_ns` within 1 % in a sound recording."""
        accounts = self.accounts
        if isinstance(accounts, ByName):
            return sum(accounts.columns()[1][::3])
        return sum(total.ns for total in accounts.values())

    @property
    def name(self) -> str:
        """Name for people: "postgres (4711)"."""
        return named(self.comm, self.tid)

    def ns(self, *accounts: str) -> int:
        """Return the time in the named accounts."""
        return ns_of(self.accounts, *accounts)
