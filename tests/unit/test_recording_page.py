"""perfdiag-recording(5) says what the schema says: every struct, every field, its type, in the same order."""

from __future__ import annotations

import collections.abc
import re
import types
import typing

import msgspec
import pytest
from perfdiag.model.coverage import coverage
from perfdiag.recording import schema

from conftest import ROOT
from unit.support.recording import COUNTERS, FEATURES

PAGE = (ROOT / "man/perfdiag-recording.5").read_text()
STRUCTS = {
    name: struct
    for name, struct in vars(schema).items()
    if isinstance(struct, type) and issubclass(struct, msgspec.Struct) and struct is not schema.Line
}


def in_words(hint: typing.Any) -> str:
    """Return a type the way the page writes it: "list of AccountSum", "integer or null"."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return in_words(arguments[0])
    if origin in (types.UnionType, typing.Union):
        return " or ".join(in_words(argument) for argument in arguments)
    if origin in (list, collections.abc.Sequence):
        return f"list of {in_words(arguments[0])}"
    if origin is tuple:
        return "[" + ", ".join(in_words(argument) for argument in arguments) + "]"
    if origin is dict:
        return f"object of {in_words(arguments[1])}"
    return {int: "integer", str: "text", bool: "boolean", type(None): "null"}.get(hint) or str(hint.__name__)


def section(title: str) -> str:
    match = re.search(rf'^\.S[hs] "?{re.escape(title)}"?\n(.*?)(?=^\.S[hs] |\Z)', PAGE, re.MULTILINE | re.DOTALL)
    assert match, f"the page has no section {title}"
    return match[1]


@pytest.mark.parametrize("name", STRUCTS)
def test_fields(name: str) -> None:
    struct = STRUCTS[name]
    hints = typing.get_type_hints(struct, include_extras=True)
    wanted = [
        f"{field.encode_name} Pq {in_words(hints[field.name])}" + ("" if field.required else ", optional")
        for field in msgspec.structs.fields(struct)
    ]
    text = section(str(struct.__struct_config__.tag or name))
    assert re.findall(r"^\.It Va (.*)$", text, re.MULTILINE) == wanted
    assert not re.search(r"^\.It .*\n(?=\.(It|El))", text, re.MULTILINE), "a field without a sentence"


def test_no_section_without_struct() -> None:
    fields = PAGE[PAGE.index(".Sh FIELDS") : PAGE.index(".Sh VERSIONS")]
    titles = re.findall(r"^\.Ss (.*)$", fields, re.MULTILINE)
    assert sorted(titles) == sorted(str(struct.__struct_config__.tag or name) for name, struct in STRUCTS.items())


def test_version_and_untrusted_fields() -> None:
    assert f"is {schema.SCHEMA_VERSION}." in section("VERSIONS")
    hostile = section("Names that come from the target")
    assert set(re.findall(r"^\.Va (\w+)", hostile, re.MULTILINE)) == schema.UNTRUSTED_FIELDS
    fields = {field.encode_name for struct in STRUCTS.values() for field in msgspec.structs.fields(struct)}
    assert fields >= schema.UNTRUSTED_FIELDS


def test_objects() -> None:
    """The page lists what object_write() of the recorder writes, by what stands before the first colon."""
    told = re.findall(r'^\.It Li "?(.*?)"?$', section("OBJECTS"), re.MULTILINE)
    writer = (ROOT / "lib/recorder/rows/objects.c").read_text() + (ROOT / "lib/recorder/tables/nfs.c").read_text()
    texts = re.findall(r"json_text\(&?(?:recorder->)?json, key, ([^;]*);", writer)
    formats = re.findall(r"(?:json_format\(&?(?:recorder->)?json, key|snprintf\(text), ([^;]*);", writer)
    written = {text for line in texts for text in re.findall(r'"([^"]*)"', line)}
    written |= {text for line in formats for text in re.findall(r'"([^"\s%]+:[^"]*)"', line)}
    written |= set(re.findall(r'"(unix|own|task)"', writer))  # what the first %s stands for
    assert {text.partition(":")[0] for text in written} - {""} == {line.partition(":")[0] for line in told} - {
        "(empty)"
    }


def test_counters() -> None:
    """Each counter stands on the page: those of the kernel side in the same words, then the recorder's own."""
    records = (ROOT / "bpf/core/records.h").read_text()
    block = records[records.index("#define COUNTERS(X)") : records.index("#define COUNTER_ENUM")]
    counters = dict(re.findall(r'X\(\w+, "(\w+)"\)\s*/\* (.*?) \*/', block))
    assert len(counters) == block.count("\tX(")
    told = dict(re.findall(r"^\.It Va (\w+)\n(.*)$", section("LOSSES"), re.MULTILINE))
    footer = (
        (ROOT / "lib/recorder/window/header.c")
        .read_text()
        .partition('json_object(json, "lost");')[2]
        .partition("json_end")[0]
    )
    own = re.findall(r'json_u64\(json, "(\w+)"', footer)
    assert own and list(told)[-len(own) :] == own
    assert {name: text for name, text in told.items() if name not in own} == counters
    assert set(told) == set(COUNTERS) and set(told) >= schema.NO_TIME_LOST
    harmless = section("LOSSES").partition(".El")[2]
    assert set(re.findall(r"^\.Va (\w+)", harmless, re.MULTILINE)) == schema.NO_TIME_LOST


def test_features_are_those_of_the_recorder() -> None:
    """What a program's absence costs is told for each feature there is, and tests can only take away what there is."""
    table = (ROOT / "lib/recorder/program/probes.c").read_text()
    recorded = set(re.findall(r'\.feature = "(\w+)"', table))
    assert recorded == set(coverage.FEATURES)
    assert recorded == set(FEATURES) | {"host", "nfs", "nfsd", "statements"}, "the rest is not attached everywhere"
