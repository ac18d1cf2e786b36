"""What a recorder writes at most: the same in its sources, in the schema and on the page; more of it is refused."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from itertools import chain, pairwise
from math import prod
from typing import Any

import msgspec
import pytest
from msgspec import inspect
from perfdiag.common.errors import RecordingError
from perfdiag.facts.host_facts import Facts
from perfdiag.facts.texts import Texts
from perfdiag.recording import fact_series, kept_lines, reader, schema
from perfdiag.recording.schema import limits

from conftest import ROOT
from unit.support import Builder

SOURCES = [*ROOT.glob("bpf/**/*.[ch]"), *ROOT.glob("lib/recorder/**/*.[ch]")]
SCRIPTS = ("tools/ledger.py", "tools/ledger.bt", "dtrace/ledger.d")
STRUCTS = [each for each in vars(schema).values() if isinstance(each, type) and issubclass(each, msgspec.Struct)]
PAGE = (ROOT / "man/perfdiag-recording.5").read_text()
EXCHANGE = dict.fromkeys(
    (field.name for field in msgspec.structs.fields(schema.Exchange) if field.required), 0
) | {"object": "port:80", "name": "", "direction": "accepted", "accounts": []}  # fmt: skip


def of_sources() -> dict[str, int]:
    """Return the numbers of the C sources by name: those of #define, and the entries of the maps."""
    text = "\n".join(path.read_text() for path in SOURCES)
    defined = dict(re.findall(r"^#define (\w+) +([0-9(][0-9 *()]*?)\s*(?:/\*.*)?$", text, re.MULTILINE))
    numbers = {name: prod(map(int, re.findall("[0-9]+", value))) for name, value in defined.items()}
    maps = re.findall(r"max_entries, (\w+)\);[^}]*} (\w+) SEC", text)
    return numbers | {name: numbers[entries] if entries in numbers else int(entries) for entries, name in maps
                      if entries in numbers or entries.isdigit()}  # fmt: skip


def test_the_numbers_are_those_of_the_recorder() -> None:
    known = of_sources()
    assert {name: known.get(name) for name in limits.RECORDER} == dict(limits.RECORDER)


def test_there_is_room_for_what_is_counted_by_its_names() -> None:
    records = (ROOT / "bpf/core/records.h").read_text()
    accounts, counters = (records.partition(f"#define {name}(X)")[2].partition("#define")[0].count("\tX(")
                          for name in ("ACCOUNTS", "COUNTERS"))  # fmt: skip
    assert 40 < accounts <= limits.ACCOUNTS and 15 < counters <= limits.COUNTERS - 10
    assert 50 < (ROOT / "lib/recorder/program/probes.c").read_text().count(".feature = ") <= limits.PROBES
    assert "char reason[160]" in (ROOT / "lib/recorder/program/probes.h").read_text()


def test_the_numbers_of_scripts_are_those_of_their_sources() -> None:
    python, bpftrace, dtrace = ((ROOT / name).read_text() for name in SCRIPTS)
    listed = python.partition("\nACCOUNTS = [\n")[2].partition("\n]")[0].count("\n") + 1
    assert 19 < listed <= limits.SCRIPT_ACCOUNTS <= limits.ACCOUNTS
    assert limits.SCRIPT_THREADS == int(re.findall(r"^THREADS = (\d+)$", python, re.M)[0]) <= limits.LINES["thread"]
    assert "if (@slots < 128)" in bpftrace and "pragma D option dynvarsize=4m" in dtrace
    for script in (bpftrace, dtrace):
        places = re.findall(r"\[18,%", script)
        assert places and not re.findall(r"\[(?:19|[2-9][0-9]),%", script)
    assert f"at most {limits.SCRIPT_THREADS:,} threads" in PAGE


def parts(kind: inspect.Type) -> Iterator[inspect.Type]:
    """Yield all types that a type is made of."""
    yield kind
    match kind:
        case inspect.ListType() | inspect.VarTupleType() | inspect.CollectionType():
            yield from parts(kind.item_type)
        case inspect.TupleType():
            yield from chain.from_iterable(map(parts, kind.item_types))
        case inspect.UnionType():
            yield from chain.from_iterable(map(parts, kind.types))
        case inspect.DictType():
            yield from chain(parts(kind.key_type), parts(kind.value_type))


@pytest.mark.parametrize("kind", STRUCTS, ids=lambda kind: kind.__name__)
def test_every_text_and_list_has_a_limit(kind: type[msgspec.Struct]) -> None:
    for field in msgspec.structs.fields(kind):
        for part in parts(inspect.type_info(field.type)):
            if isinstance(part, (inspect.StrType, inspect.CollectionType, inspect.DictType)):
                assert part.max_length is not None, f"{kind.__name__}.{field.name}"


def test_every_kind_of_line_has_a_limit() -> None:
    """There is one header, and of intervals and footers the last one is kept."""
    kinds = {kind.__struct_config__.tag for kind in STRUCTS if issubclass(kind, schema.Line)} - {None, "Line"}
    assert set(limits.LINES) == kinds - {"header", "interval", "footer"}


def test_the_page_tells_the_limits() -> None:
    text = PAGE[PAGE.index(".Sh LIMITS") : PAGE.index(".Sh FIELDS")]
    first, second = re.findall(r"^\.Bl .*?^\.El", text, re.MULTILINE | re.DOTALL)
    told = {
        kind: int(number.replace(",", "")) for kind, number in re.findall(r"\.It Va (\w+)\n([0-9,]+)$", first, re.M)
    }
    assert told == dict(limits.LINES)
    assert f"at most {limits.UNREAD_LINES:,} of them" in text
    numbers = {int(number.replace(",", "")) for number in re.findall(r"[0-9][0-9,]*", second.replace(" ,", ""))}
    bounds = {
        part.max_length
        for kind in STRUCTS
        for field in msgspec.structs.fields(kind)
        for part in parts(inspect.type_info(field.type))
        if isinstance(part, (inspect.StrType, inspect.CollectionType, inspect.DictType))
    }
    assert numbers | {limits.ACCOUNTS} == bounds
    assert f"at most {limits.LINE_BYTES >> 20} MiB" in text and f"{limits.FACT_CHARACTERS >> 20} MiB together" in text
    assert f"at most {limits.ACCOUNTS} different accounts" in text
    for size in (limits.MOST_KEPT_BYTES, limits.MOST_NAMES_BYTES):
        assert f" at most {size >> 20} MiB" in text
    assert f"at most {fact_series.READINGS:,} evenly spaced readings" in text


def read(data: bytes) -> reader.Recording:
    return reader.read(io.BytesIO(data))


def line(**fields: Any) -> bytes:
    return msgspec.json.encode(fields) + b"\n"


FOOTER = {"type": "footer", "at_ns": 1, "reason": "duration", "threads_seen": 1, "lost": {},
          "cost": {"cpu_ns": 1, "programs": []}}  # fmt: skip
STACK = {"type": "stack", "kind": "cpu", "pid": 1, "tid": 1, "account": "cpu.user", "object": "", "count": 1,
         "weight_ns": 1, "kernel": [], "user": []}  # fmt: skip
DETAIL = {"type": "detail", "pid": 1, "account": "cpu.user", "object": "", "sum_ns": 1, "count": 1, "max_ns": 1,
          "buckets": []}  # fmt: skip
FACT = {"type": "fact", "at_ns": 1, "phase": "begin", "path": "/proc/1/status", "text": ""}


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        (FOOTER | {"lost": {f"counter{number}": 0 for number in range(20_000)}}, "lost of a line 'footer'"),
        (FOOTER | {"lost": {"c" * 200: 0}}, "key in lost of a line 'footer'"),
        (FACT | {"path": "/sys/fs/cgroup" + "/a" * 16_000}, "path of a line 'fact'"),
        (FACT | {"text": "x" * 65_537}, "text of a line 'fact'"),
        (DETAIL | {"buckets": [[1, 1]] * 33}, "buckets of a line 'detail'"),
        (DETAIL | {"object": "x" * 129}, "object of a line 'detail'"),
        (STACK | {"kernel": ["f"] * 49}, "kernel of a line 'stack'"),
        (STACK | {"scan": ["f" * 513]}, r"scan\[0\] of a line 'stack'"),
        (EXCHANGE | {"type": "exchange", "accounts": [["cpu.user", 1]] * 65}, "accounts of a line 'exchange'"),
    ],
)
def test_what_is_longer_than_any_recorder_writes_is_refused_with_its_name(fields: dict[str, Any], says: str) -> None:
    with pytest.raises(RecordingError, match=says) as told:
        read(Builder().thread("a").bytes() + line(**fields))
    assert told.value.hint and len(str(told.value)) < 200


def test_a_header_with_too_much_is_refused() -> None:
    data = Builder(comm="x" * 64).thread("a").bytes()
    with pytest.raises(RecordingError, match=r"header .*targets\[0\]\.comm"):
        read(data)


@pytest.mark.parametrize("kind", ["thread", "detail", "exchange", "latency", "fact", "exited", "stack"])
def test_more_lines_of_a_kind_than_any_recorder_writes_are_refused(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    builder = Builder()
    for number in range(3):
        builder.thread(f"t{number}", cpu_user="1 s").exited(f"e{number}").row("disk.read", f"device:8:{number}", "1 s")
        builder.exchange(f"port:{number}", "accepted", {"1 ms": 10}).stack("cpu").fact(f"/proc/{number}", "1")
    data = builder.bytes()
    lines = sum(each.startswith(b'{"type":"%s"' % kind.encode()) for each in data.splitlines())
    for owner in (reader, fact_series):
        monkeypatch.setattr(owner, "LINES", dict(limits.LINES) | {kind: lines})
    read(data)
    monkeypatch.setattr(reader, "LINES", dict(limits.LINES) | {kind: lines - 1})
    monkeypatch.setattr(fact_series, "LINES", dict(limits.LINES) | {kind: lines - 1})
    with pytest.raises(RecordingError, match=f"more than {lines - 1} lines of the type '{kind}'") as told:
        read(data)
    assert told.value.hint


def test_of_intervals_the_last_one_is_kept() -> None:
    interval = {"type": "interval", "at_ns": 1, "threads": 1, "accounts": []}
    data = b"".join(line(**interval, wall_ns=number) for number in range(1000))
    kept = read(Builder().cut().bytes() + data).intervals
    assert [each.wall_ns for each in kept] == [999]


def readings(path: str, number: int) -> list[schema.Fact]:
    data = b"".join(line(**FACT | {"phase": "series", "path": path, "at_ns": at, "text": f"{at} inode 5"})
                    for at in range(number))  # fmt: skip
    return [fact for fact in read(Builder().bytes() + data).facts if fact.path == path]


def test_a_series_is_thinned_evenly_and_keeps_its_newest_reading() -> None:
    assert [fact.at_ns for fact in readings("/proc/7/fd", 512)] == list(range(512))
    times = [fact.at_ns for fact in readings("/proc/7/fd", 100_000)]
    assert 256 <= len(times) <= 513 and times[-1] == 99_999
    gaps = {later - before for before, later in pairwise(times[:-1])}
    assert len(gaps) == 1
    assert [fact.at_ns for fact in readings("/proc/7/net/snmp", 5000)] == [4999]  # nobody follows it


def test_readings_are_kept_of_every_file_that_a_rule_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: set[str] = set()
    series = Texts.series
    monkeypatch.setattr(Texts, "series", lambda self, path: asked.add(path) or series(self, path))
    builder = Builder().fact("/proc/cpuinfo", "flags\t: aperfmperf\n").fact("/proc/7/stat", "7 (a) S 1")
    builder.fact("/hotspot/7", "read memory\n")
    facts = builder.fact("/sys/devices/system/cpu/cpufreq/policy0/scaling_cur_freq", "1").model().facts
    asked.clear()
    Facts(facts.texts).descriptors, Facts(facts.texts).system_descriptors, Facts(facts.texts).delivered_clock
    assert list(Facts(facts.texts).java_machines) == [7]
    assert len(asked) == 5 and all(map(fact_series.FOLLOWED.fullmatch, asked))
    sources = "".join(path.read_text() for path in ROOT.glob("lib/perfdiag/**/*.py"))
    assert sources.count("texts.series(") == 4, "one more follows a file: see keptfacts.FOLLOWED"


def test_names_that_take_too_much_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is short enough, and so is the list that it stands in."""
    monkeypatch.setattr(kept_lines, "MOST_NAMES_BYTES", 1 << 20)
    stacks = (STACK | {"user": [f"{number}-{each}".ljust(500, "x") for each in range(48)]} for number in range(100))
    with pytest.raises(RecordingError, match="names in the recording take more than 1 MiB") as told:
        read(Builder().bytes() + b"".join(line(**each) for each in stacks))
    assert told.value.hint


def books(number: int, **fields: Any) -> dict[str, Any]:
    thread = {"type": "thread", "at_ns": 1, "serial": 5, "pid": 1, "tid": 5, "namespace_tid": 5, "comm": "a",
              "state": "alive", "start_ns": 0, "wall_ns": 1, "user_ns": 0, "kernel_ns": 0}  # fmt: skip
    return thread | {"accounts": [[f"a{32 * number + each}", 1, 1, 1] for each in range(32)]} | fields


CHAIN = {"type": "because", "pid": 1, "account": "c", "object": "", "cut": False, "root_object": "", "root_tid": 1,
         "root_tid_ns": 1, "sum_ns": 1, "count": 1}  # fmt: skip
LEFT = {"type": "request_left", "object": "port:80", "earlier": False, "count": 1, "sum_ns": 1, "oldest_ns": 1}
UNREAD = {"type": "request_unread", "object": "port:80", "name": "", "over_slo": False, "sum_ns": 1}


@pytest.mark.parametrize(
    "more",
    [
        books(2),
        books(2, serial=6),
        books(0, open={"account": "b", "object": "", "since_ns": 1}),
        DETAIL | {"account": "b"},
        STACK | {"account": "b"},
        CHAIN | {"steps": [], "root": "b", "account": "a0"},
        CHAIN | {"steps": ["b"], "root": "a0", "account": "a0"},
        EXCHANGE | {"type": "exchange", "accounts": [["b", 1]]},
        LEFT | {"parts": [["a0", "b", True, 1]]},
        UNREAD | {"account": "a0", "root": "b"},
        {"type": "interval", "at_ns": 1, "threads": 1, "wall_ns": 1, "accounts": [["b", 1, 1, 1]]},
    ],
)
def test_more_accounts_than_any_recorder_has_are_refused(more: dict[str, Any]) -> None:
    """Each list of them is short enough; lines that newer ones replace count, too."""
    data = Builder().bytes() + line(**books(0)) + line(**books(1))
    read(data)
    with pytest.raises(RecordingError, match="more than 64 different 'accounts'") as told:
        read(data + line(**more))
    assert told.value.hint


@pytest.mark.parametrize("path", ["/proc/{}/net/snmp", "/proc/stat", "/proc/{}/fd"])
@pytest.mark.parametrize("phase", ["begin", "series"])
def test_texts_of_facts_that_take_too_much_memory_are_refused_or_thinned(path: str, phase: str) -> None:
    """A character beyond Latin takes more than one byte."""
    facts = (FACT | {"path": path.format(number), "phase": phase, "text": "\u5bbd" * 60_000} for number in range(200))
    data = Builder().bytes() + b"".join(line(**each) for each in facts)
    if phase == "series" and "{}" not in path:
        assert len(read(data).facts) < 100
    else:
        with pytest.raises(RecordingError, match="texts of facts take more than 16 MiB"):
            read(data)
