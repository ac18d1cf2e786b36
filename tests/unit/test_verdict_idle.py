"""Verdicts on targets that wait: for work, for events, for children, parked."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.rule import Mechanism, Severity
from perfdiag.facts.host_facts import Listener, Listeners
from perfdiag.model.model import Model
from perfdiag.recording import schema
from perfdiag.recording.schema import Line
from perfdiag.report.verdict.calm_cases import NO_FAULT
from perfdiag.report.verdict.sentences import Kind

from unit.support import Builder
from unit.support.exchanges import exchange
from unit.support.judging import knowing
from unit.support.reports import finding, verdict

FULL = Mechanism.ONE_THREAD
S = 1_000_000_000


@pytest.mark.parametrize("account", ["wait.events", "net.accept", "wait.signal"])
def test_requests_that_were_answered_acquit_and_waiting_for_work_does_not(account: str) -> None:
    """A server that hangs with the questions of all its clients gets no work either."""
    builder = Builder().thread("a", cpu_user="20 ms", rest=account)
    kind, text = verdict(builder.model())
    assert kind == Kind.PROFILE.value and "not the slow part" not in text
    assert text.startswith("No work came. It waited 9.98 s for ")
    assert "look at who should send it. No request of this window shows whether it answers." in text
    assert "busy for 20.0 ms of 10.0 s" in text
    kind, text = verdict(builder.exchange("port:8080", "accepted", {"100 us": 3}).model())
    assert kind == Kind.ELSEWHERE.value
    assert text.startswith("This process is not the slow part. Its 3 requests took p50 100 us, longest 100 us")


def test_requests_that_took_long_acquit_nobody() -> None:
    builder = Builder().thread("a", cpu_user="20 ms").exchange("port:8080", "accepted", {"900 ms": 3})
    kind, text = verdict(builder.model())
    assert kind == Kind.CANNOT_TELL.value and "Its 3 requests took p50 890 ms" in text


def silent(count: int, ago_ns: int, **fields: str) -> Line:
    names = {"object": "port:8080", "direction": "accepted", **fields}
    return schema.Silent(**names, pid=100, count=count, never=0, oldest_ns=ago_ns)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (silent(6, 12 * S), "6 connections on port 8080 have been silent since their client spoke, for up to 12.0 s"),
        (
            silent(1, 0, object="file:254:0:7:socket"),
            "Unix sockets do not show whether clients wait on 1 silent connection at socket",
        ),
        (
            silent(2, 12 * S, object="peer:10.0.0.7:80", direction="connected"),
            "10.0.0.7:80 has said nothing since asked, for up to 12.0 s",
        ),
        (exchange(3, 3000, open=2, oldest_ns=S), "2 requests on port 8080 have no answer after 1.00 s."),
        (
            exchange(3, 3000, unanswered=1, unanswered_longest_ns=S),
            "1 request on port 8080 has had no answer when its connection ended, 1.00 s later.",
        ),
    ],
)
def test_nobody_is_acquitted_while_somebody_may_wait(line: Line, told: str) -> None:
    builder = Builder().thread("a", cpu_user="20 ms").exchange("port:80", "accepted", {"100 us": 3})
    assert verdict(builder.model())[0] == Kind.ELSEWHERE.value
    kind, text = verdict(builder.line(line).model())
    assert kind == Kind.CANNOT_TELL.value and told in text
    peer = finding("NET-PEER-SLOW", {"net.receive": 3 * S}, "10.0.0.7:80 answers slowly.")
    busy = Builder().thread("a", net_receive="3 s")
    assert verdict(busy.model(), peer)[0] == Kind.ELSEWHERE.value
    kind, text = verdict(busy.line(line).model(), peer)
    assert kind == Kind.CAUSE.value and told in text


@pytest.mark.parametrize(("waits", "none_came"), [(1, True), (80, False)])
def test_events_that_came_may_be_of_whoever_it_asks_in_turn(waits: int, none_came: bool) -> None:
    """Its upstream took 300 ms, and the clients were blamed."""
    builder = Builder().thread("master", rest="wait.signal")
    model = builder.thread("a", pid=200, wait_events=("9900 ms", waits), rest="runq.busy").model()
    kind, text = verdict(model)
    assert kind == Kind.PROFILE.value and ("No work came" in text) is none_came
    assert ("ls -l /proc/200/fd." in text) is not none_came and "ss -tnp" not in text, "no connection was seen"
    connected = builder.socket("peer:10.0.0.9:41000", local="10.0.0.2:80").model()
    assert ("ss -tnp | grep pid=200." in verdict(connected)[1]) is not none_came
    assert "for events (wait.events)" in text


def test_who_hardly_works_is_not_told_what_it_computes_first() -> None:
    """It read "the target computes: 60 %", of 6 % of the window."""
    computes = finding("CPU-BOUND", {"cpu.user": S // 2}, "The target computes.", severity=Severity.INFO)
    kind, text = verdict(Builder().thread("node", cpu_user="600 ms", wait_events=("9 s", 90)).model(), computes)
    assert kind == Kind.PROFILE.value
    assert text.startswith("Hardly busy, 600 ms in 10.0 s: it waited 9.40 s for events (wait.events). Events come from")
    busier = Builder().thread("node", cpu_user="1 s", wait_events=("9 s", 90)).model()
    assert verdict(busier, computes)[1].startswith("app (100) is computing")


def test_a_moment_of_another_wait_is_not_worth_a_word() -> None:
    text = verdict(Builder().thread("nginx", net_accept="9 us", rest="wait.events").model())[1]
    assert "for events (wait.events)" in text and "net.accept" not in text


def test_who_reads_logs_that_nobody_wants_answered_waits_for_work() -> None:
    text = verdict(Builder().thread("collector", net_request=("9 s", 90), rest="net.request").model())[1]
    assert text.startswith("Little work came. It waited 10.0 s for work (net.request)")
    assert verdict(Builder().thread("collector", rest="net.request").model())[1].startswith("No work came.")


def test_an_event_loop_beside_parked_threads_did_get_work() -> None:
    builder = Builder().thread("a", wait_events=("9990 ms", 80), rest="runq.busy").thread("pool", rest="wait.parked")
    text = verdict(builder.model())[1]
    assert "The others waited 9.99 s for events (wait.events)." in text and "no work came" not in text


def test_waiting_for_children_alone_acquits_nobody() -> None:
    kind, text = verdict(Builder().thread("sh", rest="wait.child").model())
    assert kind == Kind.PROFILE.value and "It waited 10.0 s for child processes." in text


def test_a_shell_whose_child_sleeps() -> None:
    model = Builder().thread("sh", rest="wait.child").thread("sleep", pid=200, rest="wait.timer").model()
    _, text = verdict(model)
    assert text.startswith("Thread sleep (200) sleeps 10.0 s") and "10.0 s for child processes" in text


def test_parked_threads_may_be_stuck_also_where_others_wait_for_work() -> None:
    model = Builder(comm="python3").thread("python3", rest="net.accept").thread("worker", rest="wait.parked").model()
    kind, text = verdict(model)
    assert kind == Kind.CANNOT_TELL.value and "an idle pool, or deadlocked" in text
    assert "no work came" in text and "py-spy dump --pid 100" in text


def test_what_is_understood_is_told_beside_what_is_not() -> None:
    """A thread that runs all the time beside a pool that is parked most of it."""
    builder = Builder(comm="node").thread("node", cpu_user="9900 ms")
    for _ in range(4):
        builder.thread("pool", cpu_user="200 ms", rest="wait.parked")
    model = builder.model()
    full = finding(
        "CPU-SINGLE-THREAD", {"cpu.user": 9 * S}, "node runs all the time.", severity=Severity.INFO, mechanism=FULL
    )
    kind, text = verdict(model, full)
    assert kind == Kind.CANNOT_TELL.value and text.startswith(
        "node runs all the time (84 % of busy time). Cannot tell whether "
    )
    assert "the others wait for it: 39.2 s blocked or idle (unknown). To tell: gdb -p 100" in text
    computes = finding("CPU-BOUND", {"cpu.user": 9 * S}, "The target computes.", severity=Severity.INFO)
    assert "explained time. Largest found: The target computes (84 %, no fault). To tell" in verdict(model, computes)[1]


def test_a_thread_that_runs_for_nine_tenths_leads_no_verdict() -> None:
    builder = Builder().thread("bar", cpu_user="9200 ms", rest="wait.parked")
    for _ in range(3):
        builder.thread("bar", cpu_user="600 ms", rest="wait.parked")
    full = finding("CPU-SINGLE-THREAD", {"cpu.user": 9 * S}, "bar runs a lot.", severity=Severity.INFO, mechanism=FULL)
    text = verdict(builder.model(), full)[1]
    assert text.startswith("Cannot tell: 29.0 s ") and "Largest found: bar runs a lot (82 %, no fault)." in text


def test_a_fault_of_a_full_thread_leads_too_where_parked_time_is_more() -> None:
    builder = Builder(comm="bar").thread("bar", cpu_user="9900 ms")
    for _ in range(3):
        builder.thread("bar", cpu_user="600 ms", rest="wait.parked")
    kind, text = verdict(
        builder.model(), finding("CPU-SINGLE-THREAD", {"cpu.user": 9 * S}, "bar is the limit.", mechanism=FULL)
    )
    assert kind == Kind.CAUSE.value and text.startswith("bar is the limit (77 % of busy time).") and "28.2 s" in text


def test_who_only_receives_messages_may_wait_for_work_or_for_an_answer() -> None:
    builder = Builder(comm="q").thread("q", open=("wait.parked", "syscall:msgrcv", "10 s"))
    kind, text = verdict(builder.row("wait.parked", "syscall:msgrcv", "10 s", count=1).model())
    assert kind == Kind.CANNOT_TELL.value
    assert text.startswith("Cannot tell: 1 thread (q) waited in msgrcv() all the time, for work or for an answer.")


def test_only_calls_that_receive_are_named_as_such() -> None:
    """It read "waited in msgrcv(), futex 7f00 all the time, for work or for an answer"."""
    builder = Builder(comm="q").thread("q", open=("wait.parked", "syscall:msgrcv", "10 s"))
    builder.row("wait.parked", "syscall:msgrcv", "10 s", count=1).thread("w", pid=200)
    text = verdict(builder.row("wait.parked", "futex:0x7f00", "90 ms", count=9).model())[1]
    assert "1 thread (q) waited in msgrcv() all the time, for work or for an answer." in text


def test_a_pool_that_receives_messages_is_not_told_to_get_that_time_back() -> None:
    builder = Builder(comm="pool").thread("main", cpu_user="100 ms", rest="wait.timer")
    builder.thread("ring", pid=300, wait_parked=("1 s", 50), rest="wait.timer")
    builder.thread("pool", pid=200, cpu_user="70 ms", rest="wait.timer")
    kind, text = verdict(builder.row("wait.parked", "syscall:mq_timedreceive", "9 s", count=80).model())
    assert kind == Kind.CANNOT_TELL.value and "returns" not in text
    assert text.startswith("Cannot tell: 9.00 s in mq_timedreceive(), for work or for an answer, 1.00 s ")


@pytest.mark.parametrize(("root", "known"), [("runq.busy", True), ("wait.timer", False)])
def test_who_waits_for_a_member_that_runs_waits_for_nothing_unknown(root: str, known: bool) -> None:
    """Programs under fakeroot wait for its daemon at each file: "5 s in msgrcv(), for work or for an answer" stood
    above what was known of both. Who sleeps may keep others from their work."""
    builder = Builder(comm="pool").thread("main", cpu_user="100 ms", rest="wait.timer")
    builder.thread("pool", pid=200, cpu_user="70 ms", rest="wait.timer")
    builder.row("wait.parked", "syscall:msgrcv", "9 s", count=80)
    builder.because("wait.parked", "syscall:msgrcv", root, "8900 ms", root_tid=100)
    assert (verdict(builder.model())[0] != Kind.CANNOT_TELL.value) == known


def test_an_opening_that_no_stack_explains_is_not_acquitted() -> None:
    model = Builder().thread("q", open=("kernel.other", "syscall:openat", "9 s"), rest="kernel.other").model()
    untold = Mechanism.UNDETERMINED
    opens = finding("KERNEL-OTHER", {"kernel.other": 9 * S}, "It opens.", severity=Severity.INFO, mechanism=untold)
    kind, text = verdict(model, opens)
    assert kind == Kind.CANNOT_TELL.value and text.startswith("It opens") and "No fault found" not in text


def test_a_sleeper_that_others_wait_for_is_no_fault_but_not_acquitted() -> None:
    builder = Builder().thread("asks", cpu_user="900 ms", ipc_pipe="9 s")
    builder.thread("naps", pid=200, cpu_user="500 ms", rest="wait.timer")
    sleeps, waits = Mechanism.SLEEP, "Processes wait for naps (200), which sleeps."
    slow = finding("IPC-PEER-SLOW", {"ipc.pipe": 9 * S}, waits, severity=Severity.INFO, mechanism=sleeps)
    kind, text = verdict(builder.model(), slow)
    assert kind == Kind.PROFILE.value and NO_FAULT not in text
    assert "If something waits for this thread, shorten the sleep" in text
    other = finding("IPC-PEER-SLOW", {"ipc.pipe": 9 * S}, "Processes wait for naps (200).", severity=Severity.INFO)
    assert NO_FAULT in verdict(builder.model(), other)[1]


def test_a_profile_says_what_it_waited_for_otherwise() -> None:
    text = verdict(Builder().thread("a", cpu_user="1 s").model())[1]
    assert text.startswith("Most of its busy time: ") and "(cpu.user 100 %)" in text and NO_FAULT in text
    assert "Otherwise it waited 9.00 s for events (wait.events)." in text


@pytest.mark.parametrize(
    ("part", "told"), [("510 ms", "Most"), ("500 ms", "The largest part"), ("400 ms", "The largest part")]
)
def test_most_is_more_than_half(part: str, told: str) -> None:
    builder = Builder().thread("a", cpu_user=part, disk_read="250 ms", runq_busy="250 ms")
    assert f"{told} of its busy time: own code on a CPU (cpu.user " in verdict(builder.model())[1]


def listening(rest: str, queued: int, *lines: Line, measured: bool = True) -> Model:
    """A server at port 8080 with a thread in `rest`, and so many connections that nobody accepts."""
    builder = Builder().thread("a", rest="wait.events").thread("b", rest=rest)
    builder = builder if measured else builder.probe("requests", "no hook")
    for line in lines:
        builder.line(line)
    listener = Listener("0.0.0.0", 8080, queued, 128, 0, [100])
    return knowing(builder.model(), listeners=Listeners([listener], 128, own_namespace=True, complete=True))


@pytest.mark.parametrize("rest", ["wait.events", "wait.parked", "wait.timer"])
def test_whom_nobody_asked_and_who_accepts_nobody(rest: str) -> None:
    """An idle database was only said to be parked."""
    asked = "It listens on port 8080, and no request came in meanwhile: nothing shows whether it answers."
    assert asked in verdict(listening(rest, 0))[1]
    assert asked not in verdict(listening(rest, 0, exchange(1, 1000)))[1]
    assert asked not in verdict(listening(rest, 0, measured=False))[1]
    waiting = verdict(listening(rest, 17))[1]
    assert "At the end 17 connections waited to be accepted on port 8080." in waiting and asked not in waiting


@pytest.mark.parametrize(("unanswered", "acquitted"), [(50, False), (1, True)])
def test_who_answers_nobody_is_not_acquitted(unanswered: int, acquitted: bool) -> None:
    """A farewell needs no answer: that connection ends at once."""
    builder = Builder().thread("a", wait_events=("9900 ms", 80), rest="cpu.user")
    longest_ns = 1000 if acquitted else S
    kind, text = verdict(
        builder.line(exchange(5, 5000, unanswered=unanswered, unanswered_longest_ns=longest_ns)).model()
    )
    assert (kind == Kind.ELSEWHERE.value) is acquitted, text
    assert ("50 of 55 requests had no answer when their connections ended." in text) is not acquitted, text


def test_a_process_that_has_ended_is_not_to_be_looked_at_by_its_old_number() -> None:
    """It read "To tell: gdb -p 100" of a process that was gone."""
    model = Builder().thread("pool", cpu_user="20 ms", rest="wait.parked").ended("targets gone").model()
    assert "To tell: while it runs: gdb -p PID -batch" in verdict(model)[1]
