"""The header of a script of tools/ or dtrace/: one comment that people read and that the manual page is made of.

Its parts come in the order of `TITLES`; a script for DTrace, which several systems have, has one more: OS says where it
was run.  The lines of a part are indented by two blanks.
"""

import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

from perfdiag.common.errors import PerfdiagError

TITLES = ("USAGE", "REQUIRES", "FIELDS", "EXAMPLE", "OVERHEAD", "CAVEATS", "SEE ALSO")
COMMENT = {".bt": "//", ".d": " *", ".py": "#"}
D_BEGIN = "#!/usr/sbin/dtrace -s\n/*\n"
COLUMNS = 120

_ENDS_SENTENCE = re.compile(r"(?<=[.:)])\n")  # else a line goes on in the next one

Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Header:
    """What a script says of itself."""

    name: str  # of the file
    question: str
    description: tuple[str, ...]  # paragraphs
    synopsis: str
    arguments: Pairs
    systems: Pairs  # whether it was run on each, for a script that several systems may run
    requires: str
    fields: Pairs
    command: str  # of the example
    output: tuple[str, ...]
    reading: str  # how to read it
    overhead: str
    caveats: tuple[str, ...]
    findings: tuple[str, ...]  # that answer the same question
    see: str  # the command that makes them, as NAME(SECTION)


def comment(path: Path) -> list[str]:
    """Return the lines of the header, without the comment signs; the licence is not part of it."""
    sign = COMMENT[path.suffix]
    lines = []
    for line in path.read_text(encoding="utf-8").removeprefix(D_BEGIN).split("\n")[0 if path.suffix == ".d" else 1 :]:
        if not line.startswith(sign) or line == " */":
            break
        lines.append(line.removeprefix(sign).removeprefix(" "))
    return lines[2:] if lines and "SPDX" in lines[0] else lines


def titles(path: Path) -> tuple[str, ...]:
    """Return the parts of a header, in order."""
    return (TITLES[0], "OS", *TITLES[1:]) if path.suffix == ".d" else TITLES


def parse(path: Path) -> Header:
    """Read the header of a script.

    Raises PerfdiagError that names what is missing or out of place.
    """
    lines = comment(path)
    wanted = titles(path)
    found = [line for line in lines if line in wanted]
    if found != list(wanted):
        raise PerfdiagError(
            f"{path.name}: the header has the parts {', '.join(found)}", f"they are {', '.join(wanted)}"
        )
    begins = [lines.index(title) for title in wanted]
    parts = {
        title: textwrap.dedent("\n".join(lines[begin + 1 : end])).strip("\n")
        for title, begin, end in zip(wanted, begins, [*begins[1:], len(lines)], strict=True)
    }
    first, *paragraphs = _paragraphs("\n".join(lines[: begins[0]]))
    match = re.fullmatch(rf"{re.escape(path.name)} - (.+\?)", first)
    if not match:
        raise PerfdiagError(f"{path.name}: the header begins with {first!r}", f"{path.name} - the question?")
    synopsis, _, arguments = parts["USAGE"].partition("\n")
    command, output, reading = _example(path.name, parts["EXAMPLE"])
    see, findings = _see(path.name, parts["SEE ALSO"])
    return Header(
        name=path.name,
        question=match[1],
        description=tuple(paragraphs),
        synopsis=synopsis,
        arguments=_pairs(arguments),
        systems=_pairs(parts["OS"]) if "OS" in parts else (),
        requires=" ".join(parts["REQUIRES"].split()),
        fields=_pairs(parts["FIELDS"]),
        command=command,
        output=output,
        reading=reading,
        overhead=" ".join(parts["OVERHEAD"].split()),
        caveats=tuple(" ".join(each.split("\n")) for each in _ENDS_SENTENCE.split(parts["CAVEATS"])),
        findings=findings,
        see=see,
    )


def _paragraphs(text: str) -> list[str]:
    return [" ".join(part.split()) for part in text.strip("\n").split("\n\n")]


def _pairs(text: str) -> Pairs:
    """Split lines of a name, two blanks or more, and what it means; a line that is indented goes on."""
    pairs: list[tuple[str, str]] = []
    for line in text.split("\n"):
        name, _, meaning = line.partition("  ")
        if name:
            pairs.append((name, meaning.strip()))
        elif pairs:
            pairs[-1] = (pairs[-1][0], f"{pairs[-1][1]} {line.strip()}")
    return tuple(pairs)


def _example(name: str, text: str) -> tuple[str, tuple[str, ...], str]:
    """Split an example: the command after "# ", its output up to an empty line, and how to read it."""
    shown, _, reading = text.partition("\n\n")
    command, *output = shown.split("\n")
    if not command.startswith(f"# {name}"):
        raise PerfdiagError(f"{name}: the example begins with {command!r}", f"with the command: # {name} PID")
    return command.removeprefix("# "), tuple(output), " ".join(reading.split())


def _see(name: str, text: str) -> tuple[str, tuple[str, ...]]:
    see, _, findings = text.partition(":")
    if not re.fullmatch(r"[a-z-]+\(\d\)", see):
        raise PerfdiagError(f"{name}: SEE ALSO is {text!r}", "perfdiag-latency(8): FINDING-ID ...")
    return see, tuple(findings.split())


def replace_part(path: Path, title: str, lines: list[str]) -> None:
    """Write a part of the header anew."""
    sign = COMMENT[path.suffix]
    old = path.read_text(encoding="utf-8").split("\n")
    begin = old.index(f"{sign} {title}") + 1
    following = titles(path)[titles(path).index(title) + 1]
    end = old.index(f"{sign} {following}")
    new = [f"{sign}   {line}".rstrip() for line in lines]
    path.write_text("\n".join([*old[:begin], *new, sign, *old[end:]]), encoding="utf-8")


def replace_example(path: Path, command: str, output: list[str]) -> None:
    """Put a fresh run into the example; how to read it stays, and is to be read again by who replaces it."""
    reading = textwrap.wrap(parse(path).reading, COLUMNS - 5, break_on_hyphens=False)
    replace_part(path, "EXAMPLE", [f"# {command}", *(line.rstrip() for line in output if line.strip()), "", *reading])


def replace_overhead(path: Path, text: str) -> None:
    """Put a fresh measurement into the header."""
    replace_part(path, "OVERHEAD", textwrap.wrap(text, COLUMNS - 5, break_on_hyphens=False))
