"""Every script of dtrace/ says what it has to, has its page, and names only probes that its systems have."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from perfdiag import cli
from perfdiag.diagnosis.rules import RULES
from perfdiag.documents import script_header

from bench import tools as bench
from bench.tools_dtrace import DTRACE_LOADS
from lab.support.dtrace import DATA, SCRIPTS, listed
from unit.support.pages import check_pages

FILES = sorted(SCRIPTS.glob("*.d"))
SYSTEMS = ("Linux", "illumos", "FreeBSD", "macOS")
COLUMNS = 120
BEGIN = "#!/usr/sbin/dtrace -s\n/*\n * SPDX-License-Identifier: GPL-2.0-only\n *\n"
OPTIONS = "#pragma D option quiet\n#pragma D option defaultargs\n"
ARGUMENTS = "\ninline int target = $1; /* PID: a number */\ninline int seconds = $2; /* SECONDS: a number */\n"
SECONDS = "/seconds > 0 && ++seconds_passed >= seconds/"
TIMER = f"/* end after so many seconds */\nprofile:::tick-1s\n{SECONDS}\n{{\n\texit(0);\n}}\n"
PROBE = re.compile(r"^([a-z]\w*(?:\$\w+)?):([^:\s]*):([^:\s]*):([\w-]+),?$")
RECORDS = {"ledger.d"}  # its output are lines of a recording, not tables
LONGEST_CODE = 100  # lines: a clause for each probe
LONGER_CODE = {
    "ledger.d": "it prints a recording: every account, of which each is an aggregation, as END cannot loop",
}

every_script = pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)


def body(path: Path) -> str:
    return path.read_text().partition("\n */\n")[2]


def probes(path: Path) -> list[tuple[str, ...]]:
    """Return the probes that a script names: provider without a process, module, function, name."""
    found = [PROBE.match(line) for line in body(path).splitlines()]
    return [(match[1].partition("$")[0], *match.groups()[1:]) for match in found if match]


@every_script
def test_header(path: Path) -> None:
    told = script_header.parse(path)
    assert told.synopsis in (f"{path.name} [PID [SECONDS]]", f"{path.name} PID [SECONDS]")
    assert [name for name, _ in told.arguments] == ["PID", "SECONDS"]
    assert told.command.split()[0] == path.name
    if untested(path):
        assert told.output == () and "Not run" in told.reading
    else:
        assert len(told.output) >= 3 and len(re.findall(r"[.?](?: |$)", told.reading)) >= 2
    assert told.findings and set(told.findings) <= set(RULES)
    assert told.see in {f"perfdiag-{name}(8)" for name in cli.COMMANDS}
    lines = path.read_text().expandtabs(8).splitlines()
    assert [line for line in lines if len(line) > COLUMNS and 'printa("{' not in line] == []  # D has no longer texts


@every_script
def test_it_asks_what_the_script_of_its_name_in_tools_asks(path: Path) -> None:
    other = SCRIPTS.parent / "tools" / f"{path.stem}.bt"
    if other.exists():
        assert script_header.parse(path).question == script_header.parse(other).question


@every_script
def test_what_it_prints_is_described(path: Path) -> None:
    fields = script_header.parse(path).fields
    printed = r'printf?a?\("(?:\\n)?(\w+):' if path.name not in RECORDS else r'\{\\"type\\":\\"(\w+)'
    assert {name for name, _ in fields} == set(re.findall(printed, body(path)))
    for name, meaning in fields:
        if re.search(r"_(ns|bytes|pages)\b", name):
            assert re.search("nanoseconds|bytes|pages", meaning), f"{name}: {meaning}"


@every_script
def test_overhead_is_what_was_measured(path: Path) -> None:
    """The page names the command that measures it; where no figures are kept it says so."""
    told, measured = script_header.parse(path).overhead, bench.MEASURED / f"{path.name}.json"
    if measured.exists():
        assert told == bench.of(measured).text() and "by make bench ARGS=dtrace" in told, "make tool-overhead"
    else:
        assert told.startswith("Not measured.")


def test_each_script_that_was_run_has_a_load() -> None:
    assert set(DTRACE_LOADS) == {path.name for path in FILES if not untested(path)}


def untested(path: Path) -> bool:
    return not any(state.startswith("run: ") for _, state in script_header.parse(path).systems)


@every_script
def test_systems(path: Path) -> None:
    """Each system is named; one that it was not run on has a listing with its probes, or it is said that none has."""
    systems = dict(script_header.parse(path).systems)
    assert tuple(systems) == SYSTEMS
    assert all(re.match("run: |untested: |none: |unknown$", state) for state in systems.values()), systems
    used = probes(path)
    assert len(used) == len(re.findall(r"^\w[\w$]*:[^:\s]*:[^:\s]*:[^:\s]+$", body(path), re.MULTILINE)) >= 4
    known = [probe for file in DATA.glob("*.txt") for probe in listed(file)]
    assert all(any(matches(probe, one) for one in known) for probe in used), "a probe that no system has"
    for system, state in systems.items():
        if state.startswith(("run: ", "untested: ")):
            there = [probe for file in DATA.glob(f"{system.lower()}*.txt") for probe in listed(file)]
            optional = "#pragma D option zdefs\n" in body(path)  # names probes of several systems
            lacking = [probe for probe in used if not any(matches(probe, one) for one in there)]
            assert not lacking or (optional and len(lacking) < len(used)), f"{system} has no {lacking}"


def matches(probe: tuple[str, ...], one: tuple[str, ...]) -> bool:
    return all(part == "" or fnmatchcase(other, part) for part, other in zip(probe, one, strict=True))


def test_listings_name_their_source() -> None:
    paths = sorted(DATA.glob("*.txt"))
    assert paths
    for path in paths:
        assert path.read_text().startswith("# Source: "), path
        assert all(len(probe) == 4 for probe in listed(path)), path


@every_script
def test_code(path: Path) -> None:
    text = path.read_text()
    assert text.startswith(BEGIN) and path.stat().st_mode & 0o111
    assert OPTIONS in text and ARGUMENTS in text and TIMER in text, "the same lines in every script"
    assert path.name in RECORDS or '\tprintf("Tracing ' in text
    assert not re.search(r'printf\("[^"]*:"\)', text), "a name without a table, where printa has nothing to print"
    lines = [line for line in body(path).splitlines() if line.strip() and not line.startswith("/*")]
    assert len(lines) <= LONGEST_CODE or path.name in LONGER_CODE
    clauses = re.findall(r"(.*)\n(?:[a-z][\w$]*:[^\n]*:[^\n]*:[^\n]*\n)+(?:/[^\n]*/\n)?\{", body(path))
    assert len(clauses) == len(re.findall(r"^\{", body(path), re.MULTILINE))
    assert all(re.fullmatch(r"/\* [a-z].* \*/", comment) for comment in clauses), clauses
    for name in set(re.findall(r"self->(\w+) =", text)):
        assert f"self->{name} = 0;" in text, f"self->{name} is never zeroed"
    assert "system(" not in text and "destructive" not in text


def told(found: script_header.Header) -> list[str]:
    return [*found.description, found.requires, *(state for _, state in found.systems), *found.caveats]


def test_pages(tmp_path: Path) -> None:
    check_pages(FILES, told, tmp_path)


def test_libraries_belong_to_one_system() -> None:
    paths = sorted((SCRIPTS / "lib").glob("*.d"))
    assert paths
    for path in paths:
        assert "#pragma D depends_on module " in path.read_text(), path
