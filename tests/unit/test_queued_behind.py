"""Requests that lie unread: they wait for what their readers were in, or for one more worker."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from perfdiag.diagnosis.engine import Diagnosis, diagnose
from perfdiag.model.model import Model
from perfdiag.model.requests.request_time import ARRIVING, PEERS, QUEUED
from perfdiag.recording import schema

from unit.support import Builder
from unit.support.disks import disk, disks
from unit.support.exchanges import exchange, latency, unread
from unit.support.judging import finding, knowing

S, MS = 1_000_000_000, 1_000_000
POOL, FLUSH, CLIENT, PEER = "POOL-SATURATED", "DISK-FLUSH-SLOW", "NET-SLOW-CLIENT", "NET-PEER-SLOW"
DISK, UPSTREAM = "device:8:16", "peer:10.0.0.7:5432"


def pool(account: str, met: Mapping[tuple[str, str], int], object: str = "", **sums: int) -> Builder:
    """Return four workers that are in an account, in waits of 100 ms, for 28 s in all of 100 requests, which lay unread
    for 20 s more; `met`: in what those were meanwhile who read them, by account and root, in tenths."""
    builder = Builder(comm="httpd")
    for _ in range(4):
        builder.thread("worker")
        builder.row(account, object, durations={"100 ms": 70})
    builder.reads(100)
    fields = {name: seconds * S for name, seconds in sums.items()}
    builder.line(exchange(100, 48 * S, {account: 28 * S}, read_delay_ns=20 * S, **fields))
    for line in unread({pair: tenths * 2 * S for pair, tenths in met.items()}):
        builder.line(line)
    builder.line(latency([480 * MS] * 100))
    return builder.line(latency([400 * MS] * 50 + [0] * 50, "read_delay"))


def shares(model: Model) -> dict[str, float]:
    found: Diagnosis = diagnose(model)
    return {each.id: each.share for each in found.findings}


def flushing(met: Mapping[tuple[str, str], int]) -> Model:
    builder = pool("disk.flush", met, DISK)
    for operation in ("write", "flush"):
        builder.device("8:16", operation, count=280, service="95 ms")
    return knowing(builder.model(), disks=disks(disk("8:16", "sdb", rotational=False)))


def test_workers_that_wait_for_a_slow_disk_are_its_path() -> None:
    model = flushing({("disk.flush", "disk.flush"): 10})
    found = shares(model)
    assert POOL not in found and found[FLUSH] == pytest.approx(1.0)
    assert POOL in {each.id for each in diagnose(model).superseded}, "it is true, and said as such"
    root = next(each for each in diagnose(model).findings if each.id == FLUSH)
    assert root.is_root and root.claims[QUEUED, "disk.flush"] == 20 * S and root.evidence[-1].value == 20 * S


def test_what_workers_were_in_besides_stays_that_of_the_pool() -> None:
    found = shares(flushing({("disk.flush", "disk.flush"): 6, ("cpu.user", "cpu.user"): 4}))
    assert found[FLUSH] == pytest.approx((28 + 12) / 48) and found[POOL] == pytest.approx(8 / 48)


def test_behind_a_lock_whose_holder_waits_they_wait_for_what_that_one_does() -> None:
    found = shares(flushing({("lock.futex", "disk.flush"): 8, ("disk.flush", "disk.flush"): 2}))
    assert POOL not in found and found[FLUSH] == pytest.approx(1.0)


LOCK, FUTEX = "LOCK-CONTENTION", "futex:0x7f00"


def locked(root: str) -> Builder:
    """Return four workers that are parked for a mutex, as stacks say, whose holder is in something."""
    builder = pool("wait.parked", {("wait.parked", root): 10}, FUTEX)
    builder.line(schema.RequestParked(100, FUTEX, False, 100, 28 * S))
    return builder.stack(
        "wait", account="wait.parked", object=FUTEX, user=["__lll_lock_wait (libc.so.6)"], count=50, weight="28 s"
    )


def test_for_a_lock_whose_holder_computes_another_worker_would_wait_too() -> None:
    found = diagnose(locked("cpu.user").model())
    first = next(each for each in found.findings if each.id == LOCK)
    assert first.share == pytest.approx(1.0) and not first.is_root
    assert POOL not in {each.id for each in found.findings}


def test_slow_clients_take_all_workers() -> None:
    model = pool("net.receive", {("net.receive", "net.receive"): 10}, arriving_ns=28).model()
    assert model.request_time and {each.account for each in model.request_time.queued} == {ARRIVING}
    found = shares(model)
    assert POOL not in found and found[CLIENT] == pytest.approx(1.0)


def test_another_worker_would_not_wait_for_the_answer_to_the_call_of_this_one() -> None:
    found = shares(pool("net.receive", {("net.receive", "net.receive"): 10}, UPSTREAM).model())
    assert found[PEER] == pytest.approx(28 / 48) and found[POOL] == pytest.approx(20 / 48)


def sleeping(few: int, many: int, few_ms: int, many_ms: int) -> Model:
    """Return four workers that sleep while they serve requests of two names, all of which lie unread for 400 ms."""
    builder = Builder(comm="gunicorn")
    for _ in range(4):
        builder.thread("worker", wait_timer=f"{(few * few_ms + many * many_ms) // 4} ms", rest="net.request")
    builder.reads((few + many) // 4)
    for name, count, each_ms in (("GET /slow", few, few_ms), ("GET /", many, many_ms)):
        slept_ns, unread_ns = count * each_ms * MS, count * 400 * MS
        line = exchange(count, slept_ns + unread_ns, {"wait.timer": slept_ns}, read_delay_ns=unread_ns, name=name)
        builder.line(line).line(latency([400 * MS + each_ms * MS] * count, name=name))
        builder.line(latency([400 * MS] * count, "read_delay", name=name))
        builder.line(schema.RequestUnread(line.object, name, False, "wait.timer", "wait.timer", unread_ns, True))
    return builder.model()


def test_few_long_requests_that_hold_all_workers_are_the_cause_and_not_the_pool() -> None:
    found = diagnose(sleeping(few=20, many=180, few_ms=800, many_ms=1)).findings[0]
    assert found.id == "WAIT-TIMER-IN-REQUEST" and found.is_root and found.share == pytest.approx(1.0)
    assert any("held by 20 requests GET /slow on port 8080: once read, 800 ms" in each.text for each in found.evidence)


def test_a_pool_whose_every_request_takes_as_long_is_too_small() -> None:
    for model in (sleeping(few=100, many=100, few_ms=100, many_ms=100), sleeping(180, 20, few_ms=100, many_ms=1)):
        found = diagnose(model).findings[0]
        assert found.id == POOL and "mostly sleeping" in found.headline
        assert "once read, a request takes" in found.evidence[1].text


def test_calls_that_are_waited_for_by_events_are_told_apart_from_these() -> None:
    met = {("wait.events", "wait.events"): 10}
    model = pool("wait.events", met, peers_ns=21).model()
    assert model.request_time
    assert {each.account: ns for each, ns in model.request_time.queued.items()} == {PEERS: 15 * S, "wait.events": 5 * S}


def test_a_pool_that_computes_is_told_so() -> None:
    found = finding(pool("cpu.user", {("cpu.user", "cpu.user"): 10}).model(), POOL)
    assert dict(found.claims) == {(QUEUED, "cpu.user"): 20 * S} and "cheaper" in found.remedies[0].text


@pytest.mark.parametrize(
    ("stacks", "said"),
    [
        (
            [({"kernel": ["__d_lookup_rcu", "lookup_fast", "path_openat"]}, 90), ({"user": ["main (app)"]}, 10)],
            "file names",
        ),
        ([({"user": ["inflate (zlib.so.1)"]}, 60), ({"user": ["main (app)"]}, 40)], "inflate (zlib.so.1)"),
        ([({"user": [f"part_{number} (app)"]}, 10) for number in range(10)], "computing"),
        ([({"user": ["inflate (zlib.so.1)"]}, 5)], "computing"),
    ],
)
def test_what_a_pool_computes_is_named_where_one_thing_is_most_of_it(
    stacks: list[tuple[dict[str, list[str]], int]], said: str
) -> None:
    builder = pool("cpu.user", {("cpu.user", "cpu.user"): 10})
    for frames, count in stacks:
        builder.stack("cpu", count=count, **frames)
    found = finding(builder.model(), POOL)
    assert said in found.headline and len(found.headline) <= 75
    assert (found.evidence[-1].probe == "lines of time") == (said == "computing")
