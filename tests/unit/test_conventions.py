"""What CONTRIBUTING.md asks of the tree, asked of the tree."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from perfdiag import cli
from perfdiag.diagnosis.rules import RULES
from perfdiag.recording import schema
from perfdiag.recording.accounts import ACCOUNTS, Kind

from conftest import ROOT

PACKAGE = ROOT / "lib/perfdiag"
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path.name != "__main__.py")
GENERATED = {"requirements.lock", "requirements-dev.lock", "LICENSE"}
TEXT_SUFFIXES = {"", ".py", ".c", ".h", ".md", ".sh", ".toml", ".txt", ".lock"}

LONGEST_FILE = 400
LONGER_FILES: dict[str, str] = {  # file: reason
    "tools/ledger.py": "one file that can be copied to a host: kernel side, headers for it, and what prints",
    "tools/sqlq.py": "likewise",
    "tests/incidents/BLIND.md": "as that of tests/truth, of rounds in guests",
    "tests/truth/BLIND.md": "a record: what it says of each round stands, and the next one is added",
}

# Modules that part text at any blank, because it holds no names from the host, or is only shown.
OWN_TEXT = {
    "diagnosis/precedence.py": "a table in the source",
    "cli.py": "the message of a wrong usage, put on one line",
    "documents/mdoc.py": "sentences of the pages",
    "documents/script_header.py": "comments of our own",
    "documents/script_page.py": "likewise",
    "capture/recorder.py": "what the recorder says, shown line by line",
    "render/layout.py": "sentences, wrapped",
    "capture/listening_sockets.py": "tables of numbers",
    "model/stacks/kernel_stacks.py": "a list in the source",
}  # module: reason


def tracked() -> list[Path]:
    """Return the files of the project: those that git knows or would add, or without git all outside build/."""
    command = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    try:
        names = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\0")
    except (OSError, subprocess.CalledProcessError):
        names = [str(path.relative_to(ROOT)) for path in ROOT.rglob("*") if "__pycache__" not in path.parts]
        names = [name for name in names if not name.startswith(("build/", ".git/"))]
    return sorted({ROOT / name for name in names if name and (ROOT / name).is_file()})


FILES = tracked()
TABLES = (
    "rows",
    "rows_of",
    "threads",
    "devices",
    "stacks",
    "exchanges",
    "chains",
)  # of the model, full in hostile recordings


def texts() -> Iterator[tuple[Path, str]]:
    for path in FILES:
        if path.suffix in TEXT_SUFFIXES and path.name not in GENERATED and "data" not in path.parts:
            yield path, path.read_text(encoding="utf-8", errors="replace")


def dotted(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@pytest.mark.parametrize("path", MODULES, ids=dotted)
def test_python_module(path: Path) -> None:
    tree = ast.parse(path.read_text())
    assert ast.get_docstring(tree), "a module begins with a docstring"
    undocumented = [
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name[:1] != "_" and not ast.get_docstring(node)
    ]
    assert undocumented == [] or path.parent.name == "policy", "what other modules may use says what it means"


@pytest.mark.parametrize("path", MODULES, ids=dotted)
def test_text_is_parsed_by_the_kernels_own_blanks(path: Path) -> None:
    """splitlines() and a bare split() also part at U+2028, U+2003 and the like, which a name may hold."""
    calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    parting = [
        f"line {call.lineno}: {call.func.attr}()"
        for call in calls
        if isinstance(call.func, ast.Attribute)
        and (call.func.attr == "splitlines" or (call.func.attr in ("split", "rsplit") and not call.args))
    ]
    own = str(path.relative_to(PACKAGE))
    if own in OWN_TEXT:
        assert parting, f"{own} needs no exception any more"
    else:
        assert parting == [], "perfdiag.facts.texts has lines_of() and words_of()"


@pytest.mark.parametrize("path", sorted((ROOT / "bpf").rglob("*.bpf.c")), ids=lambda path: path.name)
def test_probe_header(path: Path) -> None:
    """The header says which question a probe answers, where it hooks, what it costs and what it cannot see."""
    header = path.read_text().split("*/")[0]
    stem = path.name.removesuffix(".bpf.c")
    assert re.search(rf"^ \* {stem} - .*", header, re.MULTILINE), f"first line: {stem} - the question?"
    assert "?" in header.split("HOOKS")[0], "the question it answers"
    for part in ("HOOKS", "COST", "CANNOT"):
        assert re.search(rf"^ \* {part} +\S", header, re.MULTILINE), f"the header has no {part}"


@pytest.mark.parametrize("path", [p for p in FILES if p.suffix in {".c", ".h"}], ids=lambda p: str(p.relative_to(ROOT)))
def test_c_licence(path: Path) -> None:
    with path.open() as file:
        assert "SPDX-License-Identifier: GPL-2.0-only" in file.readline()


def test_accounts_are_the_same_on_both_sides() -> None:
    records = (ROOT / "bpf/core/records.h").read_text()
    block = records[records.index("#define ACCOUNTS(X)") : records.index("#define ACCOUNT_ENUM")]
    pairs = re.findall(r'X\((\w+), "([a-z_.]+)"\)', block)
    assert [name for _, name in pairs] == [account.name for account in ACCOUNTS if account.recorded]
    assert [identifier for identifier, _ in pairs] == [name.upper().replace(".", "_") for _, name in pairs]


def test_files_stay_short() -> None:
    lines = {str(path.relative_to(ROOT)): text.count("\n") for path, text in texts()}
    long = {name: count for name, count in lines.items() if count > LONGEST_FILE and name not in LONGER_FILES}
    assert long == {}, f"longer than {LONGEST_FILE} lines: split it, or give a reason in LONGER_FILES"
    assert [name for name in LONGER_FILES if lines.get(name, 0) <= LONGEST_FILE] == [], "no longer long: remove it"


def test_tests_that_the_quick_lab_names_are_there() -> None:
    lines = (ROOT / "tests/lab/quick.txt").read_text().splitlines()
    named = [
        re.fullmatch(r"(test_\w+\.py)::(test_\w+)\[6\.1-default.*\]", line)
        for line in lines
        if line[:1] not in ("", "#")
    ]
    assert named and all(named)
    for match in named:
        assert re.search(rf"\b{match[2]}\b", (ROOT / "tests/lab" / match[1]).read_text()), match[0]


def test_no_leftovers() -> None:
    words = re.compile(r"\b(" + "|".join(["TO" + "DO", "FIX" + "ME", "X" + "XX", "HA" + "CK"]) + r")\b")
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path, text in texts()
        for number, line in enumerate(text.splitlines(), 1)
        if words.search(line)
    ]
    assert found == []


def test_no_registry_is_named() -> None:
    """Where packages come from is the business of the machine that builds, locks included."""
    hosts = re.compile(r"py" + r"pi\.|pythonhosted|deb\.debian|--(extra-)?index-url|https?://[^ ]*/simple/?(?![-\w])")
    named = [
        str(path.relative_to(ROOT))
        for path in FILES
        if path != Path(__file__) and path.name != "Makefile" and hosts.search(path.read_text(errors="replace"))
    ]
    assert named == []


def test_locks_pin_every_dependency() -> None:
    for name in ("requirements.lock", "requirements-dev.lock"):
        text = (ROOT / name).read_text()
        pins = re.findall(r"^([a-z0-9-]+)==\S+ \\\n    --hash=sha256:", text, re.MULTILINE)
        assert len(pins) == len(re.findall(r"^[a-z0-9]", text, re.MULTILINE)) > 3
    runtime, everything = (
        set(re.findall(r"^\S+==\S+", (ROOT / name).read_text(), re.MULTILINE))
        for name in ("requirements.lock", "requirements-dev.lock")
    )
    assert runtime <= everything


def test_help_lists_every_make_target() -> None:
    makefile = "".join((ROOT / name).read_text() for name in ("Makefile", "packaging/packages.mk"))
    phony = {name for line in re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE) for name in line.split()}
    told = subprocess.run(["make", "-C", str(ROOT), "help"], capture_output=True, text=True, check=True).stdout
    listed = set(re.findall(r"^  ([a-z0-9-]+) ", told, re.MULTILINE))
    inner = {"packages", "installable", "lint-c", "lint-python", "lint-shell", "lint-man", "lint-prose"}
    assert listed == phony - inner


def test_every_workload_says_what_it_does() -> None:
    paths = sorted((ROOT / "tests/workloads").glob("*.c"))
    assert paths
    for path in paths:
        assert re.search(rf"^ \* {path.stem} - \w", path.read_text(), re.MULTILINE), path.name


def test_every_account_has_a_finding() -> None:
    """Whatever time is booked, some rule can name it; idle time needs no cause."""
    named = {account for rule in RULES.values() for account in rule.accounts}
    latency = {account.name for account in ACCOUNTS if account.kind is Kind.LATENCY}
    assert latency - named == set()
    assert named - {account.name for account in ACCOUNTS} == set(), "rules name accounts that do not exist"


def test_every_finding_stands_alone_in_the_file_of_its_name() -> None:
    files = [path.stem for path in (PACKAGE / "diagnosis/rules").rglob("*.py") if path.name != "__init__.py"]
    assert sorted(files) == sorted(id.lower().replace("-", "_") for id in RULES)


def test_every_line_of_a_recording_has_its_own_type() -> None:
    tags = [struct.__struct_config__.tag for struct in get_args(schema.AnyLine)]
    assert len(set(tags)) == len(tags) > 10


def test_every_command_has_a_page(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "perfdiag.documents.manual", tmp_path], cwd=ROOT / "lib", capture_output=True
    )
    assert run.returncode == 0, run.stderr
    pages = {path.name for path in [*tmp_path.iterdir(), *(ROOT / "man").iterdir()]}
    commands = {f"perfdiag-{name}.8" for name in cli.COMMANDS if name not in ("completion", "help")}
    assert commands | {"perfdiag.8", "perfdiag-accounts.7", "perfdiag-findings.7"} <= pages


def test_every_dependency_is_used_and_declared() -> None:
    """Packages that lib/ imports are those that pyproject.toml declares."""
    declared = {
        re.split(r"[<>=]", requirement)[0]
        for requirement in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    }
    used = set()
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                used |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                used.add(node.module.split(".")[0])
    assert used - set(sys.stdlib_module_names) - {"perfdiag"} == declared


def joins_by_scan(path: Path) -> list[str]:
    """Return where a table of the model is searched for the lines of one process, key or device."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        for each in getattr(node, "generators", ()):
            table = each.iter.func if isinstance(each.iter, ast.Call) else each.iter
            if not (isinstance(table, ast.Attribute) and ast.unparse(table.value) == "model"):
                continue
            for test in (part for condition in each.ifs for part in ast.walk(condition)):
                match test:
                    case ast.Compare(left=ast.Attribute(value=line, attr=field), ops=[ast.Eq()], comparators=[sought]):
                        of_others = isinstance(sought, ast.Attribute | ast.Name) and not ast.unparse(sought).isupper()
                        of_others = of_others and not ast.unparse(sought).startswith(f"{ast.unparse(line)}.")
                        if table.attr in TABLES and field in {"pid", "tid", "key", "device"} and of_others:
                            found.append(f"{path.name}:{node.lineno}: {ast.unparse(each)}")
    return found


def test_no_join_searches_a_whole_table() -> None:
    """Made once per line of another table, it takes the product of both; the model has indexes for that."""
    paths = [path for room in ("diagnosis", "report") for path in (PACKAGE / room).rglob("*.py")]
    assert paths
    assert [line for path in paths for line in joins_by_scan(path)] == []


def test_a_join_that_searches_a_whole_table_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "join.py"
    path.write_text("rows = [row for row in model.rows_of(ACCOUNT) if row.pid == pid]\n")
    assert len(joins_by_scan(path)) == 1  # and it would be found
