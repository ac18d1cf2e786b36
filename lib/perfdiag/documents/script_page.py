"""Writes the manual page of every script in a folder, from its header:
`python -m perfdiag.documents.script_page FOLDER DIR`.

The pages are called perfdiag-NAME(8): the bpftrace package installs scripts and pages, some with the same name.
"""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from perfdiag.common.errors import PerfdiagError, UsageError
from perfdiag.documents import script_languages
from perfdiag.documents.mdoc import DATE, paragraphs, prose
from perfdiag.documents.script_header import COMMENT, Header, parse


def of(header: Header, short_name: str = "") -> str:
    """Return the page of a script, its sections in the order of mdoc(7); man finds it by its short name, too."""
    page = page_name(header.name)
    language = script_languages.of(header.name)
    lines = [
        '.\\" SPDX-License-Identifier: GPL-2.0-only',
        f'.\\" Generated from the header of {language.folder}/{header.name}: do not edit.',
        f".Dd {DATE}",
        f".Dt {page.upper()} 8",
        ".Os",
        ".Sh NAME",
        *([f".Nm {page} ,", f".Nm {short_name}"] if short_name else [f".Nm {page}"]),
        f".Nd {header.question[0].lower()}{header.question[1:]}",
        ".Sh SYNOPSIS",
        f".Nm {header.name}",
        *_synopsis(header.synopsis.split()[1:]),
        ".Sh DESCRIPTION",
        *paragraphs([*header.description, *language.run]),
        ".Sh REQUIREMENTS",
        *prose(header.requires),
        *([".Pp", "Where it was run:", *_list(header.systems, "")] if header.systems else []),
        ".Sh OPTIONS",
        *_list([(_argument(name), meaning) for name, meaning in header.arguments], ""),
        ".Sh FIELDS",
        *_list(header.fields, "Li"),
        ".Sh EXIT STATUS",
        *_list(language.statuses, ""),
        ".Sh EXAMPLES",
        *_display([f"# {header.command}", *header.output]),
        *([".Pp", *prose(header.reading)] if header.reading else []),
        ".Sh OVERHEAD",
        *prose(header.overhead),
        ".Sh SEE ALSO",
        *_see(header),
        ".Sh CAVEATS",
        *paragraphs([*header.caveats, *language.caveats]),
    ]
    return "\n".join(lines) + "\n"


def page_name(name: str) -> str:
    """Return what the page of a script is called."""
    return f"perfdiag-{name}"


def _argument(words: str) -> str:
    """Return an argument as macros, or an option and its argument."""
    return " ".join(f"Fl {word[1:]}" if word.startswith("-") else f"Ar {word}" for word in words.split())


def _synopsis(words: Sequence[str]) -> list[str]:
    """Return arguments as macros; what stands in brackets may be left out, together with what is behind it."""
    macros = [("Op " if word.startswith("[") else "") + _argument(word.strip("[]")) for word in words]
    return [f".{' '.join(macros)}"] if macros else []


def _list(pairs: Iterable[tuple[str, str]], macro: str) -> list[str]:
    lines = [".Bl -tag -width Ds"]
    for name, meaning in pairs:
        lines += [
            " ".join(filter(None, [".It", macro, name.replace(",", "\\&,")])),
            *prose(f"{meaning[0].upper()}{meaning[1:]}."),
        ]
    return [*lines, ".El"]


def _display(lines: Sequence[str]) -> list[str]:
    return [".Bd -literal", *(_verbatim(line) for line in lines), ".Ed"]


def _verbatim(line: str) -> str:
    escaped = line.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped[:1] in (".", "'") else escaped


def _see(header: Header) -> list[str]:
    pages = sorted({(header.see[-2], header.see[:-3]), ("7", "perfdiag-findings"), ("8", "perfdiag")})
    lines = [f".Xr {name} {section} ," for section, name in pages]
    lines[-1] = lines[-1].removesuffix(" ,")
    findings = f"perfdiag answers the same question with {', '.join(header.findings)}."
    return [*lines, *([".Pp", *prose(findings)] if header.findings else [])]


def _is_first(path: Path) -> bool:
    """Whether `man NAME` shows this page: that of the script for bpftrace, or of the only one that there is."""
    return path.suffix == ".bt" or not (path.parents[1] / "tools" / f"{path.stem}.bt").exists()


def write(folder: Path, directory: Path) -> list[Path]:
    """Write the page of every script in a folder, and return their paths.

    Raises PerfdiagError where a header is not complete or the directory cannot be written.
    """
    written = []
    for path in sorted(path for path in folder.iterdir() if path.suffix in COMMENT):
        page = directory / f"{page_name(path.name)}.8"
        text = of(parse(path), path.stem if _is_first(path) else "")
        try:
            directory.mkdir(parents=True, exist_ok=True)
            page.write_text(text, encoding="ascii")
        except OSError as error:
            raise PerfdiagError(f"{page}: cannot be written: {error.strerror}", "name another directory") from error
        written.append(page)
    return written


def main(arguments: Sequence[str]) -> None:
    """Write the pages of the scripts in the first directory that is named into the second.

    Raises UsageError for anything else.
    """
    if len(arguments) != 2 or arguments[0].startswith("-"):
        raise UsageError(
            "python -m perfdiag.documents.script_page takes two directories",
            "python -m perfdiag.documents.script_page tools build/man",
        )
    write(Path(arguments[0]), Path(arguments[1]))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except PerfdiagError as error:
        print(f"perfdiag.documents.script_page: {error}\nhint: {error.hint}", file=sys.stderr)
        sys.exit(error.exit_status)
