"""How deep the stacks of the BPF programs get, as the verifier of Linux 6.1 counts them, from the linked object.

It adds up the stack of every function of a chain of calls, callbacks included, each rounded up to 32 bytes; newer
kernels round up to 16 and so take what 6.1 refuses.  Code that no kernel reaches counts here and not there.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

MOST_BYTES = 512  # MAX_BPF_STACK
ROUNDED_TO_BYTES = 32
FRAME_POINTER = 10
SYMBOLS, RELOCATIONS, FUNCTION = 2, 9, 2  # SHT_SYMTAB, SHT_REL, STT_FUNC
LOAD, STORE_NUMBER, STORE, ADD_NUMBER, MOVE, CALL = 0x1, 0x2, 0x3, 0x07, 0xBF, 0x85
SECTION = struct.Struct("<IIQQQQIIQQ")
SYMBOL = struct.Struct("<IBBHQQ")
RELOCATION = struct.Struct("<QQ")
INSTRUCTION = struct.Struct("<BBhi")


class Place(NamedTuple):
    """Where a function begins."""

    section: int
    offset: int


@dataclass
class Function:
    """A program, or what it calls."""

    name: str
    size: int
    depth_bytes: int = 0
    calls: set[Place] = field(default_factory=set)

    def add_frame(self, code: bytes) -> None:
        """Find the lowest address of the stack that the code stores to, loads from, or makes a pointer to."""
        pointers = set()
        for opcode, registers, offset, number in INSTRUCTION.iter_unpack(code):
            target, source = registers & 0xF, registers >> 4
            base = source if opcode & 0x7 == LOAD else target if opcode & 0x7 in (STORE_NUMBER, STORE) else None
            if base == FRAME_POINTER:
                self.depth_bytes = max(self.depth_bytes, -offset)
            if opcode == MOVE and source == FRAME_POINTER:
                pointers.add(target)
            elif opcode == ADD_NUMBER and target in pointers:
                self.depth_bytes = max(self.depth_bytes, -number)
            elif opcode & 0x7 not in (STORE_NUMBER, STORE):
                pointers.discard(target)


class Stacks:
    """The functions of a linked BPF object."""

    def __init__(self, path: Path) -> None:
        self._data = path.read_bytes()
        begin, size, count = *struct.unpack_from("<Q", self._data, 40), *struct.unpack_from("<HH", self._data, 58)
        self._sections = [SECTION.unpack_from(self._data, begin + size * index) for index in range(count)]
        (table,) = (section for section in self._sections if section[1] == SYMBOLS)
        names = self._content(table[6])
        self._symbols = [
            (names[name : names.index(0, name)].decode(), info & 0xF, Place(section, value), size)
            for name, info, _, section, value, size in SYMBOL.iter_unpack(self._content(self._sections.index(table)))
        ]
        self.functions = {
            place: Function(name, size) for name, kind, place, size in self._symbols if kind == FUNCTION and size
        }
        for place, function in self.functions.items():
            code = self._content(place.section)[place.offset : place.offset + function.size]
            function.add_frame(code)
        for caller, called in self._calls():
            caller.calls.add(called)

    def _content(self, section: int) -> bytes:
        begin, size = self._sections[section][4:6]
        return self._data[begin : begin + size]

    @cached_property
    def _begins(self) -> dict[int, list[int]]:
        begins = defaultdict(list)
        for place in sorted(self.functions):
            begins[place.section].append(place.offset)
        return begins

    def _around(self, section: int, offset: int) -> Place | None:
        """Return the function an instruction is of; None in a copy of one, which the linker leaves without a symbol."""
        index = bisect_right(self._begins[section], offset) - 1
        place = Place(section, self._begins[section][index]) if index >= 0 else None
        return place if place and offset < place.offset + self.functions[place].size else None

    def _calls(self) -> Iterator[tuple[Function, Place]]:
        """Yield who calls whom, or hands whom over to be called back."""
        for index, section in enumerate(self._sections):
            if section[1] != RELOCATIONS:
                continue
            for offset, info in RELOCATION.iter_unpack(self._content(index)):
                caller, (_, _, symbol, _) = self._around(section[7], offset), self._symbols[info >> 32]
                if caller is None or symbol.section not in self._begins:
                    continue
                opcode, _, _, number = INSTRUCTION.unpack_from(self._content(section[7]), offset)
                # Of a function without a symbol of its own the section is named, and the instruction tells where.
                added = 0 if symbol in self.functions and number in (0, -1) else number
                added = (number + 1) * 8 if opcode == CALL and number != -1 else 0 if opcode == CALL else added
                called = self._around(symbol.section, symbol.offset + added)
                if called:
                    yield self.functions[caller], called

    def deepest(self, place: Place) -> tuple[int, list[Function]]:
        """Return the deepest chain of calls from a function on, and the bytes that it takes."""
        function = self.functions[place]
        below = max((self.deepest(each) for each in function.calls), key=lambda each: each[0], default=(0, []))
        own = -(-max(function.depth_bytes, 1) // ROUNDED_TO_BYTES) * ROUNDED_TO_BYTES
        return own + below[0], [function, *below[1]]


__all__ = ["MOST_BYTES", "Function", "Place", "Stacks"]
