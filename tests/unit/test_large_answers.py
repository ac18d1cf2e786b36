"""Long answers of a peer: who asks for more than it needs, and who passes on what it asks for."""

from __future__ import annotations

from typing import Any

import pytest
from perfdiag.diagnosis.rule import Severity, is_elsewhere
from perfdiag.model.model import Model
from perfdiag.recording import schema

from unit.support import Builder
from unit.support.exchanges import fine_bucket, served
from unit.support.judging import finding, findings

DATABASE, ID = "peer:10.0.0.9:5432", "NET-PEER-SLOW"
S, MS, MIB = 1_000_000_000, 1_000_000, 1 << 20


def page(
    *,
    received: int = 320 * MIB,
    sent: int = 10_000,
    rest_ns: int = 6 * S,
    first: str = "1 ms",
    declined: int = 0,
    copied: int = 0,
) -> Model:
    """20 requests, each of which makes one call that is answered after 1 ms, and reads for long what follows."""
    builder = Builder().thread("worker", cpu_user="1 s")
    builder.row("net.receive", DATABASE, durations={"100 us": 60_000})
    for line in served(20, 400 * MS, {"net.receive": 6 * S}, bytes_out=sent, declined=declined):
        builder.line(line)
    builder.exchange(DATABASE, "connected", {first: 20}, rest_ns=rest_ns, bytes_in=received)
    if copied:
        builder.exchange("peer:10.0.0.8:9000", "connected", {"1 ms": 20}, bytes_out=copied)
    return builder.socket(DATABASE, rtt_us=100, minimum_rtt_us=100).model()


def test_who_reads_far_more_than_it_passes_on_asks_for_less() -> None:
    """A driver read 60,000 rows for a page of 20, "for work or for one long answer"."""
    found = finding(page(), ID)
    assert found.severity is Severity.WARNING and "answers with 16.0 MiB each time" in found.headline
    assert "320 MiB in all, of which 9.77 KiB was passed on" in found.evidence[0].text
    assert "rows" in found.remedies[0].text
    assert not is_elsewhere(found)


@pytest.mark.parametrize("how", [{"sent": 320 * MIB}, {"copied": 320 * MIB}, {"declined": 1}])
def test_who_passes_it_on_needs_it(how: dict[str, int]) -> None:
    """To clients, to another peer, or perhaps over HTTP/2, whose answers are not counted."""
    found = finding(page(**how), ID)  # type: ignore[arg-type]
    assert found.severity is Severity.INFO and "answers with 16.0 MiB each time" in found.headline


@pytest.mark.parametrize(
    "other", [{"received": 20 * 4096}, {"rest_ns": S}, {"received": 40 * MIB, "rest_ns": 60 * S}, {"first": "400 ms"}]
)
def test_short_answers_and_slow_ones_are_not_long(other: dict[str, int]) -> None:
    assert all("each time" not in each.headline for each in findings(page(**other), ID))  # type: ignore[arg-type]


def sql_call(name: str) -> schema.SqlCall:
    kind = "run" if name else "prepared"
    given: dict[str, Any] = {"server": "postgresql", "kind": kind, "cut": False, "object": DATABASE, "request": ""}
    latency = {"count": 20, "sum_ns": 20 * MS, "max_ns": MS, "buckets": [(fine_bucket(MS), 20)]}
    return schema.SqlCall(name=name, owned=0, repeated=0, **given, **latency)


@pytest.mark.parametrize(
    ("names", "told"),
    [(["SELECT * FROM a"], True), (["SELECT * FROM a", "BEGIN"], False), (["SELECT * FROM a", ""], False)],
)
def test_the_statement_is_named_where_it_is_the_only_one(names: list[str], told: bool) -> None:
    builder = Builder().thread("worker", cpu_user="1 s")
    builder.row("net.receive", DATABASE, durations={"100 us": 60_000})
    builder.exchange(DATABASE, "connected", {"1 ms": 20}, rest_ns=6 * S, bytes_in=320 * MIB)
    for name in names:
        builder.line(sql_call(name))
    assert ("answer to SELECT * FROM a is 16.0 MiB" in finding(builder.model(), ID).headline) is told
