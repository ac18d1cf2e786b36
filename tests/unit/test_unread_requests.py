"""What requests met while they lay unread, as their readers' own lines of time tell."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfdiag.diagnosis.engine import diagnose
from perfdiag.model.requests.serving_threads import servers
from perfdiag.model.requests.unread_requests import Met, Part, error_of, met_at_loops, met_at_workers, parts_of
from perfdiag.recording import schema
from perfdiag.report.verdict.verdict import decide

from unit.support import Builder
from unit.support.exchanges import PORT, exchange, joined, latency, unread

S, MS = 1_000_000_000, 1_000_000
FLUSHES = {"disk_flush": ("4 s", 10), "cpu_user": "100 ms", "rest": "wait.events"}
Pair = tuple[str, str]


def parts_by(parts: Mapping[Pair, int], delay_ns: int = 10 * S, served: bool = True) -> list[Part]:
    """Return what requests met at a thread whose flushes take 400 ms each."""
    lines = joined([exchange(100, 20 * S, read_delay_ns=delay_ns, turns=100)])
    accounts = Builder().thread("server", **FLUSHES).model().accounts
    return parts_of(unread(parts, served=served), [], lines, accounts)


def met_by(parts: Mapping[Pair, int]) -> Met:
    return met_at_loops(parts_by(parts))


def test_what_has_findings_of_its_own_has_that_time() -> None:
    found = met_by({("disk.flush", "disk.flush"): 6 * S, ("cpu.user", "cpu.user"): 3 * S})
    assert found == Met({"disk.flush": 0.6}, {"cpu.user": 0.3}, 0.3) and found.unknown == pytest.approx(0.1)


def test_the_root_of_a_wait_goes_before_the_wait() -> None:
    found = met_by({("wait.parked", "disk.flush"): 6 * S, ("wait.parked", "wait.timer"): 2 * S})
    assert found == Met({"disk.flush": 0.6}, {"wait.parked": 0.2}, 0.2)


def test_short_waits_are_the_readers_own() -> None:
    found = met_by({("disk.read", "disk.read"): 5 * S})  # the target has none that are long
    assert found == Met({}, {"disk.read": 0.5}, 0.5)


def test_the_error_of_what_was_cut_off_merged_segments() -> None:
    lines = [exchange(100, 20 * S, read_delay_ns=10 * S, unread_error_ns=S), exchange(9, 2 * S, object="port:1")]
    assert error_of(joined(lines)) == 0.1
    slow = exchange(100, 20 * S, read_delay_ns=10 * S, unread_error_ns=S, over_slo=9, over_slo_read_delay_ns=2 * S)
    assert error_of(joined([slow])) == 0, "none of those that took too long is cut"


def test_where_nothing_lay_unread_nothing_was_met() -> None:
    assert not parts_by({}) and not parts_by({("cpu.user", "cpu.user"): S}, delay_ns=0)


def test_a_loop_that_listens_to_something_else_is_not_held_up() -> None:
    """Its limit of connections is reached: it takes up what it listens to, and none of those that wait."""
    met = met_by({("wait.events", "wait.events"): 8 * S, ("net.request", "net.request"): S, ("cpu.user",) * 2: S})
    assert met == Met({}, {"cpu.user": 0.1}, 0.1, 0.9)


def test_a_worker_that_waits_for_one_connection_serves_no_other() -> None:
    met = met_at_workers(parts_by({("net.request", "net.request"): 8 * S, ("net.accept",) * 2: S}, served=False))
    assert met == Met({}, {"net.request": 0.8}, 0.8, 0.1)


def test_who_waits_for_whoever_hands_out_work_is_in_what_that_one_is() -> None:
    """The selector hands requests to workers, and sleeps: these are idle, and would take up whatever came."""
    met = met_at_workers(parts_by({("wait.work", "wait.timer"): 8 * S}, served=False))
    assert met == Met({}, {"wait.work": 0.8}, behind={"wait.timer": 0.8}) and not met.elsewhere


def test_with_an_objective_that_of_slow_requests_counts() -> None:
    lines = joined([exchange(100, 20 * S, read_delay_ns=10 * S, over_slo=9, over_slo_read_delay_ns=2 * S)])
    parts = unread({("cpu.user", "cpu.user"): 5 * S}) + unread({("disk.flush", "disk.flush"): S}, over_slo=True)
    accounts = Builder().thread("server", **FLUSHES).model().accounts
    assert met_at_loops(parts_of(parts, [], lines, accounts)) == Met({"disk.flush": 0.5})


def test_another_worker_would_have_spared_all_but_what_keeps_any_from_reading() -> None:
    met = {("disk.flush", "disk.flush"): 5 * S, ("runq.busy", "runq.busy"): 2 * S, ("cpu.user", "cpu.user"): S}
    unread = parts_by(met)
    by = servers(Builder().thread("worker", rest="wait.work", requests=(100, 0)).model().threads, unread)
    assert by.met == Met({"runq.busy": 0.2}, {"disk.flush": 0.5, "cpu.user": 0.1}, pytest.approx(0.6))


def test_who_serves_nobody_is_himself_kept_from_reading() -> None:
    """A thread for each connection that waits for a disk, though nobody has asked it anything yet, or is stopped."""
    met = met_at_workers(parts_by({("disk.flush", "disk.flush"): 5 * S, ("wait.stopped",) * 2: 4 * S}, served=False))
    assert met == Met({"disk.flush": 0.5, "wait.stopped": 0.4})


def test_a_pool_is_not_full_because_it_was_stopped() -> None:
    """A thread for each of eight connections: stopped for three seconds of four, and asked meanwhile."""
    builder = Builder(comm="app", window="4 s")
    for _ in range(8):
        builder.thread("app", cpu_user="3 ms", wait_stopped="3 s", rest="net.request", requests=(12, 0))
    delays = [3 * S] * 8 + [MS // 10] * 92
    builder.line(exchange(100, sum(delays) + 100 * MS, {"cpu.user": 24 * MS}, read_delay_ns=sum(delays)))
    builder.line(latency([each + MS for each in delays]))
    builder.line(latency(delays, "read_delay"))
    for line in unread({("wait.stopped", "wait.stopped"): 8 * 3 * S}, served=False):
        builder.line(line)
    time = builder.model().request_time
    assert time and time.accounts["wait.stopped"] == pytest.approx(24 * S, rel=0.01)
    assert "POOL-SATURATED" not in {each.id for each in diagnose(builder.model()).findings}


def test_a_loop_that_is_hardly_seen_to_turn_is_still_told_by_what_it_was_in() -> None:
    """On average over its window a loop that waits all the time for a full pipe, in one wait, meets nobody."""
    builder = Builder(comm="node").thread("node", cpu_user="100 ms", ipc_pipe=("9 s", 3), requests=(100, 100))
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
    found = parts_by(parts, delay_ns=max(1, sum(parts.values())))
    for met in (met_at_loops(found), met_at_workers(found)):
        told = [*met.passed_on.values(), *met.others.values(), met.unheard]
        assert sum(told) == pytest.approx(1 if any(parts.values()) else 0, abs=1e-9)
        assert met.taken + sum(met.elsewhere.values()) + sum(met.behind.values()) == pytest.approx(
            sum(met.others.values())
        )
        assert met.taken >= 0 and met.unknown == pytest.approx(1 - sum(told))


def left(count: int, account: str, *, oldest_ns: int, sum_ns: int, earlier: bool = True) -> schema.RequestLeft:
    parts = [schema.LeftPart(account, account, False, sum_ns)]
    return schema.RequestLeft(PORT, earlier, count, sum_ns, oldest_ns, parts)


def test_a_server_that_is_stopped_all_the_time_is_asked_in_vain() -> None:
    builder = Builder(comm="app", window="3 s").thread("app", wait_stopped="3 s", open=("wait.stopped", "", "3 s"))
    builder.line(left(8, "wait.stopped", oldest_ns=4 * S, sum_ns=24 * S))
    model = builder.model()
    assert not model.coverage.contradictions
    assert model.request_time and model.request_time.accounts == {"wait.stopped": 24 * S}
    assert "app (100), stopped by" in decide(model, diagnose(model)).text


def test_who_reads_nothing_all_the_time_is_told_by_what_he_is_in() -> None:
    """No request is answered: what the only thread waits for is what all of them wait for."""
    builder = Builder(comm="app", window="3 s").thread("app", lock_file="3 s", open=("lock.file", "", "3 s"))
    builder.line(left(3, "lock.file", oldest_ns=4 * S, sum_ns=9 * S))
    time = builder.model().request_time
    assert time and time.accounts == {"lock.file": 9 * S} and time.count == 3


def test_nobody_is_acquitted_while_requests_lie_unread() -> None:
    """Too little of the window to rank causes by it, and all threads wait for work: somebody is not answered."""
    builder = Builder(comm="app", window="10 s").thread("app", cpu_user="1 ms", rest="net.accept")
    builder.line(left(1, "net.accept", oldest_ns=2 * S, sum_ns=2 * S, earlier=False))
    verdict = decide(builder.model(), diagnose(builder.model()))
    assert verdict.kind == "cannot tell", verdict


def test_what_an_idle_reader_has_left_for_long_is_no_request() -> None:
    """A byte that nobody wants, on a connection on which only the server talks: the disk is still the cause."""
    builder = Builder(comm="app", window="10 s").thread("app", cpu_user="1 ms", rest="wait.timer")
    builder.row("disk.flush", "device:8:0", durations={"400 ms": 10})
    expected = decide(builder.model(), diagnose(builder.model()))
    builder.line(left(1, "wait.timer", oldest_ns=500 * S, sum_ns=10 * S))
    model = builder.model()
    assert model.request_time is None and not model.requests_awaited
    assert decide(model, diagnose(model)) == expected


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"sum_ns": 3 * S}, "what readers were in"),
        ({"count": 1}, "are left unread"),
        ({"oldest_ns": S}, "are left unread"),
        ({"oldest_ns": 10**15}, "longer than since boot"),
    ],
)
def test_what_is_left_agrees_with_itself(changes: dict[str, int], expected: str) -> None:
    builder = Builder(window="3 s").thread("app", wait_stopped="3 s")
    line = left(8, "wait.stopped", oldest_ns=4 * S, sum_ns=24 * S)
    builder.line(msgspec.structs.replace(line, **changes))
    assert any(expected in text for text in builder.model().coverage.contradictions)


def test_what_lay_unread_while_a_call_for_the_one_before_was_under_way_waited_for_that() -> None:
    """nginx copies requests to a slow peer, and reads no further on a connection until that has answered."""
    builder = Builder(window="10 s").thread("nginx", cpu_user="10 ms", wait_events="9990 ms")
    delays = {"read_delay_ns": 9 * S, "unread_peers_ns": 8 * S, "peers_ns": 12 * S}
    builder.line(exchange(100, 10 * S, {"cpu.user": 10 * MS}, **delays)).line(latency([100 * MS] * 100))
    builder.line(exchange(100, 12 * S, object="peer:10.0.0.2:80", direction="connected"))
    for line in unread({("wait.events", "wait.events"): S}, served=False):
        builder.line(line)
    model = builder.model()
    assert not model.coverage.contradictions
    accounts = model.request_time.accounts if model.request_time else {}
    assert accounts == {"request.queued": S, "request.peers": 9 * S - 10 * MS, "cpu.user": 10 * MS}


@pytest.mark.parametrize("changes", [{"read_delay_ns": S}, {"peers_ns": S}, {"over_slo_unread_peers_ns": 9 * S}])
def test_what_waits_for_the_call_before_is_a_part_of_what_is_unread(changes: dict[str, int]) -> None:
    fields = {"read_delay_ns": 9 * S, "unread_peers_ns": 8 * S, "peers_ns": 12 * S} | changes
    model = Builder(window="10 s").line(exchange(100, 10 * S, **fields)).model()
    assert any("unread_peers_ns" in text for text in model.coverage.contradictions)


def test_whose_connection_nobody_accepts_waits_whoever_is_idle() -> None:
    """A server of one connection at a time waits on that for its client, and another client waits behind it."""
    builder = Builder(comm="app", window="10 s").thread("app", cpu_user="1 ms", rest="net.request")
    builder.line(schema.RequestLeft(PORT, True, 1, 10 * S, 14 * S, [], queued=True))
    verdict = decide(builder.model(), diagnose(builder.model()))
    assert verdict.kind == "cannot tell" and "1 request on port 8080 was still unread" in verdict.text, verdict


def test_where_something_lies_unread_work_came() -> None:
    builder = Builder(comm="app", window="10 s").thread("app", cpu_user="1 ms", rest="net.accept")
    builder.line(schema.RequestLeft(PORT, True, 2, 20 * S, 14 * S, []))
    text = decide(builder.model(), diagnose(builder.model())).text
    assert "2 messages on port 8080 lie unread" in text and "work came" not in text, text


def test_both_kinds_may_lie_on_one_port() -> None:
    builder = Builder(window="3 s").thread("app", rest="net.request")
    for queued in (False, True):
        builder.line(schema.RequestLeft(PORT, False, 1, S, S, [], queued=queued))
    assert not builder.model().coverage.contradictions
