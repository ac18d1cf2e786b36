"""IPC-PEER-SLOW and PROC-CHILD-SLOW: other processes of the same host."""

from __future__ import annotations

import io
from dataclasses import replace
from types import SimpleNamespace

import msgspec
from perfdiag.common.units import share as percent
from perfdiag.diagnosis.engine import diagnose
from perfdiag.diagnosis.evidence.local.process_churn import Churn, churn
from perfdiag.diagnosis.rule import Confidence, Mechanism, Severity
from perfdiag.model import builder as ledger
from perfdiag.model.model import Model
from perfdiag.recording import reader, schema
from perfdiag.report.verdict.verdict import decide

from unit.support import Builder
from unit.support.disks import disk, disks
from unit.support.exchanges import served
from unit.support.judging import check, finding, knowing

S, MS = 1_000_000_000, 1_000_000
PEER, CHILD, SINGLE = "IPC-PEER-SLOW", "PROC-CHILD-SLOW", "CPU-SINGLE-THREAD"


def test_a_slow_server_behind_a_unix_socket_is_named() -> None:
    builder = Builder().thread(cpu_user="1 s").row("ipc.unix", "unix:700:cupsd", durations={"50 ms": 100})
    asked = finding(builder.exchange("unix:700:cupsd", "connected", {"50 ms": 100}).model(), PEER)
    assert (
        asked.severity is Severity.WARNING
        and "the other end of a unix socket made by cupsd (700) answers slowly" in asked.claim
    )


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


def parent_and_child(descendants: bool = True, longest: str = "3 s", exited: bool = False) -> Builder:
    builder = Builder(comm="shell", descendants=descendants).thread(
        "shell", pid=100, cpu_user="10 ms", wait_child=("9 s", 4, longest), exited=exited
    )
    return builder.thread("svn", pid=101, cpu_user="1 s", disk_read="8 s") if descendants else builder


def test_a_child_in_the_target_is_a_path_and_claims_nothing() -> None:
    model = knowing(parent_and_child().model(), processes={101: SimpleNamespace(status={"PPid": "100"})})
    found = finding(model, CHILD)
    assert found.severity is Severity.INFO and not found.claims
    assert "reading from disk 80 %, own code on a CPU 10 %" in found.claim and found.confidence is Confidence.HIGH
    assert "svn (101)" in found.evidence[1].text


def test_children_that_sleep_are_said_to_sleep() -> None:
    builder = Builder(comm="shell").thread("shell", pid=100, cpu_user="10 ms", wait_child=("9 s", 4, "3 s"))
    model = builder.thread("sleep", pid=101, cpu_user="100 ms", wait_timer="9900 ms").model()
    assert "sleeping 99 %" in finding(model, CHILD).claim
    builder.thread("sh", pid=102, wait_child="8 s", rest="wait.timer")  # waits for its own, which are measured, too
    assert "sleeping 99 %" in finding(builder.model(), CHILD).claim


def beside_its_parent(*roots: tuple[str, int]) -> Model:
    """A shell that starts one program after the other, as a child of a process that computes."""
    builder = Builder(comm="node").thread("node", pid=90, cpu_user="8 s", rest="wait.events")
    builder.thread("sh", pid=100, tid=100, cpu_user="10 ms", wait_child=("9 s", 100, "100 ms"))
    builder.thread("sleep", pid=101, tid=101, cpu_user="10 ms", rest="wait.timer")
    for root, ns in roots:
        builder.line(
            schema.Because(
                pid=100, account="wait.child", object="", steps=[], cut=False, root=root, root_object="", root_tid=101,
                root_tid_ns=ns, sum_ns=ns, count=100, inside=False,
            )
        )  # fmt: skip
    return knowing(builder.model(), processes={90: SimpleNamespace(status={"PPid": "1"})})


def test_who_ended_the_waits_tells_what_was_waited_for() -> None:
    """It said that the time of the shell's children was that of its parent."""
    found = finding(beside_its_parent(("wait.timer", 8 * S), ("cpu.user", 1 * S)), CHILD)
    assert "sleeping 89 %, own code on a CPU 11 %" in found.claim and found.confidence is Confidence.HIGH
    assert found.evidence[1].text == "children: sleep (101)"


def test_a_process_whose_parent_is_known_is_nobody_elses_child() -> None:
    for model in (beside_its_parent(), beside_its_parent(("wait.timer", 4 * S))):
        found = finding(model, CHILD)
        assert "sleeping >99 %" in found.claim and "node" not in found.evidence[1].text
        assert found.confidence is Confidence.MEDIUM and any("unknown" in limit for limit in found.limits)


def serving_by_children(root: str, ns: int = 36 * S, **child: str) -> Builder:
    """Four threads each of whose requests starts a child and waits for its end."""
    builder = Builder(comm="server").thread("child", pid=101, **child)
    for tid in range(102, 106):
        builder.thread("serve", tid=tid, cpu_user="10 ms", wait_child=("9 s", 30, "300 ms"), rest="net.request")
    for line in served(120, 301 * MS, {"wait.child": 36 * S, "cpu.user": 40 * MS}):
        builder.line(line)
    return builder.line(
        schema.Because(
            pid=100, account="wait.child", object="", steps=[], cut=False, root=root, root_object="", root_tid=0,
            root_tid_ns=0, sum_ns=ns, count=120, inside=True,
        )
    )  # fmt: skip


def test_children_that_requests_wait_for_and_that_sleep() -> None:
    model = serving_by_children("wait.timer", wait_timer="9 s").model()
    found = finding(model, CHILD)
    assert (
        found.severity is Severity.WARNING and "Requests wait 36.0 s for child processes, which mostly" in found.claim
    )
    first = diagnose(model).findings[0]
    assert first.id == CHILD and first.claimed_ns == 36 * S


def test_a_master_that_waits_for_its_workers_is_not_who_waits_in_requests() -> None:
    builder = serving_by_children("wait.timer", wait_timer="9 s")
    found = finding(builder.thread("master", pid=90, wait_child=("10 s", 1, "10 s")).model(), CHILD)
    assert found.claims["wait.child"] and not any("master" in each.text for each in found.evidence), found


def test_what_children_compute_or_were_not_seen_to_do_is_no_fault() -> None:
    for model in (
        serving_by_children("cpu.user", cpu_user="9 s").model(),
        serving_by_children("wait.timer", 9 * S, wait_timer="9 s").model(),
    ):
        found = finding(model, CHILD)
        assert found.severity is Severity.INFO and not found.claims


def test_children_that_flush_are_their_disks_in_requests_too() -> None:
    builder = serving_by_children("disk.flush", wait_timer="1 s").thread("flusher", pid=110)
    builder.row("disk.flush", "device:254:0", durations={"200 ms": 44})
    for operation in ("write", "flush"):
        builder.device("254:0", operation, count=44, service="190 ms")
    recording = [
        msgspec.structs.replace(line, root_object="device:254:0") if isinstance(line, schema.Because) else line
        for line in builder.lines()
    ]
    read = reader.read(io.BytesIO(b"".join(msgspec.json.encode(line) + b"\n" for line in recording)))
    disk_of = disk("254:0", "vda", kind="physical", rotational=False)
    found = diagnose(knowing(ledger.build(read), disks=disks(disk_of)))
    assert found.findings[0].id == "DISK-FLUSH-SLOW" and found.findings[0].claimed_ns >= 0.99 * 36 * S, found.findings
    assert found.findings[0].claimed_ns <= 36 * S


def test_an_unknown_family_is_said() -> None:
    found = finding(knowing(parent_and_child().model(), processes={}), CHILD)
    assert found.confidence is Confidence.MEDIUM and any("unknown" in limit for limit in found.limits)


def test_a_child_left_out_is_where_to_look() -> None:
    found = finding(parent_and_child(descendants=False).model(), CHILD)
    assert (
        found.severity is Severity.WARNING
        and "--only" not in found.remedies[0].text
        and "--pid" in found.remedies[0].text
    )
    assert found.confidence is Confidence.MEDIUM


def test_a_command_that_has_ended_waited_for_its_children_all_the_same() -> None:
    found = finding(parent_and_child(descendants=False, exited=True).model(), CHILD)
    assert found.severity is Severity.WARNING and "shell (100) waited 9.00 s" in found.claim


def test_a_supervisor_waits_and_that_is_its_work() -> None:
    assert finding(parent_and_child(descendants=False, longest="9.8 s").model(), CHILD).severity is Severity.INFO


def test_short_waits_for_children_are_fine() -> None:
    model = Builder().thread("shell", cpu_user="5 s", wait_child=("300 ms", 30)).model()
    assert "3 % of the window" in check(model, CHILD).text


def storm(processes: int = 4_000, wall: str = "4 s", **accounts: str) -> Builder:
    builder = Builder(comm="sh").thread("sh", cpu_user="300 ms", wait_child=("6 s", processes, "3 ms"))
    if not accounts:
        accounts = {"cpu_user": "2 s", "cpu_kernel": "1 s"}
    builder.exited("grep", threads=processes, processes=processes, wall=wall, **accounts)
    builder.stack("cpu", "cpu.kernel", kernel=["clear_page", "bprm_execve", "do_syscall_64"], count=100, pid=7)
    builder.stack("cpu", "cpu.kernel", kernel=["copy_page_range", "copy_process"], count=50, pid=100)
    builder.stack("cpu", "cpu.kernel", kernel=["handle_mm_fault", "exc_page_fault"], count=30, pid=7)
    builder.stack("cpu", user=["do_lookup_x (ld-linux-x86-64.so.2)"], count=20, pid=7)
    builder.stack("cpu", "cpu.kernel", kernel=["handle_mm_fault", "exc_page_fault"], count=30, pid=100)
    return builder.stack("cpu", user=["match (grep)"], count=170, pid=7)


def test_thousands_of_short_processes_are_told_with_what_their_start_takes() -> None:
    model = storm(wall="9 s", cpu_user="5 s", cpu_kernel="3 s").model()
    found = finding(model, CHILD)
    assert found.severity is Severity.INFO and found.confidence is Confidence.MEDIUM
    assert "starts 400 processes a second" in found.claim and "waited 6.00 s for them" in found.claim
    assert "4,000 processes, 400 a second" in found.evidence[0].text and "lived 2.25 ms" in found.evidence[0].text
    assert "at least 3.46 s of CPU time" in found.claim  # 200 of 400 samples: faults of the shell are its own
    ran_ns = model.ns("cpu.user", "cpu.kernel")
    assert found.claims["cpu.user"] == round(20 / 400 * ran_ns)
    assert found.claims["cpu.kernel"] == min(round(180 / 400 * ran_ns), model.ns("cpu.kernel"))
    assert "grep (4,000)" in found.evidence[0].text and found.evidence[1].error


def test_processes_that_do_nothing_but_start_and_end_are_all_that_the_target_does() -> None:
    model = storm(wall="4 s", cpu_user="2 s", cpu_kernel="1 s").model()
    found = finding(model, CHILD)
    assert "1.00 ms of CPU time each" in found.claim and found.confidence is Confidence.MEDIUM
    ended = next(thread for thread in model.threads if thread.exited)
    assert found.claims == {name: ended.accounts[name].ns for name in ("cpu.user", "cpu.kernel")}
    diagnosis = diagnose(model)
    assert [each.id for each in diagnosis.findings][:1] == [CHILD]
    # All of that time is said once: the samples that show it are less, and would contradict it.
    text = decide(model, diagnosis).text
    assert f"({percent(diagnosis.findings[0].share)} of busy time)" in text and text.count(" %") == 1


def test_who_reads_what_short_processes_print_waits_for_those() -> None:
    """Not for the pipe, and not for what a process that lasts does meanwhile, nor for what a short one waits for."""
    builder = storm(wall="9 s", cpu_user="5 s", cpu_kernel="3 s")
    lasting = next(thread.tid for thread in builder.model().threads if thread.tid)
    builder.row("ipc.pipe", "pipe:5", "3 s", count=900)
    builder.because("ipc.pipe", "pipe:5", "cpu.user", "2 s", root_tid=777_777)
    builder.because("ipc.pipe", "pipe:5", "cpu.user", "500 ms", root_tid=lasting)
    builder.because("ipc.pipe", "pipe:5", "wait.timer", "400 ms", root_tid=777_778)
    found = finding(builder.model(), CHILD)
    assert found.claims["ipc.pipe", "pipe:5"] == 2_000_000_000 and "waited 2.00 s for that" in found.claim
    assert found.headline.endswith("starts 400 processes a second: grep (4,000)")


def test_a_few_short_processes_and_many_long_ones_are_no_churn() -> None:
    assert "400" not in finding(storm(processes=150, wall="150 ms", cpu_user="100 ms").model(), CHILD).claim
    assert "waited" in finding(storm(wall="400 s", cpu_user="300 s").model(), CHILD).claim


def test_a_command_that_starts_and_ends_has_no_rate() -> None:
    def of(processes: int, window_ns: int) -> Churn | None:
        model = storm(processes, wall="150 ms", cpu_user="100 ms").model()
        return churn(replace(model, window_ns=window_ns))

    assert of(20, 500_000_000) and not of(19, 500_000_000)
    assert of(20, 100_000_000) and not of(20, 99_000_000)


def test_without_samples_the_cost_of_their_start_is_not_known() -> None:
    model = (
        Builder().thread("sh", cpu_user="1 s").exited("grep", threads=900, processes=900, wall="2 s", cpu_user="2 s")
    )
    found = finding(model.without("stacks").model(), CHILD)
    assert not found.claims and "not sampled" in found.claim and found.limits
