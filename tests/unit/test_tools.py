"""Every script of tools/ says what it has to, has its page and its test, and is like the others where it can."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from perfdiag import cli
from perfdiag.common.errors import PerfdiagError, UsageError
from perfdiag.diagnosis.rules import RULES
from perfdiag.documents import script_header, script_page

from bench import tools as bench
from bench.tools_guest import GUEST_LOADS
from conftest import ROOT
from unit.support.pages import check_pages

TOOLS = sorted((ROOT / "tools").glob("*.bt"))
PROGRAMS = sorted((ROOT / "tools").glob("*.py"))  # for bcc
TABLES = [path for path in PROGRAMS if path.name != "ledger.py"]  # which prints a recording: see test_ledger_py.py
D_SCRIPTS = sorted((ROOT / "dtrace").glob("*.d"))
README = ROOT / "README.md"
BLOCK = re.compile(r"(<!-- tools: [^>]*-->\n)(.*?)(<!-- end of tools -->)", re.DOTALL)
INTRODUCTION = """\
## By hand

Scripts for bpftrace 0.17 and later, bcc and DTrace, for hosts where perfdiag is not installed: one question, one file
to read or paste. Each has a manual page, such as perfdiag-runqlat.bt(8). They see less than perfdiag does. The scripts
named ledger account for all time of a process; `perfdiag report` reads their output.
"""
LONGEST_CODE = 60  # lines of one screen; more only with a reason
LONGER_CODE: dict[str, str] = {
    "tcpwindow.bt": "five calls that send, a look when a thread falls asleep in one, two families of addresses",
    "pgcache.bt": "what tells a hit from a miss comes between the beginning and the end of six calls",
    "nfsfsync.bt": "three kinds of calls, each with its beginning and its end",
    "sqlqmaria.bt": "two servers, whose functions have their arguments at other places",
    "ledger.bt": "it prints a recording: every account, and lines that perfdiag report reads",
}
RECORDS = {"ledger.bt"}  # its output are lines of a recording, not maps
COLUMNS = 120
LONGEST_PROGRAM = 330  # lines of a program for bcc, its C and the headers for that included
PROGRAM_BEGIN = "#!/usr/bin/python3 -I\n# SPDX-License-Identifier: GPL-2.0-only\n#\n"

SHEBANG = "#!/usr/bin/env -S bpftrace --no-warnings\n// SPDX-License-Identifier: GPL-2.0-only\n//\n"
GUARD = (
    '\n// Refuses wrong arguments before anything is traced; "Add a tool" in CONTRIBUTING.md says how.\n%s {} // %s\n'
)
# Refuses: an argument that is no number; a process that is not there; a third argument.
NUMBERS = 'interval:s:9,interval:s:9$1,interval:s:9$2,uprobe:/proc/$1"/../../bin/sh"$3:"no_such*"'


@dataclass(frozen=True)
class Usage:
    """What a script can be given, what refuses the rest, and which argument SECONDS is."""

    synopsis: str = "[PID [SECONDS]]"
    guard: str = NUMBERS
    seconds: str = "$2"


# Scripts of one process, which has to be given: where none is, there is no such file below /proc.  Those with probes
# inside a program need no attach point of their own for that.
OTHER_USAGE = {
    "jvmgc.bt": Usage("-p PID [SECONDS]", "interval:s$2:9$1", "$1"),
    "ledger.bt": Usage("PID [SECONDS]", NUMBERS.replace("/../../bin", "/task/../../../bin")),
    "metaspace.bt": Usage("-p PID [SECONDS]", "interval:s$2:9$1", "$1"),
    "sqlq.bt": Usage("PID [SECONDS]", "interval:s$3:9$1,interval:s:9$2"),
    "sqlqmaria.bt": Usage("PID [SECONDS]", "interval:s$3:9$1,interval:s:9$2"),
}
TIMER = "interval:s:1\n{\n\t@seconds_left--;\n\tif (@seconds_left == 0) {\n\t\texit();\n\t}\n}\n"

every_tool = pytest.mark.parametrize("path", TOOLS, ids=lambda path: path.name)


def code(path: Path) -> list[str]:
    """Return the lines of a script that are neither empty nor only a comment."""
    lines = (line.strip() for line in path.read_text().splitlines())
    return [line for line in lines if line and not line.startswith(("//", "#!"))]


def usage(path: Path) -> Usage:
    """Return how a script is called."""
    return OTHER_USAGE.get(path.name, Usage())


@every_tool
def test_header(path: Path) -> None:
    told = script_header.parse(path)
    assert told.synopsis == f"{path.name} {usage(path).synopsis}"
    assert [name.removeprefix("-p ") for name, _ in told.arguments] == ["PID", "SECONDS"]
    assert told.command.split()[0] == path.name and len(told.output) > 3, "an example that was run"
    assert len(re.findall(r"[.?](?: |$)", told.reading)) >= 2, "two sentences say how to read the example"
    assert told.findings and set(told.findings) <= set(RULES)
    assert told.see in {f"perfdiag-{name}(8)" for name in cli.COMMANDS}
    lines = path.read_text().expandtabs(8).splitlines()
    assert max(len(line) for line in lines if not line.startswith("interval:s:9,")) <= COLUMNS


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.name)
def test_programs_for_bcc(path: Path) -> None:
    told = script_header.parse(path)
    assert told.synopsis.startswith(f"{path.name} ") and [name for name, _ in told.arguments] == ["PID", "SECONDS"]
    assert told.command.split()[0] == path.name and len(told.output) > 3, "an example that was run"
    assert len(re.findall(r"[.?](?: |$)", told.reading)) >= 2, "two sentences say how to read the example"
    assert told.findings and set(told.findings) <= set(RULES)
    assert "Why bcc: " in " ".join(told.description) and "bcc" in told.requires and "Linux" in told.requires
    assert told.overhead == bench.of(bench.MEASURED / f"{path.name}.json").text(), "make tool-overhead"
    text = path.read_text()
    assert text.startswith(PROGRAM_BEGIN) and path.stat().st_mode & 0o111
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    assert len(lines) <= LONGEST_PROGRAM
    assert all(re.search(rf"\b{name}\b", "\n".join(lines)) for name, _ in told.fields)
    assert "kprobe" not in text, "tracepoints and functions of the program alone"
    assert (ROOT / f"tests/live/tools/test_{path.stem}_py.py").exists()


@pytest.mark.parametrize("part", [r"def refuse\(.*?\n\n\n", r"def compiled\(.*?\n\n\n", r"HEADERS = .*?\nPROGRAM = "])
def test_programs_have_alike_what_each_needs(part: str) -> None:
    """So that each can be copied alone."""
    found = [re.search(rf"^{part}", path.read_text(), re.MULTILINE | re.DOTALL) for path in TABLES]
    assert len({match and match[0] for match in found}) == 1 and None not in found


@every_tool
def test_overhead_is_what_was_measured(path: Path) -> None:
    assert path.stem in {*bench.LOADS, *GUEST_LOADS}, "make bench ARGS=tools has no load for it"
    told = script_header.parse(path).overhead
    assert told == bench.of(bench.MEASURED / f"{path.stem}.json").text(), "make tool-overhead"


@every_tool
def test_fields_are_the_maps_that_it_prints(path: Path) -> None:
    """Maps that END does not clear are printed: the header describes those, all of them, and names the unit of each."""
    text = "\n".join(code(path))
    used = set(re.findall(r"@\w+", text))
    cleared = set(re.findall(r"clear\((@\w+)\)", text))
    fields = script_header.parse(path).fields
    if path.name in RECORDS:
        assert used == cleared and [name for name, _ in fields] == ["header", "thread", "footer"]
        return
    assert {re.sub(r"\[.*", "", name) for name, _ in fields} == used - cleared
    for name, meaning in fields:
        if re.search(r"_(ns|bytes|pages)\b", name):
            assert re.search("nanoseconds|bytes|pages", meaning), f"{name}: {meaning}"


@every_tool
def test_code(path: Path) -> None:
    text = path.read_text()
    assert text.startswith(SHEBANG) and path.stat().st_mode & 0o111
    own = usage(path)
    guard = GUARD % (own.guard, f"{path.name} {own.synopsis}")
    assert guard in text and TIMER in text, "the same lines in every script"
    assert f"@seconds_left = {own.seconds};" in text and ('printf("Tracing ' in text or path.name in RECORDS)
    assert len(code(path)) <= LONGEST_CODE or path.name in LONGER_CODE
    assert "kprobe:" not in text or "kprobe" in script_header.parse(path).requires, "tracepoints before kprobes"


@every_tool
def test_it_has_its_test(path: Path) -> None:
    places = [ROOT / f"tests/{tier}/test_{path.stem}.py" for tier in ("live/tools", "lab")]
    assert any(place.exists() for place in places), f"none of {', '.join(map(str, places))}"


def table() -> str:
    rows = []
    for name in sorted({path.stem for path in (*TOOLS, *PROGRAMS, *D_SCRIPTS)}):
        places = ("tools", ".bt"), ("tools", ".py"), ("dtrace", ".d")
        made = [path for place, end in places if (path := ROOT / place / f"{name}{end}").exists()]
        asks = script_header.parse(made[0]).question
        links = {path.suffix: f"[`{path.name}`]({path.parent.name}/{path.name})" for path in made}
        where = [
            system for path in made for system, state in script_header.parse(path).systems if state.startswith("run: ")
        ]
        ran = f"{links['.d']}: {', '.join(where) or 'untested'}" if ".d" in links else ""
        by_hand = ", ".join(links[suffix] for suffix in (".bt", ".py") if suffix in links)
        rows.append(f"| {asks} | {by_hand} | {ran} |")
    return "\n".join(
        [INTRODUCTION, "| question | bpftrace, bcc | DTrace: where it was run |", "|---|---|---|", *rows, "", ""]
    )


def test_readme_lists_them(update: bool) -> None:
    if update:
        README.write_text(BLOCK.sub(lambda match: match[1] + table() + match[3], README.read_text()))
    block = BLOCK.search(README.read_text())
    assert block and block[2] == table(), "pytest tests/unit/test_tools.py --update"


def told(found: script_header.Header) -> list[str]:
    return [*found.description, found.requires, *found.output, found.reading, *found.caveats, found.overhead]


def test_pages(tmp_path: Path) -> None:
    check_pages(sorted([*TOOLS, *PROGRAMS]), told, tmp_path)


def test_a_part_that_is_missing_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.bt"
    path.write_text(TOOLS[0].read_text().replace("// CAVEATS\n", "// LIMITS\n").replace(TOOLS[0].name, "a.bt"))
    with pytest.raises(PerfdiagError, match=r"the header has the parts USAGE, .*OVERHEAD, SEE ALSO"):
        script_header.parse(path)
    path.write_text(TOOLS[0].read_text())
    with pytest.raises(PerfdiagError, match="the header begins with"):
        script_header.parse(path)


def test_an_example_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / TOOLS[0].name
    path.write_text(TOOLS[0].read_text())
    before = script_header.parse(path)
    script_header.replace_example(path, f"{path.name} 7", ["Tracing", "", "@a: 5"])
    after = script_header.parse(path)
    assert (after.command, after.output) == (f"{path.name} 7", ("Tracing", "@a: 5"))
    assert after.reading == before.reading and after.overhead == before.overhead


def test_the_command_writes_and_refuses(tmp_path: Path) -> None:
    def run(*words: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "perfdiag.documents.script_page", *map(str, words)]
        return subprocess.run(command, capture_output=True, text=True, cwd=ROOT / "lib")

    assert run(ROOT / "tools", tmp_path / "new").returncode == 0
    refused = run(tmp_path)
    assert refused.returncode == 2 and "two directories" in refused.stderr and "Traceback" not in refused.stderr
    (tmp_path / "file").write_text("")
    with pytest.raises(PerfdiagError, match="cannot be written"):
        script_page.main([str(ROOT / "tools"), str(tmp_path / "file")])
    with pytest.raises(UsageError):
        script_page.main(["--help", ""])
