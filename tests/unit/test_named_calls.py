"""Calls whose text shows what they ask for: in --full and in JSON, by peer and request."""

from __future__ import annotations

from perfdiag.diagnosis.engine import diagnose
from perfdiag.model.requests.named_calls import named_calls
from perfdiag.recording import schema
from perfdiag.report.assembly import Report, make

from unit.support import Builder
from unit.support.exchanges import named_call
from unit.support.reports import RUNBOOKS
from unit.support.shown import folded, plain

PEER, WSDL = "peer:10.0.0.5:8080", "GET /catalog.wsdl"
MS = 1_000_000


def service(*calls: schema.NamedCall) -> Builder:
    """A hundred requests, and as many calls to one peer."""
    builder = Builder(window="20 s").thread("worker", cpu_user="100 ms", net_receive="9 s")
    builder.exchange("port:80", "accepted", {"95 ms": 100}, name="GET /cart", accounts={"net.receive": "9 s"})
    builder.exchange(PEER, "connected", {"90 ms": 100})
    for line in calls:
        builder.line(line)
    return builder


def report(*calls: schema.NamedCall) -> Report:
    model = service(*calls).model()
    return make(model, diagnose(model), RUNBOOKS)


def test_the_report_lists_them_with_peer_and_request() -> None:
    told = report(named_call("POST /items/#", 10, 9), named_call(WSDL, 90, 90))
    rows = [(each.name, each.peer, each.request, each.whole.count, each.ns, each.times) for each in told.named_calls]
    assert rows == [
        (WSDL, "10.0.0.5:8080", "GET /cart", 90, 8100 * MS, 0.9),
        ("POST /items/#", "10.0.0.5:8080", "GET /cart", 10, 90 * MS, 0.1),
    ]
    shown = folded(plain(told, full=True))
    assert "CALLS SENT until the answer begins" in shown
    assert (
        f"{WSDL}, to 10.0.0.5:8080 for GET /cart: 90, 8.10 s in all, p50 90.0 ms, p90 90.0 ms, longest 90.0 ms" in shown
    )


def test_calls_to_a_peer_of_no_other_line_are_listed() -> None:
    (told,) = report(named_call(WSDL, 3, 90, object="unix:4711", request="", owned=0)).named_calls
    assert (told.peer, told.request, told.times) == ("unix:4711", "", 0.0)


def test_hostile_names_are_shown_and_never_obeyed() -> None:
    told = report(named_call("GET /\x1b[2J\u202e", 100, 90, request="\x1b]0;x\x07"))
    shown = plain(told, full=True)
    assert "\x1b" not in shown and "\u202e" not in shown and "GET /\\x1b[2J\\u202e, to" in folded(shown)


def test_calls_of_requests_that_are_nowhere_are_told_without_a_number_of_times() -> None:
    calls = service(named_call(WSDL, 9, 90, request="nowhere"), named_call("GET", 5, 0)).model()
    assert [each.times for each in named_calls(calls.named_calls, calls.exchanges)] == [0.0, 0.05]


def test_without_any_there_is_no_section() -> None:
    told = report()
    assert told.named_calls == [] and "CALLS SENT" not in plain(told, full=True)
