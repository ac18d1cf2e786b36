"""Names of functions in other processes' binaries: stripped, packed, deleted, in a file with a hostile name."""

from __future__ import annotations

import lzma
import os
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from unit.support.symbol_victims import running


def names(resolver: Path, program: Path) -> list[str]:
    with running(program) as (pid, addresses):
        run = subprocess.run([resolver, str(pid), *addresses], capture_output=True, check=True)
    return run.stdout.decode("utf-8", "surrogateescape").splitlines()


def elf_address(program: Path, symbol: str) -> int:
    """Ask another reader where a function is."""
    listing = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout
    return next(int(line.split()[0], 16) for line in listing.splitlines() if line.endswith(f" {symbol}"))


def test_names_all_functions(resolver: Path, victim: Path) -> None:
    assert names(resolver, victim) == ["exported_function (victim)", "hidden_function (victim)", "variant (victim)"]


def test_a_program_that_is_a_link_has_the_name_it_was_started_by(resolver: Path, victim: Path) -> None:
    """redis-server is a link to redis-check-rdb; a script is no name of its interpreter."""
    for make, module in ((Path.symlink_to, "server"), (Path.hardlink_to, "second")):
        link = victim.with_name(module)
        make(link, victim)
        assert names(resolver, link)[0] == f"exported_function ({module})"
    assert names(resolver, victim)[0] == "exported_function (victim)"
    script = victim.with_name("script")
    script.write_text(f"#!{victim}\n")
    script.chmod(0o755)
    assert names(resolver, script)[0] == "exported_function (victim)"


def test_stripped_binary_is_not_given_the_nearest_name(resolver: Path, victim: Path) -> None:
    hidden = elf_address(victim, "hidden_function")
    subprocess.run(["strip", victim], check=True)
    exported, unknown, _ = names(resolver, victim)
    assert exported == "exported_function (victim)"
    assert unknown == f"{hidden:#x} (victim)"


def test_reads_the_packed_table_of_a_stripped_binary(resolver: Path, victim: Path, tmp_path: Path) -> None:
    """As Fedora builds its binaries: .gnu_debugdata is an ELF file with the table, under xz."""
    table = tmp_path / "table"
    subprocess.run(["objcopy", "--only-keep-debug", victim, table], check=True)
    packed = tmp_path / "table.xz"
    packed.write_bytes(lzma.compress(table.read_bytes()))
    subprocess.run(["strip", victim], check=True)
    subprocess.run(["objcopy", "--add-section", f".gnu_debugdata={packed}", victim], check=True)
    assert names(resolver, victim) == ["exported_function (victim)", "hidden_function (victim)", "variant (victim)"]


FUNCTIONS = ("exported_function", "hidden_function", "variant.constprop.0")


def go_table(program: Path, text: int, base: int) -> bytes:
    """Return a table as Go 1.20 writes it, of the functions and of where the program begins, which say `base`."""
    starts = {"_start": elf_address(program, "_start"), **{each: elf_address(program, each) for each in FUNCTIONS}}
    listed = sorted(starts.items(), key=lambda each: each[1])
    names = b"".join(b"main." + name.encode() + b"\0" for name, _ in listed)
    header_bytes, entry_bytes, function_bytes = 72, 8, 8
    table = header_bytes + len(names)
    functions, entries, name_at = b"", b"", 0
    for number, (name, start) in enumerate(listed):
        at = (len(listed) + 1) * entry_bytes + number * function_bytes
        entries += struct.pack("<II", start - base, at)
        functions += struct.pack("<Ii", start - base, name_at)
        name_at += len("main.") + len(name) + 1
    entries += struct.pack("<II", listed[-1][1] + 64 - base, 0)
    numbers = (len(listed), 0, text, header_bytes, 0, 0, 0, table)
    return struct.pack("<I4B8Q", 0xFFFFFFF1, 0, 0, 1, 8, *numbers) + names + entries + functions


def code_of(program: Path) -> int:
    listing = subprocess.run(["readelf", "-SW", program], capture_output=True, text=True, check=True).stdout
    return next(int(line.split(".text")[1].split()[1], 16) for line in listing.splitlines() if " .text " in line)


def with_go_table(victim: Path, table: bytes) -> None:
    section = victim.with_name("table")
    section.write_bytes(table)
    subprocess.run(["strip", victim], check=True)
    subprocess.run(["objcopy", "--add-section", f".gopclntab={section}", victim], check=True)


@pytest.mark.parametrize("version", ["1.20", "1.26"])
def test_reads_the_table_that_go_keeps_in_a_stripped_binary(version: str, resolver: Path, victim: Path) -> None:
    """Since 1.26 it does not say where the code begins: that is shown by the place where the program does."""
    base = code_of(victim)
    with_go_table(victim, go_table(victim, base if version == "1.20" else 0, base))
    found = names(resolver, victim)
    assert found == ["exported_function (victim)", "main.hidden_function (victim)", "variant (victim)"]


def test_takes_no_names_of_go_where_nothing_shows_where_its_code_begins(resolver: Path, victim: Path) -> None:
    """As of a program that begins in C: its code is not the first in its section."""
    hidden = elf_address(victim, "hidden_function")
    with_go_table(victim, go_table(victim, 0, code_of(victim) + 1))
    assert names(resolver, victim)[1] == f"{hidden:#x} (victim)"


@pytest.mark.parametrize("keep", [0, 40, 72, 100, 130])
def test_survives_a_damaged_table_of_go(keep: int, resolver: Path, victim: Path) -> None:
    base = code_of(victim)
    hidden = elf_address(victim, "hidden_function")
    table = go_table(victim, base, base)
    with_go_table(victim, table[:keep] + b"\xff" * (len(table) - keep))
    assert names(resolver, victim)[1] == f"{hidden:#x} (victim)"


def test_survives_a_damaged_packed_table(resolver: Path, victim: Path, tmp_path: Path) -> None:
    packed = tmp_path / "table.xz"
    packed.write_bytes(lzma.compress(bytes(1000))[:-20])
    subprocess.run(["strip", victim], check=True)
    subprocess.run(["objcopy", "--add-section", f".gnu_debugdata={packed}", victim], check=True)
    assert names(resolver, victim)[0] == "exported_function (victim)"


def test_finds_a_deleted_binary(resolver: Path, victim: Path) -> None:
    """Through map_files, for which the kernel wants a privilege; otherwise the address stays bare."""
    hidden = elf_address(victim, "hidden_function")
    with running(victim) as (pid, addresses):
        victim.unlink()
        run = subprocess.run([resolver, str(pid), addresses[1]], capture_output=True, text=True, check=True)
    name = "hidden_function" if os.geteuid() == 0 else f"{hidden:#x}"
    assert run.stdout == f"{name} (victim)\n"


def test_passes_hostile_file_names_on(resolver: Path, victim: Path) -> None:
    """Escaping is up to whoever shows them; a newline comes as the kernel writes it in maps."""
    hostile = victim.with_name("x\x1b[31m[bold])\n(deleted)")
    victim.rename(hostile)
    function, _, file = names(resolver, hostile)[1].partition(" ")
    assert file == "(x\x1b[31m[bold])\\012(deleted))"
    assert function == "hidden_function" or os.geteuid() != 0, "only root may open a file whose name maps cannot say"


def test_says_nothing_about_a_process_that_was_never_met(resolver: Path, victim: Path) -> None:
    with running(victim) as (pid, addresses):
        pass
    run = subprocess.run([resolver, str(pid), *addresses], capture_output=True, text=True, check=True)
    assert run.stdout == "-\n-\n-\n"


@contextmanager
def met(resolver: Path, program: Path, *indices: int) -> Iterator[subprocess.Popen[str]]:
    """Run a victim to its end, met by a resolver that asks for the names when its input ends."""
    with running(program) as (pid, addresses):
        asked = [addresses[index] for index in indices] or addresses
        command = [resolver, "--later", str(pid), *asked]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert process.stdout and process.stdout.readline() == "met\n"
    with process:
        yield process


def test_names_a_process_that_has_ended_since_it_was_met(resolver: Path, victim: Path) -> None:
    with met(resolver, victim) as process:
        names = process.communicate()[0]
    assert names.splitlines() == ["exported_function (victim)", "hidden_function (victim)", "variant (victim)"]


def test_takes_no_other_file_for_that_of_an_ended_process(resolver: Path, victim: Path) -> None:
    """The same bytes at the same path are not proof enough: it is another file."""
    hidden = elf_address(victim, "hidden_function")
    with met(resolver, victim, 1) as process:
        copy = victim.with_name("copy")
        copy.write_bytes(victim.read_bytes())
        copy.rename(victim)
        assert process.communicate()[0] == f"{hidden:#x} (victim)\n"


@pytest.mark.parametrize("what", ["nothing", "link", "pipe", "folder"])
def test_whatever_lies_at_the_path_of_an_ended_process(what: str, resolver: Path, victim: Path) -> None:
    """A link to the very same file is as good as the file."""
    hidden = elf_address(victim, "hidden_function")
    with met(resolver, victim, 1) as process:
        moved = victim.rename(victim.with_name("moved"))
        if what == "link":
            victim.symlink_to(moved)
        elif what == "pipe":
            os.mkfifo(victim)
        elif what == "folder":
            victim.mkdir()
        name = "hidden_function" if what == "link" else f"{hidden:#x}"
        assert process.communicate()[0] == f"{name} (victim)\n"


def test_a_binary_cut_short_under_its_process_costs_only_names(resolver: Path, victim: Path) -> None:
    """Reading a mapped file beyond its end kills the child that does it, and nobody else."""
    image = victim.read_bytes()
    with running(victim) as (pid, addresses):
        copy = victim.with_name("copy")
        copy.write_bytes(image)
        victim.unlink()
        copy.rename(victim)
        run = subprocess.run([resolver, str(pid), *addresses], capture_output=True, text=True, check=False)
    assert run.returncode == 0
