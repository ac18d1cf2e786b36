"""The English that users and contributors read, one paragraph a line, with the place that it is from."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "lib/perfdiag"
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")
SHOWN = ("diagnosis", "report", "render", "commands", "capture", "common")  # packages whose strings reach users

# Names, not words: `code`, wait.parked, a/path, --option, {placeholder}.
CODE = re.compile(r"`[^`]*`|--?[a-z][\w-]*|\b\w+(?:[._/]\w+)+\b")

# Harper looks at one sentence at a time and has no sign for its beginning, so one that begins with Who gets a mark.
# Questions get none.
MARK = "Sentencestart"
WHO = re.compile(r"(?:^|(?<=[.;:] ))(?=Who [^.;:?]*[.;])")


class Line(NamedTuple):
    """A paragraph and the line at which it begins."""

    number: int
    text: str


class Text(NamedTuple):
    """The paragraphs of one source."""

    source: str
    lines: list[Line]


def plain(text: str) -> str:
    """Put a paragraph on one line; names become X, so that rules see words alone."""
    return WHO.sub(MARK + " ", CODE.sub("X", " ".join(text.split())))


def constant(node: ast.expr) -> str | None:
    """Return the text of a string, an f-string with 7 for each placeholder, or None."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "7" for part in node.values)
    return None


def docstrings(tree: ast.Module) -> Iterator[ast.Constant]:
    """Yield the docstrings of a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                yield first.value


def python_lines(path: Path) -> Iterator[Line]:
    """Yield first lines of docstrings, and strings of three words or more where users may read them."""
    tree = ast.parse(path.read_text())
    skipped: set[int] = set()
    for docstring in docstrings(tree):
        skipped.add(id(docstring))
        if isinstance(docstring.value, str) and docstring.value.strip():
            yield Line(docstring.lineno, plain(docstring.value.strip().splitlines()[0]))
    if path.relative_to(PACKAGE).parts[0] not in SHOWN:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            skipped.update(id(part) for part in node.values)
        text = constant(node) if isinstance(node, ast.expr) and id(node) not in skipped else None
        if text and len(text.split()) >= 3:
            yield Line(node.lineno, plain(text))  # type: ignore[attr-defined]


def markdown_lines(path: Path) -> Iterator[Line]:
    """Yield paragraphs, items of lists and rows of tables, without blocks of code."""
    start, paragraph, code = 1, "", False
    for number, line in enumerate([*path.read_text().splitlines(), ""], 1):
        fence = line.startswith("```")
        if fence or code or not line.strip() or re.match(r"\s*(?:[-*|#]|\d+\.) ?", line):
            if paragraph:
                yield Line(start, plain(paragraph))
            paragraph = ""
        code ^= fence
        if not fence and not code and line.strip():
            start = start if paragraph else number
            paragraph += " " + line.strip().lstrip("-*|# ")


def page_lines(path: Path) -> Iterator[Line]:
    """Yield the paragraphs of a manual page as man shows them, without examples."""
    command = ["mandoc", "-T", "ascii", "-O", "width=900", str(path)]
    shown = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout
    paragraph, indent, start = "", 0, 1
    for number, line in enumerate([*re.sub(".\b", "", shown).splitlines(), ""], 1):
        indent_here = len(line) - len(line.lstrip())
        if not line.strip() or indent_here != indent:
            if len(paragraph.split()) >= 3:
                yield Line(start, plain(paragraph))
            paragraph, start, indent = "", number, indent_here
        paragraph += " " + line.strip()


def texts() -> list[Text]:
    """Return every source with its paragraphs."""
    found = [Text(name, list(markdown_lines(ROOT / name))) for name in DOCUMENTS]
    found += [Text(str(path.relative_to(ROOT)), list(python_lines(path))) for path in sorted(PACKAGE.rglob("*.py"))]
    pages = sorted((ROOT / "build/man").glob("*.[1-8]"))
    with ThreadPoolExecutor(2) as pool:
        for path, lines in zip(pages, pool.map(lambda page: list(page_lines(page)), pages), strict=True):
            written = ROOT / "man" / path.name
            found.append(Text(str((written if written.exists() else path).relative_to(ROOT)), lines))
    return [text for text in found if text.lines]
