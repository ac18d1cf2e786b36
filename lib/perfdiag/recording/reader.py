"""Read a recording: validate each line against the schema, keep what counts, say what was wrong with the rest."""

import re
from codecs import BOM_UTF8
from collections import deque
from collections.abc import Iterator
from typing import IO, TypeVar

import msgspec

from perfdiag.common.errors import RecordingError
from perfdiag.common.text import NO_NAME
from perfdiag.recording import schema
from perfdiag.recording.bounded_lines import unpacker
from perfdiag.recording.kept_lines import RECORD_AGAIN, Keeper
from perfdiag.recording.recording import Recording
from perfdiag.recording.schema.limits import LINE_BYTES, LINES, SCRIPT_THREADS, UNREAD_LINES
from perfdiag.recording.script_recordings import GREETING, ScriptLines, details_of, until

T = TypeVar("T")

_TOO_LONG = re.compile(r"of length <= ([0-9]+) - at (.+)")  # as msgspec says it


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
    greetings, first = 0, _readline(stream, 1).removeprefix(BOM_UTF8)  # of an editor, or of a copy
    if GREETING.fullmatch(first):
        greetings, first = 1, _readline(stream, 2)
    recording = Recording(_read_header(first))
    script = ScriptLines(recording.header.accounts) if recording.header.accounts else None
    keeper = Keeper(recording, {**LINES, "thread": SCRIPT_THREADS} if script else LINES)
    for number, line, blank in _lines(stream, 1 + greetings, recording, script):
        parsed = _parsed(recording, number, line)
        if isinstance(parsed, schema.Header):
            recording.problem(f"line {number}: a second recording begins here; only the first one was read")
            break
        if parsed is None:
            continue
        if recording.footer is not None:
            recording.after_footer = recording.after_footer or number
        if script and isinstance(parsed, schema.Thread):
            _refuse_another_process(recording.header, parsed, number)
        if isinstance(parsed, schema.Footer):
            recording.lines_before_end = number - 1 - blank
        keeper.keep(parsed, number, len(line))
    _complete(recording, keeper, script)
    return recording


def _lines(
    stream: IO[bytes], number: int, recording: Recording, script: ScriptLines | None
) -> Iterator[tuple[int, bytes, int]]:
    """Yield the number of each line after line `number`, the line, and how many blank ones came before it.

    A script's line that an engine broke in two comes as one.  Raises RecordingError where most lines cannot be read.
    """
    blank = 0
    ahead: deque[bytes] = deque()

    def following(place: int) -> bytes:
        while len(ahead) <= place:
            ahead.append(_readline(stream, number + 1 + len(ahead)))
        return ahead[place]

    while line := ahead.popleft() if ahead else _readline(stream, number + 1):
        number += 1
        if blank + recording.bad_lines > UNREAD_LINES:
            raise RecordingError(
                f"more than {UNREAD_LINES:,} of the first {number - 1:,} lines cannot be read: no recorder writes that",
                RECORD_AGAIN,
            )
        if line.isspace():
            blank += 1
            continue
        if script:
            more = script.lines_of_name(line, following)
            line = script.proper(line + b"".join(ahead.popleft() for _ in range(more)))
            number += more
        yield number, line, blank


def _parsed(recording: Recording, number: int, line: bytes) -> schema.AnyLine | None:
    """Return what a line says, None for a bad one, which is counted.

    Raises RecordingError where it is bad because it has more in it than any recorder writes.
    """
    try:
        parsed: schema.AnyLine
        parsed, replaced = _decode(_line, line)
    except (msgspec.DecodeError, RecursionError) as error:
        _refuse_beyond(error, line, number)
        cut_off = not line.endswith(b"\n")
        recording.problem(f"line {number}, the last one, is cut off" if cut_off else f"line {number}: {error}")
        return None
    if replaced:
        recording.problem(f"line {number}: not valid UTF-8, shown with replacement characters")
    return parsed


def _complete(recording: Recording, keeper: Keeper, script: ScriptLines | None) -> None:
    """Add what only the whole recording tells: facts, names, and the end of a script's rows."""
    recording.facts = keeper.facts.all()
    recording.header = _with_names(recording)
    if script and recording.footer:
        rows = recording.threads.items()
        recording.threads = {serial: until(recording.footer.at_ns, line) for serial, line in rows}
    if script and not recording.details:
        recording.details = details_of(recording.header, recording.threads.values())
    if recording.footer is None:
        recording.problems.append("the recording has no end: it was cut off, or its recorder was killed")


def _refuse_another_process(header: schema.Header, line: schema.Thread, number: int) -> None:
    """Raise RecordingError for a thread of a process that a script does not follow."""
    if line.pid != header.targets[0].pid:
        raise RecordingError(
            f"line {number}: pid of a line 'thread' is not that of the header's target:"
            " no script records more than one process",
            RECORD_AGAIN,
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
        RECORD_AGAIN,
    )


def _readline(stream: IO[bytes], number: int) -> bytes:
    line = stream.readline(LINE_BYTES + 1)
    if len(line) > LINE_BYTES:
        raise RecordingError(
            f"line {number} is longer than {LINE_BYTES >> 20} MiB: no recorder writes that", RECORD_AGAIN
        )
    return line


def _read_header(line: bytes) -> schema.Header:
    if not line.strip():
        raise RecordingError("the recording is empty", RECORD_AGAIN)
    if command := unpacker(line):
        raise RecordingError("the recording is compressed", f"decompress it first: {command} FILE")
    try:
        greeting, _ = _decode(_greeting, line)
    except (msgspec.DecodeError, RecursionError) as error:
        if line.startswith(b'{"type":"header"'):
            what = f"header of the recording is not valid: {error}" if line.endswith(b"\n") else ""
            raise RecordingError(f"the {what or 'recording is cut off in its first line'}", RECORD_AGAIN) from None
        raise RecordingError("this is not a perfdiag recording", RECORD_AGAIN) from None
    if greeting.type != "header":
        raise RecordingError("the recording has no header in its first line", RECORD_AGAIN)
    if greeting.schema > schema.SCHEMA_VERSION:
        raise RecordingError(
            f"the recording has schema {greeting.schema}, this perfdiag reads up to {schema.SCHEMA_VERSION}",
            "use the perfdiag that made it, or a newer one",
        )
    if greeting.schema < 1:
        raise RecordingError(f"the header of the recording is not valid: schema {greeting.schema}", RECORD_AGAIN)
    try:
        header = _decode(_header, line)[0]
    except msgspec.DecodeError as error:
        raise RecordingError(f"the header of the recording is not valid: {error}", RECORD_AGAIN) from None
    if header.accounts and len(header.targets) != 1:
        raise RecordingError(
            f"the header of the recording is not valid: a script records one process, and targets has"
            f" {len(header.targets)}",
            RECORD_AGAIN,
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


def _decode(decoder: msgspec.json.Decoder[T], line: bytes) -> tuple[T, bool]:
    """Decode a line; True when bytes that are not UTF-8 had to be replaced."""
    try:
        return decoder.decode(line), False
    except UnicodeDecodeError:
        return decoder.decode(line.decode("utf-8", errors="replace")), True
