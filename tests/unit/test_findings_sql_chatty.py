"""SQL-CHATTY: requests that ask a database for the same statement again and again."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Severity
from perfdiag.model.requests.request_time import PEERS
from perfdiag.model.statements import sql_calls
from perfdiag.recording import schema

from unit.support import Builder
from unit.support.exchanges import fine_bucket
from unit.support.judging import check, finding, findings

ID, MS = "SQL-CHATTY", 1_000_000
DB = "peer:10.0.0.5:5432"
ROW, LIST = "SELECT name FROM items WHERE id = ?", "SELECT id FROM items"
REQUESTS = 400


def sent(name: str, times: int, each_us: int, *, kind: str = "run", owned: bool = True) -> schema.SqlCall:
    """A statement that each of the requests sends so many times."""
    count, ns = REQUESTS * times, each_us * 1000
    return schema.SqlCall(
        server="postgresql", kind=kind, name="" if kind == "prepared" else name, cut=False, object=DB,
        request="GET /cart",
        count=count, sum_ns=count * ns, max_ns=ns, owned=count if owned else 0,
        repeated=count - REQUESTS if owned else 0, buckets=[(fine_bucket(ns), count)],
    )  # fmt: skip


def service(statements: Mapping[str, tuple[int, int]], *, request: str = "20 ms", owned: bool = True) -> Builder:
    """Requests that wait in one thread for so many statements of so many microseconds each."""
    durations = {f"{each_us} us": 0 for _, each_us in statements.values()}
    for times, each_us in statements.values():
        durations[f"{each_us} us"] += REQUESTS * times
    waited = f"{sum(times * each_us for times, each_us in statements.values()) * REQUESTS} us"
    builder = Builder(window="60 s").thread("worker", cpu_user="100 ms").socket(DB)
    builder.row("net.receive", DB, durations=durations)
    builder.exchange("port:80", "accepted", {request: REQUESTS}, peers_ns=waited, accounts={"net.receive": waited})
    builder.exchange(DB, "connected", durations)
    for name, (times, each_us) in statements.items():
        builder.line(sent(name, times, each_us, owned=owned))
    return builder


def test_what_was_sent_with_others_has_their_time() -> None:
    (call,) = sql_calls([sent(ROW, 1, 300, kind="together")])
    assert call.has_text and call.name == f"{ROW} (and others sent with it)"


def test_one_statement_for_each_row() -> None:
    model = service({ROW: (40, 300), LIST: (1, 800)}).model()
    found = finding(model, ID)
    assert found.severity is Severity.WARNING and found.evidence[0].value == 40
    assert sum(found.claims.values()) == pytest.approx(REQUESTS * 40 * 300_000, rel=0.01), "the list is not claimed"
    first = diagnose(model).findings[0]
    assert first.id == ID and not [each for each in diagnose(model).findings if each.id == "NET-CHATTY"]


def test_statements_of_several_loops_are_one_finding() -> None:
    found = finding(service({ROW: (30, 300), "SELECT price FROM prices WHERE id = ?": (30, 200)}).model(), ID)
    assert [each.value for each in found.evidence] == [30, 30]
    assert sum(found.claims.values()) == pytest.approx(REQUESTS * 30 * 500_000, rel=0.01)


def test_in_an_event_loop() -> None:
    builder = Builder().thread("loop", cpu_user="2 s")
    builder.exchange("port:80", "accepted", {"20 ms": REQUESTS}, peers_ns="4800 ms", accounts={"wait.events": "8 s"})
    builder.exchange(DB, "connected", {"300 us": 40 * REQUESTS}).line(sent(ROW, 40, 300))
    assert finding(builder.model(), ID).claims[PEERS] == pytest.approx(4_800_000_000, rel=0.01)


@pytest.mark.parametrize(
    "statements",
    [
        {ROW: (4, 3000)},  # a few
        {ROW: (40, 50)},  # a tenth of the time
        {ROW: (40, 300), LIST: (1, 800), "UPDATE carts SET seen = ?": (2, 500)},
    ],
)
def test_the_number_and_their_time_decide(statements: dict[str, tuple[int, int]]) -> None:
    loop = statements[ROW][0] * statements[ROW][1] >= 0.25 * 20_000 and statements[ROW][0] >= 5
    assert bool(findings(service(statements).model(), ID)) == loop


def test_slow_answers_are_the_databases() -> None:
    model = service({ROW: (10, 12_000)}, request="150 ms").model()
    assert check(model, ID).number == 10


def test_statements_of_unknown_requests_are_not_counted_by_request() -> None:
    assert check(service({ROW: (40, 300)}, owned=False).model(), ID).number == 0


def test_prepared_statements_have_no_text() -> None:
    model = (
        Builder(window="60 s")
        .thread("worker", cpu_user="100 ms")
        .row("net.receive", DB, durations={"300 us": 40 * REQUESTS})
        .exchange("port:80", "accepted", {"20 ms": REQUESTS}, peers_ns="4800 ms", accounts={"net.receive": "4800 ms"})
        .exchange(DB, "connected", {"300 us": 40 * REQUESTS})
        .line(sent("", 40, 300, kind="prepared"))
        .model()
    )
    assert finding(model, ID).evidence[0].value == 40
