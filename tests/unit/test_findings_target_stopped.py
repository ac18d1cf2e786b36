"""TARGET-STOPPED: requests wait for a process that a signal, a debugger or a freezer has stopped."""

from __future__ import annotations

from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Severity
from perfdiag.report import assembly

from unit.support import Builder
from unit.support.exchanges import exchange, latency, unread
from unit.support.judging import check, finding, silence
from unit.support.reports import RUNBOOKS

S, MS = 1_000_000_000, 1_000_000
ID = "TARGET-STOPPED"


def stopped(ms: int) -> Builder:
    """Return a thread for each of eight connections, stopped for so long and asked by all of them meanwhile."""
    builder = Builder(comm="app", window="4 s")
    for _ in range(8):
        builder.thread("app", cpu_user="3 ms", wait_stopped=f"{ms} ms", rest="net.request", requests=(12, 0))
    delays = [ms * MS] * 8 + [MS // 10] * 88
    builder.line(exchange(96, sum(delays) + 100 * MS, {"cpu.user": 24 * MS}, read_delay_ns=sum(delays)))
    builder.line(latency([each + MS for each in delays])).line(latency(delays, "read_delay"))
    for line in unread({("wait.stopped", "wait.stopped"): 8 * ms * MS}, served=False):
        builder.line(line)
    return builder


def test_requests_that_wait_for_a_stopped_process() -> None:
    found = finding(stopped(3000).model(), ID)
    assert found.severity is Severity.WARNING and found.claims == {"wait.stopped": 24 * S}
    assert "app (100) 3.00 s, 1 times" in found.evidence[0].text
    model = stopped(3000).model()
    verdict = assembly.make(model, diagnose(model), RUNBOOKS).verdict
    assert verdict.ids == [ID] and "was stopped" not in verdict.text.partition("stopped for")[2], verdict


def test_a_stop_that_hardly_anybody_met() -> None:
    assert check(stopped(1).model(), ID).number < 0.1


def test_without_requests_it_is_not_known_who_waited() -> None:
    model = stopped(300).without("requests").model()
    assert silence(model, ID).reason == "requests were not measured"
    found = finding(stopped(3000).without("requests").model(), ID)
    assert found.headline.startswith("app (100) was stopped") and found.claims == {"wait.stopped": 24 * S}
