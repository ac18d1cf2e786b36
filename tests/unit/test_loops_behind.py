"""Requests of a loop that are in other hands: wake-ups tell what those were in that the loop waited for."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.engine import Diagnosis, diagnose
from perfdiag.diagnosis.rule import Severity
from perfdiag.model.model import Model
from perfdiag.model.requests.request_time import REST
from perfdiag.report.verdict.sentences import Kind

from unit.support import Builder
from unit.support.exchanges import exchange, latency
from unit.support.reports import made

S, MS = 1_000_000_000, 1_000_000
PEER, SLOW = "peer:10.0.0.7:80", "NET-PEER-SLOW"


def proxy(*, behind: str = "6 s", root: str = "net.receive", wait: str = "60 ms", turns: int = 199) -> Model:
    """Return a loop that waits for 8 s, so long for a helper that waited for a peer; 200 requests took 4 s in the waits
    of the loop, and 8 s in other hands."""
    builder = Builder(comm="squid").thread(
        "squid", pid=100, tid=100, cpu_user="200 ms", wait_events="8 s", rest="net.accept"
    )
    builder.reads(200, turns)
    builder.because("wait.events", "", root, behind, PEER, root_tid=300)
    builder.thread("helper", pid=300, tid=300, rest="ipc.unix").row("net.receive", PEER, durations={wait: 130})
    builder.line(exchange(200, 12_200 * MS, {"cpu.user": 200 * MS, "wait.events": 4 * S}, turns=turns))
    return builder.line(latency([61 * MS] * 200)).model()


def shares(found: Diagnosis) -> dict[str, float]:
    return {each.id: each.share for each in found.findings if each.severity is not Severity.INFO}


def test_as_much_as_wake_ups_tell_is_behind_what_the_helper_waits_for() -> None:
    model = proxy()
    assert model.request_time and model.request_time.accounts[REST] == 7840 * MS, (
        "for 2 % of the time the loop is with others"
    )
    found = diagnose(model)
    first = found.findings[0]
    assert first.id == SLOW and first.is_root and first.claims[REST] == 5880 * MS
    assert first.claims["wait.events"] == 3 * S and first.share == pytest.approx(8.88 / 12.2)


def test_what_remains_unknown_does_not_outvote_it() -> None:
    model = proxy()
    verdict = made(model, *diagnose(model).findings).verdict
    assert verdict.kind in (Kind.CAUSE.value, Kind.ELSEWHERE.value) and verdict.ids == [SLOW]
    few = proxy(behind="2400 ms")
    verdict = made(few, *diagnose(few).findings).verdict
    assert verdict.kind == Kind.CANNOT_TELL.value, "5.6 s are not followed, and 3.6 s are behind it"


@pytest.mark.parametrize(
    "other",
    [
        proxy(wait="1 ms"),  # as fast as it can be
        proxy(root="cpu.user"),  # the helper computes
        proxy(root="lock.futex"),
        proxy(turns=0),  # a worker: its waits are those of the request that it has
        proxy(behind="10 ms"),
    ],
)
def test_nothing_else_is_taken_to_be_behind_it(other: Model) -> None:
    assert shares(diagnose(other)).get(SLOW, 0.0) == 0.0
