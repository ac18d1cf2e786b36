"""A recording as the tests look at it: every line, strictly decoded, and sums by account."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TypeAlias, TypeVar

import msgspec
from perfdiag.recording import schema
from perfdiag.recording.script_recordings import ScriptLines

L = TypeVar("L", bound=schema.Line)
Books: TypeAlias = schema.Thread | schema.Exited

_decoder = msgspec.json.Decoder(schema.AnyLine)


class Recording:
    """All lines of a recording; a line that is no valid line of the schema is an error here."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: list[schema.AnyLine] = []
        script = ScriptLines([])
        with path.open("rb") as stream:
            for number, line in enumerate(stream, 1):
                try:
                    self.lines.append(_decoder.decode(script.proper(line)))
                except msgspec.DecodeError as error:
                    raise AssertionError(f"{path}:{number}: {error}: {line[:200]!r}") from error
                if isinstance(self.lines[-1], schema.Header):
                    script = ScriptLines(self.lines[-1].accounts)

    def of(self, kind: type[L]) -> list[L]:
        """Return the lines of one type, in their order."""
        return [line for line in self.lines if isinstance(line, kind)]

    @cached_property
    def header(self) -> schema.Header:
        (header,) = self.of(schema.Header)
        return header

    @cached_property
    def footer(self) -> schema.Footer:
        (footer,) = self.of(schema.Footer)
        return footer

    @cached_property
    def threads(self) -> list[schema.Thread]:
        """The last row of every thread."""
        return list({row.serial: row for row in self.of(schema.Thread)}.values())

    @cached_property
    def folds(self) -> list[schema.Exited]:
        """The last row of every fold of ended threads."""
        return list({row.comm: row for row in self.of(schema.Exited)}.values())

    def of_process(self, pid: int) -> list[schema.Thread]:
        """Return the threads of one process."""
        found = [row for row in self.threads if row.pid == pid]
        assert found, f"no thread of process {pid} among {[(row.pid, row.tid, row.comm) for row in self.threads]}"
        return found

    def thread(self, tid: int) -> schema.Thread:
        """Return the one thread with this tid."""
        found = [row for row in self.threads if row.tid == tid]
        assert len(found) == 1, f"{len(found)} threads {tid} among {[(row.tid, row.comm) for row in self.threads]}"
        return found[0]

    def named(self, comm: str) -> list[schema.Thread]:
        """Return the threads of one name."""
        return [row for row in self.threads if row.comm == comm]

    def details(self, account: str, prefix: str = "") -> list[schema.Detail]:
        """Return the details of an account whose object begins with `prefix`, largest first."""
        found = [row for row in self.of(schema.Detail) if row.account == account and row.object.startswith(prefix)]
        return sorted(found, key=lambda row: -row.sum_ns)

    @cached_property
    def books(self) -> list[Books]:
        """The last rows of all threads and of all folds: together the whole target."""
        return [*self.threads, *self.folds]

    @property
    def wall_ns(self) -> int:
        return sum(row.wall_ns for row in self.books)


def matches(account: str, wanted: tuple[str, ...]) -> bool:
    """Whether an account is wanted: by its name, or by its class with a dot at the end ("runq.")."""
    return any(account == name or (name.endswith(".") and account.startswith(name)) for name in wanted)


def ns_of(row: Books, *accounts: str) -> int:
    """Return the time of one row in the accounts named."""
    return sum(total.sum_ns for total in row.accounts if matches(total.account, accounts))


def count_of(row: Books, *accounts: str) -> int:
    """Return how often the accounts named were booked in one row."""
    return sum(total.count for total in row.accounts if matches(total.account, accounts))


def table(row: Books) -> str:
    """A row for a failure message."""
    lines = [f"{row.comm!r} wall {row.wall_ns:,}"]
    lines += [
        f"  {total.account:22} {total.sum_ns:15,} ns {total.count:8} times, longest {total.max_ns:,}"
        for total in sorted(row.accounts, key=lambda total: -total.sum_ns)
    ]
    return "\n".join(lines)


__all__ = ["Books", "Recording", "count_of", "ns_of", "table"]
