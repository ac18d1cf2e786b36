"""Commands of Redis that wait for work: a worker in one is idle, and the server is not slow."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Finding, Severity
from perfdiag.model.model import Model

from unit.support import Builder
from unit.support.exchanges import named_call

REDIS, MS = "peer:127.0.0.1:6379", 1_000_000


def worker(
    waits: dict[str, int], *calls: tuple[str, int, int], account: str = "net.receive", owned: int = 0
) -> Builder:
    """A process that waits at a Redis; calls: name, number, and how long each took in ms."""
    builder = Builder(window="10 s").thread("worker", cpu_user="100 ms").row(account, REDIS, durations=waits)
    function = "tcp_recvmsg" if account == "net.receive" else "unix_stream_read_generic"
    builder.stack("wait", account, object=REDIS, kernel=["schedule", function], weight="5 s")
    times: dict[str, int] = {}
    for name, count, ms in calls:
        times[f"{ms} ms"] = times.get(f"{ms} ms", 0) + count
        if name:
            builder.line(named_call(name, count, ms, object=REDIS, request="", owned=owned))
    return builder.exchange(REDIS, "connected", times, bytes_out=100_000)


def faults(model: Model) -> list[Finding]:
    return [each for each in diagnose(model).findings if each.severity is not Severity.INFO]


@pytest.mark.parametrize("account", ["net.receive", "ipc.unix"])
@pytest.mark.parametrize("name", ["BRPOP", "XREAD", "BRPOPLPUSH"])
def test_a_worker_without_jobs_is_idle(name: str, account: str) -> None:
    model = worker({"1 s": 9}, (name, 7, 1000), ("PING", 10, 1), account=account).model()
    assert model.ns("wait.work") == 9_000_000_000 and not model.ns(account)
    assert [row.key for row in model.rows_of("wait.work")] == [REDIS]
    assert not faults(model) and model.coverage.stack_agreement == 1


def test_other_calls_to_it_are_still_waited_for() -> None:
    model = worker({"1 s": 6, "60 ms": 50}, ("BRPOP", 6, 1000), ("KEYS", 50, 60)).model()
    assert model.ns("wait.work") == pytest.approx(6e9) and model.ns("net.receive") == pytest.approx(3e9)
    (found,) = faults(model)
    assert found.headline == "127.0.0.1:6379 answers slowly: KEYS" and "p50 60" in found.evidence[0].text


@pytest.mark.parametrize(
    "calls",
    [
        [("LPOP", 9, 1000)],
        [("", 9, 1000)],  # without a name
        [("BRPOP", 1, 5)],  # what was asked after it, nobody knows
    ],
)
def test_what_is_not_known_to_be_for_work_is_not_idle(calls: list[tuple[str, int, int]]) -> None:
    model = worker({"1 s": 9}, *calls).model()
    assert model.ns("wait.work") < 10 * MS


def test_a_call_of_a_request_is_not_idle() -> None:
    assert not worker({"1 s": 9}, ("BLPOP", 9, 1000), owned=9).model().ns("wait.work")
