"""IPC-PEER-SLOW: pipelines, and peers at pipes and unix sockets."""

from __future__ import annotations

from dataclasses import replace

from perfdiag.diagnosis.rule import Confidence, Mechanism, Severity

from unit.support import Builder
from unit.support.judging import check, finding

PEER, SINGLE = "IPC-PEER-SLOW", "CPU-SINGLE-THREAD"


def test_a_slow_server_behind_a_unix_socket_is_named() -> None:
    builder = Builder().thread(cpu_user="1 s").row("ipc.unix", "unix:700:cupsd", durations={"50 ms": 100})
    asked = finding(builder.exchange("unix:700:cupsd", "connected", {"50 ms": 100}).model(), PEER)
    assert asked.severity is Severity.WARNING and "unix socket of cupsd (700) answers slowly" in asked.claim


def test_whether_who_was_asked_for_nothing_is_slow_cannot_be_told() -> None:
    """A reader of jobs was told that its producer "writes slowly, or has nothing to write", as a fault."""
    model = Builder().thread(cpu_user="1 s").row("ipc.unix", "unix:700:cupsd", durations={"50 ms": 100}).model()
    found = finding(model, PEER)
    assert found.severity is Severity.INFO and found.mechanism is Mechanism.UNDETERMINED
    assert dict(found.claims) == {("ipc.unix", "unix:700:cupsd"): 5_000_000_000}
    assert "--pid 700" in found.remedies[0].text
    assert found.confidence is Confidence.MEDIUM  # waiting for work looks the same


def test_a_reader_that_does_not_empty_the_pipe_is_certain() -> None:
    model = (
        Builder()
        .thread(cpu_user="1 s")
        .row("ipc.pipe", "pipe:88", durations={"50 ms": 100}, waker_tid=900, waker_count=100)
        .operation("syscall:write", durations={"50 ms": 100}, ipc_pipe="5 s")
        .model()
    )
    found = finding(model, PEER)
    assert "thread 900 reads slowly at pipe 88" in found.claim and found.confidence is Confidence.HIGH
    assert "--pid 900" in found.remedies[0].text


def test_prompt_answers_are_profile_and_few_are_fine() -> None:
    often = Builder().thread(cpu_user="1 s").row("ipc.unix", "unix:700:nscd", durations={"60 us": 20_000}).model()
    assert finding(often, PEER).severity is Severity.INFO
    seldom = Builder().thread(cpu_user="1 s").row("ipc.unix", "unix:700:nscd", durations={"60 us": 20}).model()
    assert check(seldom, PEER).number < 0.01


def pipeline(works: str = "9 s", first: str = "3 s", waker: int = 101) -> Builder:
    """feed | pack | count: three processes, of which the one in the middle works."""
    builder = Builder(cpus=2).thread("pack", pid=101, cpu_user=works)
    builder.row("ipc.pipe", "pipe:5", durations={"5 ms": 100}, waker_tid=100, waker_count=100)
    builder.thread("feed", pid=100, cpu_user=first).row(
        "ipc.pipe", "pipe:5", durations={"50 ms": 100}, waker_tid=waker, waker_count=95
    )
    builder.thread("count", pid=102, cpu_user="10 ms")
    return builder.row("ipc.pipe", "pipe:6", durations={"90 ms": 100}, waker_tid=waker, waker_count=99)


def test_the_stage_of_a_pipeline_that_works_is_named() -> None:
    found = finding(pipeline().model(), PEER)
    assert found.severity is Severity.INFO and found.claims["ipc.pipe", "pipe:5"] == 5_500_000_000
    assert "wait 14.0 s at pipes or sockets for pack (101), the stage that works (own code on a CPU 95 %" in found.claim
    limit = finding(pipeline().model(), SINGLE)
    assert limit.severity is Severity.WARNING and "pack runs 90 % of the time" in limit.claim
    assert "the other 2 stages of its pipeline wait for it" in limit.claim
    assert dict(limit.claims) == {"cpu.user": 9_000_000_000}


def test_a_stage_that_has_to_wait_for_a_cpu_is_the_limit_all_the_same() -> None:
    check(pipeline("6500 ms").model(), SINGLE)  # 65 % running: it does something else besides
    waits = Builder(cpus=2).thread("pack", pid=101, cpu_user="6500 ms", runq_busy="2900 ms")
    waits.row("ipc.pipe", "pipe:5", durations={"5 ms": 100}, waker_tid=100, waker_count=100)
    waits.thread("feed", pid=100, cpu_user="6 s").row(
        "ipc.pipe", "pipe:5", durations={"35 ms": 100}, waker_tid=101, waker_count=95
    )
    found = finding(waits.model(), SINGLE)
    assert "65 %" in found.claim and "29 %" in found.claim
    assert "the other 1 stage of its pipeline waits for it" in found.claim


def test_stages_that_share_the_work_have_no_limit() -> None:
    builder = Builder(cpus=2)
    for pid, other in ((100, 101), (101, 100)):
        builder.thread("stage", pid=pid, cpu_user="5 s")
        builder.row("ipc.pipe", "pipe:5", durations={"40 ms": 100}, waker_tid=other, waker_count=100)
    found = finding(builder.model(), PEER)
    assert found.severity is Severity.INFO and not found.others
    check(builder.model(), SINGLE)


def test_many_workers_that_answer_in_turn_are_inside_all_the_same() -> None:
    """Of a vote between many no waker has half."""
    builder = Builder(cpus=2).thread("pool", pid=100, cpu_user="1 s")
    builder.row("ipc.pipe", "pipe:5", durations={"20 ms": 400}, waker_tid=103, waker_count=7)
    for pid in range(101, 109):
        builder.thread("worker", pid=pid, cpu_user="2 s")
    assert "Processes of the target" in finding(builder.model(), PEER).claim


def test_wakers_that_take_turns_so_that_none_is_known_may_be_the_targets_own() -> None:
    builder = Builder(cpus=2).thread("pool", pid=100, cpu_user="1 s")
    builder.row("ipc.pipe", "pipe:5", durations={"20 ms": 400})
    alone = finding(builder.model(), PEER)
    assert "for a slow writer or for work" in alone.claim
    for pid in range(101, 105):
        builder.thread("worker", pid=pid, cpu_user="4 s")
    found = finding(builder.model(), PEER)
    assert found.severity is Severity.INFO and "the other 4 processes of the target" in found.claim
    assert "no thread ends half" in found.limits[0]


def test_members_that_ended_are_inside_all_the_same() -> None:
    """Nobody knows the thread any more, but the pipe is shared with processes that ended too."""
    builder = Builder(cpus=2).thread("parent", pid=100, cpu_user="1 s")
    builder.row("ipc.pipe", "pipe:5", durations={"20 ms": 200}, waker_tid=777, waker_count=150)
    assert "thread 777" in finding(builder.model(), PEER).claim
    builder.exited("worker", threads=3, wall="9 s", cpu_user="5 s", ipc_pipe="100 ms")
    assert "thread 777" in finding(builder.model(), PEER).claim  # nothing says that it was one of those
    builder.thread("worker", pid=105).row("ipc.pipe", "pipe:5", durations={"1 ms": 9})
    assert finding(builder.model(), PEER).severity is Severity.INFO


def test_ends_of_waits_that_were_followed_are_inside_all_the_same() -> None:
    """git waits at a pipe for two processes, a shell and what that starts: neither ended most of two waits, but what
    both were in meanwhile is known, as it is of members alone."""
    builder = Builder(cpus=2).thread("git", pid=100, cpu_user="1 s")
    builder.row("ipc.pipe", "pipe:5", durations={"20 ms": 200})
    assert "for a slow writer or for work" in finding(builder.model(), PEER).claim
    builder.because("ipc.pipe", "pipe:5", "wait.timer", "3 s", steps=["wait.child"], root_tid=777)
    assert "of the target wait for each other" in finding(builder.model(), PEER).claim


def test_a_pipeline_that_has_ended_names_its_stage_too() -> None:
    """The rows of ended processes stand together, without their pids."""
    builder = Builder(cpus=2, comm="bash").thread("bash", pid=99, wait_child="9 s")
    for pid, comm, works, waits in (
        (100, "feed", "2 s", "7 s"),
        (101, "pack", "9 s", "400 ms"),
        (102, "count", "1 s", "8 s"),
    ):
        builder.thread(comm, pid=pid, cpu_user=works, ipc_pipe=waits, exited=True)
    lines = [
        replace(row, pid=0, key="pipe:5", object="pipe 5", waker_tid=101, waker_count=900)
        if "ipc" in row.account
        else row
        for row in builder.model().rows
    ]
    model = replace(builder.model(), rows=lines)
    assert "wait 15.0 s at pipes or sockets for pack (101)" in finding(model, PEER).claim
    assert "pack runs 90 % of the time" in finding(model, SINGLE).claim


def test_a_stopped_member_is_the_end_that_does_not_answer() -> None:
    builder = Builder(window="2 s").thread("producer", pid=100, wait_stopped="2 s")
    builder.thread("cat", pid=101, open=("ipc.pipe", "pipe:5", "2 s")).row("ipc.pipe", "pipe:5", "2 s", count=1)
    found = finding(builder.model(), PEER)
    assert "producer (100) of the same target was stopped meanwhile (stopped or frozen 100 %)" in found.claim
    assert found.severity is Severity.INFO and "kill -CONT 100" in found.remedies[0].text


def test_a_pipe_that_lost_its_wakers_belongs_to_nobody_known() -> None:
    model = Builder().thread("cat", cpu_user="1 s").row("ipc.pipe", "pipe:5", durations={"50 ms": 100}).lost(details=9)
    assert "--pid PEER" in finding(model.model(), PEER).remedies[0].text


def test_lost_records_lower_the_confidence() -> None:
    model = (
        Builder()
        .thread(cpu_user="1 s")
        .row("ipc.unix", "unix:700:cupsd", durations={"50 ms": 100})
        .lost(ring_buffer=9)
        .model()
    )
    assert finding(model, PEER).confidence is Confidence.LOW
