"""Requests that start processes and wait for what those compute."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Finding, Severity
from perfdiag.model.model import Model
from perfdiag.report.verdict.verdict import decide

from unit.support import Builder
from unit.support.exchanges import served
from unit.support.judging import finding, outcomes

S, MS = 1_000_000_000, 1_000_000
CHILD = "PROC-CHILD-SLOW"
REQUESTS = 120
GONE = 4711  # a thread that has ended, and of which only the name is known


def serving(wait: str = "wait.child", root: str = "cpu.user", by: int = GONE) -> Builder:
    """Requests that wait 36 of 36.04 s for another thread of the target."""
    builder = Builder(comm="server")
    for tid in range(102, 106):
        waits = {wait.replace(".", "_"): ("9 s", REQUESTS // 4)}
        builder.thread("serve", tid=tid, cpu_user="10 ms", rest="net.request", **waits)
    for line in served(REQUESTS, 301 * MS, {wait: 36 * S, "cpu.user": 40 * MS}):
        builder.line(line)
    return builder.because(wait, "pipe:5" if wait == "ipc.pipe" else "", root, "36 s", root_tid=by, inside=True)


def ended(builder: Builder, **processes: int) -> Model:
    for comm, number in processes.items():
        builder.exited(comm, threads=number, processes=number, wall=f"{number * 10} ms")
    return builder.model()


def found_in(model: Model) -> Finding | None:
    """Return the finding that takes time of requests, if there is one."""
    return next((each for each in outcomes(model, CHILD) if isinstance(each, Finding) and each.claims), None)


@pytest.mark.parametrize("wait", ["wait.child", "ipc.pipe"])
def test_what_the_processes_compute_is_theirs_and_no_fault(wait: str) -> None:
    """It said that the target computes, and nothing of the programs that each request ran."""
    model = ended(serving(wait), ld=240, gcc=120, ldconfig=120, collect2=120)
    found = finding(model, CHILD)
    assert found.severity is Severity.INFO
    assert found.headline == "Requests start 5 processes each and wait for them: ld, collect2, gcc and 1 more"
    assert "ld (240), collect2 (120), gcc (120), ldconfig (120)" in found.claim and ">99 %" in found.claim
    assert "each lives 10.0 ms and takes 10.0 ms of CPU time" in found.evidence[0].text
    settled = diagnose(model)
    assert settled.findings[0].id == CHILD and settled.findings[0].claimed_ns == pytest.approx(36 * S, abs=MS)
    assert "CPU-BOUND" not in [each.id for each in settled.findings]
    sentences = decide(model, settled).sentences
    assert sentences[0].startswith(found.headline)


def test_the_time_of_requests_themselves_is_not_that_of_their_processes() -> None:
    builder = Builder(comm="server").thread("serve", cpu_user="6 s", rest="net.request")
    for line in served(REQUESTS, 80 * MS, {"wait.child": 36 * S // 10, "cpu.user": 6 * S}):
        builder.line(line)
    builder.because("wait.child", "", "cpu.user", "3600 ms", root_tid=GONE, inside=True)
    model = ended(builder, gm=REQUESTS)
    shares = {each.id: each.claimed_ns for each in diagnose(model).findings}
    assert shares[CHILD] == pytest.approx(3.6 * S, abs=MS) and shares["CPU-BOUND"] == pytest.approx(6 * S, abs=MS)


@pytest.mark.parametrize(
    ("number", "words"),
    [(REQUESTS, "start one process each and wait for it"), (130, "start about one"), (30, "start processes and wait")],
)
def test_how_many_a_request_starts(number: int, words: str) -> None:
    assert words in finding(ended(serving(), python3=number), CHILD).headline


def test_who_stays_is_no_process_of_a_request() -> None:
    """Workers that requests hand their work to are what the target is made of, as are their threads."""
    for began, tid in (("10 s", 101), ("2 s", 101), ("10 s", 108)):
        workers = serving("ipc.pipe", by=tid).thread("worker", pid=101, tid=101, wall=began, rest="ipc.pipe")
        workers.thread("worker", pid=101, tid=108, wall="9 s", rest="cpu.user", exited=True)
        assert found_in(ended(workers, logger=3)) is None
    assert found_in(serving().model()) is None  # nobody has ended


def test_who_was_recorded_alone_counts_as_those_of_whom_only_the_name_is_known() -> None:
    builder = serving(by=200)
    for tid in range(200, 206):
        builder.thread("python3", pid=tid, tid=tid, wall="1 s", rest="cpu.user", exited=True)
    found = finding(ended(builder, python3=114), CHILD)
    assert found.headline == "Requests wait for python3, which computes 59.5 ms each time"
    assert "each lives 59.5 ms" in found.evidence[0].text
    assert "perfdiag latency -- COMMAND" in found.remedies[0].text, "starting it is the smaller part"


def test_what_they_mostly_do_is_in_the_headline() -> None:
    calls = ["file_close_fd", "__x64_sys_close"]
    builder = serving().stack("cpu", "cpu.kernel", kernel=calls, pid=GONE, tid=GONE, count=90)
    found = finding(ended(builder, python3=REQUESTS), CHILD)
    assert (
        found.headline == "Requests start one process each and wait for it: python3 (mostly with closing descriptors)"
    )


def test_what_the_kernel_does_for_them_is_divided_where_no_kind_stands_out() -> None:
    """git goes through directories: its calls, its functions and the kinds of the kernel's work stand below."""
    builder = serving()
    for kernel, count in (["iterate_dir", "__x64_sys_getdents64"], 25), (["path_openat", "__x64_sys_openat"], 22):
        builder.stack("cpu", "cpu.kernel", kernel=kernel, user=["status (git)"], pid=GONE, tid=GONE, count=count)
    for number, function in enumerate("abcdefg"):
        user = [f"{function} (git)", "status (git)"]
        builder.stack("cpu", user=user, pid=GONE, tid=GONE, count=8 + number % 2)
        builder.stack("cpu", "cpu.kernel", kernel=[f"own_{function}"], user=user, pid=GONE, tid=GONE, count=6)
    found = finding(ended(builder, git=REQUESTS), CHILD)
    assert "% in the kernel: reading directories 28 % of that)" in found.headline, found.headline
    texts = [each.text for each in found.evidence]
    assert any(text.startswith("calls: status (git) 100 %") for text in texts), texts
    assert any("reading directories" in text and "of kernel samples" in text for text in texts), texts


def test_threads_that_ended_are_no_processes() -> None:
    """A server may run a thread for each connection."""
    builder = serving().exited("serve", threads=90, processes=0, wall="9 s")
    assert found_in(builder.model()) is None
    builder.exited("python3", threads=240, processes=120, wall="9 s")
    found = finding(builder.model(), CHILD)
    assert "for python3, which computes 75.0 ms" in found.headline and "lives" not in found.evidence[0].text


def test_what_waits_or_was_not_watched_computes_nothing() -> None:
    assert found_in(ended(serving(root="disk.flush"), dd=REQUESTS)) is None
    outside = serving().because("wait.child", "", "cpu.user", "9 s", root_tid=GONE)
    assert found_in(ended(outside, dd=REQUESTS))


def test_processes_that_sleep_are_told_before_those_that_compute() -> None:
    builder = serving(root="wait.timer").because("wait.child", "", "cpu.user", "6 s", root_tid=GONE, inside=True)
    assert "mostly sleep" in finding(ended(builder, sh=REQUESTS), CHILD).claim


def test_the_functions_are_those_of_the_processes() -> None:
    builder = serving().stack("cpu", user=["parse (server)"], count=300, pid=100)
    assert not any("parse" in each.text for each in finding(ended(builder, python3=REQUESTS), CHILD).evidence)
    builder.stack("cpu", user=["compile (python3)"], count=100, pid=GONE)
    texts = [each.text for each in finding(builder.model(), CHILD).evidence]
    assert any("compile (python3) 100 %" in text and "of 100 CPU samples" in text for text in texts), texts


def test_cpu_time_of_processes_that_requests_wait_for_is_time_of_requests() -> None:
    """It stands in the busy time twice, with the wait at the pipe: less than half seemed to be inside of requests."""
    builder = Builder(comm="server", window="80 s").thread("serve", cpu_user="2 s", ipc_pipe="4 s", rest="net.request")
    for line in served(REQUESTS, 66 * MS, {"ipc.pipe": 4 * S, "cpu.user": 2 * S, "wait.events": 19 * S // 10}):
        builder.line(line)
    builder.because("ipc.pipe", "pipe:5", "cpu.user", "4 s", root_tid=GONE, inside=True)
    builder.exited("python3", threads=REQUESTS, processes=REQUESTS, wall="7 s", disk_read="1 s")
    assert found_in(builder.model()), "which are in their processes for half of their time"


def test_the_headline_names_the_processes_where_no_account_has_as_much() -> None:
    builder = Builder(comm="server").thread("serve", cpu_user="3 s", cpu_kernel="3 s", rest="net.request")
    parts = {"ipc.pipe": 9 * S, "cpu.user": 3 * S, "wait.events": 6 * S, "cpu.irq": 3 * S}
    for line in served(REQUESTS, sum(parts.values()) // REQUESTS, parts):
        builder.line(line)
    builder.because("ipc.pipe", "pipe:5", "cpu.user", "9 s", root_tid=GONE, inside=True)
    builder.exited("ld", threads=REQUESTS, processes=REQUESTS, wall="9 s")
    model = builder.model()
    first, *_ = decide(model, diagnose(model)).sentences
    assert first.startswith("Requests wait for ld, which computes 75.0 ms each time (") and "Nothing" not in first
