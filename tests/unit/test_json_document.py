"""The JSON report: read back as it was written, its contract kept, no text of it hostile."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfdiag.render import json_document
from perfdiag.report import assembly

from unit.support import Builder
from unit.support.reports import CASES, RUNBOOKS, diagnosis
from unit.support.strategies import builders, diagnoses


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield key
            yield from texts(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from texts(each)


@given(builders(), st.data())
def test_no_text_of_a_report_can_command_a_terminal(builder: Builder, data: st.DataObject) -> None:
    model = builder.model()
    made_report = assembly.make(model, data.draw(diagnoses(model)), RUNBOOKS)
    assert all(
        text.isprintable()
        for text in texts(msgspec.json.decode(msgspec.json.encode(made_report, enc_hook=json_document.plain)))
    )


def test_what_the_header_says_of_itself_is_escaped() -> None:
    hostile = "1\u202e\x1b[2J\n"
    model = Builder().thread(cpu_user="1 s").model()
    model = replace(model, header=msgspec.structs.replace(model.header, perfdiag=hostile, engine=hostile))
    made = assembly.make(model, diagnosis(model), RUNBOOKS)
    assert made.versions["recording"] == made.versions["engine"] == r"1\u202e\x1b[2J\n"


def test_a_text_that_nobody_escaped_is_escaped_in_the_document() -> None:
    class Careless(msgspec.Struct):
        names: dict[str, list[str]]

    told = json_document.render(Careless({"a\u202e": ["\x9b", "caf\u00e9", "\ud800", r"\x1b"]}))
    assert msgspec.json.decode(told) == {"names": {r"a\u202e": [r"\x9b", "caf\u00e9", r"\ud800", r"\x1b"]}}


@pytest.mark.parametrize("name", CASES)
def test_the_document_is_read_back_as_it_was(name: str) -> None:
    made_report = CASES[name]()
    assert msgspec.json.decode(json_document.render(made_report), type=assembly.Report) == made_report


def test_the_document_keeps_its_contract() -> None:
    """ARCHITECTURE, "The JSON report": what other programs rely on."""
    written = msgspec.json.decode(json_document.render(CASES["flush"]()))
    assert {
        "schema",
        "target",
        "window",
        "wall_ns",
        "accounts",
        "threads",
        "operations",
        "findings",
        "checked",
        "not_measured",
        "coverage",
        "cost",
        "host",
        "versions",
        "verdict",
    } <= set(written)
    assert {"pid", "comm", "threads"} <= set(written["target"])
    assert {"start", "duration_ns"} <= set(written["window"])
    assert {"account", "object", "ns", "share", "count", "p50_ns", "p99_ns", "max_ns"} <= set(written["accounts"][0])
    assert {"tid", "comm", "wall_ns", "accounts"} <= set(written["threads"][0])
    assert {
        "id",
        "severity",
        "share",
        "confidence",
        "headline",
        "mechanism",
        "others",
        "claim",
        "evidence",
        "ruled_out",
        "remedy",
        "verify",
        "runbook",
    } <= set(written["findings"][0])
    assert {"id", "number"} <= set(written["checked"][0])
    assert {"what", "reason", "fix"} <= set(written["not_measured"][0])
    assert {"unexplained_share", "lost"} <= set(written["coverage"])
    assert {"cpu_ns", "rss_bytes", "probes"} <= set(written["cost"])
    assert {"name", "runs", "ns"} <= set(written["cost"]["probes"][0])
    assert {"kind", "text"} <= set(written["verdict"])


def test_names_of_the_target_are_marked_untrusted() -> None:
    schema = msgspec.json.schema(assembly.Report)["$defs"]
    for part, field in (
        ("Target", "comm"),
        ("Account", "object"),
        ("Thread", "comm"),
        ("Operation", "name"),
        ("Finding", "claim"),
        ("Evidence", "text"),
        ("Releaser", "comm"),
    ):
        assert schema[part]["properties"][field].get("untrusted") is True, f"{part}.{field}"
