"""Counters of Java virtual machines: text of the recorder -> numbers; whatever stands there, no error."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from perfdiag.facts.host_facts import Facts
from perfdiag.facts.jvm import HotSpot
from perfdiag.recording import schema

PATH = "/hotspot/7"


def machine(*texts: tuple[str, str]) -> HotSpot | None:
    lines = [schema.Fact(at_ns=23 + n, phase=phase, path=PATH, text=text) for n, (phase, text) in enumerate(texts)]
    return Facts.parse(lines).java_machines.get(7)


def test_begin_and_end() -> None:
    found = machine(
        ("begin", "read memory\nsun.rt.safepoints 5\nsun.gc.cause No GC\n"),
        ("series", "read memory\nsun.rt.safepoints 7\n"),
        ("end", "read memory\nsun.rt.safepoints 9\nsun.gc.collector.0.time -1\n"),
    )
    assert found and found.begin and found.end and found.end.way == "memory"
    assert (found.begin.number("sun.rt.safepoints"), found.end.number("sun.rt.safepoints")) == (5, 9)
    assert [each.numbers["sun.rt.safepoints"] for each in found.between] == [5, 7, 9]
    assert found.begin.texts == {"sun.gc.cause": "No GC"}
    assert found.end.number("sun.gc.collector.0.time") is None, "a counter below zero is none"


def test_one_that_started_in_the_window_or_ended_in_it() -> None:
    late = machine(("series", "read file\na 1\n"), ("end", "read file\na 2\n"))
    assert late and late.begin and late.end and (late.begin.number("a"), late.end.number("a")) == (1, 2)
    once = machine(("end", "read file\na 2\n"))
    assert once and once.begin is None and once.end
    gone = machine(("begin", "read memory\na 1\n"), ("series", "read memory\na 3\n"))
    assert gone and gone.begin and gone.end and gone.end.number("a") == 3


def test_why_there_are_no_counters() -> None:
    off = machine(("begin", "unread off\n"), ("end", "unread off\n"))
    assert off and off.end is None and "-XX:-UsePerfData" in off.unread
    assert machine(("begin", ""), ("end", "")) is None, "no virtual machine"
    error = schema.Fact(at_ns=1, phase="end", path=PATH, error="Operation not permitted")
    refused = Facts.parse([error]).java_machines[7]
    assert refused.end is None and "Operation not permitted" in refused.unread


WORDS = st.one_of(st.text(max_size=20), st.integers().map(str), st.just("9" * 5000), st.just("sun.rt.safepoints"))
TEXTS = st.one_of(
    st.text(max_size=200), st.lists(WORDS, max_size=9).map(lambda words: "read memory\n" + " ".join(words))
)


@given(st.lists(st.tuples(st.sampled_from(["begin", "series", "end", "?"]), TEXTS), max_size=5))
def test_any_text(texts: Sequence[tuple[str, str]]) -> None:
    found = machine(*texts)
    for counters in found.between if found else ():
        assert all(text.isprintable() for text in counters.texts.values())
        assert all(value < 10**20 for value in counters.numbers.values())
