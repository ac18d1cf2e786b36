"""A process that changes its program while that is read: probes are set in the file that was read, or nowhere."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

import pytest

from live.support.changed_code import changed_code
from live.support.fixtures import Attach, Cleanup
from live.support.workload import ROOT
from unit.support.c_programs import compile_c
from unit.support.waiting import until

SHT_DYNSYM = 11
SYMBOLS = 1 << 20
SECTION_BYTES, SYMBOL_BYTES = 64, 24
TABLES = 40  # a tenth of a second to read


def make_slow(path: Path) -> None:
    """Append tables of a million nameless symbols each to a program's sections: to read it takes long."""
    content = path.read_bytes()
    [sections_at] = struct.unpack_from("<Q", content, 0x28)
    [count] = struct.unpack_from("<H", content, 0x3C)
    sections = content[sections_at : sections_at + count * SECTION_BYTES]
    [strings] = [
        struct.unpack_from("<I", sections, at + 0x28)[0]
        for at in range(0, len(sections), SECTION_BYTES)
        if struct.unpack_from("<I", sections, at + 4)[0] == SHT_DYNSYM
    ]
    at = -len(content) % 4096 + len(content)
    size = SYMBOLS * SYMBOL_BYTES
    table = struct.pack("<IIQQQQIIQQ", 0, SHT_DYNSYM, 0, 0, at, size, strings, 0, 8, SYMBOL_BYTES)
    with path.open("r+b") as file:
        file.seek(at + size)
        file.write(sections + TABLES * table)
        file.seek(0x28)
        file.write(struct.pack("<Q", at + size))
        file.seek(0x3C)
        file.write(struct.pack("<H", count + TABLES))


@pytest.mark.timeout(120)
@pytest.mark.parametrize("attempt", range(3))  # the race is won in about half of them
def test_no_probe_is_set_in_what_a_process_has_become(
    attempt: int, tmp_path: Path, attach: Attach, cleanup: Cleanup
) -> None:
    pretender, innocent = tmp_path / "postgres", tmp_path / "innocent"
    source = str(ROOT / "tests/workloads/exec_when_read.c")
    compile_c(["-O2", "-rdynamic", "-o", str(pretender), source])
    make_slow(pretender)
    compile_c(["-O0", "-o", str(innocent), source])  # other code at the same places
    process = cleanup.enter_context(subprocess.Popen([pretender, innocent]))
    cleanup.callback(process.kill)
    until(lambda: Path(f"/proc/{process.pid}/comm").read_text() == "postgres\n", "it looks like PostgreSQL")
    recorder = attach(process.pid)
    until(lambda: Path(f"/proc/{process.pid}/exe").readlink() == innocent, "it has become another program")
    assert changed_code(process.pid, innocent) == []
    recorder.stop()
