"""CALL-RETRIED: which call failed before sleeps, and where that is a fault."""

from __future__ import annotations

import dataclasses
import errno
from typing import Any

import msgspec
import pytest
from perfdiag.common.config import Config
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Confidence, Finding, Severity
from perfdiag.recording import schema
from perfdiag.report.assembly import make

from unit.support import Builder
from unit.support.exchanges import named_call
from unit.support.judging import assert_headline, finding, silence
from unit.support.queued_requests import requests

ID = "CALL-RETRIED"


def failed(comm: str, call: str, error: int, ms: int, *, sleeps: int = 30) -> schema.FailedCall:
    """Return sleeps of threads of a name behind a call that failed."""
    return schema.FailedCall(
        comm=comm,
        pid=100,
        call=f"syscall:{call}",
        error=error,
        sleeps=sleeps,
        sum_ns=ms * 1_000_000,
        max_ns=ms * 1_000_000 // sleeps,
        file="inbox.lock",
    )


def sleeping(call: str = "link", error: int = errno.EEXIST, *, failed_ms: int = 6000) -> Builder:
    """Return a thread that sleeps for 6 s, so much of it behind calls that failed."""
    builder = Builder(window="10 s").thread("imap", cpu_user="20 ms", wait_timer="6 s")
    return builder.line(failed("imap", call, error, failed_ms))


def found_in(builder: Builder) -> Finding | None:
    return next((each for each in diagnose(builder.model()).findings if each.id == ID), None)


@pytest.mark.parametrize(("overcommit", "told"), [("2", True), ("0", False)])
def test_memory_that_may_not_be_promised_is_no_limit_of_a_control_group(overcommit: str, told: bool) -> None:
    """fork() of a large heap failed, and the limits of its control group were to be looked at; there were none."""
    builder = sleeping("clone", errno.ENOMEM).fact("/proc/sys/vm/overcommit_memory", f"{overcommit}\n")
    found = finding(builder.model(), ID)
    assert ("vm.overcommit_memory is 2" in found.claim) is told
    assert ("Committed_AS" in found.remedies[0].text) is told


def test_the_call_the_file_and_the_error_are_named() -> None:
    found = finding(sleeping().model(), ID)
    assert found.severity is Severity.WARNING
    assert "link() of inbox.lock" in found.headline and "EEXIST" in found.headline
    assert dict(found.claims) == {"wait.timer": 6_000_000_000}
    assert not [each for each in diagnose(sleeping().model()).findings if each.id == "TARGET-SLEEPS"]


@pytest.mark.parametrize(
    ("call", "error", "remedy"),
    [
        ("flock", errno.EAGAIN, "lslocks"),
        ("bind", errno.EADDRNOTAVAIL, "ip address show"),
        ("inotify_init1", errno.EMFILE, "max_user_instances"),
        ("mkdir", errno.ELOOP, "strace -f -Z -e trace=mkdir"),
        ("a; b", errno.ELOOP, "strace -f -Z -e 'trace=a; b'"),
    ],
)
def test_the_error_decides_what_to_do(call: str, error: int, remedy: str) -> None:
    assert remedy in finding(sleeping(call, error).model(), ID).remedies[0].text


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ("stat", errno.ENOENT),
        ("mkdir", errno.EEXIST),
        ("mknodat", errno.EEXIST),
        ("openat", errno.ELOOP),
        ("socket", errno.EAFNOSUPPORT),
        ("ioctl", errno.EADDRNOTAVAIL),
        ("epoll_ctl", errno.EEXIST),
        ("fchown", errno.EPERM),
        ("openat", errno.EACCES),
        ("rmdir", errno.ENOTEMPTY),
        ("sendto", errno.ECONNREFUSED),
    ],
)
def test_an_error_that_may_do_no_harm_is_no_fault(call: str, error: int) -> None:
    """Somebody waits until a file is there; mkdir -p, mkfifo, libuv, cp -a, an agent that looks at others' /proc or at
    all interfaces, whoever tidies up, follows no link or tries all families of addresses, and a client of statsd go on
    after theirs."""
    found = finding(sleeping(call, error).model(), ID)
    assert found.severity is Severity.INFO and found.headline.startswith("Threads sleep, mostly after"), found.headline


def refused(status: str, ms: int = 6000, request: str = "GET /parts") -> schema.FailedCall:
    """Return sleeps of a thread behind answers that are errors."""
    return schema.FailedCall(
        comm="imap",
        pid=100,
        request=request,
        status=status,
        object="peer:10.0.0.5:8080",
        sleeps=30,
        sum_ns=ms * 1_000_000,
        max_ns=ms * 1_000_000 // 30,
    )


@pytest.mark.parametrize(
    ("status", "remedy"),
    [("429", "Retry-After"), ("503", "the server's log"), ("418", "see what is asked"), ("LOADING", "redis-cli")],
)
def test_an_answer_that_is_an_error_is_told_with_what_was_asked(status: str, remedy: str) -> None:
    found = finding(sleeping(failed_ms=1).line(refused(status)).model(), ID)
    assert found.severity is Severity.WARNING and remedy in found.remedies[0].text, found
    asks = "and threads sleep before they ask again"
    assert found.headline == f"10.0.0.5:8080 answers GET /parts with {status}, {asks}"


def test_how_many_answers_are_errors_is_told_where_it_is_known() -> None:
    peer = "peer:10.0.0.5:8080"
    builder = sleeping(failed_ms=1).line(refused("429")).exchange(peer, "connected", {"1 ms": 40})
    builder.line(named_call("GET /parts", 40, 1, object=peer))
    for name, status in (("GET /parts", "429"), ("GET /parts", "500"), ("GET /", "429")):
        builder.line(schema.Answer(object=peer, name=name, direction="connected", status=status, count=30, sum_ns=1))
    assert finding(builder.model(), ID).claim.startswith("429 (30 of 40 answers): the server limits")


def test_of_long_names_a_headline_has_what_is_asked() -> None:
    line = msgspec.structs.replace(refused("429", request="GET /" + 50 * "x"), object=f"peer:{'2001:db8:' * 4}1:8080")
    found = finding(sleeping(failed_ms=1).line(line).model(), ID)
    assert_headline(found.headline)
    assert "is answered with 429" in found.headline


@pytest.mark.parametrize(
    ("status", "told", "remedy"),
    [
        ("40001", "PostgreSQL at 10.0.0.5:8080 answers with 40001 (serialization failure)", "try again at once"),
        ("40P01", "PostgreSQL at 10.0.0.5:8080 answers with 40P01 (deadlock)", "in the same order"),
        ("55P03", "PostgreSQL at 10.0.0.5:8080 answers with 55P03 (lock not available)", "pg_blocking_pids()"),
        ("53300", "PostgreSQL at 10.0.0.5:8080 answers with 53300 (too many connections)", "a pool"),
        ("22012", "PostgreSQL at 10.0.0.5:8080 answers with 22012 (data error)", "the server's log"),
        ("AB123", "PostgreSQL at 10.0.0.5:8080 answers with AB123", "the server's log"),
        ("1205", "MySQL or MariaDB at 10.0.0.5:8080 answers with 1205 (lock wait timeout)", "INNODB STATUS"),
        ("1213", "MySQL or MariaDB at 10.0.0.5:8080 answers with 1213 (deadlock)", "in the same order"),
    ],
)
def test_an_error_of_an_sql_server_is_told_with_what_it_means(status: str, told: str, remedy: str) -> None:
    found = finding(sleeping(failed_ms=1).line(refused(status, request="")).model(), ID)
    assert found.severity is Severity.WARNING and remedy in found.remedies[0].text, found
    assert found.headline == f"{told}, and threads sleep before they retry"
    assert_headline(found.headline)


def test_of_a_long_address_a_headline_has_the_server() -> None:
    line = msgspec.structs.replace(refused("40001", request=""), object=f"peer:{'2001:db8:' * 4}1:5432")
    found = finding(sleeping(failed_ms=1).line(line).model(), ID)
    assert_headline(found.headline)
    assert found.headline.startswith("PostgreSQL answers with 40001"), found.headline
    line = msgspec.structs.replace(line, object="unix:7:postgres")
    found = finding(sleeping(failed_ms=1).line(line).model(), ID)
    assert found.headline.startswith("PostgreSQL answers with 40001"), found.headline


@pytest.mark.parametrize("status", ["23505", "1062"])
def test_who_inserts_what_is_there_may_mean_to(status: str) -> None:
    found = finding(sleeping(failed_ms=1).line(refused(status, request="")).model(), ID)
    assert found.severity is Severity.INFO and "(duplicate key)" in found.headline


@pytest.mark.parametrize("status", ["404", "409", "MOVED"])
def test_an_answer_that_may_do_no_harm_is_no_fault(status: str) -> None:
    found = finding(sleeping(failed_ms=1).line(refused(status)).model(), ID)
    assert found.severity is Severity.INFO
    assert found.headline == f"Threads sleep, mostly after 10.0.0.5:8080 answered GET /parts with {status}"


def test_an_error_without_a_word_that_is_known_has_none() -> None:
    assert (
        "answers GET with an error"
        in finding(sleeping(failed_ms=1).line(refused("OTHER", request="GET")).model(), ID).headline
    )


def script(*lines: schema.FailedCall) -> Builder:
    """Return a shell that waits for its children, each of which sleeps for a second."""
    builder = Builder(window="10 s").thread("sh", pid=100, cpu_user="20 ms", wait_child="9 s")
    builder.thread("sleep", pid=200, wait_timer="8 s")
    for line in lines:
        builder.line(line)
    return builder


def child(command: str, exit_status: int = 1, *, ms: int = 8000, **cause: Any) -> schema.FailedCall:
    """Return sleeps of children of a shell that followed a child that had failed."""
    ended = {"command": command, "exit_code": exit_status << 8}
    return schema.FailedCall("sleep", 100, ms // 1000, ms * 1_000_000, 1_000_000_000, **ended, **cause)


@pytest.mark.parametrize(
    ("line", "told", "remedy"),
    [
        (child("mkdir"), "mkdir ends with status 1", "run mkdir by hand"),
        (child("x ;id"), "x ;id ends with status 1", "run 'x ;id' by hand"),
        (
            child("mkdir", call="syscall:mkdir", error=errno.EEXIST, file="lock"),
            "mkdir ends with status 1 (mkdir() of lock: EEXIST)",
            "find who made it",
        ),
        (
            child("curl", 22, request="GET /ready", status="503", object="peer:10.0.0.5:80"),
            "curl ends with status 22 (GET /ready: 503)",
            "Retry-After",
        ),
    ],
)
def test_a_child_that_fails_before_a_sleep_is_told(line: schema.FailedCall, told: str, remedy: str) -> None:
    found = finding(script(line).model(), ID)
    assert found.severity is Severity.WARNING
    assert found.headline == f"{told}, and sh sleeps 8 times before it tries again"
    assert remedy in found.remedies[0].text and dict(found.claims) == {"wait.timer": 8_000_000_000}


def test_a_child_is_told_by_its_signal() -> None:
    line = msgspec.structs.replace(child("job"), exit_code=11)
    assert finding(script(line).model(), ID).headline.startswith("job is ended by SIGSEGV, and sh")


def test_where_only_some_causes_were_seen_the_child_is_one() -> None:
    cause = child("mkdir", ms=2000, call="syscall:mkdir", error=errno.EEXIST, file="lock")
    found = finding(script(child("mkdir", ms=6000), cause).model(), ID)
    assert "(mkdir() of lock: EEXIST)" in found.headline and "8 times" in found.headline


def test_children_are_followed_also_where_calls_are_not() -> None:
    model = script(child("mkdir")).model()
    assert model.footer is not None
    footer = msgspec.structs.replace(model.footer, calls_watched_until_ns=model.header.start_ns + 1_000_000_000)
    found = finding(dataclasses.replace(model, footer=footer), ID)
    assert not any("watched" in each for each in found.limits), found.limits


@pytest.mark.parametrize(
    ("command", "status", "severity"),
    [
        ("grep", 1, Severity.INFO),
        ("[", 1, Severity.INFO),
        ("timeout", 124, Severity.INFO),
        ("systemctl", 3, Severity.INFO),
        ("nc", 1, Severity.INFO),
        ("grep", 2, Severity.WARNING),
        ("timeout", 127, Severity.WARNING),
    ],
)
def test_a_condition_that_is_not_met_yet_is_no_fault(command: str, status: int, severity: Severity) -> None:
    """Such a program says by another status that it could not even look."""
    assert finding(script(child(command, status)).model(), ID).severity is severity


def test_sleep_that_mostly_follows_no_failure_of_a_child_is_not_due_to_one() -> None:
    assert found_in(script(child("mkdir", ms=3000))) is None


def test_failures_that_come_again_and_again_are_told_beside_pauses_after_success() -> None:
    """Jobs slept 1.5 s after each login, and 3 s after each of ten that sshd refused: a third of all sleep."""
    found = found_in(script(msgspec.structs.replace(child("ssh", 255, ms=3000), sleeps=6)))
    assert found is not None and found.severity is Severity.WARNING
    assert found.headline.startswith("ssh ends with status 255")


def test_a_harmless_failure_before_more_sleep_hides_no_other() -> None:
    builder = sleeping(failed_ms=1800).line(failed("imap", "open", errno.ENOENT, 1900))
    assert "link()" in finding(builder.model(), ID).headline


def test_sleep_that_follows_no_failure_is_not_due_to_one() -> None:
    assert found_in(sleeping(failed_ms=1000)) is None
    assert found_in(sleeping("connect", errno.ECONNREFUSED)) is None
    other = Builder(window="10 s").thread("imap", cpu_user="20 ms", wait_timer="6 s")
    assert found_in(other.line(failed("cron", "link", errno.EEXIST, 6000))) is None


def test_another_thread_of_the_name_may_have_had_all_failures() -> None:
    """Threads of Python are all called python3: one tries again, the others sleep while they serve."""
    builder = Builder(window="10 s").thread("worker", wait_timer="9 s")
    builder.thread("worker", cpu_user="1 s", wait_timer="6 s")
    requests(builder, {"cpu.user": 1000, "wait.timer": 5000})
    builder.line(failed("worker", "flock", errno.EAGAIN, 9000))
    assert found_in(builder) is None


def test_a_problem_tells_the_call_once_and_the_sleep_behind_it_not_again() -> None:
    model = sleeping().model()
    (told,) = make(model, diagnose(model), Config()).verdict.sentences
    assert told.startswith("link() of inbox.lock fails (EEXIST)"), told


def test_a_file_is_told_by_its_name_and_a_command_with_the_pid() -> None:
    lock = msgspec.structs.replace(failed("imap", "flock", errno.ENOLCK, 6000), file="", object="file:254:0:17:leader")
    found = finding(sleeping(failed_ms=1).line(lock).model(), ID)
    assert found.headline.startswith("flock() of leader fails (ENOLCK)"), found.headline
    assert found.remedies[0].text.endswith("-p 100"), found.remedies


@pytest.mark.parametrize(("call", "error", "sure"), [("flock", errno.EAGAIN, False), ("bind", errno.EADDRINUSE, True)])
def test_a_standby_for_a_lock_looks_the_same(call: str, error: int, sure: bool) -> None:
    assert (finding(sleeping(call, error).model(), ID).confidence is Confidence.HIGH) is sure


def test_where_results_of_calls_were_not_read_nothing_is_ruled_out() -> None:
    silence(sleeping().without("failed_calls").model(), ID)
    model = Builder(window="10 s").thread("imap", cpu_user="20 ms", wait_timer="6 s").model()
    assert model.footer is not None
    footer = msgspec.structs.replace(model.footer, calls_watched_until_ns=model.header.start_ns + 1_000_000_000)
    silence(dataclasses.replace(model, footer=footer), ID)


def test_calls_that_were_watched_for_a_part_of_the_window_stand_for_the_rest() -> None:
    model = sleeping(failed_ms=700).model()
    assert model.footer is not None
    footer = msgspec.structs.replace(model.footer, calls_watched_until_ns=model.header.start_ns + 1_000_000_000)
    found = finding(dataclasses.replace(model, footer=footer), ID)
    assert dict(found.claims) == {"wait.timer": 6_000_000_000}
    assert any("watched for 1.00 s only" in each for each in found.limits), found.limits


@pytest.mark.parametrize("serves", [True, False])
def test_of_a_server_the_sleep_of_those_that_serve_counts(serves: bool) -> None:
    builder = Builder(window="10 s").thread("worker", cpu_user="1 s", wait_timer="6 s")
    builder = builder if serves else builder.thread("http", cpu_user="1 s")
    requests(builder, {"cpu.user": 1000, "wait.timer": 5000})
    builder.line(failed("worker", "flock", errno.EAGAIN, 5000))
    assert (found_in(builder) is not None) is serves
