"""How many there are at once: the kernel side's slots, what the report takes them for, and what contradicts itself."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest
from perfdiag.recording import schema
from perfdiag.recording.laws import level_laws
from perfdiag.recording.levels import TOLD_BELOW, above_ns, highest, together_ns, told_as

from unit.support import Builder
from unit.support.c_programs import FLAVOURS, build, environment
from unit.support.exchanges import exchange, named_call

S = 1_000_000_000
LEVELS = [schema.CallLevel(1, S, 10, 0), schema.CallLevel(2, 2 * S, 40, 39)]


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_slots_are_those_of_the_kernel_side(flavour: str) -> None:
    levels = range(TOLD_BELOW + 2)
    lines = "".join(f"{level}\n" for level in levels)
    run = subprocess.run([build("levels", flavour)], input=lines, capture_output=True, text=True, env=environment())
    slots = [tuple(map(int, line.split())) for line in run.stdout.splitlines()]
    told = [lowest for slot, lowest in slots[:TOLD_BELOW]]
    assert [slot for slot, _ in slots[:32]] == list(range(32)) and {slot for slot, _ in slots} == set(range(65))
    assert told == [told_as(level) for level in levels[:TOLD_BELOW]]
    assert [slot for slot, _ in slots[TOLD_BELOW:]] == [64, 64], "none"
    assert all(level <= highest(told_as(level)) for level in levels[:TOLD_BELOW])


def test_sums_of_levels() -> None:
    levels = [schema.Level(1, S), schema.Level(3, 2 * S), schema.Level(32, S)]
    assert above_ns(levels, 1) == 3 * S and above_ns(levels, 32) == 0
    assert together_ns(levels) == S + 6 * S + 32 * S + S // 2


def calls(**fields: Any) -> schema.Exchange:
    given = {"levels": LEVELS, "most": 2, "busy_ns": 3 * S, "direction": "connected", "object": "peer:10.0.0.7:5432"}
    return exchange(50, 5 * S, **{**given, "whole": 0, "whole_ns": 0, **fields})


def test_what_agrees_is_not_contradictory() -> None:
    assert list(level_laws.of_calls(calls(), 3 * S, 0)) == []
    assert list(level_laws.of_calls(exchange(50, 5 * S), 3 * S, 0)) == [], "an earlier recording has no levels"


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"direction": "accepted"}, "only calls have any"),
        ({"most": 1}, "2 calls were there at once, 1 at most"),
        ({"levels": LEVELS[::-1]}, "not in order"),
        ({"levels": [schema.CallLevel(1, S, 10, 11), LEVELS[1]]}, "11 of 10 calls"),
        ({"levels": [schema.CallLevel(1, S, 12, 0), LEVELS[1]]}, "52 calls were answered by their levels, 50"),
        ({"levels": [LEVELS[0], schema.CallLevel(2, S, 40, 0)]}, "calls took 5.00 s, by their levels 3.00 s"),
        ({"levels": [LEVELS[0], schema.CallLevel(2, 3 * S, 40, 0)]}, "levels of calls make 4.00 s, the window is 3.00"),
        ({"busy_ns": 4 * S}, "busy_ns of calls is 4.00 s, by their levels 3.00 s"),
        ({"levels": [*LEVELS, schema.CallLevel(128, 0, 0, 0)], "most": 200}, "none from 128 on"),
    ],
)
def test_what_contradicts_itself_is_told(fields: dict[str, Any], said: str) -> None:
    assert said in "; ".join(level_laws.of_calls(calls(**fields), 3 * S, 0))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (schema.RequestsInside(2, [schema.Level(1, S), schema.Level(2, S)], 0), ""),
        (schema.RequestsInside(1, [schema.Level(1, S), schema.Level(2, S)], 0), "2 requests were there at once"),
        (schema.RequestsInside(2, [schema.Level(2, 20 * S)], 0), "levels of requests make 20.0 s, the window is 10.0"),
        (schema.RequestsInside(2, [], 0, beside_ns=50 * S), "threads computed 50.0 s beside requests"),
        (named_call("GET", 10, 1, missed=99), "of 10 calls of one name 99 are told"),
    ],
)
def test_requests_that_contradict_themselves_are_told(line: schema.Line, said: str) -> None:
    contradictions = Builder(window="10 s").thread("app", cpu_user="1 s").line(line).model().coverage.contradictions
    assert said in "; ".join(contradictions) and bool(contradictions) == bool(said)


def test_requests_take_no_longer_than_there_were_some() -> None:
    line = schema.RequestsInside(1, [schema.Level(1, S)], 0)
    builder = Builder(window="10 s").thread("app", disk_read="9 s").line(line)
    builder.line(exchange(10, 9 * S, {"disk.read": 9 * S}))
    builder.line(schema.Latency("port:8080", "", "accepted", "first_byte", 10, 9 * S, S, [(300, 10)]))
    said = "requests took 9.00 s from read to answered, by levels 1.00 s"
    assert said in "; ".join(builder.model().coverage.contradictions)
