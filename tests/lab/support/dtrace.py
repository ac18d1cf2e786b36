"""Run the scripts of dtrace/ in the guest that has DTrace, and compare what they print with what is kept of it."""

from __future__ import annotations

import re
from pathlib import Path

from perfdiag.documents import script_header

from lab.support.guest import Guest
from lab.support.processes import Process
from live.support.bpftrace import Stats, shown
from live.support.workload import ROOT

SCRIPTS = ROOT / "dtrace"
DATA = ROOT / "tests" / "data" / "dtrace"
ROW = re.compile(r"^ +-?\d+ \|.*\n", re.MULTILINE)
HISTOGRAM = re.compile(r"^ +value  -+ Distribution -+ count *$", re.MULTILINE)


class DTraceScript(Process):
    """A script that has attached by the time it is constructed."""

    def __init__(self, guest: Guest, name: str, *arguments: object, update: bool = False) -> None:
        self.name, self.arguments, self.update = name, arguments, update
        command = ["dtrace", "-s", f"/lab/dtrace/{name}.d", *arguments]
        super().__init__(guest, command, "", 'grep -qs \'^Tracing \\|^{"type":"header"\' out')

    def stop(self, *, example: bool = False) -> Printed:
        """End it as Ctrl-C would, which a program in the background ignores, and return what it printed."""
        self.here("kill -s TERM $(cat pid)")
        return self.wait(example=example)

    def wait(self, *, example: bool = False) -> Printed:
        """Wait for its end, and return what it printed."""
        status, said = self.end(), self.here("cat err")
        assert (status, said) == (0, ""), (status, said)
        printed = Printed(self.name, self.here("cat out") + "\n")
        assert set(printed.tables()) <= {name for name, _ in script_header.parse(SCRIPTS / f"{self.name}.d").fields}
        if example and self.update:
            words = " ".join(map(str, [f"{self.name}.d", *self.arguments]))
            script_header.replace_example(SCRIPTS / f"{self.name}.d", words, shown(printed.text))
        return printed


class Printed:
    """What a script has printed: tables, each under its name."""

    def __init__(self, name: str, text: str) -> None:
        self.name, self.text = name, text

    def tables(self) -> dict[str, str]:
        """Return the text of each table by its name."""
        parts = re.split(r"^(\w+):", self.text, flags=re.MULTILINE)
        return dict(zip(parts[1::2], parts[2::2], strict=True))

    def table(self, name: str) -> str:
        """Return the text of a table."""
        assert name in self.tables(), f"no {name} in what it printed:\n{self.text}"
        return self.tables()[name]

    def number(self, name: str, of: str = "") -> int:
        """Return the number of a table that has but one, or that of a word before it: count, average, total."""
        match = re.search(rf"\b{of} *(-?\d+)", self.table(name))
        assert match, f"no {of} in {name}:\n{self.text}"
        return int(match[1])

    def sums(self, name: str) -> dict[str, int]:
        """Return the number of each row of a table, by the words before it."""
        found = re.findall(r"^  (\S.*?) +(\d+)$", self.table(name), re.MULTILINE)
        return {" ".join(words.split()): int(number) for words, number in found}

    def stats(self, name: str) -> dict[str, Stats]:
        """Return count, mean and sum of each row of a table, by the words before them; "" for a table without rows."""
        found = re.findall(r"^ (?: (\S.*?) +)?count (\d+), average (\d+), total (\d+)$", self.table(name), re.MULTILINE)
        return {" ".join(words.split()): Stats(*map(int, numbers)) for words, *numbers in found}

    def sum(self, name: str) -> int:
        """Return the sum of the counts of a histogram."""
        return sum(map(int, re.findall(r"\| *@*[ ]+(\d+) *$", self.table(name), re.MULTILINE)))

    def filtered(self, *known: str) -> str:
        """Return what is the same in each run: numbers as N, histograms without rows, rows of `known` names only.

        What was unseen is no output where it is nothing."""
        lines = []
        for line in HISTOGRAM.sub("  HISTOGRAM", ROW.sub("", self.text)).splitlines():
            row = re.fullmatch(r"  (\S+).*", line)
            if line.strip() and not line.startswith("unseen:") and (not row or row[1] in (*known, "HISTOGRAM")):
                lines.append(re.sub(r"\d+", "N", re.sub(r"  +", "  ", line.rstrip())))
        return "\n".join(lines) + "\n"

    def check_golden(self, update: bool, *known: str) -> None:
        """Compare it with what is kept in tests/data/dtrace."""
        path = DATA / f"{self.name}.out"
        if update:
            path.write_text(self.filtered(*known))
        assert self.filtered(*known) == path.read_text(), self.text


def listed(path: Path) -> list[tuple[str, ...]]:
    """Return the probes of a stored listing: provider, module, function, name."""
    lines = path.read_text().splitlines()
    return [tuple(line.split("\t")) for line in lines if line and not line.startswith("#")]


__all__ = ["DATA", "SCRIPTS", "DTraceScript", "Printed", "listed"]
