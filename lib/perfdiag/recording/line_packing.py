"""Lines as they are kept: their lists of numbers packed, their names once each."""

import struct
from collections.abc import Callable, Sequence
from itertools import chain
from operator import attrgetter
from sys import getsizeof
from typing import Any, get_type_hints

import msgspec

from perfdiag.recording import schema
from perfdiag.recording.packed_numbers import Pairs, Sums, Triples
from perfdiag.recording.schema import base, limits, machine, requests, threads, waits

_ACCOUNTS, _PARTS = struct.Struct("=QQQ"), struct.Struct("=Q")
_account_numbers, _part_number = attrgetter("sum_ns", "count", "max_ns"), attrgetter("sum_ns")
_futex_numbers = attrgetter("sum_ns", "count", "waker_tid")
_LISTS_SHARED = 16_384  # of names: more than lines that name any; rows that are replaced are not limited
_SHARED = (limits.Word, limits.Comm, limits.Object, limits.RequestName)  # types of names that many lines have


class Packer:
    """Packs the lines of one recording."""

    def __init__(self) -> None:
        self._names = names = _Names()
        ways: dict[Any, Callable[[Any], Any]] = {
            base.Buckets: Pairs,
            machine.IdleStates: Triples,
            requests.FineBuckets: Pairs,
            base.AccountSums: names.accounts,
            requests.PartSums: names.parts,
            requests.LeftParts: names.left_parts,
            limits.Account: names.account,
            threads.OpenAccount: names.open_account,
            waits.Steps: names.steps,
            threads.FutexSums: names.futexes,
            waits.Frames: names.frames,
            waits.Scan: names.frames,
            waits.Script: names.frames,
            **dict.fromkeys(_SHARED, names.text),
        }
        self._fields = {kind: list(_fields(kind, ways)) for kind in schema.AnyLine.__args__}

    @property
    def names_bytes(self) -> int:
        """How much memory all names take."""
        return self._names.bytes

    @property
    def accounts(self) -> int:
        """How many different accounts the lines name."""
        return len(self._names.of_accounts)

    def pack(self, line: schema.AnyLine) -> None:
        """Replace the lists and names of a line, that nobody else has yet, by what takes less memory."""
        for name, way in self._fields[type(line)]:
            msgspec.structs.force_setattr(line, name, way(getattr(line, name)))


class _Names:
    """The names of one recording, once each.  It knows no packer, so that both go as soon as all lines are read."""

    def __init__(self) -> None:
        self.bytes = 0
        self.of_accounts: set[str] = set()
        self._texts: dict[str, str] = {}
        self._several: dict[tuple[str, ...], tuple[str, ...]] = {}

    def text(self, text: str) -> str:
        known = self._texts.get(text)
        if known is None:
            known = self._texts[text] = text
            self.bytes += getsizeof(text)
        return known

    def frames(self, frames: list[str]) -> Sequence[str]:
        return tuple(map(self.text, frames))

    def account(self, name: str) -> str:
        self.of_accounts.add(name)
        return self.text(name)

    def steps(self, accounts: Sequence[str]) -> Sequence[str]:
        return tuple(map(self.account, accounts))

    def open_account(self, wait: schema.OpenWait | None) -> schema.OpenWait | None:
        if wait:
            self.account(wait.account)
        return wait

    def left_parts(self, parts: Sequence[schema.LeftPart]) -> Sequence[schema.LeftPart]:
        name = self.account
        return [schema.LeftPart(name(each.account), name(each.root), each.served, each.sum_ns) for each in parts]

    def _of(self, names: tuple[str, ...]) -> tuple[str, ...]:
        known = self._several.get(names)
        if known is None:
            if len(self._several) == _LISTS_SHARED:
                self._several.clear()
            known = self._several[names] = tuple(map(self.account, names))
        return known

    def accounts(self, sums: list[schema.AccountSum]) -> Sums[schema.AccountSum]:
        names = self._of(tuple(each.account for each in sums))
        return Sums(schema.AccountSum, _ACCOUNTS, names, chain.from_iterable(map(_account_numbers, sums)))

    def futexes(self, sums: list[schema.FutexSum]) -> Sums[schema.FutexSum]:
        names = tuple(self.text(each.object) for each in sums)
        return Sums(schema.FutexSum, _ACCOUNTS, names, chain.from_iterable(map(_futex_numbers, sums)))

    def parts(self, parts: list[schema.PartSum]) -> Sums[schema.PartSum]:
        names = self._of(tuple(each.account for each in parts))
        return Sums(schema.PartSum, _PARTS, names, map(_part_number, parts))


def _fields(kind: type, ways: dict[Any, Callable[[Any], Any]]) -> list[tuple[str, Callable[[Any], Any]]]:
    """Return the fields of a kind of line that are packed, and how."""
    hints = get_type_hints(kind, include_extras=True)
    return [(name, ways[hint]) for name, hint in hints.items() if _is_key(hint) and hint in ways]


def _is_key(hint: Any) -> bool:
    try:
        hash(hint)
    except TypeError:
        return False
    return True
