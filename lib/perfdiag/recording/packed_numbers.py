"""Lists of numbers as a recording has them, in a tenth of the memory that as many objects of Python take.

They are read as the lists and mappings that they stand for; what is read of them is made anew each time.
"""

from __future__ import annotations

import struct
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Generic, Literal, TypeVar, overload

T = TypeVar("T")

Columns = tuple[tuple[str, ...], tuple[int, ...]]  # names, and three numbers for each: time, count and longest

_ROWS_AT_ONCE = 256  # of thousands of threads: what their sums take in memory while they are added up
_CODES: tuple[Literal["B", "H", "I", "Q"], ...] = ("B", "H", "I", "Q")  # of `array`, the narrowest first
_CODE_OF = {array(code).itemsize: code for code in _CODES}  # by bytes


@lru_cache(maxsize=4096)
def _consecutive(first: int, number: int) -> range:
    """Return buckets that many distributions share."""
    return range(first, first + number)


def _packed(numbers: Sequence[int]) -> bytes:
    """Return numbers in as few bytes each as the largest takes: `array` would take an object more for each list."""
    largest = max(numbers, default=0)
    return array(next(code for size, code in _CODE_OF.items() if largest < 1 << 8 * size), numbers).tobytes()


def _unpacked(data: bytes, count: int) -> Iterable[int]:
    return memoryview(data).cast(_CODE_OF[len(data) // count]) if count else ()


class Pairs(Sequence[tuple[int, int]]):
    """Pairs of a bucket and its count.  In a full distribution the buckets follow each other."""

    __slots__ = ("_buckets", "_counts")

    def __init__(self, pairs: Iterable[tuple[int, int]]) -> None:
        buckets, counts = list(zip(*pairs, strict=True)) or ((), ())
        dense = _consecutive(buckets[0], len(buckets)) if buckets else range(0)
        self._buckets: range | array[int] = dense if buckets == tuple(dense) else array("H", buckets)
        self._counts = _packed(counts)

    def __len__(self) -> int:
        return len(self._buckets)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return zip(self._buckets, _unpacked(self._counts, len(self)), strict=True)

    @overload
    def __getitem__(self, index: int) -> tuple[int, int]: ...
    @overload
    def __getitem__(self, index: slice) -> list[tuple[int, int]]: ...
    def __getitem__(self, index: int | slice) -> tuple[int, int] | list[tuple[int, int]]:
        return list(self)[index]

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, (list, Pairs)) else NotImplemented

    def __repr__(self) -> str:
        return repr(list(self))


class Triples(Sequence[tuple[int, int, int]]):
    """Three numbers each."""

    __slots__ = ("_data",)
    _LAYOUT = struct.Struct("=QQQ")

    def __init__(self, triples: Sequence[tuple[int, int, int]]) -> None:
        self._data = b"".join(self._LAYOUT.pack(*triple) for triple in triples)

    def __len__(self) -> int:
        return len(self._data) // self._LAYOUT.size

    def __iter__(self) -> Iterator[Any]:
        return self._LAYOUT.iter_unpack(self._data)

    def __getitem__(self, index: Any) -> Any:
        return list(self)[index]

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, (list, Triples)) else NotImplemented

    def __repr__(self) -> str:
        return repr(list(self))


class Counts(Mapping[int, int]):
    """Pairs as a mapping from bucket to count: of a bucket that stands there twice, the later one."""

    __slots__ = ("_pairs",)

    def __init__(self, pairs: Sequence[tuple[int, int]]) -> None:
        self._pairs = pairs if len({bucket for bucket, _ in pairs}) == len(pairs) else list(dict(pairs).items())

    def __len__(self) -> int:
        return len(self._pairs)

    def __iter__(self) -> Iterator[int]:
        return (bucket for bucket, _ in self._pairs)

    def __getitem__(self, wanted: int) -> int:
        for bucket, count in self._pairs:
            if bucket == wanted:
                return count
        raise KeyError(wanted)

    def items(self) -> Any:
        """Return the pairs themselves."""
        return self._pairs

    def values(self) -> Any:
        """Return the counts."""
        return [count for _, count in self._pairs]

    def __eq__(self, other: object) -> bool:
        return dict(self._pairs) == dict(other) if isinstance(other, Mapping) else NotImplemented

    def __repr__(self) -> str:
        return repr(dict(self._pairs))


class Sums(Sequence[T], Generic[T]):
    """Sums by name: objects made of a name and some numbers.  `names` may be shared with other sums."""

    __slots__ = ("_data", "_layout", "_make", "names")

    def __init__(
        self, make: Callable[..., T], layout: struct.Struct, names: tuple[str, ...], numbers: Iterable[int]
    ) -> None:
        self._make, self._layout, self.names = make, layout, names
        self._data = struct.pack("=" + layout.format[1:] * len(names), *numbers)

    def __len__(self) -> int:
        return len(self.names)

    def firsts(self, names: Iterable[str]) -> int:
        """Return the sum of the first numbers of those that are there, without an object for each."""
        own, layout, data, total = self.names, self._layout, self._data, 0
        for name in names:
            if name in own:
                total += layout.unpack_from(data, own.index(name) * layout.size)[0]
        return total

    def columns(self) -> Columns:
        """Return the names, and all numbers one after the other: no object is made for each sum."""
        return self.names, struct.unpack("=" + self._layout.format[1:] * len(self.names), self._data)

    def __iter__(self) -> Iterator[T]:
        make = self._make
        return (make(name, *row) for name, row in zip(self.names, self._layout.iter_unpack(self._data), strict=True))

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        if isinstance(index, slice) or index < 0:
            return list(self)[index]
        row = self._layout.unpack_from(self._data, index * self._layout.size) if index < len(self.names) else None
        if row is None:
            raise IndexError(index)
        return self._make(self.names[index], *row)

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, (list, Sums)) else NotImplemented

    def __repr__(self) -> str:
        return repr(list(self))


def number_alone(_name: str, number: int) -> int:
    """Return the number of a sum that has one: one function for all of them, as each keeps what makes it."""
    return number


def numbers_by_name(sums: Sums[Any]) -> Mapping[str, int]:
    """Return the numbers of sums that have one each, as a mapping that takes no memory of its own."""
    bare: Sums[int] = Sums(number_alone, sums._layout, (), ())
    bare.names, bare._data = sums.names, sums._data
    return ByName(bare)


class ByName(Mapping[str, T], Generic[T]):
    """Sums as a mapping from their names, none of which stands there twice."""

    __slots__ = ("_sums",)

    def __init__(self, sums: Sums[T]) -> None:
        self._sums = sums

    def __len__(self) -> int:
        return len(self._sums)

    def __iter__(self) -> Iterator[str]:
        return iter(self._sums.names)

    def __contains__(self, name: object) -> bool:
        return name in self._sums.names

    def __getitem__(self, name: str) -> T:
        try:
            return self._sums[self._sums.names.index(name)]
        except ValueError:
            raise KeyError(name) from None

    def columns(self) -> Columns:
        """Return the names, and all numbers one after the other."""
        return self._sums.columns()

    def firsts(self, names: Iterable[str]) -> int:
        """Return the sum of the first numbers of those that are there."""
        return self._sums.firsts(names)

    def items(self) -> Any:
        """Return names and sums."""
        return zip(self._sums.names, self._sums, strict=True)

    def values(self) -> Any:
        """Return the sums."""
        return self._sums

    def __eq__(self, other: object) -> bool:
        return dict(self.items()) == dict(other) if isinstance(other, Mapping) else NotImplemented

    def __repr__(self) -> str:
        return repr(dict(self.items()))


def added(several: Iterable[Columns]) -> dict[str, tuple[int, int, int]]:
    """Return the sums of time and count, and the longest of all, by name."""
    found: dict[str, tuple[int, int, int]] = {}
    alike: defaultdict[tuple[str, ...], list[tuple[int, ...]]] = defaultdict(list)
    for names, numbers in several:
        rows = alike[names]
        rows.append(numbers)
        if len(rows) == _ROWS_AT_ONCE:
            _add(found, names, rows)
            rows.clear()
    for names, rows in alike.items():
        if rows:
            _add(found, names, rows)
    return found


def _add(found: dict[str, tuple[int, int, int]], names: tuple[str, ...], rows: list[tuple[int, ...]]) -> None:
    columns = list(zip(*rows, strict=True))
    for name, ns, count, max_ns in zip(names, columns[::3], columns[1::3], columns[2::3], strict=True):
        had = found.get(name, (0, 0, 0))
        found[name] = had[0] + sum(ns), had[1] + sum(count), max(had[2], *max_ns)
