"""CPU-OVERSUBSCRIBED of requests that no thread shows: more are in progress than there are CPUs, which are used up."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.evidence.cpu.main_work import main_work
from perfdiag.diagnosis.evidence.cpu.stack_samples import CpuSamples
from perfdiag.diagnosis.rule import Finding, Severity
from perfdiag.model.model import Model
from perfdiag.model.requests.request_time import REST
from perfdiag.recording import schema

from unit.support import Builder
from unit.support.exchanges import exchange, latency

ID, S, MS = "CPU-OVERSUBSCRIBED", 1_000_000_000, 1_000_000
LEAVES = ("swap", "less", "copy", "fold")
BELOW = ["parse (app)", "compile (app)", "valid (app)", "serve (app)", "main (app)"]


def goroutines(cpu: str = "9.2 s", requests: int = 8, followed_ms: int = 0, cpus: int = 2) -> Builder:
    """Two threads of a scheduler for 10 s, in which so many requests are always in progress, each for 0.4 s."""
    builder = Builder(comm="app", window="10 s", cpus=cpus)
    for tid in (100, 101):
        builder.thread("app", tid=tid, cpu_user=cpu)
    count = requests * 25
    builder.line(exchange(count, requests * 10 * S, {"cpu.user": followed_ms * MS}, whole=0, whole_ns=0))
    builder.line(latency([400 * MS] * count))
    return builder.line(schema.RequestsInside(requests, [schema.Level(requests, 10 * S)], 0))


def told(model: Model) -> list[Finding]:
    return [each for each in diagnose(model).findings if each.id == ID]


def test_they_wait_for_each_others_computing() -> None:
    (found,) = told(goroutines().model())
    assert found.severity is Severity.WARNING and found.share == pytest.approx(0.92, abs=0.01)
    assert "8.0 requests" in found.headline and "2 CPUs" in found.headline and "92 %" in found.claim


@pytest.mark.parametrize(
    "builder",
    [
        goroutines(cpu="8 s"),  # CPUs are free
        goroutines(requests=2),  # there is a CPU for each
        goroutines(followed_ms=80_000),  # what they wait for is known
        goroutines(cpus=4),
    ],
)
def test_they_wait_for_something_else(builder: Builder) -> None:
    assert not told(builder.model())


def test_what_computes_is_named() -> None:
    """No function has half of the samples, but one has them below it: the innermost such, and its callers."""
    builder = goroutines()
    for leaf in LEAVES:
        builder.stack("cpu", tid=100, user=[f"{leaf} (app)", *BELOW], count=40)
    model = builder.stack("cpu", tid=100, user=["collect (app)", "main (app)"], count=100).model()
    work = main_work(model, CpuSamples(model))
    assert work and work.where == "inside parse (app)" and work.part.count == 160
    (found,) = told(model)
    assert "inside parse (app)" in found.remedies[0].text
    assert any("calls: main (app) 100 % > valid > compile > parse 62 %" in each.text for each in found.evidence)


def test_what_is_spread_over_everything_has_no_name() -> None:
    builder = goroutines()
    for leaf in LEAVES:
        builder.stack("cpu", tid=100, user=[f"{leaf} (app)", f"{leaf}_all (app)"], count=40)
    model = builder.model()
    assert main_work(model, CpuSamples(model)) is None
    (found,) = told(model)
    assert REST in found.claims and len(found.remedies) == 1
