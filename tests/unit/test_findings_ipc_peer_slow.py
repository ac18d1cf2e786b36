"""IPC-PEER-SLOW: who is at the other end of a pipe or unix socket, by name, and whether it is the target itself."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Confidence, Finding, Mechanism, Severity
from perfdiag.report.verdict.sentences import Kind
from perfdiag.report.verdict.verdict import decide

from unit.support import Builder
from unit.support.exchanges import served
from unit.support.judging import finding, findings
from unit.support.reports import verdict

PEER, S = "IPC-PEER-SLOW", 1_000_000_000


def beside_a_pipe(function: str, comm: str = "less") -> Builder:
    builder = Builder().thread("feed", cpu_user="1 s")
    builder.row("ipc.pipe", "pipe:88", durations={"50 ms": 100}, waker_tid=900, waker_count=100, waker_comm=comm)
    return builder.stack("wait", "ipc.pipe", object="pipe:88", kernel=["schedule", function, "vfs_write"], weight="4 s")


def test_who_is_at_the_other_end_of_a_pipe_is_named_and_what_it_fails_to_do() -> None:
    writing = finding(beside_a_pipe("anon_pipe_write").model(), PEER)
    assert "less (900) reads slowly at pipe 88: writers of the target wait 5.00 s for it." in writing.claim
    assert writing.confidence is Confidence.MEDIUM and any("sampled stacks" in limit for limit in writing.limits)
    reading = finding(beside_a_pipe("anon_pipe_read").model(), PEER)
    assert reading.severity is Severity.INFO
    assert "waits 5.00 s at pipe 88; half of that in waits of 50 ms for less (900)" in reading.claim


def test_a_name_that_was_not_recorded_may_have_been_met_on_a_cpu() -> None:
    builder = beside_a_pipe("pipe_read", comm="")
    assert "for thread 900" in finding(builder.model(), PEER).claim
    met = builder.row("runq.busy", "task:900:cat", "1 ms").model()
    assert "for cat (900)" in finding(met, PEER).claim


def test_a_child_that_answers_at_its_parents_socket_is_named_before_it() -> None:
    builder = Builder().thread("client", cpu_user="1 s")
    builder.row("ipc.unix", "unix:700:cupsd", durations={"60 ms": 99}, waker_tid=701, waker_count=99, waker_comm="job")
    unasked = finding(builder.model(), PEER).claim
    assert "at a unix socket of job (701); half of that in waits of 60 ms. It is unknown" in unasked
    builder.exchange("unix:700:cupsd", "connected", {"60 ms": 99})
    assert "job (701) answers slowly at a unix socket made by cupsd (700): half" in finding(builder.model(), PEER).claim


@pytest.mark.parametrize(
    ("waker", "end", "said"),
    [
        ({"waker_pid": 700}, "cupsd (700)", "cupsd (700) answers slowly: half"),  # a thread of the maker
        ({"waker_pid": 690}, "job (701)", "job (701) answers slowly at a unix socket made by cupsd (700): half"),
        ({"waker_count": 49}, "a socket made by cupsd (700)", "unix socket of cupsd (700) answers"),
        ({"waker_pid": 0}, "a socket made by cupsd (700)", "job (701) answers slowly at a unix socket made by cupsd"),
    ],
)
def test_who_is_at_the_other_end_of_a_unix_socket_is_not_who_made_it(
    waker: dict[str, int], end: str, said: str
) -> None:
    """systemd listens for its services: "waits at a unix socket of systemd (1)" was said of each."""
    builder = Builder().thread("client", cpu_user="1 s")
    fields = {"waker_tid": 701, "waker_pid": 690, "waker_count": 99, "waker_comm": "job"} | waker
    builder.row("ipc.unix", "unix:700:cupsd", durations={"60 ms": 99}, **fields)
    model = builder.exchange("unix:700:cupsd", "connected", {"60 ms": 99}).model()
    assert {row.object for row in model.rows_of("ipc.unix")} == {end}
    assert {each.object for each in model.exchanges} == {end}
    assert said in finding(model, PEER).claim


def test_threads_that_answer_in_turn_may_be_the_targets_own() -> None:
    def answers(object: str, threads: int) -> Builder:
        builder = (
            Builder()
            .thread("asks", cpu_user="1 s")
            .row("ipc.pipe" if "pipe" in object else "ipc.unix", object, durations={"20 ms": 400})
        )
        for tid in range(101, 101 + threads):
            builder.thread("answers", tid=tid, pid=100, cpu_user="1 s")
        return builder

    found = finding(answers("pipe:5", 3).model(), PEER)
    assert found.severity is Severity.INFO and "perhaps those of other threads of the target" in found.claim
    for model in (answers("pipe:5", 0).model(), answers("unix:700:cupsd", 3).model()):  # that names who answers
        assert "for a slow writer or for work" in finding(model, PEER).claim


def test_what_an_own_thread_does_that_is_waited_for_is_said() -> None:
    builder = Builder().thread("asks", cpu_user="1 s")
    builder.row("ipc.pipe", "pipe:5", durations={"60 ms": 100}, waker_tid=101, waker_count=99)
    model = builder.thread("answers", tid=101, pid=100, cpu_user="10 ms", wait_timer="9 s").model()
    found = finding(model, PEER)
    assert found.severity is Severity.INFO and found.claim.startswith("Threads of the target wait for each other")
    assert any("threads that end the waits: sleeping 90 %" in evidence.text for evidence in found.evidence)


def at_a_full_pipe(function: str, each: str = "5 ms", count: int = 900) -> Builder:
    builder = Builder().thread("feed", cpu_user="1 s")
    builder.row("ipc.pipe", "pipe:88", durations={each: count}, waker_tid=900, waker_count=count, waker_comm="less")
    return builder.stack("wait", "ipc.pipe", object="pipe:88", kernel=["schedule", function, "vfs_write"], weight="4 s")


def test_a_writer_that_waits_for_room_waits_for_a_slow_reader_also_for_a_short_time_each() -> None:
    """It was said to answer fast, with many waits: a writer has no round trips to save."""
    found = finding(at_a_full_pipe("anon_pipe_write").model(), PEER)
    assert found.severity is Severity.WARNING and "less (900) reads slowly at pipe 88" in found.claim
    assert "under" not in found.verify and not found.alternatives


def test_a_reader_of_short_answers_is_no_fault_nor_a_writer_that_hardly_waits() -> None:
    asking = finding(at_a_full_pipe("anon_pipe_read").model(), PEER)
    assert asking.severity is Severity.INFO and asking.mechanism is Mechanism.MANY
    assert finding(at_a_full_pipe("anon_pipe_write", count=10).model(), PEER).severity is Severity.INFO


def two_pipes() -> Builder:
    """A thread that waits for room at one pipe, much longer than for short answers at another, with operations."""
    builder = Builder(slo="1 ms").thread("feed", cpu_user="1 s")
    builder.row("ipc.pipe", "pipe:88", durations={"50 ms": 100}, waker_tid=900, waker_count=100, waker_comm="less")
    builder.row("ipc.pipe", "pipe:99", durations={"300 us": 9000}, waker_tid=901, waker_count=9000, waker_comm="oracle")
    builder.operation("syscall:write", durations={"50 ms": 100}, ipc_pipe="5 s")
    return builder.operation("syscall:read", durations={"300 us": 9000}, ipc_pipe="2700 ms")


def test_what_is_written_to_one_pipe_does_not_tell_of_another() -> None:
    """It read "oracle (901) reads slowly at pipe 99", a warning: operations are summed over all pipes."""

    def at(builder: Builder, pipe: str) -> Finding:
        return next(found for found in findings(builder.model(), PEER) if pipe in found.claim)

    for pipe, function in (("pipe:88", "anon_pipe_write"), ("pipe:99", "anon_pipe_read")):
        sampled = two_pipes().stack("wait", "ipc.pipe", object=pipe, kernel=["schedule", function], weight="2 s")
        answers = at(sampled, "pipe 99")
        assert answers.mechanism is Mechanism.MANY and "oracle (901)" in answers.claim
        assert ("less (900) reads slowly" in at(sampled, "pipe 88").claim) is (function == "anon_pipe_write")
    writes = at(two_pipes().stack("wait", "ipc.pipe", object="pipe:88", kernel=["pipe_write"], weight="2 s"), "pipe 88")
    assert writes.confidence is Confidence.MEDIUM and any("sampled stacks" in limit for limit in writes.limits)


def test_without_stacks_it_is_not_known_that_it_writes() -> None:
    builder = Builder().thread("feed", cpu_user="1 s").row("ipc.pipe", "pipe:88", durations={"5 ms": 900})
    assert finding(builder.model(), PEER).severity is Severity.INFO


def handed_on(**does: str) -> Builder:
    """A process that waits for another of the target at a pipe, which does something meanwhile."""
    builder = Builder().thread("reads", tid=100, pid=100, cpu_user="200 ms")
    builder.row("ipc.pipe", "pipe:5", durations={"20 ms": 480}, waker_tid=200, waker_count=480)
    return builder.thread("makes", tid=200, pid=200, **does)


def asks_a_sleeper(count: int = 480) -> Builder:
    """A process that calls another of the target at a unix socket, which sleeps before it answers."""
    builder = Builder().thread("asks", tid=100, pid=100, cpu_user="200 ms")
    builder.row("ipc.unix", "unix:200:makes", "9 s", count=count, waker_tid=200, waker_count=count)
    builder.exchange("unix:200:makes", "connected", {"20 ms": count}, bytes_out=count * 200)
    return builder.thread("makes", tid=200, pid=200, cpu_kernel="10 ms", rest="wait.timer")


def fed_by_a_clock(account: str = "ipc.pipe", object: str = "pipe:5") -> Builder:
    """A process that reads what another of the target sends, which sleeps in between."""
    builder = Builder().thread("reads", tid=100, pid=100, cpu_user="200 ms")
    builder.row(account, object, durations={"20 ms": 480}, waker_tid=200, waker_count=480)
    return builder.thread("makes", tid=200, pid=200, cpu_kernel="10 ms", rest="wait.timer")


def test_a_stage_that_sleeps_before_it_answers_is_a_fault_of_the_target() -> None:
    model = asks_a_sleeper().model()
    found = finding(model, PEER)
    assert found.severity is Severity.WARNING  # as of own threads that answer at a connection, or hold a lock
    assert found.mechanism is Mechanism.SLEEP and [other.pid for other in found.others] == [200]
    assert not any("findings" in remedy.text for remedy in found.remedies)
    assert decide(model, diagnose(model)).kind == Kind.CAUSE.value, "who sleeps is the target itself"


@pytest.mark.parametrize(("account", "object"), [("ipc.pipe", "pipe:5"), ("ipc.unix", "unix:100:reads")])
def test_a_stage_that_sends_by_the_clock_keeps_nobody(account: str, object: str) -> None:
    """`vmstat 1 | while read line` was told as a fault, and the target acquitted by blaming its own member."""
    model = fed_by_a_clock(account, object).model()
    found = finding(model, PEER)
    assert found.severity is Severity.INFO and found.mechanism is Mechanism.OTHERS
    assert decide(model, diagnose(model)).kind == Kind.PROFILE.value


def test_of_two_that_wait_for_each_other_and_sleep_nobody_can_tell_who_asks() -> None:
    builder = fed_by_a_clock().row("ipc.pipe", "pipe:6", "50 ms", count=480, waker_tid=100, waker_count=480)
    model = builder.model()
    found = finding(model, PEER)
    assert found.severity is Severity.INFO and found.mechanism is Mechanism.UNDETERMINED
    assert decide(model, diagnose(model)).kind == Kind.CANNOT_TELL.value


def test_a_writer_that_waits_for_room_is_kept_by_a_reader_that_sleeps() -> None:
    stack = {"object": "pipe:5", "kernel": ["schedule", "anon_pipe_write", "vfs_write"], "weight": "4 s"}
    assert finding(fed_by_a_clock().stack("wait", "ipc.pipe", **stack).model(), PEER).severity is Severity.WARNING


@pytest.mark.parametrize(("inside", "severity"), [(9 * S, Severity.WARNING), (0, Severity.INFO)])
def test_requests_that_wait_at_a_pipe_wait_for_an_answer(inside: int, severity: Severity) -> None:
    builder = fed_by_a_clock()
    for line in served(100, S // 10, {"ipc.pipe": inside, "cpu.user": 10 * S - inside}, object="port:80"):
        builder.line(line)
    assert finding(builder.model(), PEER).severity is severity


@pytest.mark.parametrize(
    ("inside", "beside", "severity"),
    [(4, 0, Severity.WARNING), (2, 0, Severity.INFO), (4, 2, Severity.INFO), (0, 0, Severity.INFO)],
)
def test_in_a_request_nobody_waits_at_a_pipe_for_work(inside: int, beside: int, severity: Severity) -> None:
    """A server hands each request to another process through a pipe, as CGI does; `beside`: waits at another pipe."""
    builder = Builder().thread("httpd", cpu_user="1 s")
    builder.row("ipc.pipe", "pipe:7", durations={"50 ms": 100}, waker_tid=900, waker_count=100, waker_comm="backend")
    if beside:
        builder.row("ipc.pipe", "pipe:8", durations={"1 s": beside})
    for line in served(100, S // 10, {"ipc.pipe": inside * S, "cpu.user": (10 - inside) * S}, object="port:80"):
        builder.line(line)
    found = next(each for each in findings(builder.model(), PEER) if "backend (900)" in each.claim)
    assert found.severity is severity, found
    assert ("backend (900) answers slowly at pipe 7" in found.claim) == (severity is not Severity.INFO)
    assert found.remedies[0].text == "measure the other end: perfdiag latency --pid 900"
    kind, text = (
        verdict(builder.model(), *findings(builder.model(), PEER)) if severity is Severity.WARNING else ("", "")
    )
    assert "Nothing abnormal" not in text and (not kind or "backend (900) answers slowly" in text)


def test_what_may_acknowledge_is_no_question_of_a_member_either() -> None:
    builder = fed_by_a_clock("ipc.unix", "unix:200:makes")
    builder.exchange("unix:200:makes", "connected", {"20 ms": 480}, bytes_out=480 * 4)
    assert finding(builder.model(), PEER).severity is Severity.INFO


@pytest.mark.parametrize(("bytes_each", "severity"), [(4, Severity.INFO), (64, Severity.INFO), (65, Severity.WARNING)])
def test_who_acknowledges_each_message_is_told_as_by_tcp(bytes_each: int, severity: Severity) -> None:
    """A consumer that sent "ACK" after each message was told that its producer answers slowly."""
    for account, object in (("ipc.unix", "unix:700:broker"), ("net.receive", "peer:127.0.0.1:5672")):
        builder = Builder().thread("consumes", cpu_user="30 ms")
        builder.row(account, object, durations={"30 ms": 96}, waker_tid=701, waker_count=96, waker_comm="broker")
        builder.exchange(object, "connected", {"30 ms": 96}, bytes_out=96 * bytes_each)
        (found,) = [*findings(builder.model(), PEER), *findings(builder.model(), "NET-PEER-SLOW")]
        assert found.severity is severity, found.claim
        assert (found.mechanism is Mechanism.UNDETERMINED) is (severity is Severity.INFO)


def test_a_stage_that_sleeps_for_short_times_or_unknown_ones_is_no_fault() -> None:
    assert finding(asks_a_sleeper(900).model(), PEER).severity is Severity.WARNING
    assert finding(asks_a_sleeper(4500).model(), PEER).severity is Severity.INFO
    lossy = finding(asks_a_sleeper(900).lost(storage_failed=50).model(), PEER)
    assert lossy.confidence is Confidence.MEDIUM and any("lost" in limit for limit in lossy.limits)


def test_a_stage_that_waits_for_others_is_none_that_works_either() -> None:
    found = finding(handed_on(cpu_kernel="10 ms", rest="wait.events").model(), PEER)
    assert "makes (200), which itself mostly waits (wait.events)." in found.claim
    assert "perfdiag explain wait.events" in found.remedies[0].text


def test_a_stage_that_sleeps_for_less_than_half_works() -> None:
    found = finding(handed_on(cpu_user="6 s", rest="wait.timer").model(), PEER)
    assert "makes (200), the stage that works (own code on a CPU 60 %" in found.claim
    assert "makes (200)" in found.remedies[0].text


def test_a_stage_that_receives_messages_is_none_that_works() -> None:
    builder = handed_on(cpu_user="100 ms").row("wait.parked", "syscall:msgrcv", "9900 ms", count=400)
    found = finding(builder.model(), PEER)
    assert found.claim.endswith("for makes (200), which itself mostly waits (wait.parked).")
    assert "perfdiag explain wait.parked" in found.remedies[0].text


def test_pipes_of_which_nobody_knows_the_other_end_are_one_finding() -> None:
    """A process for each request has a pipe of its own: 24 findings of the same text."""
    builder = Builder().thread("server", cpu_user="1 s")
    for pipe in range(20):
        builder.row("ipc.pipe", f"pipe:{pipe}", durations={"150 ms": 1})
    found = finding(builder.model(), PEER)
    assert "20 pipes" in found.claim and found.claims["ipc.pipe", "pipe:7"] == 150_000_000
    builder.row("ipc.pipe", "pipe:99", durations={"4 s": 1})  # more than all others
    assert [each.claims.keys() >= {("ipc.pipe", "pipe:99")} for each in findings(builder.model(), PEER)] == [
        True,
        False,
    ]


def sleeps(other_pid: int) -> Builder:
    """A thread that waits at a pipe for another one, of its process or of another, that sleeps before each answer."""
    builder = Builder().thread("client", tid=100, cpu_user="100 ms")
    woken = {"waker_tid": 101, "waker_count": 50, "waker_pid": other_pid}
    builder.row("ipc.pipe", "pipe:5", durations={"180 ms": 50}, **woken)  # type: ignore[arg-type]
    return builder.thread("server", pid=other_pid, tid=101, wait_timer="9900 ms", cpu_user="100 ms")


def test_threads_that_wait_for_one_that_sleeps_are_not_acquitted() -> None:
    """ "None limits the others", and no problem, while the thread that answered slept for 99 % of the time."""
    model = sleeps(100).model()
    found = finding(model, PEER)
    assert found.mechanism is Mechanism.UNDETERMINED and "that sleep" in found.headline
    assert "sleeping 99 %" in found.evidence[1].text and found.remedies[0].text.startswith("shorten the sleep")
    assert decide(model, diagnose(model)).kind == Kind.CANNOT_TELL.value


def test_stages_of_one_name_are_told_with_the_least_and_the_most() -> None:
    """ "python3 0 %" was the only number for two processes of which one waited for 99 % of its life."""
    builder = sleeps(101)
    assert "client 90 %" in finding(builder.model(), PEER).evidence[1].text
    alike = Builder().thread("python3", tid=100, cpu_user="100 ms")
    alike.row("ipc.pipe", "pipe:5", durations={"180 ms": 50}, waker_tid=101, waker_count=50, waker_pid=101)
    alike.thread("python3", pid=101, tid=101, cpu_user="9900 ms")
    assert "python3 0 % to 90 %" in finding(alike.model(), PEER).evidence[1].text
