"""What the verdict says of targets that were stopped: that first of all, and who did it."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.evidence.stops import stops
from perfdiag.diagnosis.rule import Finding, Mechanism, Severity
from perfdiag.model.model import Model
from perfdiag.report.verdict.sentences import Kind

from unit.support import Builder
from unit.support.judging import findings
from unit.support.reports import finding, made, verdict

S = 1_000_000_000
ACQUITTAL = "not the slow part"
UNKNOWN = "after a signal kill -CONT 100; docker unpause or systemctl thaw where its control group is frozen"


def status(state: str, tracer: int = 0) -> str:
    return f"Name:\tapp\nState:\t{state}\nTgid:\t100\nPid:\t100\nPPid:\t1\nTracerPid:\t{tracer}\n"


def group(builder: Builder, *, frozen: bool) -> Builder:
    """Tell of the target's control group of version 2 whether it is frozen at the end."""
    builder.fact("/proc/self/mountinfo", "30 24 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n")
    builder.fact("/proc/100/cgroup", "0::/app.scope\n")
    return builder.fact("/sys/fs/cgroup/app.scope/cgroup.events", "populated 1\nfrozen 0\n", f"frozen {frozen:d}\n")


def stopped(state: str = "T (stopped)", tracer: int = 0) -> Builder:
    return (
        Builder(comm="python3")
        .fact("/proc/100/status", status(state, tracer))
        .thread("python3", rest="wait.stopped", open=("wait.stopped", "", "10 s"))
    )


def finding_of(model: Model) -> Finding:
    return next(each for each in diagnose(model).findings if each.id == "TARGET-STOPPED")


def test_a_stopped_target_is_said_first_whatever_was_found() -> None:
    """Its child waits at the other end of a pipe, and the pipe was blamed."""
    model = stopped().thread("cat", pid=200, ipc_pipe="10 s").model()
    pipe = finding("IPC-PEER-SLOW", {"ipc.pipe": 10 * S}, "pipe 7 answers slowly.")
    kind, text = verdict(model, pipe)
    assert kind == Kind.CAUSE.value and ACQUITTAL not in text
    assert text.startswith("python3 (100) is stopped by a signal (10.0 s).")
    assert "may follow from that: IPC-PEER-SLOW (100 %)." in text
    found = finding_of(model)
    assert (found.severity, found.idle_ns, found.remedies[0].text) == (Severity.WARNING, 10 * S, "kill -CONT 100")


@pytest.mark.parametrize(
    ("builder", "told"),
    [
        (stopped("t (tracing stop)", 77), "end or detach process 77"),
        (group(stopped("S (sleeping)"), frozen=True), "docker unpause or systemctl thaw"),
        (group(stopped("Z (zombie)"), frozen=True), "docker unpause or systemctl thaw"),
        (group(stopped(), frozen=True), "kill -CONT 100, and docker unpause or systemctl thaw"),
        (group(stopped(), frozen=False), "kill -CONT 100"),
        (stopped("Z (zombie)").fact("/proc/100/task/101/status", status("T (stopped)")), "kill -CONT 100"),
        (stopped("S (sleeping)"), UNKNOWN),
        (group(stopped("Z (zombie)"), frozen=False), UNKNOWN),
        (Builder().thread(rest="wait.stopped", open=("wait.stopped", "", "10 s")), UNKNOWN),
    ],
)
def test_who_stopped_it(builder: Builder, told: str) -> None:
    assert finding_of(builder.model()).remedies[0].text == told


@pytest.mark.parametrize("builder", [stopped("R (running)"), group(stopped("S (sleeping)"), frozen=False)])
def test_one_that_went_on_before_it_was_looked_at(builder: Builder) -> None:
    """cpulimit stops and continues it every few milliseconds."""
    found = finding_of(builder.model())
    assert found.headline == "python3 (100) was stopped by a signal, a debugger or a freezer"


def test_one_that_is_stopped_since_a_while_or_was_for_much_of_the_window() -> None:
    """Neither is no problem, however the rest of the window was spent."""
    since = Builder().thread("a", wait_stopped="2 s", rest="cpu.user", open=("wait.stopped", "", "2 s"))
    often = Builder().thread("a", wait_stopped="4 s", rest="cpu.user")
    for builder, said in (since, "is stopped"), (often, "was stopped"):
        kind, text = verdict(builder.model())
        assert kind == Kind.CAUSE.value and text.startswith(f"app (100) {said}"), text


def test_several_stopped_processes() -> None:
    builder = Builder()
    for pid in (100, 200, 300, 400):
        builder.thread("w", pid=pid, rest="wait.stopped", open=("wait.stopped", "", "10 s"))
    found = finding_of(builder.model())
    assert found.headline.startswith("app (100), w (200), w (300) and 1 more are stopped")
    assert "kill -CONT 100 200 300" in found.remedies[0].text and found.idle_ns == 40 * S


def test_a_target_that_was_stopped_for_a_while() -> None:
    model = Builder().thread("a", wait_stopped="3 s").model()
    kind, text = verdict(model)
    assert finding_of(model).severity is Severity.INFO and finding_of(model).idle_ns == 3 * S
    assert kind == Kind.PROFILE.value and ACQUITTAL not in text
    assert text.startswith("app (100) was stopped by a signal, a debugger or a freezer.")
    assert "Otherwise no work came." in text
    peer = finding("NET-PEER-SLOW", {"net.receive": 5 * S}, "10.0.0.7:80 answers slowly.")
    kind, text = verdict(Builder().thread("a", wait_stopped="3 s", net_receive="5 s").model(), peer)
    assert kind == Kind.CAUSE.value and ACQUITTAL not in text and "10.0.0.7:80 answers slowly." in text


def test_a_stop_of_a_moment_is_none() -> None:
    """Being attached to by a tracer stops a process for less than a millisecond."""
    builder = Builder().thread("a", wait_stopped="1 ms")
    model = builder.exchange("port:8080", "accepted", {"100 us": 3}).model()
    assert not stops(model) and verdict(model)[0] == Kind.ELSEWHERE.value


def test_a_stopped_thread_still_waits() -> None:
    report = made(stopped().model())
    assert [(wait.tid, wait.account) for wait in report.still_waiting] == [(100, "wait.stopped")]


def test_a_traced_stage_is_not_let_go_by_a_signal() -> None:
    for tracer in (0, 55):
        model = stopped("t (tracing stop)", tracer).thread("cat", pid=200).row("ipc.pipe", "pipe:9", "9 s", count=1)
        (found,) = findings(model.model(), "IPC-PEER-SLOW")
        text = found.remedies[0].text
        told = ("kill -CONT" in text, "process 55" in text)
        assert found.mechanism is Mechanism.STOPPED and told == (not tracer, bool(tracer))


@pytest.mark.parametrize(
    ("key", "by", "told"),
    [
        ("stop:freezer", "the freezer of its control group", "docker pause or commit"),
        ("stop:signal", "a signal", "cpulimit"),
        ("stop:tracer", "a debugger or tracer", "a core dumper"),
    ],
)
def test_the_ledger_tells_what_stopped_one_that_went_on(key: str, by: str, told: str) -> None:
    """Whatever /proc says of it afterwards."""
    found = finding_of(Builder().thread("a").row("wait.stopped", key, "4 s", count=4).model())
    assert found.headline == f"app (100) was stopped by {by}"
    assert told in found.remedies[0].text, found.remedies


def test_two_ways_to_stop_are_not_told_as_one() -> None:
    builder = Builder().thread("a")
    builder.row("wait.stopped", "stop:signal", "2 s", count=2).row("wait.stopped", "stop:freezer", "2 s", count=2)
    assert finding_of(builder.model()).headline == "app (100) was stopped by a signal, a debugger or a freezer"
