"""Functions in other processes' binaries that have no name, and why: damaged, too large, not there any more."""

from __future__ import annotations

import lzma
import os
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from perfdiag.recording import schema

from unit.support.symbol_victims import running


def lacks(resolver: Path, program: Path) -> tuple[list[str], list[tuple[str, str, int]]]:
    """Return the names of a victim's functions, and what a recording says of those that lack one: file, reason, how
    many."""
    with running(program) as (pid, addresses):
        run = subprocess.run([resolver, str(pid), *addresses], capture_output=True, text=True, check=True, timeout=60)
    lines = [msgspec.json.decode(line, type=schema.Unnamed) for line in run.stderr.splitlines()]
    return run.stdout.splitlines(), [(line.file, line.reason, line.addresses) for line in lines]


class Sections:
    """The section headers of a 64-bit ELF file, to be changed in place."""

    def __init__(self, path: Path) -> None:
        self.path, self.image = path, bytearray(path.read_bytes())
        (self.offset,) = struct.unpack_from("<Q", self.image, 0x28)
        (self.number,) = struct.unpack_from("<H", self.image, 0x3C)

    def of_type(self, kind: int) -> int:
        """Return where the header of the first section of a type stands."""
        places = range(self.offset, self.offset + 64 * self.number, 64)
        return next(place for place in places if struct.unpack_from("<I", self.image, place + 4)[0] == kind)

    def change(self, kind: int, **values: int) -> None:
        """Give the first section of a type other values: file_offset, size, link."""
        forms = {"file_offset": ("<Q", 0x18), "size": ("<Q", 0x20), "link": ("<I", 0x28)}
        for name, value in values.items():
            form, at = forms[name]
            struct.pack_into(form, self.image, self.of_type(kind) + at, value)
        self.path.write_bytes(self.image)


SYMTAB = 2
GIB = 1 << 30


def _cut_in_its_headers(victim: Path) -> None:
    os.truncate(victim, Sections(victim).offset + 100)


def _without_its_headers(victim: Path) -> None:
    os.truncate(victim, Sections(victim).offset)


def _table_larger_than_its_file(victim: Path) -> None:
    Sections(victim).change(SYMTAB, size=1 << 62)


def _table_outside_of_its_file(victim: Path) -> None:
    Sections(victim).change(SYMTAB, file_offset=1 << 40)


def _names_outside_of_its_file(victim: Path) -> None:
    Sections(victim).change(SYMTAB, link=0xFFFF)


def _huge_and_sparse(victim: Path) -> None:
    Sections(victim).change(SYMTAB, file_offset=512 * GIB, size=24 * 10 * GIB)
    os.truncate(victim, 1024 * GIB)


@pytest.mark.parametrize(
    ("harm", "reason"),
    [
        (_cut_in_its_headers, "damaged"),
        (_without_its_headers, "damaged"),
        (_table_larger_than_its_file, "damaged"),
        (_table_outside_of_its_file, "damaged"),
        (_names_outside_of_its_file, "damaged"),
        (_huge_and_sparse, "too large"),
    ],
)
def test_a_harmed_table_is_told(resolver: Path, victim: Path, harm: Callable[[Path], None], reason: str) -> None:
    """What the table of dynamic symbols still names has its name."""
    harm(victim)
    names, lacking = lacks(resolver, victim)
    unnamed = [name for name in names if name.startswith("0x")]
    assert unnamed and lacking == [("victim", reason, len(unnamed))]


def test_a_sparse_file_with_its_table_far_behind_is_read(resolver: Path, victim: Path) -> None:
    """One terabyte on paper."""
    sections = Sections(victim)
    place = sections.of_type(SYMTAB)
    at, size = struct.unpack_from("<QQ", sections.image, place + 0x18)
    table = bytes(sections.image[at : at + size])
    sections.change(SYMTAB, file_offset=1000 * GIB)
    with victim.open("r+b") as file:
        file.seek(1000 * GIB)
        file.write(table)
    os.truncate(victim, 1024 * GIB)
    assert lacks(resolver, victim) == (
        ["exported_function (victim)", "hidden_function (victim)", "variant (victim)"],
        [],
    )


def test_a_stripped_file_lacks_nothing(resolver: Path, victim: Path) -> None:
    """Where no function is known there is none to be missed: the address itself shows it."""
    subprocess.run(["strip", victim], check=True)
    names, lacking = lacks(resolver, victim)
    assert names[1].startswith("0x") and lacking == []


def test_a_damaged_packed_table_is_told(resolver: Path, victim: Path, tmp_path: Path) -> None:
    packed = tmp_path / "table.xz"
    packed.write_bytes(lzma.compress(bytes(1000))[:-20])
    subprocess.run(["strip", victim], check=True)
    subprocess.run(["objcopy", "--add-section", f".gnu_debugdata={packed}", victim], check=True)
    assert lacks(resolver, victim)[1] == [("victim", "damaged", 1)]


def test_a_packed_table_that_takes_too_much_room_is_told(resolver: Path, victim: Path, tmp_path: Path) -> None:
    packed = tmp_path / "table.xz"
    packed.write_bytes(lzma.compress(bytes(65 << 20), preset=0))
    subprocess.run(["strip", victim], check=True)
    subprocess.run(["objcopy", "--add-section", f".gnu_debugdata={packed}", victim], check=True)
    assert lacks(resolver, victim)[1] == [("victim", "too large", 1)]


def test_a_file_that_cannot_be_opened_is_told(resolver: Path, victim: Path) -> None:
    """Another one lies at its path by now, and it has ended."""
    with running(victim) as (pid, addresses):
        process = subprocess.Popen(
            [resolver, "--later", str(pid), *addresses],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdout and process.stdout.readline() == "met\n"
    with process:
        victim.unlink()
        said = msgspec.json.decode(process.communicate()[1], type=schema.Unnamed)
    assert (said.file, said.reason, said.addresses) == ("victim", "not opened", 3)
