"""Hand-written manual pages: complete, in order, and saying of every option what --help says."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import click
import pytest
from perfdiag import cli
from perfdiag.recording.accounts import ACCOUNTS
from perfdiag.report.assembly import Report

from conftest import ROOT

SECTIONS = [
    "NAME",
    "SYNOPSIS",
    "DESCRIPTION",
    "REQUIREMENTS",
    "OPTIONS",
    "FIELDS",
    "EXAMPLES",
    "OVERHEAD",
    "CAVEATS",
    "EXIT STATUS",
    "SEE ALSO",
]
OF_ALL = [each for name in SECTIONS for each in (["ENVIRONMENT", "FILES"] if name == "FIELDS" else [name])]
PAGES = sorted((ROOT / "man").glob("*.8"))
CONTEXT = click.Context(cli.cli, info_name="perfdiag", help_option_names=["-h", "--help"])


def command_of(page: Path) -> click.Command:
    """Return the command a page is about."""
    name = page.stem.removeprefix("perfdiag").lstrip("-")
    found = cli.cli.get_command(CONTEXT, name) if name else cli.cli
    assert found is not None, f"{page.name} is about no command"
    return found


def section(page: Path, name: str) -> str:
    """Return the roff source of one section."""
    parts = re.split(r'^\.SH "?([A-Z ]+?)"?$', page.read_text(), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))[name]


def plain(roff: str) -> str:
    """Return text without font changes and line breaks."""
    text = re.sub(r"\\f[A-Z]", "", roff).replace("\\-", "-")
    text = re.sub(r"^\.[A-Z]{1,2} ", "", text, flags=re.MULTILINE)
    return " ".join(text.split())


def documented(page: Path) -> dict[str, str]:
    """Return the options of a page: "-o, --output FILE" to what is said of it."""
    entries = section(page, "OPTIONS").split(".TP\n")[1:]
    return {plain(head): plain(text) for head, text in (entry.split("\n", 1) for entry in entries)}


def offered(command: click.Command) -> dict[str, str]:
    """Return the options of a command as --help has them."""
    found = {}
    for option in command.get_params(click.Context(command, info_name=command.name, parent=CONTEXT)):
        if isinstance(option, click.Option):
            value = "" if option.is_flag else f" {option.metavar}"
            found[", ".join(option.opts) + value] = " ".join((option.help or "").split())
    return found


def test_every_command_has_a_page() -> None:
    assert {page.stem for page in PAGES} == {"perfdiag"} | {
        f"perfdiag-{name}"
        for name in cli.COMMANDS
        if name not in ("completion", "help")  # perfdiag(8) says what there is to say
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_sections_are_all_there_and_in_order(page: Path) -> None:
    told = [name.strip('"') for name in re.findall(r"^\.SH (.+)$", page.read_text(), re.MULTILINE)]
    assert told == (OF_ALL if page.stem == "perfdiag" else SECTIONS)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_options_are_those_of_help(page: Path) -> None:
    help_texts, page_texts = offered(command_of(page)), documented(page)
    assert list(page_texts) == list(help_texts)
    for name, text in help_texts.items():
        told = re.sub(r"\s*\[[^]]*\]$", "", text)  # defaults in brackets are said in a sentence
        assert page_texts[name].startswith(told), name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_examples_are_accepted(page: Path) -> None:
    """Every command line in EXAMPLES has only options that its command has."""
    for line in re.findall(r"^\.B (.*perfdiag .*)$", section(page, "EXAMPLES"), re.MULTILINE):
        for words in re.findall(r"perfdiag ([^|>()]+)", line.replace("\\-", "-")):
            name, *rest = words.split()
            own = rest[: rest.index("--")] if "--" in rest else rest
            command = cli.cli.get_command(CONTEXT, name)
            assert command is not None, line
            known = {opt for option in command.get_params(CONTEXT) for opt in option.opts}
            assert {word for word in own if re.match("-.", word)} <= known, line


def test_the_json_document_is_described() -> None:
    told = re.findall(r"^\.B (\w+)$", section(ROOT / "man/perfdiag-report.8", "FIELDS"), re.MULTILINE)
    assert told == list(Report.__struct_fields__)


def test_names_of_accounts_exist() -> None:
    names = {account.name for account in ACCOUNTS}
    classes = {name.split(".")[0] for name in names}
    for page in PAGES:
        for word in re.findall(r"^\.B ([a-z]+\.[a-z_]+)$", page.read_text(), re.MULTILINE):
            assert word.split(".")[0] not in classes or word in names, page.name


def test_exit_statuses_are_those_of_help() -> None:
    told = re.findall(r"^\.B (\d+)$", section(ROOT / "man/perfdiag.8", "EXIT STATUS"), re.MULTILINE)
    assert cli.cli.help is not None
    assert sorted(map(int, told)) == sorted(int(number) for number in re.findall(r"\b\d+\b", cli.cli.help))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_mandoc_finds_nothing(page: Path) -> None:
    if not shutil.which("mandoc"):
        pytest.skip("mandoc is not installed")
    told = subprocess.run(["mandoc", "-T", "lint", page], capture_output=True, text=True, check=False).stdout
    # pages that are not installed (yet) cannot be found by mandoc: that says nothing of this one
    assert [line for line in told.splitlines() if "referenced manual not found" not in line] == []


@pytest.mark.parametrize("page", sorted((ROOT / "man").glob("*.[1-8]")), ids=lambda page: page.name)
def test_whatis_finds_the_page(page: Path) -> None:
    """mandb takes one line, NAME \\- description, for `man -k perfdiag`."""
    text = page.read_text()
    of_man = re.search(r"^\.SH NAME\n(\S+) \\- (.+)\n\.SH", text, re.MULTILINE)
    found = of_man or re.search(r"^\.Sh NAME\n\.Nm (\S+)\n\.Nd (.+)\n", text, re.MULTILINE)
    assert found and found[1].replace("\\-", "-") == page.stem, page.name


def test_lexgrog_finds_every_page() -> None:
    """What mandb runs; the generated pages too."""
    if not shutil.which("lexgrog"):
        pytest.skip("lexgrog (man-db) is not installed")
    pages = sorted((ROOT / "build/man").glob("*.[1-8]"))
    assert len(pages) > len(PAGES), "make man writes them"
    told = subprocess.run(["lexgrog", *pages], capture_output=True, text=True, check=False).stdout.splitlines()
    found = {re.sub(r"\.[1-8]$", "", Path(line.split(": ")[0]).name) for line in told if '"' in line}
    named = {match[1] for line in told if (match := re.search(r'"(\S+) - ', line))}
    short = {path.stem for folder in ("tools", "dtrace") for path in (ROOT / folder).glob("*.*")}
    assert found == {re.sub(r"\.[1-8]$", "", page.name) for page in pages}
    assert named == found | short, "man nfsfsync shows perfdiag-nfsfsync.bt(8)"


def test_every_page_asks_for_the_same_kernel() -> None:
    told = re.findall(r"Linux (\d+\.\d+) or later with BTF", (ROOT / "README.md").read_text())
    for page in PAGES:
        told += re.findall(r"^Linux (\d+\.\d+) or later", page.read_text(), re.MULTILINE)
    assert len(told) > 2 and len(set(told)) == 1, told


def test_the_memory_that_is_asked_for_is_what_the_page_says() -> None:
    header = (ROOT / "lib/recorder/launcher/out_of_memory.h").read_text()
    needed = re.search(r"define NEEDED_MEBIBYTES (\d+)", header)
    assert needed and f"perfdiag needs about {needed[1]} MiB." in section(
        ROOT / "man" / "perfdiag-latency.8", "CAVEATS"
    )
