"""CONCURRENCY-LIMIT of what requests keep while they call a slow peer, as connections of a pool to a database."""

from __future__ import annotations

from dataclasses import replace

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.evidence.network.turns import with_limit
from perfdiag.diagnosis.rule import Mechanism, Severity
from perfdiag.recording import schema

from unit.support import Builder
from unit.support.exchanges import exchange, latency
from unit.support.judging import finding

ID, PEER = "CONCURRENCY-LIMIT", "NET-PEER-SLOW"
UPSTREAM = "peer:10.0.0.7:80"
S, MS = 1_000_000_000, 1_000_000
INSTALLED = "/usr/lib/python3/dist-packages/sqlalchemy"
WAITS = [
    "Condition.wait (/usr/lib/python3.11/threading.py:288)",
    f"Queue.get ({INSTALLED}/util/queue.py:131)",
    f"QueuePool._do_get ({INSTALLED}/pool/impl.py:119)",
    "page (/srv/shop/service.py:21)",
]


def pool(connects: int, root: str = UPSTREAM) -> Builder:
    """Of twelve threads two call a peer for 120 ms, each time on so many new connections in all; the others wait."""
    builder = Builder(comm="app", window="10 s").interpreter("libpython3.11.so.1.0")
    for number in range(12):
        futex = f"futex:{number}"
        builder.thread(f"worker{number}").row("net.receive", UPSTREAM, durations={"120 ms": 13})
        builder.row("wait.parked", futex, "8 s", count=13)
        builder.stack(
            "wait", "wait.parked", script=WAITS, user=["futex (libc.so.6)"], object=futex, count=13, weight="8 s"
        )
        builder.line(schema.RequestParked(100, futex, False, 13, 8 * S))
        builder.line(
            schema.Because(
                pid=100, account="wait.parked", object=futex, steps=[], cut=False, root="net.receive",
                root_object=root, root_tid=0, root_tid_ns=0, sum_ns=4 * S, count=13, inside=True,
            )
        )  # fmt: skip
    builder.line(exchange(160, 116 * S, {"wait.parked": 96 * S, "net.receive": 18 * S}, peers_ns=18 * S))
    builder.line(latency([725 * MS] * 160))
    levels = [schema.CallLevel(2, 9800 * MS, 160, 158)]
    of = {"object": UPSTREAM, "direction": "connected", "whole": 0, "whole_ns": 0, "connects": connects}
    builder.line(exchange(160, 160 * 120 * MS, None, most=2, levels=levels, **of))
    builder.line(latency([120 * MS] * 160, object=UPSTREAM, direction="connected"))
    return builder.line(schema.RequestsInside(12, [schema.Level(12, 9900 * MS)], 0))


def test_what_is_kept_during_each_call_stands_before_the_peer() -> None:
    """A pool of two connections to a database, of which the peer knows nothing: each call connects anew."""
    first, second = [each for each in diagnose(pool(160).model()).findings if each.severity is Severity.WARNING]
    assert (first.id, second.id) == (ID, PEER)
    assert "wait in QueuePool._do_get (impl.py:119): at most 2 calls to 10.0.0.7:80 run" in first.headline
    assert first.headline.endswith(" at a time, 120 ms each")
    assert first.share == pytest.approx(0.83, abs=0.05) and first.share + second.share > 0.95
    assert (
        "do not keep what QueuePool._do_get (impl.py:119) gives during calls to 10.0.0.7:80" in first.remedies[0].text
    )
    assert "of size 2" in first.remedies[1].text and "at a time" not in second.headline


@pytest.mark.parametrize(("connects", "root"), [(2, UPSTREAM), (160, "peer:10.0.0.8:80")])
def test_a_pool_of_connections_to_the_slow_peer_itself_is_its_path(connects: int, root: str) -> None:
    first = diagnose(pool(connects, root).model()).findings[0]
    assert first.id == PEER and first.headline.endswith("; at most 2 calls to it at a time")


@pytest.mark.parametrize(("connects", "told"), [(2, True), (160, False)])
def test_a_peer_that_sleeps_is_told_with_the_limit_unless_that_stands_by_itself(connects: int, told: bool) -> None:
    model = pool(connects).model()
    limit = finding(model, ID)
    sleeps = replace(limit, id=PEER, mechanism=Mechanism.SLEEP, headline="10.0.0.7:80 sleeps", claims={})
    assert ("at most 2 calls" in with_limit(model, sleeps, UPSTREAM).headline) is told
