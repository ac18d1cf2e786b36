"""What a terminal is sent: colours only where they are due, no control characters, lines of its width."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from pathlib import Path

import pytest
from perfdiag.render import terminal
from perfdiag.render.layout import WIDEST
from perfdiag.report import assembly as report
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from conftest import ROOT
from unit.support import Builder
from unit.support.reports import CASES, RUNBOOKS, diagnosis
from unit.support.shown import plain, printed

GOLDEN = ROOT / "tests/data/golden"


@pytest.mark.parametrize("options", [{}, {"force_terminal": True, "no_color": True, "color_system": None}])
def test_plain_where_plain_is_due(options: dict[str, object]) -> None:
    assert printed(CASES["flush"](), **options) == plain(CASES["flush"]())


def test_colour_is_never_the_only_carrier() -> None:
    coloured = printed(CASES["flush"](), force_terminal=True, color_system="truecolor")
    assert "\x1b[" in coloured and "WARNING" in coloured
    assert Text.from_ansi(coloured).plain.rstrip("\n") == plain(CASES["flush"]()).rstrip("\n")


def test_no_color_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    shown = printed(CASES["causes"](), force_terminal=True, color_system="truecolor")
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]", shown)


def test_hostile_names_are_shown_and_never_obeyed() -> None:
    shown = printed(CASES["hostile"]())
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]", shown)
    assert "[bold]\\x1b]0;x\\x07\\u202egnp.exe\\u200b" in shown  # markup stays text, the rest is visible


def test_a_terminal_that_cannot_show_a_letter() -> None:
    model = Builder(comm="café-宽").thread("café", disk_read="1 s").model()
    made = report.make(model, diagnosis(model), RUNBOOKS)
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    terminal.render(made, Console(file=stream, width=80))
    stream.flush()
    assert b"caf?-?" in stream.buffer.getvalue()  # type: ignore[attr-defined]


@pytest.mark.parametrize("width", [20, 40, 60, 200])
def test_other_widths(width: int) -> None:
    stream = io.StringIO()
    terminal.render(CASES["crowded"](), Console(file=stream, width=width), full=True)
    assert max(map(cell_len, stream.getvalue().splitlines())) <= min(max(width, terminal.NARROWEST), WIDEST)


def test_the_demo_draws_the_golden_document() -> None:
    command = [sys.executable, "-m", "perfdiag.render.terminal"]
    shown = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT / "lib"), "PATH": "/usr/bin:/bin", "COLUMNS": "80"},
    )
    assert shown.stdout == (GOLDEN / "flush.txt").read_text()


def test_golden_folder_is_where_the_demo_looks() -> None:
    assert Path(terminal.DEMO).parent == GOLDEN


def test_a_flood_of_kernel_messages_is_told_whatever_they_say() -> None:
    begin, end = "4,20392,1,-;a\n", "4,29553,9,-;\n"
    model = Builder().thread("app", cpu_user="5 s").fact("/dev/kmsg", begin, end).model()
    assert "KERNEL LOG  9,161 lines in 10.0 s" in printed(report.make(model, diagnosis(model), RUNBOOKS))
    calm = Builder().thread("app", cpu_user="5 s").fact("/dev/kmsg", begin, "4,20492,9,-;\n").model()
    assert "KERNEL LOG" not in printed(report.make(calm, diagnosis(calm), RUNBOOKS))


def test_what_has_no_room_behind_a_label_is_counted() -> None:
    """Four of three: also where everything fits that may be shown."""
    said = ["neighbour: arp_cache: neighbor table overflow!", "nvme nvme0: I/O 22 QID 1 timeout, aborting"]
    said += ["nf_conntrack: nf_conntrack: table full, dropping packet", "I/O error, dev sdb, sector 2048"]
    end = "".join(f"3,{8 + number},9000001,-;{text}\n" for number, text in enumerate(said))
    model = Builder().thread("app", cpu_user="5 s").fact("/dev/kmsg", "6,7,1,-;\n", end).model()
    text = printed(report.make(model, diagnosis(model), RUNBOOKS))
    assert text.count("KERNEL LOG") == 1 and "\n            1 more kind of trouble: --full\n" in text, text


def test_what_the_kernel_logged_stands_below_the_problem() -> None:
    line = "4,{},9000001,-;{}\n"
    said = [
        *["neighbour: arp_cache: neighbor table overflow!"] * 3,
        "nvme nvme0: I/O 22 QID 1 timeout, aborting \x1b[31m",
    ]
    end = "".join(line.format(8 + number, text) for number, text in enumerate(said))
    model = Builder().thread("app", cpu_user="5 s").fact("/dev/kmsg", "6,7,1,-;\n", end).model()
    text = printed(report.make(model, diagnosis(model), RUNBOOKS))
    assert "KERNEL LOG  neighbour: arp_cache: neighbor table overflow! (3 times)\n" in text, text
    assert "\n            nvme nvme0: I/O 22 QID 1 timeout, aborting \\x1b[31m" in text, text
