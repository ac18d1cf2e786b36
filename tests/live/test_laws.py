"""The law checker itself: a sound recording passes, and each way to be wrong is found."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from live.support import laws
from live.support.recorder import Recorder
from live.support.recording import Recording
from live.support.workload import Workload

Lines = list[dict[str, Any]]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Lines:
    """The lines of a real recording with threads that live on, threads that ended, and folds."""
    output = tmp_path_factory.mktemp("laws") / "sound.jsonl"
    with Workload("slow_child", "--count", 3) as target, Recorder([target.pid], output) as recorder:
        target.run()
        laws.check(recorder.wait("targets gone"))
    return [json.loads(line) for line in output.read_text().splitlines()]


def first(lines: Lines, kind: str) -> dict[str, Any]:
    return next(line for line in lines if line["type"] == kind)


def largest(lines: Lines, kind: str) -> list[Any]:
    """Return the largest account sum of the first row of a kind: [account, ns, count, longest]."""
    found = max(first(lines, kind)["accounts"], key=lambda total: total[1])
    assert isinstance(found, list)
    return found


def lose_time(lines: Lines) -> None:
    largest(lines, "thread")[1] //= 2


def invent_time(lines: Lines) -> None:
    total = largest(lines, "thread")
    total[1:] = [total[1] * 2, total[2] * 2, total[3]]


def book_twice(lines: Lines) -> None:
    first(lines, "thread")["accounts"].append(list(largest(lines, "thread")))


def name_an_unknown_account(lines: Lines) -> None:
    largest(lines, "thread")[0] = "disk.tape"


def leave_unexplained(lines: Lines) -> None:
    largest(lines, "thread")[0] = "unexplained"


def lose_a_wait(lines: Lines) -> None:
    largest(lines, "thread")[2] -= 1


def lose_the_footer(lines: Lines) -> None:
    lines.pop()


def hide_a_counter(lines: Lines) -> None:
    del lines[-1]["lost"]["ring_buffer"]


def lose_a_thread(lines: Lines) -> None:
    lines.remove(first(lines, "thread"))


def lose_a_detail(lines: Lines) -> None:
    lines.remove(max((line for line in lines if line["type"] == "detail"), key=lambda line: line["sum_ns"]))


def run_backwards(lines: Lines) -> None:
    intervals = [line for line in lines if line["type"] == "interval"]
    intervals[0]["wall_ns"], intervals[-1]["wall_ns"] = intervals[-1]["wall_ns"], intervals[0]["wall_ns"]


def begin_before_the_window(lines: Lines) -> None:
    row = first(lines, "thread")
    row["start_ns"] -= 10**9
    row["at_ns"] -= 10**9


def be_two_at_once(lines: Lines) -> None:
    twin = copy.deepcopy(first(lines, "thread"))
    twin["serial"] += 10**6
    lines.insert(-1, twin)


def test_a_sound_recording_is_lawful(sound: Lines, tmp_path: Path) -> None:
    laws.check(write(sound, tmp_path))


@pytest.mark.parametrize(
    ("harm", "law"),
    [
        (lose_time, "not closed"),
        (invent_time, "not closed"),
        (book_twice, "stands twice"),
        (name_an_unknown_account, "unknown account"),
        (leave_unexplained, "unexplained"),
        (lose_a_wait, "details"),
        (lose_the_footer, "not enough values"),
        (hide_a_counter, "counters missing"),
        (lose_a_thread, "threads in the footer"),
        (lose_a_detail, "details"),
        (run_backwards, "backwards"),
        (begin_before_the_window, "outside the window"),
        (be_two_at_once, "at once"),
    ],
)
def test_every_harm_is_found(harm: Callable[[Lines], None], law: str, sound: Lines, tmp_path: Path) -> None:
    lines = copy.deepcopy(sound)
    harm(lines)
    with pytest.raises((AssertionError, ValueError), match=law):
        laws.check(write(lines, tmp_path))


def write(lines: Lines, directory: Path) -> Recording:
    path = directory / "recording.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return Recording(path)
