"""KERNEL-OTHER, IO-URING-SLOW and UNEXPLAINED."""

from __future__ import annotations

import msgspec
import pytest
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.rule import Confidence, Mechanism, Severity
from perfdiag.model import builder as ledger
from perfdiag.report.verdict.verdict import decide

from unit.support import Builder
from unit.support.judging import check, finding, findings

OTHER, URING, UNEXPLAINED = "KERNEL-OTHER", "IO-URING-SLOW", "UNEXPLAINED"


def blocked(other: str) -> Builder:
    return Builder().thread(cpu_user="5 s").row("kernel.other", "syscall:membarrier", other, count=30)


def test_other_waits_are_named_by_their_object() -> None:
    found = finding(blocked("500 ms").model(), OTHER)
    assert found.severity is Severity.INFO and "membarrier() 100 %" in found.claim
    assert dict(found.claims) == {("kernel.other", "syscall:membarrier"): 500_000_000}


def test_a_quarter_of_the_time_is_worth_a_look() -> None:
    assert finding(blocked("4 s").model(), OTHER).severity is Severity.WARNING


def test_a_little_is_fine_and_a_name_that_is_missing_is_said() -> None:
    assert check(blocked("20 ms").model(), OTHER).number < 0.01
    nameless = Builder().thread(cpu_user="5 s", kernel_other=("1 s", 9)).model()
    assert finding(nameless, OTHER).confidence is Confidence.MEDIUM


RECEIVING = ["read", "readv", "recvfrom", "recvmsg", "recvmmsg"]


def called(call: str, *kernel: str) -> Builder:
    builder = Builder().thread("q", cpu_user="1 s", rest="wait.timer")
    builder.row("kernel.other", f"syscall:{call}", "6 s", count=30)
    if kernel:
        builder.stack("wait", "kernel.other", object=f"syscall:{call}", kernel=["schedule", *kernel], weight="6 s")
    return builder


def test_a_wait_is_named_by_what_its_innermost_functions_are_for() -> None:
    """Each open() of a file waits for a scanner: the stack says so, and the call alone does not."""
    asks = called("openat", "fanotify_handle_event", "fsnotify", "do_dentry_open", "path_openat").model()
    found = finding(asks, OTHER)
    assert found.headline == "Threads are blocked in the kernel in openat(), asking scanners about files"
    assert "fanotify" in found.remedies[0].text
    inside = finding(called("openat", "a", "b", "fanotify_handle_event", "path_openat").model(), OTHER)
    assert inside.headline == "Threads are blocked in the kernel in openat()", "a function further out is part of many"


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (("schedule_timeout", "__wait_for_common", "wait_for_completion_interruptible", "__seccomp_filter"), "seccomp"),
        (("handle_userfault", "__handle_mm_fault", "handle_mm_fault"), "userfaultfd"),
        (("schedule_timeout", "__break_lease", "do_dentry_open"), "lease-break-time"),
        (("schedule_timeout", "nfs4_delay_killable", "nfs4_handle_exception"), "grace period"),
    ],
)
def test_who_answers_in_place_of_the_kernel_is_named(kernel: tuple[str, ...], words: str) -> None:
    builder = Builder().thread("q", cpu_user="1 s", rest="wait.timer")
    waker = dict(waker_tid=7, waker_count=29, waker_pid=7, waker_comm="warden")
    builder.row("kernel.other", "syscall:getppid", "6 s", count=30, **waker)
    without = finding(builder.model(), OTHER)
    assert "warden (7) ended at least 29 of those" in [each.text for each in without.evidence] and without.alternatives
    builder.stack("wait", "kernel.other", object="syscall:getppid", kernel=["schedule", *kernel], weight="6 s")
    found = finding(builder.model(), OTHER)
    assert "(warden, 7)" in found.headline and found.remedies[0].text.endswith("perfdiag latency --pid 7")
    assert words in found.remedies[1].text.lower() and not found.alternatives
    own = builder.thread("warden", pid=7, tid=7, cpu_user="1 s").model()
    assert not any("measure who" in remedy.text for remedy in finding(own, OTHER).remedies)


def test_a_worker_of_the_kernel_that_ends_a_wait_for_modprobe_is_not_to_be_measured() -> None:
    builder = Builder().thread("q", cpu_user="1 s", rest="wait.timer")
    waker = dict(waker_tid=7, waker_count=29, waker_pid=7, waker_comm="kworker/u4:4")
    builder.row("kernel.other", "syscall:bind", "6 s", count=30, **waker)
    kernel = ["schedule", "wait_for_completion_state", "call_usermodehelper_exec", "__request_module"]
    builder.stack("wait", "kernel.other", object="syscall:bind", kernel=kernel, weight="6 s")
    found = finding(builder.model(), OTHER)
    assert found.headline.endswith("until modprobe has looked for a kernel module"), found.headline
    assert "modprobe.d" in found.remedies[0].text
    assert not any("measure who" in remedy.text for remedy in found.remedies)
    assert "kworker/u4:4 (7) ended at least 29 of those" in [each.text for each in found.evidence]


def test_a_thread_of_the_targets_own_is_not_to_be_measured_as_another_process() -> None:
    """Only its tid is known."""
    builder = Builder().thread("q", cpu_user="1 s", rest="wait.timer")
    waker = dict(waker_tid=107, waker_count=29, waker_comm="warden")
    builder.row("kernel.other", "syscall:getppid", "6 s", count=30, **waker)
    kernel = ["schedule", "handle_userfault", "handle_mm_fault"]
    builder.stack("wait", "kernel.other", object="syscall:getppid", kernel=kernel, weight="6 s")
    assert any("measure who" in remedy.text for remedy in finding(builder.model(), OTHER).remedies)
    own = builder.thread("warden", tid=107).model()
    assert not any("measure who" in remedy.text for remedy in finding(own, OTHER).remedies)


@pytest.mark.parametrize("call", RECEIVING)
def test_receiving_waits_for_work_or_for_an_answer(call: str) -> None:
    """A pool with little to do was told that a fix returns 99 % of its time."""
    model = called(call).model()
    assert check(model, OTHER).number == 0
    assert model.ns("wait.parked") == model.parked_ns == 6_000_000_000 and model.busy_ns == 1_000_000_000
    assert model.accounts["wait.parked"].count == 30
    assert [(row.account, row.object) for row in model.rows_of("wait.parked")] == [("wait.parked", f"{call}()")]


@pytest.mark.parametrize("call", ["msgsnd", "mq_timedsend", "mq_timedsend_time64"])
def test_senders_to_a_queue_have_a_rule_of_their_own(call: str) -> None:
    assert check(called(call).model(), OTHER).number == 0
    both = called(call).row("kernel.other", "syscall:ioctl", "200 ms", count=2)
    found = finding(both.model(), OTHER)
    assert found.severity is Severity.INFO and dict(found.claims) == {("kernel.other", "syscall:ioctl"): 200_000_000}


def test_a_device_that_takes_long_is_worth_a_look() -> None:
    assert finding(called("ioctl").model(), OTHER).severity is Severity.WARNING


@pytest.mark.parametrize("call", ["open", "openat", "openat2"])
def test_the_opening_of_a_fifo_is_told_by_its_stacks(call: str) -> None:
    fifo = called(call, "wait_for_partner", "fifo_open", "do_dentry_open").model()
    assert check(fifo, OTHER).number == 0 and fifo.parked_ns == 6_000_000_000
    assert fifo.coverage.stack_agreement == 1
    assert finding(called(call, "slow_driver", "chrdev_open").model(), OTHER).severity is Severity.WARNING
    unknown = finding(called(call).model(), OTHER)
    assert unknown.severity is Severity.INFO and unknown.confidence is Confidence.MEDIUM
    assert "unknown whether it waits for work or for an answer" in unknown.alternatives[0]
    assert "FIFO" in unknown.claim and unknown.mechanism is Mechanism.UNDETERMINED


def test_only_the_process_that_receives_is_parked() -> None:
    builder = called("read").thread("hangs", pid=200)
    model = builder.row("kernel.other", "syscall:ioctl", "10 s", count=1).model()
    assert model.parked_ns == 6_000_000_000 and dict(finding(model, OTHER).claims) == {
        ("kernel.other", "syscall:ioctl"): 10_000_000_000
    }


def test_an_ended_process_that_received_is_parked_too() -> None:
    """Its thread has its pid, its details stand with those of all that have ended."""
    builder = Builder().thread("lives", cpu_user="1 s").row("kernel.other", "syscall:ioctl", "2 s", count=2)
    recording = (
        builder.thread("q", pid=200, exited=True).row("kernel.other", "syscall:read", "6 s", count=30).recording()
    )
    for key, line in list(recording.details.items()):
        if line.pid == 200:
            del recording.details[key]
            recording.details[0, *key[1:]] = msgspec.structs.replace(line, pid=0)
    model = ledger.build(recording)
    assert model.ns("wait.parked") == 6_000_000_000 and model.ns("kernel.other") == 2_000_000_000
    lives = next(thread for thread in model.threads if thread.comm == "lives")
    assert lives.accounts["kernel.other"].ns == 2_000_000_000 and "wait.parked" not in lives.accounts


def test_an_operation_that_receives_is_within_any_limit() -> None:
    def over(call: str) -> int:
        builder = Builder(slo="1 ms").thread("q", cpu_user="1 s")
        slow = {"kernel_other": "6 s"}
        builder.operation(
            f"syscall:{call}", durations={"20 ms": 300}, over_slo=300, over_slo_accounts=slow, kernel_other="6 s"
        )
        return len(findings(builder.model(), "SLO-BREACH"))

    assert over("read") == 0 and over("ioctl") == 1


def completing(durations: dict[str, int], key: str = "inflight") -> Builder:
    return Builder().thread(cpu_user="1 s").row("wait.io_uring", key, durations=durations)


def test_slow_completions_are_compared_with_the_device() -> None:
    model = completing({"40 ms": 100}).device(operation="read", count=100, queue="1 ms", service="38 ms").model()
    found = finding(model, URING)
    assert found.severity is Severity.WARNING and dict(found.claims) == {("wait.io_uring", "inflight"): 4_000_000_000}
    assert "39.0 ms" in found.evidence[1].text


def test_prompt_completions_are_profile_and_few_are_fine() -> None:
    assert finding(completing({"100 us": 20_000}).model(), URING).severity is Severity.INFO
    assert check(completing({"100 us": 20}).model(), URING).number < 0.01


@pytest.mark.parametrize("device", [{}, {"service": "2 ms", "count": 30}])
def test_what_no_device_explains_accuses_nobody(device: dict[str, str]) -> None:
    builder = completing({"500 ms": 8})
    model = (builder.device(operation="write", **device) if device else builder).model()
    found = finding(model, URING)
    assert found.severity is Severity.INFO
    assert decide(model, diagnose(model)).kind == "cannot tell"


@pytest.mark.parametrize("key", ["inflight", "uncounted", ""])
def test_what_could_not_be_counted_is_said(key: str) -> None:
    """The kernel's lists were longer than is looked at, or a script recorded, which counts nothing."""
    found = finding(completing({"500 ms": 8}, key).model(), URING)
    assert len(found.limits) == 1 + (key != "inflight")


def test_block_requests_not_measured_lower_the_confidence() -> None:
    found = finding(completing({"40 ms": 100}).without("block").model(), URING)
    assert any("block requests" in limit for limit in found.limits) and found.confidence is Confidence.MEDIUM


def test_the_unexplained_is_said_with_where_it_stood() -> None:
    model = (
        Builder()
        .thread(cpu_user="5 s", unexplained=("300 ms", 40))
        .stack("wait", "unexplained", kernel=["strange_wait", "vfs_ioctl"], weight="90 ms")
        .model()
    )
    found = finding(model, UNEXPLAINED)
    assert found.severity is Severity.INFO and dict(found.claims) == {"unexplained": 300_000_000}
    assert "strange_wait 100 %" in found.evidence[1].text


def test_under_a_hundredth_is_within_the_law() -> None:
    assert check(Builder().thread(cpu_user="5 s", unexplained="40 ms").model(), UNEXPLAINED).number < 0.01


def test_stacks_are_not_asked_for_where_all_were_recorded() -> None:
    def remedy(stacks: str) -> str:
        builder = Builder(stacks=stacks).thread(cpu_user="5 s", unexplained=("300 ms", 40))
        return finding(builder.model(), UNEXPLAINED).remedies[0].text

    assert "--stacks --record FILE" in remedy("sampled") and "--stacks" not in remedy("all")


def test_without_stacks_the_unexplained_stays_nameless() -> None:
    found = finding(Builder().thread(cpu_user="5 s", unexplained="300 ms").lost(ring_buffer=50).model(), UNEXPLAINED)
    assert found.confidence is Confidence.LOW and any("no stack" in limit for limit in found.limits)


def test_what_a_marked_function_waits_for_needs_no_stack() -> None:
    builder = Builder().thread("q", cpu_user="1 s", rest="wait.timer")
    found = finding(builder.row("kernel.other", "function:nfs4_handle_exception", "6 s", count=7).model(), OTHER)
    assert found.headline.endswith("(), waiting for an NFS server that asks to try later") and not found.alternatives
    assert "grace period" in found.remedies[0].text and found.severity is Severity.WARNING
