"""A server that answers fast: what its other threads wait for is no fault of the requests."""

from __future__ import annotations

from typing import Any

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Severity
from perfdiag.model.model import Model

from unit.support import Builder
from unit.support.exchanges import exchange, latency
from unit.support.reports import made

S = 1_000_000_000
MS = 1_000_000
PEER = "peer:10.0.0.7:5432"


def server(
    *,
    count: int = 240,
    each_ms: int = 2,
    longest_ms: int = 2,
    reads: int = 0,
    name: str = "pool-1-thread-1",
    **line: Any,
) -> Model:
    """Return a server of many threads, and one that fills a cache from a peer for six of ten seconds."""
    builder = Builder(comm="java")
    builder.thread(name, requests=(reads, 0)).row("net.receive", PEER, "6 s", count=20)
    for number in range(4):
        builder.thread(f"pool-2-thread-{number}", requests=(count // 4, 0), cpu_user="20 ms", wait_work="9 s")
    lengths_ns = [each_ms * MS] * (count - 1) + [max(each_ms, longest_ms) * MS]
    return builder.line(exchange(count, sum(lengths_ns), {}, **line)).line(latency(lengths_ns)).model()


def peer_severity(model: Model) -> Severity:
    return next(each.severity for each in diagnose(model).findings if each.id == "NET-PEER-SLOW")


def test_what_no_reader_of_requests_waits_for_is_no_fault_and_told() -> None:
    model = server()
    assert peer_severity(model) is Severity.INFO
    text = made(model, *diagnose(model).findings).verdict.text
    assert text.startswith("Its 240 requests took p50 2") and "10.0.0.7:5432 answers slowly" in text, text


@pytest.mark.parametrize("like", [{"longest_ms": 300}, {"reads": 1}, {"name": "pool-2-thread-9"}])
def test_nor_is_what_has_kept_no_request_waiting(like: dict[str, Any]) -> None:
    """Each was answered fast, though their reader waits for a peer beside them; or it reads none."""
    assert peer_severity(server(**like)) is Severity.INFO


@pytest.mark.parametrize(
    "unlike",
    [
        {"count": 80},  # something looks whether it is alive
        {"count": 200, "each_ms": 12},
        {"unanswered": 1, "unanswered_ns": S},
        {"declined": 1},  # what is not followed may be slow
        {"reads": 1, "longest_ms": 300},  # one may have waited for it
        {"name": "pool-2-thread-9", "longest_ms": 300},  # of the pool that reads requests
    ],
)
def test_otherwise_it_is_one(unlike: dict[str, Any]) -> None:
    assert peer_severity(server(**unlike)) is Severity.WARNING
