"""LOOP-BLOCKED, POOL-SATURATED, WAIT-TIMER-IN-REQUEST, and peers that event loops wait for (NET-PEER-SLOW)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Confidence, Severity
from perfdiag.facts.host_facts import Descriptors
from perfdiag.model.requests.request_time import QUEUED
from perfdiag.recording import schema
from perfdiag.report import assembly

from unit.support import Builder
from unit.support.exchanges import exchange, latency, served, unread
from unit.support.judging import check, finding, findings, knowing, silence
from unit.support.reports import RUNBOOKS
from unit.support.shown import plain

S, MS = 1_000_000_000, 1_000_000
LOOP, POOL, TIMER, PEER = "LOOP-BLOCKED", "POOL-SATURATED", "WAIT-TIMER-IN-REQUEST", "NET-PEER-SLOW"
ELSEWHERE, DEAF, THREAD = "READER-ELSEWHERE", "READER-NOT-LISTENING", "WAIT-THREAD-IN-REQUEST"
UPSTREAM = "peer:10.0.0.7:5432"
HANDLER = {"user": ["renderYearlyReport (app.js)"]}


def requests(
    builder: Builder,
    accounts: dict[str, int],
    *,
    count: int = 400,
    turns: int = 0,
    delays: list[int] | None = None,
    met: Mapping[str, float] | None = None,
    served: bool = True,
    **sums: Any,
) -> Builder:
    """Let a target serve requests that took so long (milliseconds, all together) in accounts, until read, and else.

    The last thread has read them, and was in what they `met` for these parts of the time in which they lay unread: by
    default it computed; and `served` others meanwhile.
    """
    delays = delays or [0] * count
    parts = {name: ms * MS for name, ms in accounts.items()}
    whole_ns = sum(parts.values()) + sum(delays) * MS + sums.pop("rest", 0) * MS
    fields = {name: value * MS for name, value in sums.items()}
    read_delay_ns = sum(delays) * MS
    builder.reads(count, turns)
    builder.line(exchange(count, whole_ns, parts, turns=turns, read_delay_ns=read_delay_ns, **fields))
    for account, part in (met or {"cpu.user": 1}).items() if read_delay_ns else ():
        for line in unread({(account, account): int(part * read_delay_ns)}, served=served):
            builder.line(line)
    builder.line(latency([whole_ns // count] * count))
    return builder.line(latency([ms * MS for ms in delays], "read_delay"))


def loop(slow_ms: int, accounts: dict[str, int] | None = None) -> Builder:
    """Return an event loop; in front of one handler of so many milliseconds twenty of 400 requests queue up."""
    builder = Builder(comm="node").thread("node", cpu_user=f"{2000 + slow_ms} ms", wait_events="6 s")
    builder.stack("cpu", count=100, **HANDLER)
    delays = [slow_ms // 2] * 20 + [0] * 380
    return requests(builder, {"cpu.user": 2000 + slow_ms, **(accounts or {})}, turns=390, delays=delays)


def pool(met: Mapping[str, float] | None = None, *, served: bool = True) -> Builder:
    """Return four workers that read from a disk; half of 100 requests waited 400 ms to be read."""
    builder = Builder(comm="httpd")
    for _ in range(4):
        builder.thread("worker", disk_read="7 s")
    met = met or {"disk.read": 1}
    return requests(builder, {"disk.read": 28_000}, count=100, delays=[400] * 50 + [0] * 50, met=met, served=served)


def test_a_handler_that_holds_up_the_loop() -> None:
    found = finding(loop(400).model(), LOOP)
    assert found.severity is Severity.WARNING and dict(found.claims) == {(QUEUED, "cpu.user"): 4 * S}
    assert "renderYearlyReport (app.js)" in found.claim and "up to 200 ms" in found.claim


def test_where_another_program_computes_the_handler_is_not_sure() -> None:
    assert finding(loop(400).model(), LOOP).confidence is Confidence.HIGH
    builder = loop(400).thread("gzip", pid=300, cpu_user="5 s")
    found = finding(builder.stack("cpu", count=300, pid=300, user=["deflate (gzip)"]).model(), LOOP)
    assert found.confidence is Confidence.MEDIUM and "may be another program's" in found.limits[0]


def test_of_several_loops_it_is_said_which_are_busy() -> None:
    """Requests of one port are told together, whichever process had them."""
    builder = loop(400).thread("node", pid=300, cpu_user="9 s", requests=(200, 199))
    builder.thread("gzip", pid=400, cpu_user="9 s", rest="ipc.pipe")
    told = "event loops of 2 processes were busy: node (300) 90 % of its time, node (100) 24 % of its time"
    assert told in [evidence.text for evidence in finding(builder.model(), LOOP).evidence]
    assert not any("event loops of" in evidence.text for evidence in finding(loop(400).model(), LOOP).evidence)


def test_turns_that_are_short_hold_up_nobody() -> None:
    """The same loop, and as many wait: for 2 ms."""
    assert "requests wait" in check(loop(4).model(), LOOP).text


def test_a_loop_that_does_all_it_can_is_not_held_up_for_one_long_delay() -> None:
    """All wait as long as they are served; one of 400 waits 100 ms, less than all others together."""
    builder = Builder(comm="nginx").thread("nginx", cpu_user="4 s", wait_events="1 s")
    model = requests(builder, {"cpu.user": 4000}, turns=390, delays=[100] + [10] * 399).model()
    assert model.request_time and model.request_time.accounts[QUEUED] > 0.4 * model.request_time.ns
    assert check(model, LOOP).number > 0.4


def test_a_loop_without_a_cpu_is_not_blocked_by_a_handler() -> None:
    builder = Builder(comm="node").thread("node", cpu_user="10 ms", runq_busy="3990 ms", wait_events="4 s")
    delays = [200] * 20 + [0] * 380
    inside, met = {"cpu.user": 10, "runq.busy": 3990}, {"runq.busy": 1}
    model = requests(builder, inside, turns=390, delays=delays, met=met).model()
    assert model.request_time and model.request_time.accounts.get(QUEUED, 0) < 0.01 * model.request_time.ns
    assert check(model, LOOP).number < 0.01


def waiting_loop(account: str, each: str, count: int, asked: int = 400) -> Builder:
    """Return an event loop that waits so often, with requests behind it for 100 ms of each second."""
    builder = Builder(comm="redis").thread("redis", cpu_user="200 ms", wait_events="2 s", disk_write="1 ms")
    builder.row(account, "device:254:0" if account.startswith("disk.") else "", durations={each: count})
    builder.stack("cpu", count=8, user=["trylock (libc.so.6)"]).stack("cpu", count=80, user=["other (redis)"])
    inside = {"cpu.user": 200, account: round(float(each.removesuffix(" ms")) * count)}
    met = {"cpu.user": 0.03, account: 0.97}
    delays = [100] * 200 + [0] * (asked - 200)
    return requests(builder, inside, count=asked, turns=asked - 10, delays=delays, met=met)


def test_a_loop_that_waits_for_a_slow_disk_holds_up_nobody_by_its_code() -> None:
    """An append-only file that is flushed with each change: what queues behind that waits for the flush."""
    model = waiting_loop("disk.flush", "30 ms", 250).model()
    time = model.request_time
    assert time and time.accounts["disk.flush"] == pytest.approx(7.5 * S + 20 * S * 0.97, rel=0.01)
    assert check(model, LOOP).number < 0.03


def test_a_loop_that_waits_for_short_is_blocked_itself() -> None:
    """Of thousands of fast reads, one for each request, none is slow, and no other finding would say anything."""
    found = finding(waiting_loop("disk.read", "2 ms", 3750, asked=3750).model(), LOOP)
    assert found.severity is Severity.WARNING and "mostly waits for reads from disk" in found.claim
    assert "trylock" not in found.claim and "97 % of the delay in the loop is reading from disk" in str(found.evidence)


def test_a_loop_that_sleeps_is_not_held_up_by_the_code_that_it_runs_besides() -> None:
    found = finding(waiting_loop("wait.timer", "300 ms", 25).model(), LOOP)
    assert "by its own thread, which mostly sleeps on a timer" in found.claim and "trylock" not in str(found)
    assert found.remedies[0].text.startswith("await what it waits for")


def test_a_loop_that_is_parked_may_be_idle() -> None:
    found = finding(waiting_loop("wait.parked", "350 ms", 20).model(), LOOP)
    assert found.confidence is Confidence.LOW and "may be idle" in found.limits[0]


def test_code_that_is_spread_over_many_functions_names_none() -> None:
    builder = Builder(comm="node").thread("node", cpu_user="2400 ms", wait_events="6 s")
    for index in range(20):
        builder.stack("cpu", count=5, user=[f"function{index} (app.js)"])
    model = requests(builder, {"cpu.user": 2400}, turns=390, delays=[200] * 20 + [0] * 380).model()
    assert finding(model, LOOP).claim.startswith("The event loop is held up by code that runs for long. Requests")


def turns(*delays_ms: int, long_turns: int) -> Builder:
    """Return an event loop with many short turns and some long ones, whose samples are few beside the others'."""
    builder = Builder(comm="redis").thread("redis", cpu_user="2400 ms", wait_events="6 s")
    builder.stack("cpu", count=300, user=["dictFind (redis)", "hsetCommand (redis)"])
    builder.stack("cpu", count=40, user=["sdsfree (redis)", "delGenericCommand (redis)"], long_turns=long_turns)
    return requests(builder, {"cpu.user": 2400}, turns=390, delays=list(delays_ms))


def test_a_loop_is_held_up_by_what_its_long_turns_are_in() -> None:
    found = finding(turns(*[200] * 20, *[0] * 380, long_turns=36).model(), LOOP)
    assert "held up by sdsfree (redis) called by delGenericCommand (redis)" in found.claim and "dictFind" not in str(
        found
    )


@pytest.mark.parametrize(("delays_ms", "long_turns"), [([200] * 20 + [0] * 380, 3), ([30] * 20 + [9] * 380, 36)])
def test_a_few_long_turns_are_not_what_short_waits_are_for(delays_ms: list[int], long_turns: int) -> None:
    held_up = findings(turns(*delays_ms, long_turns=long_turns).model(), LOOP)
    assert all("held up by dictFind (redis)" in each.claim for each in held_up)


@pytest.mark.parametrize("idle", ["wait_events", "net_accept", "net_request"])
def test_a_loop_that_waits_for_work_holds_up_nobody_whatever_its_set_holds(idle: str) -> None:
    """Of a single descriptor a wait in select() has the account of that one."""
    builder = Builder(comm="loop").thread("loop", cpu_user="1 s", **{idle: "9 s"})
    time = requests(builder, {"cpu.user": 1000}, turns=390, rest=4000).model().request_time
    assert time and time.accounts[QUEUED] == 4 * S / 10, time


def test_a_pool_that_is_full() -> None:
    found = finding(pool().model(), POOL)
    assert found.severity is Severity.WARNING and dict(found.claims) == {(QUEUED, "disk.read"): 20 * S}
    assert "up to 400 ms" in found.claim and "reading from disk" in found.claim


@pytest.mark.parametrize(("most", "unseen", "said"), [(4, 0, "All 4 "), (3, 0, "All workers"), (4, 1, "All workers")])
def test_a_pool_is_as_large_as_what_is_in_progress_where_all_have_read(most: int, unseen: int, said: str) -> None:
    builder = Builder(comm="httpd")
    for _ in range(4):
        builder.thread("worker", disk_read="7 s").reads(25)
    requests(builder, {"disk.read": 28_000}, count=25, delays=[400] * 25, met={"disk.read": 1})
    builder.line(schema.RequestsInside(most, [schema.Level(1, S), schema.Level(most, 3 * S)], unseen))
    found = finding(builder.model(), POOL)
    assert found.headline.startswith(said) and found.evidence[-1].value == most


def test_workers_that_sit_on_silent_connections_are_taken() -> None:
    found = finding(pool({"net.request": 0.6, "disk.read": 0.4}).model(), POOL)
    assert "60 % of that time with silent keep-alive connections" in found.claim
    assert "KeepAliveTimeout" in found.remedies[0].text


def test_a_pool_whose_readers_are_with_nobody_is_not_full() -> None:
    """A thread for each connection: it reads nothing else, and there is nothing it could be full of."""
    model = pool({"wait.timer": 1}, served=False).model()
    assert check(model, POOL).number == 0
    found = finding(model, ELSEWHERE)
    assert "mostly sleeping" in found.claim and dict(found.claims) == {QUEUED: 20 * S}


def limited(turns: int) -> Builder:
    """Return a worker, or loop, that does not listen to the requests that wait: a limit of connections is reached."""
    builder = Builder(comm="server").thread("server", cpu_user="1 s")
    met = {"wait.events": 0.8, "cpu.user": 0.1}
    delays = [400] * 50 + [0] * 50
    return requests(builder, {"cpu.user": 1000}, count=100, turns=turns, delays=delays, met=met, served=False)


def test_requests_that_their_reader_does_not_listen_to() -> None:
    found = finding(limited(turns=100).model(), DEAF)
    assert found.severity is Severity.WARNING and dict(found.claims) == {QUEUED: 16 * S}
    assert "does not listen" in found.claim and "unknown 10 %" in str(found.evidence)
    assert dict(finding(limited(turns=0).model(), DEAF).claims) == {QUEUED: 16 * S}


@pytest.mark.parametrize(("used", "seen", "id"), [(40, False, "FD-EXHAUSTION"), (39, False, DEAF), (40, True, DEAF)])
def test_a_reader_that_has_no_descriptor_left(used: int, seen: bool, id: str) -> None:
    """It accepts nobody, and seems idle; where refusals are seen, and there is none, something else keeps it."""
    builder = limited(turns=100)
    if not seen:
        builder.without("operations", "measured only with --slo")
    pid = builder.model().threads[0].pid
    known = Descriptors(pid=pid, used=[(0, used), (5 * S, used)], soft_limit=40, hard_limit=40)
    idle = replace(known, pid=pid - 1, used=[(0, 40), (5 * S, 40)])  # reads no requests
    model = knowing(builder.model(), descriptors={each.pid: each for each in (idle, known)}, processes={})
    time = [(each.id, each.claims[QUEUED]) for each in diagnose(model).findings if QUEUED in each.claims]
    assert time == [(id, 16 * S)]


def test_readers_that_wait_for_a_thread_that_serves_nobody() -> None:
    """A virtual machine stops all threads for its collections, on a futex, while one of its own computes."""
    builder = Builder(comm="java").thread("VM Thread", tid=150, cpu_user="2 s", rest="wait.work")
    builder.thread("worker", cpu_user="1 s", wait_parked="4 s", rest="net.accept")
    builder.because("wait.parked", "futex:0x10", "cpu.user", "2 s", root_tid=150)
    requests(builder, {"cpu.user": 1000}, count=100, delays=[400] * 50 + [0] * 50, met={"cpu.user": 0.02}, served=False)
    builder.line(unread({("wait.parked", "cpu.user"): 18 * S}, served=False)[0])
    found = finding(builder.model(), THREAD)
    assert dict(found.claims) == {QUEUED: 18 * S}
    assert "waits for VM Thread (150), which mostly runs its own code" in found.claim
    assert check(builder.model(), ELSEWHERE).number == pytest.approx(0.02, rel=0.06), "that is another thread's doing"


@pytest.mark.parametrize(("inside_ms", "holds"), [(0, True), (20_000, False)])
def test_a_reader_that_waits_for_a_peer_on_its_own_account_holds_up_all(inside_ms: int, holds: bool) -> None:
    """A timer of an event loop that asks a service and blocks; or workers that wait for it in their requests."""
    builder = Builder(comm="nginx").thread("nginx", cpu_user="100 ms", rest="net.request")
    builder.row("net.receive", "peer:10.0.0.9:9000", durations={"300 ms": 16}).socket("peer:10.0.0.9:9000")
    met = {"net.receive": 0.99}
    requests(builder, {"cpu.user": 100, "net.receive": inside_ms}, delays=[90] * 400, met=met, served=False)
    found = finding(builder.model(), PEER)
    assert found.inside is holds and found.headline.startswith("Requests lie unread") is holds
    assert found.remedies[0].text.startswith("do not wait for it in the thread that reads requests") is holds


def test_a_reader_that_is_woken_at_once_listens() -> None:
    builder = Builder(comm="server").thread("server", cpu_user="1 s")
    model = requests(builder, {"cpu.user": 1000}, delays=[1] * 400, met={"wait.events": 1}, served=False).model()
    assert check(model, DEAF).number > 0.2, "many wake-ups, each of them short"


@pytest.mark.parametrize("id", [LOOP, POOL, ELSEWHERE, DEAF])
def test_recordings_that_do_not_tell_who_reads_are_not_guessed_at(id: str) -> None:
    builder = loop(400).reads(None)
    assert "what the readers of requests did" in silence(builder.model(), id).reason
    verdict = assembly.make(builder.model(), diagnose(builder.model()), RUNBOOKS).verdict
    assert verdict.kind == "cannot tell" and "could not be followed" in verdict.text, verdict


def sleepy(ms: int) -> Builder:
    """Return a server whose requests sleep so long, all together, and whose worker sleeps 3 s besides."""
    builder = Builder(comm="api").thread("worker", cpu_user="2 s", wait_timer=f"{ms + 3000} ms", net_request="2 s")
    return requests(builder, {"cpu.user": 2000, "wait.timer": ms})


def test_requests_that_are_slept_through() -> None:
    found = finding(sleepy(400).model(), TIMER)
    assert "400 ms of 2.40 s" in found.claim and dict(found.claims) == {"wait.timer": 3400 * MS}
    assert found.remedies[0].text.startswith("do not sleep while a request waits, nor while holding a lock;")


def test_a_sleep_outside_of_requests_is_none_of_theirs() -> None:
    assert "requests sleep 3 % of their time" in check(sleepy(60).model(), TIMER).text


@pytest.mark.parametrize(("middle_ms", "severity"), [(200, Severity.WARNING), (4, Severity.INFO)])
def test_a_peer_that_an_event_loop_waits_for(middle_ms: int, severity: Severity) -> None:
    builder = Builder(comm="node").thread("node", cpu_user="500 ms", wait_events="7500 ms")
    requests(builder, {"cpu.user": 500, "wait.events": 3000}, turns=390, rest=400 * middle_ms, peers_ns=400 * middle_ms)
    call = {"object": UPSTREAM, "name": "", "direction": "connected"}
    builder.line(exchange(400, 400 * middle_ms * MS, {}, **call))
    builder.line(latency([middle_ms * MS] * 400, **call))
    found = finding(builder.model(), PEER)
    assert found.severity is severity and "10.0.0.7:5432" in found.claim


def test_a_peer_that_answers_soon_but_for_a_few_calls() -> None:
    """Of 400 calls 390 take half a millisecond, and ten a second: not their number costs."""
    builder = Builder(comm="node").thread("node", cpu_user="500 ms", wait_events="7500 ms")
    requests(builder, {"cpu.user": 500, "wait.events": 3000}, turns=390, rest=10_000, peers_ns=10_000)
    call = {"object": UPSTREAM, "name": "", "direction": "connected"}
    times = [MS // 2] * 390 + [S] * 10
    builder.line(exchange(400, sum(times), {}, **call)).line(latency(times, **call))
    found = finding(builder.model(), PEER)
    assert found.severity is Severity.WARNING and "in calls of 990 ms" in found.claim, found.claim


def test_unix_sockets_read_as_in_the_rest_of_the_report() -> None:
    """A peer that is a process, and requests that come to a file; both as recorded elsewhere only."""
    builder = Builder(comm="node").thread("node", cpu_user="500 ms", wait_events="7500 ms")
    of = {"object": "file:0:26:17:app.sock", "name": "GET /a"}
    builder.line(exchange(400, 4 * S, {"cpu.user": S // 2}, peers_ns=3 * S, turns=390, **of))
    builder.line(latency([10 * MS] * 400, **of))
    builder.exchange("unix:900:db", "connected", {"15 ms": 200})
    model = builder.model()
    found = finding(model, PEER)
    assert found.claim.startswith("a socket made by db (900) answers slowly"), found.claim
    assert (
        found.remedies[0].text
        == "measure the peer, on this host: perfdiag latency --pid 900, if it still has that socket"
    )
    made = assembly.make(model, diagnose(model), RUNBOOKS)
    text = " ".join(plain(made, full=True).split())
    assert (
        "GET /a on app.sock (inode 17) on 0:26: 400, 40/s" in text and "calls to a socket made by db (900): 200" in text
    ), text
    assert "unix:900" not in text and "file:0" not in text


def test_a_peer_that_the_target_is_itself_is_not_measured_once_more() -> None:
    """Who holds the other end of a socket pair need not be who made it."""
    builder = Builder(comm="node").thread("node", cpu_user="500 ms", wait_events="7500 ms")
    requests(builder, {"cpu.user": 500}, turns=390, rest=3000, peers_ns=3000)
    model = builder.exchange("unix:100:node", "connected", {"15 ms": 200}).model()
    assert "--pid" not in finding(model, PEER).remedies[0].text


def test_requests_with_a_limit_of_their_own_stand_before_those_that_took_more_time() -> None:
    builder = Builder(comm="api", slo_names={"GET /c": "1 s", "GET /d": "1 s"}).thread("worker", cpu_user="2 s")
    for name, milliseconds in (("GET /a", 50), ("GET /b", 40), ("GET /c", 3), ("GET /d", 4)):
        for line in served(10, milliseconds * MS, {"cpu.user": 10 * milliseconds * MS}, name=name):
            builder.line(line)
    model = builder.model()
    made = assembly.make(model, diagnose(model), RUNBOOKS)
    assert [each.name for each in made.requests] == ["GET /d", "GET /c", "GET /a", "GET /b"]


@pytest.mark.parametrize("id", [LOOP, POOL, TIMER])
def test_what_was_not_measured_is_said(id: str) -> None:
    model = loop(400).without("requests").model()
    assert silence(model, id).reason == "requests were not measured"


def test_connections_that_were_not_followed_are_unknown_time() -> None:
    """What is known of the others' time may not be the rule: that many more requests could hide another cause."""
    model = loop(400).lost(connections_full=1200).model()
    assert model.request_time and model.request_time.untold == 0.75
    assert model.request_time.uncertain_ns == 0.75 * model.request_time.ns


@pytest.mark.parametrize("id", [LOOP, POOL, TIMER])
def test_requests_carried_by_frames_are_not_fine(id: str) -> None:
    """Nobody knows whether they wait or sleep."""
    model = Builder().thread("worker", cpu_user="2 s").line(exchange(0, 0, declined=3)).model()
    assert model.request_time is None
    assert silence(model, id).reason == "it is unknown where requests spend their time"
    assert check(Builder().thread("worker", cpu_user="2 s").model(), id).number == 0, "no requests"


@pytest.mark.parametrize("id", ["WAIT-THREAD-IN-REQUEST", TIMER])
def test_whether_requests_in_other_hands_wait_is_unknown(id: str) -> None:
    handed = Builder().thread("worker", cpu_user="2 s").line(exchange(400, 4 * S, {"cpu.user": 2 * S}, whole_ns=S))
    assert silence(handed.model(), id).reason == "it is unknown where requests spend 2.00 s"
    whole = Builder().thread("worker", cpu_user="2 s").line(exchange(400, 4 * S, {"cpu.user": 2 * S}))
    assert check(whole.model(), id).number == 0
