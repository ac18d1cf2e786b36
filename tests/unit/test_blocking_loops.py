"""Event loops that wait for a peer in a call that blocks (NET-PEER-SLOW, IPC-PEER-SLOW, LOOP-BLOCKED)."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Severity

from unit.support import Builder
from unit.support.exchanges import exchange, latency, unread
from unit.support.judging import finding

MS, S = 1_000_000, 1_000_000_000
LOOP, PEER, LOCAL = "LOOP-BLOCKED", "NET-PEER-SLOW", "IPC-PEER-SLOW"
UPSTREAM, DATABASE = "peer:10.0.0.7:5432", "unix:77:postgres"
COUNT, DELAY_NS = 128, 60 * MS


def calling(turns: int, peer: float) -> Builder:
    """Return a server that asks a service in a blocking call for each request; that part of the time it lay unread."""
    builder = Builder(comm="python3").thread("python3", cpu_user="400 ms", rest="wait.events")
    builder.row("net.receive", UPSTREAM, durations={"30 ms": COUNT}).socket(UPSTREAM)
    builder.stack("cpu", user=["renderYearlyReport (app.js)"], count=80)
    parts, unread_ns = {"cpu.user": 400 * MS, "net.receive": 3840 * MS}, COUNT * DELAY_NS
    whole_ns = sum(parts.values()) + unread_ns
    builder.reads(COUNT, turns)
    builder.line(exchange(COUNT, whole_ns, parts, turns=turns, read_delay_ns=unread_ns))
    for account, part in (("net.receive", peer), ("cpu.user", 1 - peer)):
        builder.line(*unread({(account, account): int(part * unread_ns)}))
    builder.line(latency([whole_ns // COUNT] * COUNT))
    return builder.line(latency([DELAY_NS] * COUNT, "read_delay"))


@pytest.mark.parametrize("peer", [0.6, 0.9])
def test_an_event_loop_that_calls_and_blocks_holds_up_all_requests(peer: float) -> None:
    first = diagnose(calling(127, peer).model()).findings[0]
    assert first.id == PEER and first.inside and first.severity is Severity.WARNING
    assert first.headline.startswith("The event loop waits for 10.0.0.7:5432 in a blocking call")
    assert "await the call" in first.remedies[0].text and "reads and answers no other request" in first.claim


def test_an_event_loop_held_up_by_waits_that_have_findings_names_these_and_no_code() -> None:
    held = finding(calling(127, 0.6).model(), LOOP)
    assert held.headline == "The event loop is held up: its thread mostly waits for a peer"
    assert "mostly while its own thread waits for a peer" in held.claim and "renderYearly" not in str(held)
    assert held.remedies[0].text.startswith("await what it waits for")


def test_an_event_loop_that_reads_what_its_children_write_waits_for_these() -> None:
    """popen().read() of a shell that runs sleep(1): the requests behind it wait as well."""
    builder = Builder(comm="python3").thread("sleep", pid=200, tid=200, wait_timer="3700 ms")
    builder.thread("python3", cpu_user="400 ms", rest="wait.events")
    builder.row("ipc.pipe", "pipe:77", durations={"30 ms": COUNT})
    builder.because("ipc.pipe", "pipe:77", "wait.timer", "3700 ms", steps=["wait.child"], root_tid=200, inside=True)
    parts, unread_ns = {"cpu.user": 400 * MS, "ipc.pipe": 3840 * MS}, COUNT * DELAY_NS
    whole_ns = sum(parts.values()) + unread_ns
    builder.reads(COUNT, 127)
    builder.line(exchange(COUNT, whole_ns, parts, turns=127, read_delay_ns=unread_ns))
    builder.line(*unread({("ipc.pipe", "ipc.pipe"): unread_ns}))
    builder.line(latency([whole_ns // COUNT] * COUNT))
    first = diagnose(builder.line(latency([DELAY_NS] * COUNT, "read_delay")).model()).findings[0]
    assert first.id == "PROC-CHILD-SLOW" and first.severity is Severity.WARNING, first
    assert first.headline.startswith("The event loop waits for child processes (sleep) in a blocking call"), first
    assert "await the call" in first.remedies[0].text and "shorten the sleep in sleep" in first.remedies[1].text


def test_who_is_no_event_loop_or_computes_meanwhile_may_block_in_a_call() -> None:
    for builder in (calling(0, 0.9), calling(127, 0.02)):
        assert "event loop" not in finding(builder.model(), PEER).headline
    computes = finding(calling(127, 0.3).model(), LOOP)
    assert "renderYearlyReport (app.js)" in computes.claim and "waits for a peer" not in computes.claim


def test_other_threads_may_block_in_calls() -> None:
    """An event loop gives its calls to threads: it is not what waits for the peer."""
    builder = calling(127, 0.6)
    builder.thread("worker", rest="wait.parked")
    builder.row("net.receive", UPSTREAM, durations={"30 ms": 233})
    assert "event loop" not in finding(builder.model(), PEER).headline


def asking_beside(turns: int, *, unread_ns: int = 0, inside_ns: int = 4 * S) -> Builder:
    """Return a server that asks a database on this host, 10 times 400 ms, for few of its requests."""
    builder = Builder(comm="gunicorn").thread("gunicorn", cpu_user="400 ms", rest="wait.events")
    builder.row("ipc.unix", DATABASE, durations={"400 ms": 10}).exchange(DATABASE, "connected", {"400 ms": 10})
    parts = {"cpu.user": 400 * MS, "ipc.unix": inside_ns}
    whole_ns = sum(parts.values()) + unread_ns
    builder.reads(COUNT, turns)
    builder.line(exchange(COUNT, whole_ns, parts, turns=turns, read_delay_ns=unread_ns))
    builder.line(*unread({("ipc.unix", "ipc.unix"): unread_ns}))
    builder.line(latency([whole_ns // COUNT] * COUNT))
    return builder.line(latency([unread_ns // COUNT] * COUNT, "read_delay"))


@pytest.mark.parametrize(("unread_ns", "inside_ns"), [(20 * S, 4 * S), (0, 24 * S)])
def test_requests_wait_with_a_loop_that_asks_at_a_unix_socket_read_or_unread(unread_ns: int, inside_ns: int) -> None:
    """PostgreSQL was told to be the slow part, though one report in ten asked for it."""
    first = diagnose(asking_beside(127, unread_ns=unread_ns, inside_ns=inside_ns).model()).findings[0]
    assert first.id == LOCAL and first.inside and first.severity is Severity.WARNING
    assert first.headline == (
        "The event loop waits at a unix socket made by postgres (77) in a blocking call, and all other requests with it"
    )
    assert first.remedies[0].text.startswith("do not block in the event loop")
    assert any("5.0 other requests waited for it" in each.text for each in first.evidence)


def test_the_remedy_names_the_programs_function_that_asks_and_not_the_driver() -> None:
    script = ["connect (/usr/lib/python3/dist-packages/psycopg2/__init__.py:80)", "report (/srv/app.py:28)"]
    builder = asking_beside(127, unread_ns=20 * S)
    builder.stack("wait", "ipc.unix", object=DATABASE, user=["poll (libc.so.6)"], script=script, weight="2 s")
    assert "in the event loop, in report (app.py:28): await" in finding(builder.model(), LOCAL).remedies[0].text


def test_requests_that_each_wait_in_a_thread_of_their_own_wait_for_the_peer() -> None:
    for builder in (asking_beside(0, unread_ns=20 * S), asking_beside(127)):
        assert "event loop" not in finding(builder.model(), LOCAL).headline
