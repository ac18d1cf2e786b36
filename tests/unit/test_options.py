"""Options as they are typed: times with their units, and the window they ask for."""

from __future__ import annotations

import re

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfdiag.commands.options import MOST_OBJECTIVES, Duration, wanted_and_window

from conftest import ROOT

OPTIONS = dict.fromkeys(("name", "port", "unit", "container", "cgroup", "duration")) | {
    "slo": (),
    "pid": (),
    "arguments": (),
    "only": False,
    "stacks": False,
    "no_request_names": False,
    "no_apps": False,
    "max_cost": None,
    "engine": "libbpf",
}


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("10", 10_000_000_000),
        ("0", 0),
        ("0.5", 500_000_000),
        (".5", 500_000_000),
        (".25 ms", 250_000),
        ("30s", 30_000_000_000),
        ("5m", 300_000_000_000),
        ("2h", 7_200_000_000_000),
        ("250ms", 250_000_000),
        ("7us", 7_000),
        ("23ns", 23),
        ("1.5 ms", 1_500_000),
    ],
)
def test_durations(text: str, ns: int) -> None:
    assert Duration("s").convert(text, None, None) == ns


@pytest.mark.parametrize(
    "text",
    [
        "",
        "s",
        "1x",
        "1e3",
        "nan",
        "inf",
        "1,5",
        "0x10",
        "9" * 13,
        "400000000",
        "1.5.2",
        ".",
        ".s",
        "..5",
        "\N{ARABIC-INDIC DIGIT THREE}",
    ],
)
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(click.BadParameter):
        Duration("s").convert(text, None, None)


@given(st.text(max_size=20))
def test_any_text_is_a_duration_or_an_error(text: str) -> None:
    try:
        assert Duration(None).convert(text, None, None) >= 0
    except click.BadParameter as error:
        assert error.message.isprintable()


def test_a_command_lasts_as_long_as_it_takes() -> None:
    assert wanted_and_window(OPTIONS | {"pid": (1,)})[1].duration_ns == 10**10
    assert wanted_and_window(OPTIONS | {"arguments": ("ls",)})[1].duration_ns == 0
    assert wanted_and_window(OPTIONS | {"arguments": ("ls",), "duration": 5})[1].duration_ns == 5


def test_as_many_names_as_the_recorder_has_room_for() -> None:
    assert re.search(rf"#define LIMITS {MOST_OBJECTIVES} ", (ROOT / "bpf/core/records/settings.h").read_text())
