"""CPU time of threads that read no request, while requests are in progress."""

from __future__ import annotations

import pytest
from perfdiag.model.model import Model
from perfdiag.model.requests.request_time import REST
from perfdiag.recording import schema

from unit.support import Builder

S = 1_000_000_000


def handed_on(beside_s: float | None, cpu: str = "6.9 s", *, unseen: int = 0, some_s: int = 8) -> Model:
    """Return a server of goroutines: requests of 8 s in all, nothing of which is followed."""
    builder = Builder(window="10 s").thread("server", cpu_user=cpu, rest="wait.work")
    builder.exchange("port:80", "accepted", {"200 ms": 40}, whole=0, whole_ns=0)
    beside_ns = None if beside_s is None else round(beside_s * S)
    return builder.line(
        schema.RequestsInside(1, [schema.Level(1, some_s * S)], unseen, 3, 0, 0, beside_ns=beside_ns)
    ).model()


def test_what_is_computed_only_while_requests_are_in_progress_is_for_them() -> None:
    time = handed_on(6.8).request_time
    assert time and time.accounts["cpu.user"] == pytest.approx(6.8 * S, rel=0.01)
    assert time.accounts[REST] == pytest.approx(1.2 * S, rel=0.05)


@pytest.mark.parametrize(
    "model",
    [
        handed_on(None),  # recorded by an earlier version
        handed_on(6.8, "9 s"),  # it computes without requests, too
        handed_on(6.8, unseen=1),
        handed_on(6.8, some_s=10),  # requests are always in progress: a job of its own would be, too
        handed_on(2.0, "2 s"),  # so little may be what they set off
    ],
)
def test_what_may_have_nothing_to_do_with_requests(model: Model) -> None:
    time = model.request_time
    assert time and time.accounts[REST] == pytest.approx(8 * S, rel=0.01)
