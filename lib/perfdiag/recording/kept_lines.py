"""Which lines of a recording are kept: of each thing the newest, and no more than any recorder writes."""

from collections.abc import Hashable, Mapping, Sized
from typing import TypeVar

import msgspec

from perfdiag.common.errors import RecordingError
from perfdiag.common.text import NO_NAME
from perfdiag.recording import schema
from perfdiag.recording.fact_series import KeptFacts
from perfdiag.recording.line_packing import Packer
from perfdiag.recording.recording import LISTS, Recording
from perfdiag.recording.schema.limits import ACCOUNTS, MOST_KEPT_BYTES, MOST_NAMES_BYTES

Key = TypeVar("Key", bound=Hashable)
Kept = TypeVar("Kept", bound=schema.Line)
Timed = TypeVar("Timed", schema.Thread, schema.Interval)
Named = TypeVar("Named", schema.Thread, schema.Exited, schema.Process)

RECORD_AGAIN = "make a new one: perfdiag record -o FILE --pid PID"


class Keeper:
    """Puts lines where they belong, and counts them."""

    def __init__(self, recording: Recording, most: Mapping[str, int]) -> None:
        self._recording, self._most = recording, most
        self._lists = {kind: getattr(recording, name) for kind, name in LISTS.items()}
        self._packer = Packer()
        self._kept_bytes = 0
        self.facts = KeptFacts()

    def keep(self, line: schema.AnyLine, number: int, length: int) -> None:
        """Keep a line.  Raises RecordingError where there are more of its kind than any recorder writes."""
        recording, kind = self._recording, type(line)
        at_ns = getattr(line, "at_ns", 0)
        if at_ns > recording.last_at_ns:
            recording.last_at_ns = at_ns
        if isinstance(line, schema.Fact):
            if excess := self.facts.add(line):
                raise RecordingError(f"line {number}: {excess}: no recorder writes that", RECORD_AGAIN)
            return
        self._packer.pack(line)
        self._refuse_too_many_names(number)
        kept = self._lists.get(kind)
        if kept is not None:
            kept.append(line)
            more = True
        else:
            more, kept = self._replace(line, number)
        if not more:
            return
        self._kept_bytes += length
        limit = self._most.get(str(kind.__struct_config__.tag))
        if limit is not None and len(kept) > limit:
            raise RecordingError(
                f"up to line {number} the recording holds more than {limit:,} lines of the type"
                f" {kind.__struct_config__.tag!r}: no recorder writes that",
                RECORD_AGAIN,
            )
        if self._kept_bytes > MOST_KEPT_BYTES:
            raise RecordingError(
                f"up to line {number} the recording holds more than {MOST_KEPT_BYTES >> 20} MiB that count",
                "record a shorter window",
            )

    def _refuse_too_many_names(self, number: int) -> None:
        """Raise RecordingError where all lines so far, also those that newer ones replaced, have too many names."""
        if self._packer.accounts > ACCOUNTS:
            raise RecordingError(
                f"up to line {number} there are more than {ACCOUNTS} different 'accounts': no recorder writes that",
                RECORD_AGAIN,
            )
        if self._packer.names_bytes > MOST_NAMES_BYTES:
            raise RecordingError(
                f"up to line {number} the names in the recording take more than {MOST_NAMES_BYTES >> 20} MiB",
                "record a shorter window, or without --stacks",
            )

    def _replace(self, line: schema.AnyLine, number: int) -> tuple[bool, Sized]:
        """Keep the newest line about a thing; return whether it is the first one, and where such lines are kept."""
        recording = self._recording
        match line:
            case schema.Thread():
                self._is_newer(recording.threads.get(line.serial), line, number)
                return _put(recording.threads, line.serial, _named(line))
            case schema.Detail():
                return _put(recording.details, (line.pid, line.account, line.object), line)
            case schema.Exited():
                return _put(recording.exited, (named := _named(line)).comm, named)
            case schema.Process():
                return _put(recording.processes, (line.pid, line.comm), _named(line))
            case schema.Interval():
                self._is_newer(recording.intervals[0] if recording.intervals else None, line, number)
                recording.intervals[:] = [line]
            case schema.Footer():
                recording.footer = line
        return False, ()

    def _is_newer(self, old: Timed | None, line: Timed, number: int) -> None:
        """Note where time goes back: sums only grow, and the last ones count."""
        if old is not None and old.at_ns > line.at_ns:
            self._recording.goes_back = self._recording.goes_back or number


def _put(lines: dict[Key, Kept], key: Key, line: Kept) -> tuple[bool, Sized]:
    """Put a line in the place of an older one; return whether there was none, and all of them."""
    new = key not in lines
    lines[key] = line
    return new, lines


def _named(line: Named) -> Named:
    """Give a process or thread that goes by an empty name one that can be seen."""
    return line if line.comm else msgspec.structs.replace(line, comm=NO_NAME)
