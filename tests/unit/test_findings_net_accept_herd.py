"""NET-ACCEPT-HERD, and CPU-OVERSUBSCRIBED where many are woken at once by something else."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.claims import settle
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Confidence, Severity
from perfdiag.diagnosis.rules import RULES
from perfdiag.model.model import Model

from unit.support import Builder
from unit.support.judging import check, finding, knowing, outcomes, silence

HERD, CROWD = "NET-ACCEPT-HERD", "CPU-OVERSUBSCRIBED"


def server(
    wakes: int = 3_000,
    *,
    workers: int = 24,
    wait: str = "60 us",
    account: str = "net.accept",
    idle: int = 0,
    cpus: int = 2,
) -> Builder:
    """Processes that wait for connections: each was woken so often, `idle` times to an idle CPU; else it queued."""
    builder = Builder(cpus=cpus).thread("parent", rest="wait.signal")
    for number in range(workers):
        builder.thread("worker", pid=200 + number, cpu_user="20 ms", rest=account)
        builder.row(account, "port:80" if account == "net.accept" else "", "5 s", count=wakes)
        if idle:
            builder.row("runq.waking", "state:1", durations={"2 us": idle})
        if wakes > idle:
            builder.row("runq.busy", "own:200:worker", durations={wait: wakes - idle})
    return builder


def came(builder: Builder, connections: int | None = 3_000) -> Model:
    """Return the model of a host that took in so many connections, or does not count them."""
    return knowing(
        builder.model(),
        network_deltas={} if connections is None else {"Tcp.PassiveOpens": connections},
        cpu_times_ns={},
        processes={},
    )


def test_connections_that_wake_all_who_wait_are_a_herd() -> None:
    model = came(server())
    found = finding(model, HERD)
    assert found.severity is Severity.WARNING and found.confidence is Confidence.MEDIUM
    assert len(found.limits) == 1 and "network namespace" in found.limits[0]
    assert "72,000 wake-ups of 24 processes for 3,000 connections" in found.claim
    whole_ns = model.accounts["runq.busy"].ns
    assert found.claims == {("runq.busy", "own:200:worker"): round(whole_ns * 23 / 24)}
    assert "at least 24.0 wake-ups for each" in found.evidence[0].text
    assert "became runnable 72,000 times, and at least 69,000 wake-ups found no connection" in found.evidence[1].text
    assert "EPOLLEXCLUSIVE" in found.remedies[0].text and "SO_REUSEPORT" in found.remedies[0].text


def test_short_waits_behind_others_are_of_the_herd_and_long_ones_are_not() -> None:
    builder = server()
    builder.row("runq.busy", "task:7:client", durations={"60 us": 10_000})
    builder.row("runq.busy", "task:8:backup", durations={"3 ms": 100})
    part = 69_000 / (72_000 + 10_100)
    assert dict(finding(came(builder), HERD).claims) == {
        ("runq.busy", "own:200:worker"): round(24 * 3_000 * 60_000 * part),
        ("runq.busy", "task:7:client"): round(10_000 * 60_000 * part),
    }


def crunching(builder: Builder, wait: str = "3 ms", pid: int = 400) -> Builder:
    """Add three that never accept and queue behind each other for 18 s."""
    for number in range(3):
        builder.thread("crunch", pid=pid, tid=pid + number, cpu_user="4 s", rest="wait.signal")
        builder.row("runq.busy", "own:400:crunch", durations={wait: 6_000_000 // int(wait.split()[0]) // 1_000})
    return builder


def test_others_queue_for_themselves() -> None:
    found = finding(came(crunching(server())), HERD)
    assert found.claims == {("runq.busy", "own:200:worker"): round(24 * 3_000 * 60_000 * 23 / 24)}


def test_behind_others_who_compute_the_herd_queues_for_as_long_when_it_is_none() -> None:
    builder = server()
    builder.row("runq.busy", "own:400:crunch", durations={"3 ms": 100})
    assert ("runq.busy", "own:400:crunch") in finding(came(builder), HERD).claims  # which ran for next to nothing
    found = finding(came(crunching(builder)), HERD)
    assert list(found.claims) == [("runq.busy", "own:200:worker")]


def test_no_more_is_claimed_than_those_queue_who_wait_for_connections() -> None:
    """Threads of one process: which of them waited for a CPU is not known of each wait."""
    builder = Builder(cpus=2)
    for number in range(24):
        builder.thread("worker", tid=100 + number, cpu_user="20 ms", rest="net.accept")
        builder.row("net.accept", "port:80", "5 s", count=3_000)
        builder.row("runq.busy", "own:100:worker", durations={"60 us": 3_000})
    builder.thread("other", tid=300, cpu_user="1 s", rest="wait.signal")
    builder.row("runq.busy", "own:100:other", durations={"100 us": 40_000})
    found = finding(came(builder), HERD)
    assert sum(found.claims.values()) == pytest.approx(24 * 3_000 * 60_000 * 23 / 24, abs=2)
    assert len(found.claims) == 2


@pytest.mark.parametrize("crunchers", [True, False])
@pytest.mark.parametrize("busy", [100, 0])
def test_who_is_woken_to_an_idle_cpu_queues_for_nobody(busy: int, crunchers: bool) -> None:
    """2,900 of the 3,000 wake-ups of each, or all: 144 ms in the run queue, or none."""
    builder = server(idle=3_000 - busy, cpus=32)
    checked = check(came(crunching(builder) if crunchers else builder), HERD)
    assert "72,000 wake-ups to accept, 3,000 connections arrived" in checked.text
    assert checked.number < 0.25


def test_the_part_for_nothing_is_of_all_times_that_they_became_ready() -> None:
    """Half of the wake-ups found an idle CPU: those that did not were for nothing as often as those that did."""
    builder = server(idle=1_500, wait="100 us")
    assert sum(finding(came(builder), HERD).claims.values()) == round(24 * 1_500 * 100_000 * 23 / 24)


def agents(builder: Builder, count: int = 20) -> Builder:
    """Add processes that wait for connections to unix sockets."""
    for number in range(count):
        builder.thread("agent", pid=500 + number, cpu_user="20 ms", rest="net.accept")
        builder.row("net.accept", "", "5 s", count=1_000)
        builder.row("runq.busy", "own:500:agent", durations={"60 us": 1_000})
    return builder


def test_who_waits_at_unix_sockets_is_of_no_herd() -> None:
    found = finding(came(agents(server(6_000, workers=4)), 6_000), HERD)
    assert "24,000 wake-ups of 4 processes for 6,000 connections" in found.claim
    assert list(found.claims) == [("runq.busy", "own:200:worker")]
    assert "24,000 wake-ups to accept" in check(came(agents(server(6_000, workers=4)), 1_500), HERD).text
    assert outcomes(came(agents(Builder())), HERD) == []
    assert outcomes(came(agents(server(workers=1))), HERD) == []


def test_threads_of_one_process_are_a_herd_too() -> None:
    builder = Builder(cpus=2)
    for number in range(24):
        builder.thread("worker", tid=100 + number, cpu_user="20 ms", rest="net.accept")
        builder.row("net.accept", "port:80", "5 s", count=3_000)
        builder.row("runq.busy", "own:100:worker", durations={"60 us": 3_000})
    assert "wake-ups of 24 threads for" in finding(came(builder), HERD).claim


@pytest.mark.parametrize(
    ("builder", "connections"),
    [
        (server(), 72_000),  # each connection wakes one, as a blocking accept() does
        (server(), 40_000),  # or not quite two
        (server(), 2_000),  # more wake-ups than connections can be the cause of: time limits
        (server(), 0),
        (server(wakes=100), 100),  # idle workers, a connection now and then: 144 ms in 10 s
    ],
)
def test_what_is_no_herd_or_is_not_felt_is_fine(builder: Builder, connections: int) -> None:
    assert f"{connections:,} connections arrived" in check(came(builder, connections), HERD).text


def test_one_that_accepts_for_all_is_not_even_asked() -> None:
    assert outcomes(came(server(workers=1)), HERD) == []
    assert outcomes(came(Builder().thread("app", cpu_user="1 s")), HERD) == []


def test_a_part_that_is_woken_looks_like_time_limits_too() -> None:
    found = finding(came(server(), 10_000), HERD)
    assert found.confidence is Confidence.MEDIUM and "time limit" in found.limits[0]


def test_how_many_connections_came_may_not_be_known() -> None:
    assert "unknown" in silence(came(server(), None), HERD).reason
    assert outcomes(came(server(wakes=100), None), HERD) == []
    contained = server().thread("worker", pid=300, namespace_tid=7, rest="net.accept")
    contained.row("net.accept", "port:80", "1 s", count=1)
    assert "unknown" in silence(came(contained), HERD).reason


def test_a_herd_takes_the_time_from_the_general_finding() -> None:
    model = came(server())
    settled = settle(model, [finding(model, HERD), finding(model, CROWD)], RULES)
    assert [each.id for each in settled.findings] == [HERD]
    assert [each.id for each in settled.superseded] == [CROWD]
    assert diagnose(model).findings[0].id == HERD


def test_many_woken_at_once_by_what_is_not_known_queue_for_longer_than_they_run() -> None:
    """As workers that wait for events of one epoll each: 1.44 s of queueing in 10 s, 0.48 s of work."""
    model = came(server(wakes=1_000, account="wait.events"))
    found = finding(model, CROWD)
    assert found.severity is Severity.INFO
    assert any("thundering herd" in other for other in found.alternatives)
    assert found.claims == {("runq.busy", "own:200:worker"): model.accounts["runq.busy"].ns}


@pytest.mark.parametrize(("wakes", "workers"), [(600, 24), (1_000, 10)])
def test_hand_overs_are_no_bursts(wakes: int, workers: int) -> None:
    """Nearly: queueing for 1.8 times as long as they run; and for less than a tenth of the window."""
    check(came(server(wakes, workers=workers, account="wait.events")), CROWD)


def test_without_the_names_of_who_ran_no_burst_is_seen() -> None:
    builder = Builder(cpus=2)
    for number in range(24):
        builder.thread("worker", pid=200 + number, cpu_user="20 ms").row("runq.busy", "", durations={"60 us": 1_000})
    assert silence(came(builder.lost(detail_full=24)), CROWD)
