"""Requests that only the target's own processes make of each other, beside those of others."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.model.requests.exchanges import exchanges_of
from perfdiag.recording import schema

from unit.support import Builder
from unit.support.exchanges import exchange, latency
from unit.support.reports import made

S, MS, US = 1_000_000_000, 1_000_000, 1_000


def line(object: str, direction: str, count: int) -> schema.Exchange:
    return exchange(count, count * MS, {}, object=object, direction=direction)


@pytest.mark.parametrize(
    ("lines", "inside"),
    [
        ([("port:80", "accepted", 10), ("file:8:1:7:own", "accepted", 900), ("unix:7:app", "connected", 900)], {1}),
        ([("port:80", "accepted", 10), ("file:8:1:7:own", "accepted", 900), ("unix:9:db", "connected", 900)], set()),
        ([("port:80", "accepted", 10), ("file:8:1:7:own", "accepted", 900), ("unix:7:app", "connected", 800)], set()),
        ([("port:80", "accepted", 10), ("port:90", "accepted", 50), ("peer:127.0.0.1:90", "connected", 49)], {1}),
        ([("port:80", "accepted", 10), ("port:90", "accepted", 50), ("peer:10.0.0.7:90", "connected", 50)], set()),
        ([("port:90", "accepted", 50), ("peer:127.0.0.1:90", "connected", 50)], set()),  # there are no others
    ],
)
def test_who_asks(lines: list[tuple[str, str, int]], inside: set[int]) -> None:
    made = {each.line.object: each for each in exchanges_of([line(*each) for each in lines], [], pids={7})}
    assert {at for at, (object, _, _) in enumerate(lines) if made[object].internal} == inside
    assert all(each.from_outside == (each.served and not each.internal) for each in made.values())


def test_calls_are_counted_by_requests_of_others() -> None:
    """A page of 150 ms made 1,500 calls to a process of its own: the report said that 24,000 requests take 50 us."""
    builder = Builder(comm="app").thread("app", pid=7, tid=7, cpu_user="1 s", requests=(15, 0))
    builder.row("ipc.unix", "unix:8:manager", "1 s", count=22_500).thread("manager", pid=8, tid=8, cpu_user="500 ms")
    inner, calls = ("file:8:1:7:own", "accepted"), ("unix:8:manager", "connected")
    for count, ns, (object, direction), parts in (
        (15, 150 * MS, ("port:8080", "accepted"), {"cpu.user": S, "ipc.unix": S}),
        (22_500, 20 * US, inner, {"cpu.user": S // 2}),
        (22_500, 40 * US, calls, {}),
    ):
        peers = {"peers_ns": 900 * MS} if object == "port:8080" else {}
        builder.line(exchange(count, count * ns, parts, object=object, direction=direction, **peers))
        builder.line(latency([ns] * count, object=object, direction=direction))
    model = builder.model()
    found = diagnose(model).findings
    assert found[0].id == "NET-CHATTY" and found[0].evidence[0].value == pytest.approx(1500), found[0]
    report = made(model, *found)
    assert report.request_time and (report.request_time.count, report.request_time.own_count) == (15, 22_500)
    assert "Its 15 requests took p50 150 ms" in report.verdict.text
