"""NET-RETRANSMITS: answers are written at once, and reach their clients late, because they are sent again."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Severity
from perfdiag.model.model import Model

from unit.support import Builder
from unit.support.exchanges import served

MS = 1_000_000


def server(resent: int, resent_ms: int) -> Model:
    """100 requests: each 1 ms until its answer was written, some of them sent again for so long."""
    each_ns = MS + resent * resent_ms * MS // 100
    lines = served(100, each_ns, {"cpu.user": 100 * MS}, resent=resent, resent_ns=resent * resent_ms * MS)
    builder = Builder(window="10 s").thread("nginx", cpu_user="100 ms", wait_events="9900 ms")
    for line in lines:
        builder.line(line)
    return builder.model()


def test_answers_that_are_lost_are_the_time_of_requests() -> None:
    """A path dropped segments of full size: clients waited for 1.4 s, and 170 us were told."""
    model = server(98, 1400)
    first = diagnose(model).findings[0]
    assert first.id == "NET-RETRANSMITS" and first.severity is Severity.WARNING and first.share > 0.99
    assert first.headline.endswith("98 % of those on port 8080")
    assert "took 1.40 s each or longer" in first.claim
    assert model.request_time and model.request_time.accounts["request.resent"] == 98 * 1400 * MS


@pytest.mark.parametrize(("resent", "resent_ms"), [(0, 0), (1, 1)])
def test_few_are_no_fault(resent: int, resent_ms: int) -> None:
    assert all(each.id != "NET-RETRANSMITS" for each in diagnose(server(resent, resent_ms)).findings)
