"""Sets of CPUs, as the kernel lists them ("0-3,8"): a bit each, since a thousand threads can have sets of their own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from functools import lru_cache

MOST_CPUS = 8192  # the most that Linux can be built for: a recorded list that says more is damaged


class Cpus(Set[int]):
    """A set of CPUs."""

    __slots__ = ("_bits",)

    def __init__(self, bits: int = 0) -> None:
        self._bits = bits

    def __contains__(self, cpu: object) -> bool:
        return isinstance(cpu, int) and cpu >= 0 and bool(self._bits >> cpu & 1)

    def __iter__(self) -> Iterator[int]:
        return (cpu for cpu in range(self._bits.bit_length()) if self._bits >> cpu & 1)

    def __len__(self) -> int:
        return self._bits.bit_count()

    def __eq__(self, other: object) -> bool:
        return self._bits == other._bits if isinstance(other, Cpus) else super().__eq__(other)

    def __hash__(self) -> int:
        return hash(self._bits)

    def __and__(self, other: Set[object]) -> Cpus:
        return (
            Cpus(self._bits & other._bits)
            if isinstance(other, Cpus)
            else Cpus.of(each for each in self if each in other)
        )

    def __le__(self, other: Set[object]) -> bool:
        return not self._bits & ~other._bits if isinstance(other, Cpus) else super().__le__(other)

    @classmethod
    def of(cls, cpus: Iterable[int]) -> Cpus:
        """Return the set of some CPUs."""
        bits = 0
        for cpu in cpus:
            bits |= 1 << cpu
        return cls(bits)

    _from_iterable = of  # type: ignore[assignment]  # what the other operations of a set make

    @classmethod
    def together(cls, sets: Iterable[Cpus]) -> Cpus:
        """Return the CPUs of several sets."""
        bits = 0
        for each in sets:
            bits |= each._bits
        return cls(bits)


@lru_cache(maxsize=16_384)  # each thread of a recording may have one of its own
def cpu_list(text: str | None) -> Cpus | None:
    """Parse "0-3,8"; None for anything else.  The kernel lists ranges in their order, each CPU once."""
    bits, least = 0, 0
    for part in (text or "").strip().split(","):
        first, _, last = part.partition("-")
        if not (first.isascii() and first.isdigit() and (not last or (last.isascii() and last.isdigit()))):
            return None
        if len(first) > 6 or len(last) > 6:
            return None
        begin, end = int(first), int(last or first) + 1
        if begin < least or end > MOST_CPUS:
            return None
        bits |= ((1 << end) - 1) >> begin << begin
        least = end
    return Cpus(bits) if bits else None
