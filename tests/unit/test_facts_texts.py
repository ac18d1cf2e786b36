"""Names in kernel texts: what they hold ends neither a line nor a word, whatever Python calls a blank."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from perfdiag.capture import cgroups, processes
from perfdiag.facts.storage import parse_mounts
from perfdiag.facts.texts import lines_of, words_of

from unit.support.facts import facts


@pytest.mark.parametrize("end", ["\u2028", "\x0b", "\x85", "\r"])
@pytest.mark.parametrize("blank", ["\u2003", "\xa0", "\x0c"])
def test_a_mount_point_cannot_forge_a_mount(end: str, blank: str) -> None:
    """The kernel escapes blank, tabulator, end of line and backslash in names, and nothing else."""
    name = f"/home/u/x{end}{blank.join(['1', '1', '254:0', '/', '/fake'])}"
    text = f"70 60 0:50 / {name} rw,relatime - fuse /dev/fuse rw\n70 60 0:51 / {name} rw - ext4 /dev/x{end}1 rw\n"
    found = list(parse_mounts(text))
    assert [(mount.device, mount.mountpoint) for mount in found] == [("0:50", name), ("0:51", name)]


@pytest.mark.parametrize("blank", ["\u2028", "\u2003", "\x0b", "\x0c", "\x85", "\xa0", "\r"])
def test_names_do_not_end_lines_or_words(blank: str) -> None:
    found = facts(
        {
            "/proc/swaps": f"Filename Type Size Used Priority\n/a{blank}file{blank}9{blank}9 file 1024 512 -2\n",
            "/proc/77/comm": "x\n",
            "/proc/77/status": f"Name:\tx{blank}NSpid:\t1\nCpus_allowed_list:\t0-3\n",
        }
    )
    assert found.swap and (found.swap.total_bytes, found.swap.used_bytes) == (1 << 20, 1 << 19)
    assert lines_of(f"a{blank}b\n\nc\n") == [f"a{blank}b", "", "c"] and lines_of(None) == lines_of("") == []
    assert words_of(f" a{blank}b\tc\n") == [f"a{blank}b", "c"] and words_of(None) == []


@pytest.mark.parametrize("name", ["/mnt/a\x0bb", "/mnt/a\u200ab\u2003c", "/mnt/a\u2028b", "/mnt/a\rb c", "", "/"])
def test_the_name_of_a_mount_is_no_reason_to_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Whoever may mount (fusermount) chooses it, and everybody on the host reads it."""
    monkeypatch.setattr(cgroups, "MOUNTS", tmp_path / "mounts")
    others = f"fuse {name} fuse rw 0 0\nshort\n\n".encode() + b"fuse /mnt/\xff fuse rw 0 0\n"
    cgroups.MOUNTS.write_bytes(others + b"cgroup2 /sys/fs/c\\040group cgroup2 rw 0 0\n" + others)
    assert cgroups.mounts() == [Path("/sys/fs/c group")]


@pytest.mark.parametrize("blank", ["\u2028", "\x0b", "\x85", "\r"])
def test_the_name_of_a_process_adds_no_line_to_its_status(blank: str) -> None:
    file = Path("/proc/self/comm")
    before, name = file.read_bytes(), f"a{blank}More:\t1"
    try:
        file.write_bytes(name.encode())
        found, fields = processes.read(os.getpid()), processes.status(os.getpid())
    finally:
        file.write_bytes(before)
    assert found and found.comm == name
    assert "More" not in fields and fields["Name"] == name
