"""Reports of large targets: the work grows as the target does, not as its square."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from perfdiag.common.config import Config
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.evidence.nfs.wait_parts import uses
from perfdiag.model.model import Model
from perfdiag.render import terminal
from perfdiag.render.layout import LINES, Chunk, Section, arrange
from perfdiag.report import assembly
from rich.text import Text

from unit.support import Builder
from unit.support.nfs import rpc
from unit.support.work import function_calls


def lasting(size: int) -> Model:
    """Threads that compete with as many neighbours, each for a lock of its own."""
    builder = Builder()
    for number in range(size):
        builder.thread(f"worker-{number}", cpu_user="100 ms", net_receive="100 ms", rest="wait.timer")
        builder.row("runq.busy", f"task:{5000 + number}:neighbour", "200 ms", count=10)
        builder.row("wait.parked", f"futex:{0x1000 + 8 * number:#x}", "50 ms", count=10)
        builder.stack("wait", "wait.parked", user=["pthread_mutex_lock (libc.so.6)", f"f{number} (app)"],
                      object=f"futex:{0x1000 + 8 * number:#x}", weight="50 ms")  # fmt: skip
    return builder.model()


def ending(size: int) -> Model:
    """Processes that live for moments beside threads that stay."""
    builder = Builder(window="1 s")
    for number in range(size):
        builder.thread(f"worker-{number}", cpu_user="100 ms")
        builder.exited(f"child-{number}", wall="5 ms", cpu_user="3 ms", rest="cpu.kernel")
    return builder.model()


def crowding(size: int) -> Model:
    """Threads that are always on a CPU."""
    builder = Builder()
    for number in range(size):
        builder.thread(f"worker-{number}", cpu_user="9900 ms")
    return builder.model()


def mounting(size: int) -> Model:
    """A thread that flushes to many NFS mounts."""
    builder = Builder().thread(nfs_commit="7 s")
    for number in range(size):
        builder.row("nfs.commit", f"mount:1:{number}", "5 ms", count=1)
        rpc(builder, "COMMIT", {"5 ms": 1}, object=f"mount:1:{number}")
    return builder.model()


def asking(size: int, **fields: Any) -> Model:
    """Requests of as many names, such as somebody sends who tries one path after the other."""
    builder = Builder(slo="1 ms").thread("httpd", cpu_user="5 s")
    for number in range(size):
        builder.exchange("port:80", "accepted", {"2 ms": 1}, name=f"GET /{number:x}", **fields)
    return builder.model()


class Counted(list[Any]):
    """A list that knows how often it was gone through."""

    times = 0

    def __iter__(self) -> Iterator[Any]:
        self.times += 1
        return super().__iter__()


def test_calls_of_nfs_are_gone_through_once_however_many_mounts_and_rules_there_are() -> None:
    model = mounting(100)
    lines, rows = Counted(model.rpcs), Counted(model.rows)
    diagnose(replace(model, rpcs=lines))
    assert lines.times == 1
    changed = replace(model, rows=rows)
    assert uses(changed) is uses(changed) and rows.times == 1  # computed for it once, and not taken from the other


def calls(model: Model) -> int:
    """Return how many functions a report of this model calls."""
    return function_calls(lambda: assembly.make(model, diagnose(model), Config()))


def drawing(size: int, full: bool) -> int:
    """Return how many functions a report of requests of so many names calls to be drawn."""
    made = assembly.make(model := asking(size), diagnose(model), Config())
    return function_calls(lambda: terminal.lines(made, full=full))


@pytest.mark.parametrize("full", [False, True])
def test_names_that_have_no_room_are_counted_and_not_drawn(full: bool) -> None:
    assert drawing(4000, full) - drawing(2000, full) < 2000 * 10, "a line of a report takes a hundred calls and more"
    model = asking(2000)
    lines = [line.plain for line in terminal.lines(assembly.make(model, diagnose(model), Config()), full=full)]
    shown = sum(line.startswith("  GET /") for line in lines)
    assert (f"  and {2000 - shown:,} more: --json" in lines) is full
    assert full or (not shown and "2,000 requests" in lines[0])


def arranging(count: int) -> float:
    """Return the CPU time that it takes to leave out so many blocks, in seconds."""
    sections = [Section([], [[Chunk([Text("a name")])] for _ in range(count)], gap=False)]
    begun = time.thread_time()
    assert len(arrange(sections, LINES)) == LINES
    return time.thread_time() - begun


def test_blocks_without_room_do_not_ask_all_before_them() -> None:
    """The work is no call of a function, so its time is measured: of four times as many, 4 if it is linear, else 16."""
    few, many = zip(*[(arranging(25_000), arranging(100_000)) for _ in range(3)], strict=True)
    assert min(many) < 8 * min(few)


@pytest.mark.parametrize("fields", [{"over_slo": 1, "over_slo_ns": "2 ms"}, {"open": 3, "oldest_ns": "4 s"}])
def test_names_over_their_limit_have_one_finding_together_beyond_the_first_ten(fields: dict[str, Any]) -> None:
    found = [each for each in diagnose(asking(200, **fields)).findings if each.id == "SLO-BREACH"]
    assert len(found) == 11
    said = {
        "over_slo": "190 of 190 requests of 190 more names took longer than their limits.",
        "open": "570 requests of 190 more names not answered yet when the window ended, the oldest after 4.00 s:"
        " longer than their limits.",
    }
    assert found[-1].claim == said[next(iter(fields))]


def test_of_names_that_hang_those_that_hang_longest_have_a_finding_of_their_own() -> None:
    builder = Builder(slo="1 ms").thread("httpd", cpu_user="5 s")
    for number in range(1, 23):
        age_s = 7 * number % 23  # no two of the same
        name = f"GET /{age_s:x}"
        builder.exchange("port:80", "accepted", {"500 us": number}, name=name, open=1, oldest_ns=f"{age_s} s")
    found = [each.claim for each in diagnose(builder.model()).findings if each.id == "SLO-BREACH"]
    named = [claim.removeprefix("1 request ").partition(" on ")[0] for claim in found]
    assert named[:10] == [f"GET /{age_s:x}" for age_s in range(22, 12, -1)]
    assert "of 12 more names not answered" in found[10] and len(found) == 11


def test_the_name_with_most_slow_requests_stands_first() -> None:
    builder = Builder(slo="1 ms").thread("httpd", cpu_user="5 s")
    for name, slow in (("GET /a", 15), ("GET /b", 20)):
        builder.exchange("port:80", "accepted", {"2 ms": 20}, name=name, over_slo=slow, over_slo_ns=f"{2 * slow} ms")
    found = [each.claim for each in diagnose(builder.model()).findings if each.id == "SLO-BREACH"]
    assert [claim.partition(" took")[0] for claim in found] == [
        "20 of 20 requests GET /b on port 80",
        "15 of 20 requests GET /a on port 80",
    ]


@pytest.mark.parametrize("build", [lasting, ending, crowding, mounting, asking])
def test_twice_the_target_takes_twice_the_work(build: Any) -> None:
    """What compares all with all would take four times; n log n takes a little more than two."""
    calls(build(2))  # what is done once only
    small, large = calls(build(200)), calls(build(400))
    assert large < 2.4 * small, f"{small:,} calls for 200 threads, {large:,} for 400"
