"""Read a recording: validate each line against perfdiag.schema, keep what counts, say what was wrong with the rest."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import IO, TypeVar

import msgspec

from perfdiag import schema
from perfdiag.errors import RecordingError
from perfdiag.lines import LONGEST_BYTES, unpacker
from perfdiag.text import NO_NAME

T = TypeVar("T")
Named = TypeVar("Named", schema.Target, schema.Thread, schema.Exited, schema.Process)

MOST_KEPT_BYTES = 512 << 20  # an hour keeps some 40 MiB; in memory that is some times as much
MOST_PROBLEMS_TOLD = 20
# Four times what the tables of the recorder hold (bpf/exchange.bpf.h), for one that has larger ones.
MOST_LINES: dict[type[schema.AnyLine], int] = {
    schema.Exchange: 16_384,
    schema.Latency: 3 * 16_384,
    schema.RequestParked: 16_384,
}

_RECORD_AGAIN = "make a new one: perfdiag record -o FILE --pid PID"


@dataclass
class Recording:
    """All lines of a recording by type, in the order they came; of each thread only its last row."""

    header: schema.Header
    facts: list[schema.Fact] = field(default_factory=list)
    threads: dict[int, schema.Thread] = field(default_factory=dict)  # by serial
    exited: dict[str, schema.Exited] = field(default_factory=dict)  # by comm; cumulative, the last one counts
    processes: dict[tuple[int, str], schema.Process] = field(default_factory=dict)  # pid, comm; of a host
    intervals: list[schema.Interval] = field(default_factory=list)
    details: dict[tuple[int, str, str], schema.Detail] = field(default_factory=dict)  # pid, account, object
    because: list[schema.Because] = field(default_factory=list)
    stacks: list[schema.Stack] = field(default_factory=list)
    devices: list[schema.Device] = field(default_factory=list)
    files_read: list[schema.FileRead] = field(default_factory=list)
    writebacks: list[schema.Writeback] = field(default_factory=list)
    dirtiers: list[schema.Dirtier] = field(default_factory=list)
    sockets: list[schema.Socket] = field(default_factory=list)
    exchanges: list[schema.Exchange] = field(default_factory=list)
    latencies: list[schema.Latency] = field(default_factory=list)
    requests_parked: list[schema.RequestParked] = field(default_factory=list)
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
    last_at_ns: int = 0  # the latest time any row carries

    def books(self) -> list[schema.Thread | schema.Exited | schema.Process]:
        """Return every line that carries books of its own: no nanosecond stands in two of them."""
        processes = (line for line in self.processes.values() if line.threads)
        return [*self.threads.values(), *self.exited.values(), *processes]

    def problem(self, text: str) -> None:
        """Count a bad line and keep its description, unless too many are known already."""
        self.bad_lines += 1
        if len(self.problems) < MOST_PROBLEMS_TOLD:
            self.problems.append(text)


class _Greeting(msgspec.Struct):
    """As much of a header as any version of the schema has."""

    type: str
    schema: int


class _ThreadRow(msgspec.Struct, tag_field="type", tag="thread"):
    """As much of a thread row as tells whether a later one replaces it."""

    serial: int


# Nearly all of a long recording are thread rows that later ones replace: deciding that takes a third of decoding them.
_THREAD_ROW = b'{"type":"thread"'

_thread_row = msgspec.json.Decoder(_ThreadRow)
_greeting = msgspec.json.Decoder(_Greeting)
_header = msgspec.json.Decoder(schema.Header)
_line = msgspec.json.Decoder(schema.AnyLine)


def read(stream: IO[bytes]) -> Recording:
    """Read a recording as a stream, in memory that does not grow with superseded rows.

    Bad lines, a cut-off last line and a missing footer are told in `Recording.problems`.
    Raises RecordingError for input that is empty, foreign, of a newer schema, has a line over 64 MiB, or more lines
    that count than any recorder writes.
    """
    recording = Recording(_read_header(_readline(stream, 1)))
    newest: dict[int, list[tuple[int, bytes]]] = {}  # serial -> its newest row and the one before it
    number, kept_bytes = 1, 0
    counted: Counter[type[schema.AnyLine]] = Counter()
    while line := _readline(stream, number + 1):
        number += 1
        if line.isspace():
            continue
        ended = recording.footer is not None
        try:
            if line.startswith(_THREAD_ROW):
                recording.after_footer = recording.after_footer or number * ended
                rows = newest.setdefault(_decode(_thread_row, line)[0].serial, [])
                kept_bytes = _more(kept_bytes, line, number) if not rows else kept_bytes
                rows[:] = [(number, line), *rows[:1]]
                continue
            parsed, replaced = _decode(_line, line)
        except (msgspec.DecodeError, RecursionError) as error:
            if line.endswith(b"\n"):
                recording.problem(f"line {number}: {error}")
            else:
                recording.problem(f"line {number}, the last one, is cut off")
            continue
        if isinstance(parsed, schema.Header):
            recording.problem(f"line {number}: a second recording begins here; only the first one was read")
            break
        recording.after_footer = recording.after_footer or number * ended
        if replaced:
            recording.problem(f"line {number}: not valid UTF-8, shown with replacement characters")
        if not _supersedes(recording, parsed):
            kept_bytes = _more(kept_bytes, line, number)
        if type(parsed) in MOST_LINES:
            counted[type(parsed)] += 1
            _check_number(type(parsed), counted[type(parsed)], number)
        _keep(recording, parsed)
    _keep_threads(recording, newest)
    if recording.footer is None:
        recording.problems.append("the recording has no end: it was cut off, or its recorder was killed")
    return recording


def _supersedes(recording: Recording, line: schema.AnyLine) -> bool:
    """Whether an older line goes when this one is kept."""
    match line:
        case schema.Detail():
            return (line.pid, line.account, line.object) in recording.details
        case schema.Exited():
            return line.comm in recording.exited
        case schema.Process():
            return (line.pid, line.comm) in recording.processes
        case schema.Footer():
            return True
    return False


def _more(kept_bytes: int, line: bytes, number: int) -> int:
    """Return how many bytes of lines are kept with one more.  Raises RecordingError where that is too much."""
    kept_bytes += len(line)
    if kept_bytes > MOST_KEPT_BYTES:
        raise RecordingError(
            f"up to line {number} the recording holds more than {MOST_KEPT_BYTES >> 20} MiB that count: no recorder"
            " writes that",
            "record a shorter window",
        )
    return kept_bytes


def _check_number(kind: type[schema.AnyLine], count: int, number: int) -> None:
    """Raise RecordingError where there are more lines of a kind than any recorder writes."""
    if count > MOST_LINES[kind]:
        raise RecordingError(
            f"up to line {number} the recording holds more than {MOST_LINES[kind]:,} lines of the type"
            f" {kind.__struct_config__.tag!r}: no recorder writes that",
            _RECORD_AGAIN,
        )


def _keep_threads(recording: Recording, newest: dict[int, list[tuple[int, bytes]]]) -> None:
    for rows in newest.values():
        for number, line in rows:
            try:
                parsed, replaced = _decode(_line, line)
            except (msgspec.DecodeError, RecursionError) as error:
                recording.problem(f"line {number}: {error}")
                continue
            if replaced:
                recording.problem(f"line {number}: not valid UTF-8, shown with replacement characters")
            _keep(recording, parsed)
            break


def _readline(stream: IO[bytes], number: int) -> bytes:
    line = stream.readline(LONGEST_BYTES + 1)
    if len(line) > LONGEST_BYTES:
        raise RecordingError(
            f"line {number} is longer than {LONGEST_BYTES >> 20} MiB: no recorder writes that", _RECORD_AGAIN
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
    return msgspec.structs.replace(header, targets=list(map(_named, header.targets)))


def _named(line: Named) -> Named:
    """Give a process or thread that goes by an empty name one that can be seen."""
    return line if line.comm else msgspec.structs.replace(line, comm=NO_NAME)


def _decode(decoder: msgspec.json.Decoder[T], line: bytes) -> tuple[T, bool]:
    """Decode a line; True when bytes that are not UTF-8 had to be replaced."""
    try:
        return decoder.decode(line), False
    except UnicodeDecodeError:
        return decoder.decode(line.decode("utf-8", errors="replace")), True


def _keep(recording: Recording, line: schema.AnyLine) -> None:
    match line:
        case schema.Thread():
            recording.threads[line.serial] = _named(line)
        case schema.Interval():
            recording.intervals.append(line)
        case schema.Detail():
            recording.details[line.pid, line.account, line.object] = line
        case schema.Because():
            recording.because.append(line)
        case schema.Stack():
            recording.stacks.append(line)
        case schema.Fact():
            recording.facts.append(line)
        case schema.Exited():
            recording.exited[line.comm] = _named(line)
        case schema.Process():
            recording.processes[line.pid, line.comm] = _named(line)
        case schema.Device():
            recording.devices.append(line)
        case schema.FileRead():
            recording.files_read.append(line)
        case schema.Writeback():
            recording.writebacks.append(line)
        case schema.Dirtier():
            recording.dirtiers.append(line)
        case schema.Socket():
            recording.sockets.append(line)
        case schema.Exchange():
            recording.exchanges.append(line)
        case schema.Latency():
            recording.latencies.append(line)
        case schema.RequestParked():
            recording.requests_parked.append(line)
        case schema.Rpc():
            recording.rpcs.append(line)
        case schema.NfsFlush():
            recording.nfs_flushes.append(line)
        case schema.NfsServer():
            recording.nfs_server.append(line)
        case schema.Cpu():
            recording.cpus.append(line)
        case schema.VmExit():
            recording.vm_exits.append(line)
        case schema.Calibration():
            recording.calibrations.append(line)
        case schema.Operation():
            recording.operations.append(line)
        case schema.Event():
            recording.events.append(line)
        case schema.Footer():
            recording.footer = line
    recording.last_at_ns = max(recording.last_at_ns, getattr(line, "at_ns", 0))


__all__ = ["Recording", "read"]
