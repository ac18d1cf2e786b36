"""NET-ACCEPT-HERD, and CPU-OVERSUBSCRIBED where many are woken at once by something else."""

from __future__ import annotations

import pytest
from perfdiag.claims import settle
from perfdiag.findings import RULES, diagnose
from perfdiag.findings.base import Confidence, Severity
from perfdiag.model import Model

from unit.support import Builder
from unit.support.judging import check, finding, knowing, outcomes, silence

HERD, CROWD = "NET-ACCEPT-HERD", "CPU-OVERSUBSCRIBED"


def server(wakes: int = 3_000, *, workers: int = 24, wait: str = "60 us", account: str = "net.accept") -> Builder:
    """Processes that wait for connections: each was woken so many times, and queued as often for a CPU."""
    builder = Builder(cpus=2).thread("parent", rest="wait.signal")
    for number in range(workers):
        builder.thread("worker", pid=200 + number, cpu_user="20 ms", rest=account)
        builder.row(account, "port:80" if account == "net.accept" else "", "5 s", count=wakes)
        builder.row("runq.busy", "own:200:worker", durations={wait: wakes})
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
    assert found.severity is Severity.WARNING and found.confidence is Confidence.HIGH
    assert "72,000 wake-ups of 24 processes for 3,000 connections" in found.claim
    whole_ns = model.accounts["runq.busy"].ns
    assert found.claims == {("runq.busy", "own:200:worker"): round(whole_ns * 23 / 24)}
    assert "at least 24.0 wake-ups for each" in found.evidence[0].text
    assert "EPOLLEXCLUSIVE" in found.remedies[0].text and "SO_REUSEPORT" in found.remedies[0].text


def test_short_waits_behind_others_are_of_the_herd_and_long_ones_are_not() -> None:
    builder = server().thread("other", cpu_user="1 ms")
    builder.row("runq.busy", "task:7:client", durations={"60 us": 10_000})
    builder.row("runq.busy", "task:8:backup", durations={"3 ms": 100})
    model = came(builder)
    part = 69_000 / (72_000 + 10_100)
    assert dict(finding(model, HERD).claims) == {
        ("runq.busy", "own:200:worker"): round(24 * 3_000 * 60_000 * part),
        ("runq.busy", "task:7:client"): round(10_000 * 60_000 * part),
    }


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
    assert f"{connections:,} connections came" in check(came(builder, connections), HERD).text


def test_one_that_accepts_for_all_is_not_even_asked() -> None:
    assert outcomes(came(server(workers=1)), HERD) == []
    assert outcomes(came(Builder().thread("app", cpu_user="1 s")), HERD) == []


def test_a_part_that_is_woken_looks_like_time_limits_too() -> None:
    found = finding(came(server(), 10_000), HERD)
    assert found.confidence is Confidence.MEDIUM and "time limit" in found.limits[0]


def test_how_many_connections_came_may_not_be_known() -> None:
    assert "not known" in silence(came(server(), None), HERD).reason
    assert outcomes(came(server(wakes=100), None), HERD) == []
    contained = server().thread("worker", pid=300, namespace_tid=7, net_accept="1 s")
    assert "not known" in silence(came(contained), HERD).reason


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
    assert found.severity is Severity.INFO and "3 times as long as they run: many are woken at once" in found.claim
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
    said = silence(came(builder.lost(detail_full=24)), CROWD)
    assert "not known who had the CPU" in said.reason
