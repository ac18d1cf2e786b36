"""SLO-BREACH where nothing broke its limit: that is said, with how many there were and the longest."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.report import assembly

from unit.support import Builder
from unit.support.exchanges import exchange, latency
from unit.support.judging import check, outcomes, silence
from unit.support.reports import RUNBOOKS
from unit.support.shown import folded, plain

ID, S, MS = "SLO-BREACH", 1_000_000_000, 1_000_000


def serving(builder: Builder, **names: int) -> Builder:
    """Let a server answer 400 requests of each name in a millisecond each, but one of so many."""
    builder.thread("worker", cpu_user="2 s")
    for name, longest_ms in names.items():
        times = [MS] * 399 + [longest_ms * MS]
        builder.line(exchange(400, sum(times), {"cpu.user": sum(times)}, name=f"GET /{name}"))
        builder.line(latency(times, name=f"GET /{name}"))
    return builder


def kept(builder: Builder) -> str:
    """Return what the rule says of requests."""
    builder.without("operations", "not asked for")
    return next((each.text for each in outcomes(builder.model(), ID) if "requests" in getattr(each, "text", "")), "")


RAREST = "; too few to see what happens to fewer than 1 in"


@pytest.mark.parametrize(
    ("limits", "says"),
    [
        ({"slo": "50 ms"}, f"0 of 800 requests over 50.0 ms, longest 40.0 ms{RAREST} 266"),
        ({"slo_names": {"GET /a": "50 ms"}}, f"0 of 400 requests GET /a over 50.0 ms, longest 20.0 ms{RAREST} 133"),
        (
            {"slo": "50 ms", "slo_names": {"GET /a": "21 ms"}},
            "0 of 800 requests over their limits, nearest GET /a on port 8080: longest 20.0 ms of 21.0 ms",
        ),
        ({"slo_names": {"GET /c": "50 ms"}}, ""),
        ({}, ""),
    ],
)
def test_requests_that_all_kept_their_limit(limits: dict[str, object], says: str) -> None:
    told = kept(serving(Builder(**limits), a=20, b=40))  # type: ignore[arg-type]
    assert told.startswith(says) and bool(told) == bool(says), told


def test_what_is_not_answered_yet_is_said() -> None:
    builder = serving(Builder(slo="50 ms"), a=20)
    builder.line(exchange(3, 3 * MS, {}, name="GET /late", open=2, oldest_ns=30 * MS))
    assert "; 2 not answered yet;" in kept(builder)


def test_nothing_is_said_to_be_kept_where_not_all_was_seen() -> None:
    builder = serving(Builder(slo_names={"GET /a": "50 ms"}), a=20).lost(exchanges_full=7)
    assert "the requests that were counted kept their limits" in silence(builder.model(), ID).reason
    assert not kept(builder)


@pytest.mark.parametrize("fields", [{"untimed": 30}, {"unsure": 12}, {"untimed": 10, "unsure": 9}])
def test_nothing_is_said_to_be_kept_where_few_messages_could_be_timed(fields: dict[str, int]) -> None:
    """Several questions at once on a connection, of a protocol without names: the few that were timed are fast."""
    builder = Builder(slo="50 ms").thread("worker", cpu_user="2 s")
    model = builder.line(exchange(20, 20 * MS, {}, **fields)).line(latency([MS] * 20)).model()
    assert "few messages could be timed for sure" in str(outcomes(model, ID))
    text = folded(plain(assembly.make(model, diagnose(model), RUNBOOKS)))
    assert "messages on :8080, most of them perhaps no requests" in text and "p50" not in text.split("BUSY")[0]


def test_where_one_name_broke_its_limit_no_other_is_praised() -> None:
    builder = serving(Builder(slo="50 ms"), a=20)
    builder.line(exchange(1, 70 * MS, {}, name="GET /late", over_slo=1, over_slo_ns=70 * MS))
    assert not kept(builder)


def test_it_stands_first_where_there_is_no_problem() -> None:
    model = serving(Builder(slo="50 ms"), a=20).without("operations", "not asked for").model()
    text = plain(assembly.make(model, diagnose(model), RUNBOOKS))
    assert "NO PROBLEM 0 of 400 requests GET /a over 50.0 ms, longest 20.0 ms" in folded(text)


def test_who_has_no_tasks_is_not_sent_to_look_at_them() -> None:
    """Where requests spend their time is not known, as most of them share connections."""
    for runtime, told in (("", False), ("runtime:go", True)):
        builder = Builder(slo="1 ms").thread("server", cpu_user="1 s")
        builder = builder.row("wait.work", runtime, "9 s") if runtime else builder
        builder.exchange("port:80", "accepted", {"2 ms": 20}, over_slo=15, over_slo_ns="30 ms", declined=20)
        (found,) = (each for each in diagnose(builder.model()).findings if each.id == ID)
        assert ("goroutines wait for: net/http/pprof" in found.remedies[0].text) == told, found.remedies
        assert ("goroutine" in found.remedies[0].text) == told, found.remedies


def test_where_nothing_was_asked_there_is_nothing_to_hold_against_a_limit() -> None:
    model = Builder(slo="10 s").thread("app", cpu_user="2 ms", rest="net.accept").model()
    assert check(model, ID).text == "no operation to hold against 10.0 s"
    text = plain(assembly.make(model, diagnose(model), RUNBOOKS))
    assert "IDLE No operation to hold against 10.0 s. No work came." in folded(text)


@pytest.mark.parametrize(("timed", "few"), [(0, True), (39, True), (40, False)])
def test_where_most_requests_are_several_at_once_no_limit_is_kept(timed: int, few: bool) -> None:
    """A server of HTTP/2 was within its limit: "0 of 1 operations over 200 ms"."""
    builder = Builder(slo="200 ms").thread("server", cpu_user="1 s").operation("syscall:read", durations={"204 us": 1})
    builder.line(exchange(timed, timed * MS, {"cpu.user": timed * MS}, declined=4))
    if timed:
        builder.line(latency([MS] * timed))
    model = builder.model()
    report = assembly.make(model, diagnose(model), RUNBOOKS)
    assert report.few_timed == few and (report.verdict.kind == "cannot tell") == few, report.verdict
    if few:
        assert "4 connections that carry several requests at once" in silence(model, ID).reason


def test_where_requests_come_by_udp_no_limit_is_kept() -> None:
    builder = Builder(slo="1 ms").thread("server", cpu_user="1 s").operation("syscall:read", durations={"204 us": 1})
    builder.line(exchange(0, 0, object="port:53", direction="datagram_port", untimed=80, unawaited=80))
    assert "port 53" in silence(builder.model(), ID).reason


def test_calls_do_not_stand_in_for_requests_that_could_not_be_timed() -> None:
    """Heartbeats beside requests of 1.5 s: "0 of 17 operations over 200 ms, longest 108 ms", and no problem."""
    builder = Builder(slo="200 ms").thread("server", cpu_user="1 s").operation("syscall:read", durations={"108 ms": 17})
    late = {"unsure": 9, "over_slo": 9, "over_slo_unsure": 9, "over_slo_ns": 9 * 1500 * MS}
    builder.line(exchange(9, 9 * 1500 * MS, {}, **late)).line(latency([1500 * MS] * 9))
    report = assembly.make(builder.model(), diagnose(builder.model()), RUNBOOKS)
    assert report.verdict.kind == "cannot tell" and "9 of 9 messages" in report.verdict.text, report.verdict
    assert not any(each.id == ID for each in report.checked), report.checked


def test_a_limit_on_calls_alone_is_kept_whatever_requests_are() -> None:
    builder = Builder(slo_names={"syscall:openat": "10 ms"}).thread("server", cpu_user="1 s")
    builder.operation("syscall:openat", durations={"1 ms": 1000}).line(exchange(0, 0, declined=4))
    assert "0 of 1,000 operations" in check(builder.model(), ID).text
