"""CPU-CONTENTION and CPU-OVERSUBSCRIBED: ready to run, and somebody else has the CPU."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from perfdiag.diagnosis.rule import Confidence, Finding, RemedyKind, Severity
from perfdiag.facts.host_facts import Process
from perfdiag.model.model import Model

from unit.support import Builder
from unit.support.amounts import nanoseconds
from unit.support.judging import check, finding, knowing, silence
from unit.support.known import blank


def waiting(object: str, durations: dict[str, int] | None = None, **options: Any) -> Builder:
    return (
        Builder(**options).thread("web", cpu_user="2 s").row("runq.busy", object, durations=durations or {"3 ms": 400})
    )


def nameless(threads: int = 1, runs: str = "2 s", queues: int = 400, **options: Any) -> Builder:
    """Threads that wait 3 ms at a time for a CPU, and nobody knows who had it."""
    builder = Builder(**options)
    for number in range(threads):
        builder.thread("web", tid=100 + number, cpu_user=runs).row("runq.busy", "", durations={"3 ms": queues})
    return builder


def crowd(threads: int = 3, wait: str = "3 ms", cpus: int = 2, **options: Any) -> Builder:
    """Threads that compute for 6 s each, and queue behind each other for 3 s."""
    builder = Builder(cpus=cpus, **options)
    count = 3_000_000_000 // nanoseconds(wait)
    for number in range(threads):
        builder.thread(f"web{number}", tid=100 + number, cpu_user="6 s")
        builder.row("runq.busy", "own:100:web", durations={wait: count})
    return builder


def process(cpus: str, threads: dict[int, str] | None = None) -> Process:
    return blank(Process, pid=100, cpus_allowed=cpus, thread_cpus=threads or {})


def test_neighbours_are_named_with_their_part() -> None:
    model = waiting("task:7:backup").row("runq.busy", "task:8:a:b", durations={"3 ms": 100}).model()
    found = finding(model, "CPU-CONTENTION")
    assert found.severity is Severity.WARNING and found.confidence is Confidence.HIGH
    assert "backup 80 %, a:b 20 %" in found.claim
    assert dict(found.claims) == {
        ("runq.busy", "task:7:backup"): 1_200_000_000,
        ("runq.busy", "task:8:a:b"): 300_000_000,
    }


def test_who_lacks_cpu_time_is_told_what_it_needs_it_for() -> None:
    """On a busy host a compiler inside the server had 71 % of its time, and the neighbours alone were blamed."""
    builder = waiting("task:7:make").stack("cpu", user=["run (libLLVM-14.so.1)"], count=80)
    remedies = [each.text for each in finding(builder.model(), "CPU-CONTENTION").remedies]
    assert remedies[1] == "let app (100) compute less: 100 % of its CPU samples are in run (libLLVM-14.so.1)"
    few = waiting("task:7:make").stack("cpu", user=["run (libLLVM-14.so.1)"], count=8)
    assert len(finding(few.model(), "CPU-CONTENTION").remedies) == 1


def test_neighbours_that_add_up_to_nothing_are_not_named() -> None:
    small = nameless(runs="100 ms", queues=3_000).row("runq.busy", "task:7:init", durations={"3 ms": 2})
    found = finding(small.model(), "CPU-CONTENTION")
    assert "99 %" in found.claim
    many = waiting("task:7:backup")
    for number in range(200):  # nearly: nobody of note, but they are all there is
        many.row("runq.busy", f"task:{10 + number}:job{number}", durations={"3 ms": 1})
    assert "backup 67 %." in finding(many.model(), "CPU-CONTENTION").claim


def test_a_neighbour_without_a_name_is_seen() -> None:
    assert "100 %" in finding(waiting("task:7:").model(), "CPU-CONTENTION").claim


def test_own_threads_are_another_finding() -> None:
    model = crowd().model()
    assert check(model, "CPU-CONTENTION").number == 0
    found = finding(model, "CPU-OVERSUBSCRIBED")
    assert found.severity is Severity.WARNING and "2.7" in found.claim
    assert found.claims == {("runq.busy", "own:100:web"): 9_000_000_000}
    check(waiting("task:7:backup").model(), "CPU-OVERSUBSCRIBED")


def test_no_more_threads_than_cpus_queue_at_hand_overs() -> None:
    """Two that could always run, on two CPUs; and forty that take turns."""
    said = check(crowd(threads=2).model(), "CPU-OVERSUBSCRIBED")
    assert said.number > 0.3 and "1.8" in said.text
    turns = Builder(cpus=2)
    for _ in range(40):
        turns.thread("turn", cpu_user="20 ms").row("runq.busy", "own:100:turn", durations={"1 ms": 25})
    said = check(turns.model(), "CPU-OVERSUBSCRIBED")
    assert "0.2" in said.text


def test_threads_that_are_bound_to_one_cpu_share_that_one() -> None:
    model = knowing(crowd(threads=2).model(), processes={100: process("0-1", {100: "1", 101: "1"})}, cpu_times_ns={})
    found = finding(model, "CPU-OVERSUBSCRIBED")
    assert "1.8" in found.claim and found.confidence is Confidence.HIGH
    first = found.remedies[0]
    assert (first.kind, first.text, first.undo) == (RemedyKind.TRY, "taskset -cp 0-1 100", "taskset -cp 1 100")


def test_what_must_be_queueing_behind_own_threads_needs_no_names() -> None:
    """Four that could always run on two CPUs wait for 20 s together, whoever had them; 2 s of it has a name."""
    builder = Builder(cpus=2)
    for _ in range(4):
        builder.thread("web", cpu_user="4 s").row("runq.busy", "", durations={"3 ms": 1_500})
        builder.row("runq.busy", "own:100:web", durations={"3 ms": 300})
    model = knowing(builder.model(), processes={100: process("0-1")}, cpu_times_ns={})
    found = finding(model, "CPU-OVERSUBSCRIBED")
    own_ns, all_ns = 3_600_000_000, round((4 * 9.4 - 20) * 1e9)
    assert dict(found.claims) == {("runq.busy", "own:100:web"): own_ns, ("runq.busy", ""): all_ns - own_ns}
    assert "14.0 s" in found.claim and found.confidence is Confidence.MEDIUM
    assert silence(nameless(2, cpus=4).model(), "CPU-OVERSUBSCRIBED")


def test_a_target_of_one_thread_never_queues_behind_itself() -> None:
    """Starved to 1 % of a CPU by hogs whose names were not kept."""
    model = nameless(runs="100 ms", queues=3_000).row("runq.busy", "task:7:hog", durations={"3 ms": 200}).model()
    found = finding(model, "CPU-CONTENTION")
    assert "9.60 s" in found.claim and "94 %" in found.claim and "6 %" in found.claim
    assert dict(found.claims) == {("runq.busy", "task:7:hog"): 600_000_000, ("runq.busy", ""): 9_000_000_000}
    assert found.severity is Severity.WARNING and found.confidence is Confidence.MEDIUM
    assert check(model, "CPU-OVERSUBSCRIBED").number == 0


def test_own_threads_hold_each_other_up_no_longer_than_they_run() -> None:
    """Three that run 0.8 s each among hogs: 2 x 2.4 s at most of 27 s are behind each other, the rest is not. They had
    12 % of the CPUs' time, and are accused of as much of the waits."""
    model = nameless(3, runs="800 ms", queues=3_000, cpus=2).model()
    crowded = finding(model, "CPU-OVERSUBSCRIBED")
    assert sum(crowded.claims.values()) == 3_240_000_000 and crowded.severity is Severity.INFO
    assert "3.24 s" in crowded.claim and crowded.confidence is not Confidence.HIGH
    starved = finding(model, "CPU-CONTENTION")
    assert sum(starved.claims.values()) == 27_000_000_000 - 4_800_000_000 and starved.severity is Severity.WARNING
    assert any("4.80 s" in each.text for each in starved.evidence)


def test_what_own_cpu_time_explains_is_not_the_neighbours() -> None:
    """Nearly: two that run 2 s each and queue 1.2 s each may have queued behind each other all the time."""
    assert silence(nameless(2).model(), "CPU-CONTENTION")
    apart = knowing(nameless(2).model(), processes={100: process("0", {100: "0", 101: "1"})}, cpu_times_ns={})
    found = finding(apart, "CPU-CONTENTION")  # on CPUs of their own they meet nobody but others
    assert sum(found.claims.values()) == 2400000000


def test_a_fold_of_threads_that_ended_may_have_queued_behind_itself() -> None:
    builder = Builder().exited("cc1", threads=20, wall="9 s", cpu_user="1 s", runq_busy="8 s")
    assert silence(builder.model(), "CPU-CONTENTION")


def test_waits_that_are_left_out_of_the_claim_are_said() -> None:
    model = waiting("task:7:backup", {"3 ms": 400, "60 us": 10_000}).model()
    first, second, *_ = (each.text for each in finding(model, "CPU-CONTENTION").evidence)
    assert "1.80 s" in first and "10,400" in first and "131 us" in second
    alone = finding(waiting("task:7:backup").model(), "CPU-CONTENTION").evidence
    assert not any("131 us" in each.text for each in alone)


def test_threads_that_are_started_for_little_work_each_are_told_as_such() -> None:
    """48,000 threads in 8 s, 0.7 ms each: "run as many worker threads as CPUs" is no remedy for who starts them."""
    builder = Builder(cpus=2).thread("server", tid=100, cpu_user="2 s")
    builder.row("runq.busy", "own:100:server", durations={"3 ms": 400})
    builder.exited("server", threads=40_000, processes=0, wall="29 s", runq_busy="26 s", rest="cpu.user")
    found = finding(builder.model(), "CPU-OVERSUBSCRIBED")
    assert found.headline == "4,000 threads a second are started, live 725 us each, and compete for 2 CPUs"
    assert "40,000 threads ended; each lived 725 us, 75.0 us on a CPU" in found.evidence[0].text
    assert found.remedies[0].text.startswith("start fewer threads")
    lasting = crowd().exited("server", threads=200, processes=0, wall="29 s", runq_busy="26 s", rest="cpu.user")
    assert "started" not in finding(lasting.model(), "CPU-OVERSUBSCRIBED").headline


def test_processes_that_queue_are_told_to_make_and_threads_to_a_pool() -> None:
    def advice(builder: Builder) -> str:
        return finding(builder.model(), "CPU-OVERSUBSCRIBED").remedies[-1].text

    processes = Builder(cpus=2)
    for pid in (101, 102, 103):
        processes.thread("cc1", pid=pid, cpu_user="6 s").row("runq.busy", "own:101:cc1", durations={"3 ms": 1_000})
    build, threads = (finding(each.model(), "CPU-OVERSUBSCRIBED") for each in (processes, crowd()))
    assert build.returns != threads.returns and build.headline != threads.headline
    assert "GOMAXPROCS" in advice(crowd()) and "make" not in advice(crowd())
    helper = crowd(threads=4).thread("helper", pid=200, cpu_user="1 s")  # nearly: a process that hardly queues
    helper.row("runq.busy", "own:100:web", durations={"3 ms": 300})
    assert "GOMAXPROCS" in advice(helper)


def test_what_threads_that_compete_compute_is_told_first() -> None:
    """A regular expression took 91 % of the samples of three threads, which were told to be fewer."""
    found = finding(crowd().stack("cpu", user=["match (app)"], count=80).model(), "CPU-OVERSUBSCRIBED")
    assert found.headline == "On average 2.7 own threads compete for 2 CPUs: 100 % of CPU samples are in match (app)"
    first, second = (each.text for each in found.remedies)
    assert first.startswith("let app (100) compute less") and "as many worker threads" in second
    assert "samples" not in finding(crowd().model(), "CPU-OVERSUBSCRIBED").headline


def test_the_program_that_many_processes_run_is_named() -> None:
    """Each job of a service started node three times, and the service was told to add CPUs."""
    builder = Builder(cpus=2).thread("service", cpu_user="1 s")
    for pid in (101, 102, 103):
        builder.thread("bash", pid=pid, cpu_user="200 ms").row("runq.busy", "own:101:node", durations={"3 ms": 1_000})
    lasting = finding(builder.model(), "CPU-OVERSUBSCRIBED")
    builder.exited("node", threads=70, processes=70, wall="40 s", runq_busy="20 s", rest="cpu.user")
    started = finding(builder.model(), "CPU-OVERSUBSCRIBED")
    assert started.headline.endswith(": node has 93 % of their CPU time"), started.headline
    assert started.remedies[0].text == "start node less often (70 ended in the window)"
    assert "node" not in lasting.headline


def test_no_affinity_is_advised_where_none_is_set() -> None:
    known = finding(knowing(crowd().model(), processes={100: process("0-1")}, cpu_times_ns={}), "CPU-OVERSUBSCRIBED")
    assert known.confidence is Confidence.HIGH and "as many worker threads as CPUs (2)" in known.remedies[0].text
    unknown = finding(crowd().model(), "CPU-OVERSUBSCRIBED")
    assert not any("taskset" in remedy.text for remedy in (*known.remedies, *unknown.remedies))


@pytest.mark.parametrize(("id", "object"), [("CPU-CONTENTION", "task:7:x"), ("CPU-OVERSUBSCRIBED", "own:100:x")])
def test_handing_a_cpu_over_is_nobodys_fault(id: str, object: str) -> None:
    """A woken thread waits until its waker sleeps: 30 % of the time of a ping-pong, 60 us each."""
    model = Builder().thread(cpu_user="2 s").row("runq.busy", object, durations={"60 us": 15_000}).model()
    assert check(model, id).number == 0


def test_short_turns_are_no_hand_overs_where_threads_queue_all_the_time() -> None:
    """Threads that yield every 20 us: with three on one CPU two are ready at any time, with two on two CPUs none is."""
    found = finding(crowd(wait="20 us", threads=3, cpus=1).model(), "CPU-OVERSUBSCRIBED")
    assert found.severity is Severity.WARNING and found.claims == {("runq.busy", "own:100:web"): 9_000_000_000}
    assert not any("left out" in each.text for each in found.evidence)
    assert check(crowd(wait="20 us", threads=2, cpus=1).model(), "CPU-OVERSUBSCRIBED").number == 0


def test_waits_shorter_than_a_slice_are_profile() -> None:
    found = finding(waiting("task:7:x", {"200 us": 5_000}).model(), "CPU-CONTENTION")
    assert found.severity is Severity.INFO
    assert finding(crowd(wait="200 us").model(), "CPU-OVERSUBSCRIBED").severity is Severity.INFO


@pytest.mark.parametrize(
    ("durations", "severity"),
    [
        ({"6 ms": 1, "3 ms": 3}, Severity.INFO),
        ({"3 ms": 5}, Severity.WARNING),
        ({"150 ms": 1}, Severity.WARNING),
    ],
)
def test_a_wait_or_two_of_a_short_time_are_an_accident(durations: dict[str, int], severity: Severity) -> None:
    builder = Builder(window="500 ms").thread("web", cpu_user="100 ms")
    builder.row("runq.busy", "task:7:kworker", durations=durations)
    assert finding(builder.model(), "CPU-CONTENTION").severity is severity


@pytest.mark.parametrize("id", ["CPU-CONTENTION", "CPU-OVERSUBSCRIBED"])
def test_waits_whose_end_was_not_seen_are_not_fine(id: str) -> None:
    quiet = Builder().thread("a", cpu_user="1 s", disk_read=("2 s", 1000))
    assert check(quiet.lost(wakeups_missing=5).model(), id).number == 0
    assert "1,0" in silence(quiet.lost(wakeups_missing=6).model(), id).reason


@pytest.mark.parametrize("id", ["CPU-CONTENTION", "CPU-OVERSUBSCRIBED"])
def test_who_ran_may_be_lost(id: str) -> None:
    said, unlost = (silence(each.model(), id) for each in (nameless(2).lost(detail_full=400), nameless(2)))
    assert said.reason != unlost.reason


@pytest.mark.parametrize("id", ["CPU-CONTENTION", "CPU-OVERSUBSCRIBED"])
def test_waits_behind_many_in_turn_are_without_names_and_no_table_was_full(id: str) -> None:
    said = silence(nameless(2).model(), id)
    assert "64" in said.reason and "full" not in said.reason


def test_partly_lost_names_lower_the_confidence() -> None:
    model = nameless(2).row("runq.busy", "task:7:x", durations={"3 ms": 400}).model()
    found = finding(model, "CPU-CONTENTION")
    assert found.confidence is Confidence.MEDIUM


def test_a_narrow_affinity_is_widened_with_its_undo() -> None:
    model = knowing(waiting("task:7:x").model(), processes={100: process("0")})
    first = finding(model, "CPU-CONTENTION").remedies[0]
    assert (first.kind, first.text, first.undo) == (RemedyKind.TRY, "taskset -acp 0-3 100", "taskset -acp 0 100")
    assert "CPUs 0 of 4" in first.present_value


def test_kernel_threads_are_not_reniced() -> None:
    found = finding(waiting("task:9:kworker/0:1").model(), "CPU-CONTENTION")
    assert found.others[0].comm == "kworker/0:1" and not any("nice" in each.text for each in found.remedies)


def test_idle_cpus_elsewhere_are_evidence() -> None:
    model = knowing(waiting("task:7:x").model(), cpu_times_ns={"user": 4, "idle": 6, "guest": 90})
    assert any(each.value == 0.6 and "placement" in each.text for each in finding(model, "CPU-CONTENTION").evidence)


def test_hostile_names_are_shown_harmless() -> None:
    model: Model = waiting("task:7:\x1b[31m\n[bold]").model()
    assert "\\x1b[31m\\n[bold]" in finding(model, "CPU-CONTENTION").claim


def test_perfdiag_itself_is_no_neighbour() -> None:
    alone = waiting("task:9:perfdiag-record", {"3 ms": 150}).model()
    assert check(alone, "CPU-CONTENTION").number == 0
    beside = waiting("task:7:backup").row("runq.busy", "task:9:perfdiag-record", durations={"3 ms": 150}).model()
    found = finding(beside, "CPU-CONTENTION")
    assert "backup 100 %" in found.claim and "behind perfdiag itself" in found.limits[0]
    assert found.claims == {("runq.busy", "task:7:backup"): 1_200_000_000}
    longer = finding(waiting("task:9:perfdiag-evil").model(), "CPU-CONTENTION")
    assert longer.claims == {("runq.busy", "task:9:perfdiag-evil"): 1_200_000_000}, "the recorder has run for 40 ms"


def test_waits_behind_a_passing_kernel_thread_belong_to_the_threads_that_really_compete() -> None:
    model = crowd(wait="12 ms").row("runq.busy", "task:17:rcu_preempt", durations={"12 ms": 60})
    assert check(model.model(), "CPU-CONTENTION").number == 0
    assert finding(model.model(), "CPU-OVERSUBSCRIBED").claims["runq.busy", "task:17:rcu_preempt"] == 720_000_000
    alone = waiting("task:9:kswapd0", {"12 ms": 60}).model()
    assert "kswapd0 100 %" in finding(alone, "CPU-CONTENTION").claim


def test_own_threads_that_queue_because_neighbours_have_the_cpus_are_no_fault() -> None:
    model = (
        crowd(wait="3 ms").thread("idle", cpu_user="10 ms").row("runq.busy", "task:7:backup", durations={"3 ms": 3000})
    )
    assert finding(model.model(), "CPU-OVERSUBSCRIBED").severity is Severity.WARNING
    model.thread("other").row("runq.busy", "task:7:backup", durations={"3 ms": 3000})
    assert finding(model.model(), "CPU-OVERSUBSCRIBED").severity is Severity.INFO
    assert finding(model.model(), "CPU-CONTENTION").severity is Severity.WARNING


@pytest.mark.parametrize("id", ["CPU-CONTENTION", "CPU-OVERSUBSCRIBED"])
def test_a_recording_cut_off_before_its_rows_does_not_know_who_ran(id: str) -> None:
    assert "unknown what" in silence(replace(waiting("task:7:x").model(), rows=[]), id).reason


def contended(**others: str) -> Finding:
    """A thread waits for CPUs that these had: a time for each "comm_PID"."""
    builder = Builder().thread("app", cpu_user="1 s")
    for who, time in others.items():
        comm, _, pid = who.rpartition("_")
        builder.row("runq.busy", f"task:{pid}:{comm.replace('_', '/')}", time, count=100)
    return finding(builder.model(), "CPU-CONTENTION")


def test_a_headline_names_who_had_the_cpus_with_their_pids() -> None:
    assert "sh (7)" in contended(sh_7="3 s", tar_8="1 s").headline
    shared = contended(sh_7="1500 ms", tar_8="1400 ms", cc_9="800 ms").headline
    assert "sh (7)" in shared and "tar (8)" in shared and "cc" not in shared
    assert "sh (7 and 1 more)" in contended(sh_7="2 s", sh_8="1 s").headline


def test_the_weight_of_a_kernel_thread_is_no_remedy() -> None:
    found = contended(sh_7="3 s", kworker__14="1 s").remedies[-1].text
    assert "sh (7)" in found and "14" not in found
    assert "kworker/ (14)" in contended(kworker__14="3 s").remedies[-1].text
