"""LOOP-BLOCKED: event loops that are held up by a handler, or only look like it."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.rule import Confidence, Severity
from perfdiag.model.requests.request_time import QUEUED

from unit.support import Builder
from unit.support.judging import check, finding, findings
from unit.support.queued_requests import loop, requests

S = 1_000_000_000
LOOP = "LOOP-BLOCKED"


def test_a_handler_that_holds_up_the_loop() -> None:
    found = finding(loop(400).model(), LOOP)
    assert found.severity is Severity.WARNING and dict(found.claims) == {(QUEUED, "cpu.user"): 4 * S}
    assert "renderYearlyReport (app.js)" in found.claim and "up to 200 ms" in found.claim


def test_the_requests_that_it_computes_for_are_named() -> None:
    builder = loop(400).exchange(
        "port:80", "accepted", {"200 ms": 200}, name="GET /yearly", accounts={"cpu.user": "39 s"}
    )
    builder.exchange("port:80", "accepted", {"1 ms": 90}, name="GET /", accounts={"cpu.user": "9 ms"})
    assert finding(builder.model(), LOOP).headline.endswith("for requests GET /yearly")
    assert "for requests" not in finding(loop(400).model(), LOOP).headline


def test_what_another_program_computes_holds_up_no_loop() -> None:
    builder = loop(400).thread("gzip", pid=300, cpu_user="5 s")
    found = finding(builder.stack("cpu", count=300, pid=300, user=["deflate (gzip)"]).model(), LOOP)
    assert found.confidence is Confidence.HIGH and "renderYearlyReport (app.js)" in found.claim, found
    assert "deflate" not in str(found)


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


def test_where_another_thread_sleeps_is_not_where_the_loop_does() -> None:
    """Server and client can both be in the target."""
    builder = waiting_loop("wait.timer", "300 ms", 25)
    builder.stack("wait", "wait.timer", user=["serve (redis)"], weight="1 s")
    builder.thread("client", pid=300, wait_timer="9 s")
    builder.stack("wait", "wait.timer", user=["pause (client)"], weight="9 s")
    found = finding(builder.model(), LOOP)
    assert "serve (redis) 100 % of the sampled waits" in str(found.evidence) and "pause" not in str(found), found


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


def scheduled(runtime: str) -> Builder:
    """Return one thread that runs all tasks: those of timers, whose work is spread over functions of the scheduler."""
    builder = Builder(comm="server").thread("server", cpu_user="7.8 s").stack("cpu", user=["work (server)"])
    woken = ["main.(*session).watch (server)", "main.main.gowrap1 (server)", "runtime.goexit.abi0 (server)"]
    ticks = ["time.sendTime (server)", "runtime.(*timers).run (server)", "runtime.findRunnable (server)"]
    for number in range(60):
        builder.stack("cpu", user=[f"runtime.select{number} (server)", *woken])
        builder.stack("cpu", user=[f"runtime.send{number} (server)", *ticks, "runtime.schedule (server)"])
        builder.stack("cpu", user=[f"runtime.heap{number} (server)", *ticks[1:], "runtime.schedule (server)"])
    requests(builder, {"cpu.user": 300}, turns=390, delays=[30] * 400)
    return builder.thread("server", tid=150, rest="wait.work").row("wait.work", runtime, "9 s")


def test_goroutines_that_lack_a_cpu_are_no_loop_that_is_held_up() -> None:
    """It was "the event loop is held up by runtime.schedule", and tickers that nobody had stopped took the CPU."""
    found = finding(scheduled("runtime:go").model(), LOOP)
    assert found.headline.endswith("wait for a turn on the CPU, taken up by main.(*session).watch (server)")
    assert "main.(*session).watch (server) 33 %" in str(found.evidence) and "time.sendTime (server) 33 %" in str(found)
    assert "GOMAXPROCS" in found.remedies[0].text and "runtime.schedule" not in str(found)


def test_other_schedulers_have_an_event_loop() -> None:
    found = finding(scheduled("runtime:tokio").model(), LOOP)
    assert found.headline == "The event loop is held up by main.(*session).watch (server)"
