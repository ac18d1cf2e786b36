"""Read a recording: validate each line against the schema, keep what counts, say what was wrong with the rest."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Hashable, Iterable, Mapping, Sized
from dataclasses import dataclass, field
from typing import IO, Any, TypeVar

import msgspec

from perfdiag.common.errors import RecordingError
from perfdiag.common.text import NO_NAME
from perfdiag.recording import schema
from perfdiag.recording.bounded_lines import unpacker
from perfdiag.recording.fact_series import KeptFacts
from perfdiag.recording.line_packing import Packer
from perfdiag.recording.schema.limits import (
    LINE_BYTES,
    LINES,
    MOST_KEPT_BYTES,
    MOST_NAMES_BYTES,
    SCRIPT_THREADS,
    UNREAD_LINES,
)
from perfdiag.recording.script_recordings import GREETING, ScriptLines, details_of, until

T = TypeVar("T")
Key = TypeVar("Key", bound=Hashable)
Kept = TypeVar("Kept", bound=schema.Line)
Timed = TypeVar("Timed", schema.Thread, schema.Interval)
Named = TypeVar("Named", schema.Thread, schema.Exited, schema.Process)

MOST_PROBLEMS_TOLD = 20

_RECORD_AGAIN = "make a new one: perfdiag record -o FILE --pid PID"
_TOO_LONG = re.compile(r"of length <= ([0-9]+) - at (.+)")  # as msgspec says it


@dataclass
class Recording:
    """All lines of a recording by type, in the order they came; of each thing only its last line."""

    header: schema.Header
    facts: list[schema.Fact] = field(default_factory=list)
    threads: dict[int, schema.Thread] = field(default_factory=dict)  # by serial
    exited: dict[str, schema.Exited] = field(default_factory=dict)  # by comm; cumulative, the last one counts
    processes: dict[tuple[int, str], schema.Process] = field(default_factory=dict)  # pid, comm; of a host
    intervals: list[schema.Interval] = field(default_factory=list)  # the last one: they are cumulative
    details: dict[tuple[int, str, str], schema.Detail] = field(default_factory=dict)  # pid, account, object
    because: list[schema.Because] = field(default_factory=list)
    stacks: list[schema.Stack] = field(default_factory=list)
    unnamed: list[schema.Unnamed] = field(default_factory=list)
    devices: list[schema.Device] = field(default_factory=list)
    files_read: list[schema.FileRead] = field(default_factory=list)
    writebacks: list[schema.Writeback] = field(default_factory=list)
    dirtiers: list[schema.Dirtier] = field(default_factory=list)
    sockets: list[schema.Socket] = field(default_factory=list)
    exchanges: list[schema.Exchange] = field(default_factory=list)
    latencies: list[schema.Latency] = field(default_factory=list)
    requests_inside: list[schema.RequestsInside] = field(default_factory=list)  # at most one
    requests_left: list[schema.RequestLeft] = field(default_factory=list)
    requests_parked: list[schema.RequestParked] = field(default_factory=list)
    requests_unread: list[schema.RequestUnread] = field(default_factory=list)
    silent: list[schema.Silent] = field(default_factory=list)
    rpcs: list[schema.Rpc] = field(default_factory=list)
    nfs_flushes: list[schema.NfsFlush] = field(default_factory=list)
    nfs_server: list[schema.NfsServer] = field(default_factory=list)
    cpus: list[schema.Cpu] = field(default_factory=list)
    vm_exits: list[schema.VmExit] = field(default_factory=list)
    calibrations: list[schema.Calibration] = field(default_factory=list)
    operations: list[schema.Operation] = field(default_factory=list)
    events: list[schema.Event] = field(default_factory=list)
    footer: schema.Footer | None = None
    problems: list[str] = field(default_factory=list)  # one a bad line, for people
    bad_lines: int = 0  # may be more than `problems` tells
    after_footer: int = 0  # the first line behind the end; 0: there is none
    goes_back: int = 0  # the first line that is older than the one it replaces; 0: there is none
    last_at_ns: int = 0  # the latest time any row carries
    lines_before_end: int = 0  # blank ones apart

    def books(self) -> list[schema.Thread | schema.Exited | schema.Process]:
        """Return every line that carries books of its own: no nanosecond stands in two of them."""
        processes = (line for line in self.processes.values() if line.threads)
        return [*self.threads.values(), *self.exited.values(), *processes]

    def lines_of(self, kind: type[schema.Line]) -> Iterable[Any]:
        """Return the lines of one kind that count, in no order."""
        lines = getattr(self, PLACES[kind])
        return lines.values() if isinstance(lines, dict) else lines

    def problem(self, text: str) -> None:
        """Count a bad line and keep its description, unless too many are known already."""
        self.bad_lines += 1
        if len(self.problems) < MOST_PROBLEMS_TOLD:
            self.problems.append(text)


class _Kind(msgspec.Struct):
    """As much of a line as any has."""

    type: str


class _Greeting(msgspec.Struct):
    """As much of a header as any version of the schema has."""

    type: str
    schema: int


_kind = msgspec.json.Decoder(_Kind)
_greeting = msgspec.json.Decoder(_Greeting)
_header = msgspec.json.Decoder(schema.Header)
_line = msgspec.json.Decoder(schema.AnyLine)


def read(stream: IO[bytes]) -> Recording:
    """Read a recording as a stream, in memory that does not grow with superseded rows.

    Bad lines, a cut-off last line and a missing footer are told in `Recording.problems`.
    Raises RecordingError for input that is empty, foreign, of a newer schema, or has more of anything than a recorder
    writes (schema/limits.py).
    """
    number, first = 1, _readline(stream, 1).removeprefix(BOM_UTF8)  # of an editor, or of a copy
    if GREETING.fullmatch(first):
        number, first = 2, _readline(stream, 2)
    recording = Recording(_read_header(first))
    script = ScriptLines(recording.header.accounts) if recording.header.accounts else None
    keeper = _Keeper(recording, {**LINES, "thread": SCRIPT_THREADS} if script else LINES)
    blank = 0
    while line := _readline(stream, number + 1):
        number += 1
        if blank + recording.bad_lines > UNREAD_LINES:
            raise RecordingError(
                f"more than {UNREAD_LINES:,} of the first {number - 1:,} lines cannot be read: no recorder writes that",
                _RECORD_AGAIN,
            )
        if line.isspace():
            blank += 1
            continue
        if script:
            while script.goes_on(line) and (more := _readline(stream, number + 1)):
                line, number = line + more, number + 1
            line = script.proper(line)
        try:
            parsed, replaced = _decode(_line, line)
        except (msgspec.DecodeError, RecursionError) as error:
            _refuse_beyond(error, line, number)
            if line.endswith(b"\n"):
                recording.problem(f"line {number}: {error}")
            else:
                recording.problem(f"line {number}, the last one, is cut off")
            continue
        if isinstance(parsed, schema.Header):
            recording.problem(f"line {number}: a second recording begins here; only the first one was read")
            break
        if recording.footer is not None:
            recording.after_footer = recording.after_footer or number
        if replaced:
            recording.problem(f"line {number}: not valid UTF-8, shown with replacement characters")
        if script and isinstance(parsed, schema.Thread):
            _refuse_another_process(recording.header, parsed, number)
        if isinstance(parsed, schema.Footer):
            recording.lines_before_end = number - 1 - blank
        keeper.keep(parsed, number, len(line))
    recording.facts = keeper.facts.all()
    recording.header = _with_names(recording)
    if script and recording.footer:
        rows = recording.threads.items()
        recording.threads = {serial: until(recording.footer.at_ns, line) for serial, line in rows}
    if script and not recording.details:
        recording.details = details_of(recording.header, recording.threads.values())
    if recording.footer is None:
        recording.problems.append("the recording has no end: it was cut off, or its recorder was killed")
    return recording


def _refuse_another_process(header: schema.Header, line: schema.Thread, number: int) -> None:
    """Raise RecordingError for a thread of a process that a script does not follow."""
    if line.pid != header.targets[0].pid:
        raise RecordingError(
            f"line {number}: pid of a line 'thread' is not that of the header's target:"
            " no script records more than one process",
            _RECORD_AGAIN,
        )


def _refuse_beyond(error: Exception, line: bytes, number: int) -> None:
    """Raise RecordingError where a line is bad because there is more in it than any recorder writes."""
    match = _TOO_LONG.search(str(error))
    if not match:
        return
    try:
        kind = _decode(_kind, line)[0].type
    except (msgspec.DecodeError, RecursionError):
        return  # its rest is bad, too, so that it has no type to be named by: a bad line like others
    where = match[2].replace("`", "").replace("$.", "")
    raise RecordingError(
        f"line {number}: {where} of a line {kind!r} is longer than {int(match[1]):,}: no recorder writes that",
        _RECORD_AGAIN,
    )


def _readline(stream: IO[bytes], number: int) -> bytes:
    line = stream.readline(LINE_BYTES + 1)
    if len(line) > LINE_BYTES:
        raise RecordingError(
            f"line {number} is longer than {LINE_BYTES >> 20} MiB: no recorder writes that", _RECORD_AGAIN
        )
    return line


def _read_header(line: bytes) -> schema.Header:
    if not line.strip():
        raise RecordingError("the recording is empty", _RECORD_AGAIN)
    if command := unpacker(line):
        raise RecordingError("the recording is compressed", f"decompress it first: {command} FILE")
    try:
        greeting, _ = _decode(_greeting, line)
    except (msgspec.DecodeError, RecursionError) as error:
        if line.startswith(b'{"type":"header"'):
            what = f"header of the recording is not valid: {error}" if line.endswith(b"\n") else ""
            raise RecordingError(f"the {what or 'recording is cut off in its first line'}", _RECORD_AGAIN) from None
        raise RecordingError("this is not a perfdiag recording", _RECORD_AGAIN) from None
    if greeting.type != "header":
        raise RecordingError("the recording has no header in its first line", _RECORD_AGAIN)
    if greeting.schema > schema.SCHEMA_VERSION:
        raise RecordingError(
            f"the recording has schema {greeting.schema}, this perfdiag reads up to {schema.SCHEMA_VERSION}",
            "use the perfdiag that made it, or a newer one",
        )
    if greeting.schema < 1:
        raise RecordingError(f"the header of the recording is not valid: schema {greeting.schema}", _RECORD_AGAIN)
    try:
        header = _decode(_header, line)[0]
    except msgspec.DecodeError as error:
        raise RecordingError(f"the header of the recording is not valid: {error}", _RECORD_AGAIN) from None
    if header.accounts and len(header.targets) != 1:
        raise RecordingError(
            f"the header of the recording is not valid: a script records one process, and targets has"
            f" {len(header.targets)}",
            _RECORD_AGAIN,
        )
    return header


def _with_names(recording: Recording) -> schema.Header:
    """Return the header; a target that a script could not name goes by its first thread, or any other."""
    names = {line.pid: line.comm for line in recording.threads.values()}
    names |= {line.pid: line.comm for line in recording.threads.values() if line.tid == line.pid}
    targets = [
        target if target.comm else msgspec.structs.replace(target, comm=names.get(target.pid, NO_NAME))
        for target in recording.header.targets
    ]
    return msgspec.structs.replace(recording.header, targets=targets)


def _named(line: Named) -> Named:
    """Give a process or thread that goes by an empty name one that can be seen."""
    return line if line.comm else msgspec.structs.replace(line, comm=NO_NAME)


def _decode(decoder: msgspec.json.Decoder[T], line: bytes) -> tuple[T, bool]:
    """Decode a line; True when bytes that are not UTF-8 had to be replaced."""
    try:
        return decoder.decode(line), False
    except UnicodeDecodeError:
        return decoder.decode(line.decode("utf-8", errors="replace")), True


# Lines that are kept as they come.
_LISTS: dict[type[schema.Line], str] = {
    schema.Because: "because",
    schema.Stack: "stacks",
    schema.Unnamed: "unnamed",
    schema.Device: "devices",
    schema.FileRead: "files_read",
    schema.Writeback: "writebacks",
    schema.Dirtier: "dirtiers",
    schema.Socket: "sockets",
    schema.Exchange: "exchanges",
    schema.Latency: "latencies",
    schema.RequestsInside: "requests_inside",
    schema.RequestLeft: "requests_left",
    schema.RequestParked: "requests_parked",
    schema.RequestUnread: "requests_unread",
    schema.Silent: "silent",
    schema.Rpc: "rpcs",
    schema.NfsFlush: "nfs_flushes",
    schema.NfsServer: "nfs_server",
    schema.Cpu: "cpus",
    schema.VmExit: "vm_exits",
    schema.Calibration: "calibrations",
    schema.Operation: "operations",
    schema.Event: "events",
}
PLACES: Mapping[type[schema.Line], str] = _LISTS | {
    schema.Detail: "details",
    schema.Thread: "threads",
    schema.Exited: "exited",
    schema.Process: "processes",
    schema.Interval: "intervals",
}


class _Keeper:
    """Puts lines where they belong, and counts them."""

    def __init__(self, recording: Recording, most: Mapping[str, int]) -> None:
        self._recording, self._most = recording, most
        self._lists = {kind: getattr(recording, name) for kind, name in _LISTS.items()}
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
                raise RecordingError(f"line {number}: {excess}: no recorder writes that", _RECORD_AGAIN)
            return
        self._packer.pack(line)
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
                _RECORD_AGAIN,
            )
        if self._packer.names_bytes > MOST_NAMES_BYTES:
            raise RecordingError(
                f"up to line {number} the names in the recording take more than {MOST_NAMES_BYTES >> 20} MiB",
                "record a shorter window, or without --stacks",
            )
        if self._kept_bytes > MOST_KEPT_BYTES:
            raise RecordingError(
                f"up to line {number} the recording holds more than {MOST_KEPT_BYTES >> 20} MiB that count",
                "record a shorter window",
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


__all__ = ["Recording", "read"]
