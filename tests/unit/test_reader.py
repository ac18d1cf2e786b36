"""The reader: what it accepts, what it tolerates and says, what it refuses."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from itertools import chain, count
from types import SimpleNamespace

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import inspect
from perfdiag.common.errors import RecordingError
from perfdiag.recording import kept_lines, reader, schema
from perfdiag.recording.recording import MOST_PROBLEMS_TOLD, Recording

from unit.support import Builder


def read(data: bytes) -> Recording:
    return reader.read(io.BytesIO(data))


def sample() -> Builder:
    return (
        Builder().thread("app", cpu_user="2 s").thread("w", disk_read="1 s").exited("sh").fact("/proc/uptime", "1 2\n")
    )


def line(**fields: object) -> bytes:
    return msgspec.json.encode(fields) + b"\n"


def test_an_empty_name_can_be_seen() -> None:
    """A process may call itself nothing: its threads, what has ended of it, and itself as the target."""
    recording = Builder(comm="").thread("").thread("app").exited("").recording()
    assert [target.comm for target in recording.header.targets] == ["(no name)"]
    assert [thread.comm for thread in recording.threads.values()] == ["(no name)", "app"]
    assert [ended.comm for ended in recording.exited.values()] == ["(no name)"]


def test_reads_every_line_of_a_sound_recording() -> None:
    recording = read(sample().bytes())
    assert recording.problems == [] and recording.bad_lines == 0
    assert len(recording.threads) == 2 and list(recording.exited) == ["sh"]
    assert [fact.phase for fact in recording.facts] == ["begin", "end"]
    assert recording.footer is not None and recording.footer.reason == "duration"
    assert recording.last_at_ns == recording.footer.at_ns


def test_of_a_thread_only_the_last_row_counts() -> None:
    lines = sample().lines()
    thread = next(each for each in lines if isinstance(each, schema.Thread))
    earlier = msgspec.structs.replace(thread, at_ns=1, wall_ns=5, accounts=[])
    data = b"".join(msgspec.json.encode(each) + b"\n" for each in (lines[0], earlier, *lines[1:]))
    assert read(data).threads[thread.serial] == thread


def test_a_bad_last_row_of_a_thread_leaves_the_one_before() -> None:
    bad = line(type="thread", at_ns=5, serial=1, pid="none")
    recording = read(sample().bytes() + bad)
    assert recording.threads[1].comm == "app" and recording.bad_lines == 1
    assert "pid" in recording.problems[0]


def test_a_byte_order_mark_of_an_editor_is_read_over() -> None:
    lines = Builder().thread("app", cpu_user="1 s").bytes()
    assert reader.read(io.BytesIO(b"\xef\xbb\xbf" + lines)).header == reader.read(io.BytesIO(lines)).header


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "empty"),
        (b"\n\n", "empty"),
        (b"hello\n", "not a perfdiag recording"),
        (b'{"type":"header","sche', "cut off in its first line"),
        (b'{"some":"json"}\n', "not a perfdiag recording"),
        (b'{"type":"event","schema":1}\n', "no header"),
        (b"\x7fELF\x02\x01\x01" + bytes(100), "not a perfdiag recording"),
        (b"\xff\xfe\xfd\n", "not a perfdiag recording"),
        (b"[" * 100_000 + b"\n", "not a perfdiag recording"),
        (b"\x28\xb5\x2f\xfd123", "compressed"),
        (b"\x1f\x8b\x08", "compressed"),
        (b'{"type":"header","schema":1}\n', "header of the recording is not valid"),
        (b'{"type":"header","schema":1.5}\n', "header of the recording is not valid: Expected `int`"),
        (b'{"type":"header","schema":1e999}\n', "header of the recording is not valid: "),
        (b'{"type":"header","schema":99,"new":{}}\n', "schema 99"),
        (b'{"type":"header","schema":0}\n', "schema 0"),
        (b'{"type":"header","schema":-1}\n', "schema -1"),
    ],
)
def test_refuses_with_one_line_and_a_hint(data: bytes, words: str) -> None:
    with pytest.raises(RecordingError, match=words) as error:
        read(data)
    assert error.value.hint
    assert "\n" not in str(error.value)


def test_tolerates_and_tells_a_missing_footer() -> None:
    recording = read(sample().cut().bytes())
    assert recording.footer is None
    assert any("no end" in problem for problem in recording.problems)
    assert recording.bad_lines == 0


@pytest.mark.parametrize("cut", [1, 2, 40])
def test_tolerates_and_tells_a_last_line_that_is_cut_off(cut: int) -> None:
    whole = sample().bytes()
    recording = read(whole[: -1 - cut])
    assert recording.footer is None and recording.bad_lines == 1
    assert "cut off" in recording.problems[0]
    assert len(recording.threads) == 2


def test_a_bad_line_is_counted_and_the_rest_is_read() -> None:
    lines = sample().bytes().splitlines(keepends=True)
    bad = [
        b"garbage\n",
        b'{"type":"new kind","x":1}\n',
        b'{"type":"event"}\n',
        b"[" * 5000 + b"\n",
        b"\n",
        line(type="event", at_ns=-1, name="", pid=1, tid=1, text=""),
    ]
    recording = read(lines[0] + b"".join(bad) + b"".join(lines[1:]))
    assert recording.bad_lines == 5  # the empty line is none
    assert recording.problems[0].startswith("line 2: ")
    assert len(recording.threads) == 2 and recording.footer is not None


def test_numbers_that_no_recorder_writes_are_bad_lines() -> None:
    event = {"type": "event", "name": "exec", "pid": 1, "tid": 1, "text": ""}
    recording = read(sample().bytes() + line(**event, at_ns=2**63 - 1) + line(**event, at_ns=2**63))
    assert len(recording.events) == 1 and recording.bad_lines == 1
    recording = read(sample().bytes() + b'{"type":"exited","comm":"x","at_ns":1' + b"0" * 400 + b"}\n")
    assert recording.bad_lines == 1


@pytest.mark.parametrize("buckets", [[[32, 1]], [[-1, 1]], [[10**9, 1]], [[3, -1]]])
def test_a_bucket_that_does_not_exist_makes_the_line_bad(buckets: list[list[int]]) -> None:
    fields = {"pid": 100, "account": "disk.read", "object": "device:9:9", "sum_ns": 5, "count": 1, "max_ns": 5}
    recording = read(sample().bytes() + line(type="detail", buckets=buckets, **fields))
    assert recording.bad_lines == 1 and not any(detail.object == "device:9:9" for detail in recording.details.values())


def test_many_bad_lines_do_not_fill_memory() -> None:
    recording = read(sample().bytes() + b"x\n" * 5000)
    assert recording.bad_lines == 5000
    assert len(recording.problems) == MOST_PROBLEMS_TOLD


def test_bytes_that_are_not_utf8_are_replaced_and_told() -> None:
    event = line(type="event", at_ns=1, name="exec", pid=1, tid=1, text="NAME").replace(b"NAME", b"a\xff\xfeb")
    lines = sample().bytes().splitlines(keepends=True)
    recording = read(lines[0] + event + b"".join(lines[1:]))
    assert recording.events[0].text == "a\ufffd\ufffdb"
    assert recording.bad_lines == 1 and "UTF-8" in recording.problems[0]


def test_a_newer_minor_version_may_have_more_fields() -> None:
    header = msgspec.json.decode(msgspec.json.encode(sample().lines()[0]))
    header["novelty"] = {"a": [1]}
    event = line(type="event", at_ns=1, name="oom", pid=1, tid=1, text="", novelty=3)
    recording = read(msgspec.json.encode(header) + b"\n" + event)
    assert recording.bad_lines == 0 and recording.events[0].name == "oom"


def test_a_second_recording_behind_the_first_is_not_added_to_it() -> None:
    recording = read(sample().bytes() + Builder(pid=7).thread("other").bytes())
    assert len(recording.threads) == 2 and all(row.pid == 100 for row in recording.threads.values())
    assert "second recording" in recording.problems[0]


class Endless(io.RawIOBase):
    """A stream that never ends its line; counts what was taken from it."""

    taken = 0

    def __init__(self, head: bytes) -> None:
        self.head = head

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self.head[: len(buffer)] or b"x" * len(buffer)
        self.head = self.head[len(data) :]
        buffer[: len(data)] = data
        self.taken += len(data)
        return len(data)


@pytest.mark.parametrize("head", [b"", sample().bytes()])
def test_an_endless_line_is_refused_without_reading_all_of_it(head: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "LINE_BYTES", 1 << 20)
    stream = Endless(head)
    with pytest.raises(RecordingError, match="longer than 1 MiB"):
        reader.read(io.BufferedReader(stream))
    assert stream.taken <= (2 << 20) + len(head)


@pytest.mark.parametrize("field", ["detail", "thread"])
def test_lines_without_end_are_refused_before_they_take_all_memory(field: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is valid and none replaces another."""
    monkeypatch.setattr(kept_lines, "MOST_KEPT_BYTES", 1 << 20)
    header, *rest = sample().bytes().splitlines(keepends=True)
    sample_line = next(each for each in rest if each.startswith(b'{"type":"%s"' % field.encode()))

    def endless() -> Iterator[bytes]:
        yield header
        for number in count(1000):
            yield re.sub(rb'"(serial|pid)":[0-9]+', rb'"\1":%d' % number, sample_line)

    lines = endless()
    stream = SimpleNamespace(readline=lambda _limit: next(lines))
    with pytest.raises(RecordingError, match="holds more than 1 MiB that count") as told:
        reader.read(stream)  # type: ignore[arg-type]
    assert told.value.hint


def test_lines_that_are_replaced_may_be_as_many_as_they_like(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_lines, "MOST_KEPT_BYTES", len(sample().bytes()) + 1)
    header, *rest = sample().bytes().splitlines(keepends=True)
    again = [line for line in rest if line.startswith((b'{"type":"thread"', b'{"type":"detail"'))]
    assert len(again) > 1 and reader.read(io.BytesIO(header + b"".join(again * 50 + rest))).threads


@given(st.binary(max_size=400))
def test_no_bytes_break_the_reader(noise: bytes) -> None:
    try:
        read(noise)
    except RecordingError as error:
        assert error.hint
    read(sample().bytes() + noise)  # behind a header nothing raises


@given(st.data())
def test_a_damaged_recording_is_read_or_refused(data: st.DataObject) -> None:
    whole = bytearray(sample().bytes())
    for _ in range(data.draw(st.integers(1, 5))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    try:
        recording = read(bytes(whole))
    except RecordingError:
        return
    assert recording.header.schema == schema.SCHEMA_VERSION


def _numbers(kind: inspect.Type) -> Iterator[inspect.IntType]:
    match kind:
        case inspect.IntType():
            yield kind
        case inspect.CollectionType():
            yield from _numbers(kind.item_type)
        case inspect.TupleType():
            yield from chain.from_iterable(map(_numbers, kind.item_types))
        case inspect.UnionType():
            yield from chain.from_iterable(map(_numbers, kind.types))
        case inspect.DictType():
            yield from _numbers(kind.value_type)


LINES = [each for each in vars(schema).values() if isinstance(each, type) and issubclass(each, msgspec.Struct)]


@pytest.mark.parametrize("kind", LINES, ids=lambda kind: kind.__name__)
def test_no_number_of_a_recording_is_below_zero(kind: type[msgspec.Struct]) -> None:
    """The recorder writes no signed number: one that is negative has wrapped or was forged."""
    for field in msgspec.structs.fields(kind):
        for number in _numbers(inspect.type_info(field.type)):
            assert number.ge is not None and number.ge >= 0, f"{kind.__name__}.{field.name}"


def test_a_line_with_a_negative_sum_is_left_out_and_told() -> None:
    data = Builder().thread("a").row("disk.read", "device:8:0", "1 s").bytes()
    forged = re.sub(rb'("type":"detail".*?"sum_ns"):\d+', rb"\1:-5", data)
    assert forged != data
    recording = read(forged)
    assert recording.bad_lines and "sum_ns" in recording.problems[0] and not recording.details
