"""wakerchain.py: whoever a thread waits for is named, and who had to be woken for that in turn, to the last."""

from __future__ import annotations

import re

import pytest

from live.support.bcc import Program
from live.support.fixtures import Cleanup, Start

NAME = "wakerchain.py"
COUNT = 23
SLEEP_MS = 20

pytestmark = pytest.mark.may_skip("python3-bpfcc")


@pytest.mark.parametrize(("depth", "last"), [(1, r"\(timer\)"), (4, r"\(timer\)"), (6, r"chain/\d+")])
def test_a_chain_of_processes(depth: int, last: str, start: Start, cleanup: Cleanup, update: bool) -> None:
    """Each waits for the next, the last one for a timer; six links are told."""
    chain = start("chain", "--depth", depth, "--count", COUNT, "--sleep-ms", SLEEP_MS)
    program = cleanup.enter_context(Program(NAME, chain.pid, update=update))
    truth = chain.run()
    first, *others = program.stop(example=depth == 4)
    assert re.fullmatch(rf"chain( <- chain/\d+){{{min(depth, 5)}}} <- {last}", first["CHAIN"])
    links = re.findall(r"/(\d+)", first["CHAIN"])
    assert len(set(links)) == len(links) and str(chain.pid) not in links
    assert COUNT - 1 <= int(first["COUNT"]) <= COUNT  # the first may end before the last process has begun to sleep
    assert (COUNT - 1) * SLEEP_MS <= float(first["SLEPT_ms"]) <= truth["wait_ns"] / 1e6
    assert float(first["SHARE"]) > 90
    assert sum(int(row["COUNT"]) for row in [first, *others]) <= truth["blocks"]


def test_who_was_not_woken_meanwhile_ends_the_chain(start: Start, cleanup: Cleanup) -> None:
    """The peers of a thread that its own timer wakes have nothing to do with it."""
    wake = start("wake", "--count", COUNT, "--every-us", 3000)
    program = cleanup.enter_context(Program(NAME, wake.pid))
    wake.run()
    [row] = [row for row in program.stop() if float(row["SHARE"]) > 50]
    assert (row["CHAIN"], row["COUNT"]) == ("wake <- (timer)", str(COUNT))
    assert float(row["SLEPT_ms"]) >= 0.9 * COUNT * 3


def test_a_peer_over_loopback(start: Start, cleanup: Cleanup) -> None:
    """Its packet is received in a softirq."""
    sender = start("send", "--bytes", 400_000)
    program = cleanup.enter_context(Program(NAME, sender.pid))
    sender.run()
    assert program.stop()[0]["CHAIN"] == "send <- (softirq)"


def test_others_are_not_traced(start: Start, cleanup: Cleanup) -> None:
    program = cleanup.enter_context(Program(NAME, start("sleeper").pid))
    start("wake", "--count", COUNT).run()
    assert program.stop() == []


def test_all_processes(start: Start, cleanup: Cleanup) -> None:
    program = cleanup.enter_context(Program(NAME))
    start("chain", "--depth", 2, "--count", COUNT, "--sleep-ms", SLEEP_MS).run()
    told = [
        row for row in program.stop() if re.fullmatch(r"chain <- chain/\d+ <- chain/\d+ <- \(timer\)", row["CHAIN"])
    ]
    assert sum(int(row["COUNT"]) for row in told) >= COUNT - 1
