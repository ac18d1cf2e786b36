"""What requests met while they lay unread, as their readers' own lines of time tell."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfdiag import schema
from perfdiag.findings import diagnose
from perfdiag.loops import servers
from perfdiag.unread import Met, met

from unit.support import Builder
from unit.support.exchanges import PORT, exchange, joined, latency

S, MS = 1_000_000_000, 1_000_000
FLUSHES = {"disk_flush": ("4 s", 10), "cpu_user": "100 ms", "rest": "wait.events"}
Pair = tuple[str, str]


def unread(parts: Mapping[Pair, int], *, over_slo: bool = False) -> list[schema.RequestUnread]:
    return [schema.RequestUnread(PORT, "", over_slo, *pair, ns) for pair, ns in parts.items()]


def met_by(parts: Mapping[Pair, int], delay_ns: int = 10 * S) -> Met | None:
    """Return what requests met at a thread whose flushes take 400 ms each."""
    lines = joined([exchange(100, 20 * S, read_delay_ns=delay_ns, turns=100)])
    return met(unread(parts), lines, Builder().thread("server", **FLUSHES).model().accounts)


def test_what_has_findings_of_its_own_has_that_time() -> None:
    found = met_by({("disk.flush", "disk.flush"): 6 * S, ("cpu.user", "cpu.user"): 3 * S})
    assert found == Met({"disk.flush": 0.6}, {"cpu.user": 0.3})


def test_the_root_of_a_wait_goes_before_the_wait() -> None:
    found = met_by({("wait.parked", "disk.flush"): 6 * S, ("wait.parked", "wait.timer"): 2 * S})
    assert found == Met({"disk.flush": 0.6}, {"wait.parked": 0.2})


def test_short_waits_are_the_readers_own() -> None:
    found = met_by({("disk.read", "disk.read"): 5 * S})  # the target has none that are long
    assert found == Met({}, {"disk.read": 0.5})


def test_a_recording_that_does_not_tell_is_asked_nothing() -> None:
    assert met_by({}) is None and met_by({("cpu.user", "cpu.user"): S}, delay_ns=0) is None


def test_with_an_objective_that_of_slow_requests_counts() -> None:
    lines = joined([exchange(100, 20 * S, read_delay_ns=10 * S, over_slo=9, over_slo_read_delay_ns=2 * S)])
    parts = unread({("cpu.user", "cpu.user"): 5 * S}) + unread({("disk.flush", "disk.flush"): S}, over_slo=True)
    accounts = Builder().thread("server", **FLUSHES).model().accounts
    assert met(parts, lines, accounts) == Met({"disk.flush": 0.5}, {})


def test_another_worker_would_have_spared_all_but_the_wait_for_a_cpu() -> None:
    recorded = Met({"disk.flush": 0.5, "runq.busy": 0.2}, {"disk.flush": 0.1, "cpu.user": 0.1})
    by = servers(joined([exchange(100, S)]), Builder().thread("worker", rest="wait.work").model().threads, recorded)
    assert by.met == Met({"runq.busy": 0.2}, {"disk.flush": 0.6, "cpu.user": 0.1})


def test_a_loop_that_is_hardly_seen_to_turn_is_still_told_by_what_it_was_in() -> None:
    """On average over its window a loop that waits all the time for a full pipe, in one wait, meets nobody."""
    builder = Builder(comm="node").thread("node", cpu_user="100 ms", ipc_pipe=("9 s", 3), rest="wait.events")
    builder.line(exchange(100, 50 * S, {"cpu.user": S}, read_delay_ns=45 * S, turns=100))
    builder.line(latency([500 * MS] * 100))
    builder.line(latency([450 * MS] * 100, "read_delay"))
    for line in unread({("ipc.pipe", "wait.timer"): 40 * S, ("cpu.user", "cpu.user"): 2 * S}):
        builder.line(line)
    time = builder.model().request_time
    assert time and time.accounts["ipc.pipe"] == pytest.approx(40 * S, rel=0.15), time
    assert diagnose(builder.model()).findings


@given(
    st.dictionaries(
        st.tuples(
            st.sampled_from(["cpu.user", "disk.flush", "runq.busy", "wait.parked"]),
            st.sampled_from(["cpu.user", "disk.flush", "wait.timer"]),
        ),
        st.integers(0, S),
        max_size=12,
    )
)
def test_no_part_is_counted_twice(parts: dict[Pair, int]) -> None:
    found = met_by(parts, delay_ns=max(1, sum(parts.values()))) or Met()
    told = [*found.passed_on.values(), *found.others.values()]
    assert sum(told) == pytest.approx(1 if any(parts.values()) else 0, abs=1e-9)
    workers = found.at_workers()
    assert sum([*workers.passed_on.values(), *workers.others.values()]) == pytest.approx(sum(told), abs=1e-9)
