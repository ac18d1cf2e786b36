"""What the verdict says of targets that sleep on a timer: never acquitted, whatever they suffer besides."""

from __future__ import annotations

from dataclasses import replace

import pytest
from perfdiag.diagnosis.evidence.idle.sleeps import sleep
from perfdiag.diagnosis.rule import Mechanism, Severity
from perfdiag.report.verdict.sentences import Kind

from unit.support import Builder
from unit.support.exchanges import exchange
from unit.support.reports import finding, verdict

S = 1_000_000_000
ACQUITTAL = "not the slow part"


def test_a_clock_that_only_sleeps_does_not_take_over_the_verdict() -> None:
    """Every busy Go program has such a thread (sysmon); the server beside it is not slow for that."""
    model = (
        Builder().thread("server", net_receive="700 ms", cpu_user="150 ms").thread("sysmon", rest="wait.timer").model()
    )
    slow = finding("NET-PEER-SLOW", {"net.receive": S * 7 // 10}, "10.0.0.1:5432 answers slowly: 82 %.")
    _, text = verdict(model, slow)
    assert "10.0.0.1:5432 answers slowly" in text and "sysmon" not in text and "that sleep" not in text
    slower = Builder().thread("server", net_receive="700 ms", cpu_user="150 ms", rest="wait.timer").model()
    assert "Thread server (100) sleeps" in verdict(slower, slow)[1]


def test_many_short_sleeps_do_not_add_up_to_a_long_one() -> None:
    builder = Builder()
    for _ in range(40):
        builder.thread("python3", net_receive="1 ms", wait_timer="200 ms", cpu_user="1 ms")
    busy = finding("LOCK-CONTENTION", {"cpu.user": 4 * S // 100}, "Threads wait for a lock.")
    assert verdict(builder.model(), busy)[1].startswith("Threads wait for a lock.")


def test_a_cause_that_takes_little_of_the_window_says_so() -> None:
    little = finding("LOCK-CONTENTION", {"cpu.user": S // 10}, "Threads wait for a lock.")
    model = Builder().thread("node", cpu_user="200 ms", rest="wait.events").model()
    assert "Hardly busy: 200 ms in 10.0 s; otherwise it waited 9.80 s " in verdict(model, little)[1]
    model = Builder().thread("node", cpu_user="400 ms", rest="wait.events").model()
    much = finding("LOCK-CONTENTION", {"cpu.user": 4 * S // 10}, "Threads wait for a lock.")
    assert "Hardly" not in verdict(model, much)[1]


def test_a_cause_that_takes_most_of_what_idle_threads_do_says_so() -> None:
    """An idle server of five threads that neighbours kept from a CPU: it read like a server in trouble."""
    queued = finding("CPU-CONTENTION", {"runq.busy": 7 * S // 10}, "Threads ready to run waited.")

    def idle(pool: int) -> Builder:
        builder = Builder().thread("server", cpu_user="60 ms", runq_busy="700 ms", rest="wait.events")
        for _ in range(pool):
            builder.thread("pool", rest="wait.events")
        return builder

    text = verdict(idle(3).thread("bio", rest="net.accept").model(), queued)[1]  # a verdict has room for one wait
    assert "Hardly busy: 760 ms in 10.0 s; otherwise it waited 39.2 s for events (wait.events)." in text
    assert "Hardly" not in verdict(idle(0).model(), queued)[1]  # 8 % of all its time
    busy = idle(4).thread("busy", cpu_user="9 s")
    assert "Hardly" not in verdict(busy.model(), queued)[1]


def test_no_advice_cuts_a_debuggers_command_short() -> None:
    """gdb without -batch holds the process until somebody quits."""
    text = verdict(Builder().thread("app", rest="wait.timer").model())[1]
    assert "perfdiag latency --pid 100 --stacks --full shows where" in text and "gdb" not in text


def test_who_waits_for_several_waits_for_them() -> None:
    model = Builder().thread("a", rest="wait.timer").thread("b", rest="wait.timer").model()
    assert "If something waits for these threads, shorten the sleep" in verdict(model)[1]


def test_idle_pools_do_not_count_as_what_hides_a_cause() -> None:
    """The number told is the one the findings were weighed against."""
    builder = Builder().thread("a", cpu_user="2 s", disk_read="1900 ms", wait_parked="3 s")
    for _ in range(50):
        builder.thread("pool", rest="wait.parked")
    read = finding("DISK-READ-SLOW", {"disk.read": S * 19 // 10}, "Reads are slow.")
    heavy = finding("CPU-KERNEL-HEAVY", {"cpu.user": 2 * S}, "The kernel works.")
    kind, text = verdict(builder.model(), heavy, read)
    assert kind == Kind.CANNOT_TELL.value and "Cannot tell: 3.00 s blocked or idle (unknown)," in text


@pytest.mark.parametrize("busy", ["0 ns", "56 ms", "1 s"])
def test_a_target_that_sleeps_is_never_acquitted(busy: str) -> None:
    kind, text = verdict(Builder().thread("retry", cpu_user=busy, rest="wait.timer").model())
    assert kind == Kind.PROFILE.value and ACQUITTAL not in text
    assert text.startswith("Thread retry (100) sleeps ") and "on a timer" in text
    assert "If something waits for this thread" in text


def test_a_server_that_waits_in_one_thread_and_sleeps_in_another() -> None:
    model = (
        Builder()
        .thread("accept", rest="net.accept")
        .thread("handler", net_receive="67 ms", cpu_kernel="20 ms", rest="wait.timer")
        .model()
    )
    kind, text = verdict(model)
    assert kind == Kind.PROFILE.value and ACQUITTAL not in text
    assert text.startswith("Thread handler (101) sleeps 9.91 s of 10.0 s on a timer")
    assert "also waits for others (net.receive): if it serves them, this sleep delays them" in text
    assert "Apart from that sleep it waited 10.0 s for work (net.accept), which is idle time, too." in text


def test_a_request_that_waits_while_its_thread_sleeps() -> None:
    """The thread has answered nobody, and waited for nothing but its timer."""
    builder = Builder().thread("accept", cpu_user="2 ms", rest="net.accept")
    builder.thread("handler", cpu_user="1 ms", rest="wait.timer", wall="3 s", requests=(1, 0))
    builder.line(exchange(0, 0, open=1, oldest_ns=3 * S))
    kind, text = verdict(builder.model())
    assert kind == Kind.CANNOT_TELL.value
    assert text.startswith(
        "Cannot tell whether it is the slow part. 1 request on port 8080 has no answer after 3.00 s."
    )
    assert "Thread handler (101) sleeps 3.00 s of 3.00 s on a timer" in text
    assert "The same thread reads requests: this sleep delays those that it serves." in text


def test_one_blocking_sleep_in_an_event_loop() -> None:
    model = Builder().thread("loop", cpu_user="90 ms", wait_events="60 ms", rest="wait.timer").model()
    assert "also waits for others (wait.events)" in verdict(model)[1]


def test_an_idle_server_whose_housekeeper_sleeps_is_not_acquitted_either() -> None:
    builder = Builder()
    for _ in range(10):
        builder.thread("worker", cpu_user="2 ms")
    kind, text = verdict(builder.thread("housekeeper", rest="wait.timer").model())
    assert kind == Kind.PROFILE.value and ACQUITTAL not in text
    assert "Thread housekeeper (110) sleeps" in text and "100 s for events (wait.events)" in text


@pytest.mark.parametrize(("timer", "told"), [("190 ms", False), ("210 ms", True)])
def test_a_short_sleep_beside_busier_time_is_not_worth_a_word(timer: str, told: bool) -> None:
    builder = Builder().thread("a", cpu_user="195 ms", wait_timer=timer)
    model = builder.exchange("port:8080", "accepted", {"100 us": 3}).model()
    assert (sleep(model) is not None) is told
    assert (verdict(model)[0] == Kind.ELSEWHERE.value) is not told


def test_a_sleep_longer_than_all_the_work_is_told_however_short() -> None:
    kind, text = verdict(Builder().thread("a", cpu_user="1 ms", wait_timer="50 ms").model())
    assert kind == Kind.PROFILE.value and "sleeps 50.0 ms of 10.0 s" in text


SHOWS = "; perfdiag latency --pid 100 --stacks --full shows where."


@pytest.mark.parametrize(
    ("frames", "told"),
    [
        (["clock_nanosleep (libc.so.6)", "backoff (app)", "main (app)"], ", in backoff (app)."),
        (["nanosleep (libc.so.6)", "usleep (libc.so.6)", "retry@@V1 (lib.so)"], ", in retry@@V1 (lib.so)."),
        (["clock_nanosleep (libc.so.6)", "0x1234 (app)", "main (app)"], SHOWS),
        (["clock_nanosleep (libc.so.6)", "0"], SHOWS),
        (["clock_nanosleep (libc.so.6)", "time_sleep (python3)", "_PyEval_EvalFrameDefault (python3)", "main (x)"],
         "; py-spy dump --pid 100 shows where."),
        ([], SHOWS),
    ],
)  # fmt: skip
def test_who_asked_for_the_sleep(frames: list[str], told: str) -> None:
    builder = Builder().thread("app", rest="wait.timer")
    builder.stack("wait", "wait.timer", user=frames, weight="9 s", count=90)
    builder.stack("wait", "wait.timer", user=["usleep (libc.so.6)", "rare (app)"], weight="1 s", count=10)
    assert told in verdict(builder.model())[1]


@pytest.mark.parametrize(
    ("comm", "tool"),
    [
        ("python3.12", "py-spy dump --pid 100"),
        ("java", "jstack 100"),
        ("mariadbd", "mariadb -e 'SHOW ENGINE INNODB STATUS\\G'"),
    ],
)
def test_the_tool_of_the_runtime_is_named(comm: str, tool: str) -> None:
    assert tool in verdict(Builder(comm=comm).thread(comm, rest="wait.timer").model())[1]
    assert f"To tell: {tool}." in verdict(Builder(comm=comm).thread(comm, rest="wait.parked").model())[1]


def test_a_client_asks_the_port_that_the_server_serves() -> None:
    builder = Builder(comm="mariadbd").thread("mariadbd", rest="wait.timer")
    text = verdict(builder.exchange("port:3307", "accepted", {"1 ms": 3}).model())[1]
    assert "mariadb --protocol=tcp --port=3307 -e 'SHOW ENGINE INNODB STATUS\\G'" in text


def test_nobody_is_sent_to_look_at_a_thread_that_ended() -> None:
    text = verdict(Builder().thread("sleep", rest="wait.timer", exited=True).model())[1]
    assert text.startswith("Thread sleep (100) sleeps 10.0 s of 10.0 s on a timer. ")


def test_many_that_sleep_are_summed_up() -> None:
    builder = Builder().thread("main", rest="wait.parked")
    for _ in range(5):
        builder.thread("pool", cpu_user="1 ms", rest="wait.timer")
    kind, text = verdict(builder.exited("pool", threads=3, wall="9 s", rest="wait.timer").model())
    assert kind == Kind.PROFILE.value
    assert text.startswith("8 threads (pool) sleep 59.0 s of 59.0 s on a timer")
    assert "1 thread (main) stayed blocked or idle all the time" in text


def test_a_profile_of_a_sleeper_leads_with_the_sleep() -> None:
    """96 % in time.sleep, and the verdict spoke of the other 4."""
    model = Builder().thread("a", cpu_user="400 ms", rest="wait.timer").model()
    computes = finding("CPU-BOUND", {"cpu.user": S}, "The target computes: 99 % of it.", severity=Severity.INFO)
    kind, text = verdict(model, computes)
    assert kind == Kind.PROFILE.value and text.startswith("Thread a (100) sleeps 9.60 s of 10.0 s on a timer")
    assert "is computing" in text and "No fault" not in text


def test_a_small_fault_stands_behind_a_long_sleep() -> None:
    contention = finding("CPU-CONTENTION", {"runq.busy": S // 10}, "Threads waited for CPUs.")
    _, text = verdict(Builder().thread("a", runq_busy="100 ms", rest="wait.timer").model(), contention)
    assert text.startswith("Thread a (100) sleeps") and "for CPUs (100 % of 100 ms busy time)." in text
    assert text.index("If something waits") < text.index("Threads waited")
    large = finding("CPU-CONTENTION", {"runq.busy": 4 * S}, "Threads waited for CPUs.")
    _, text = verdict(Builder().thread("a", runq_busy="4 s", rest="wait.timer").model(), large)
    assert text.startswith("Threads waited for CPUs.") and "sleeps 6.00 s of 10.0 s on a timer" in text


def test_a_claim_that_speaks_of_the_sleep_is_enough() -> None:
    model = Builder().thread("a", lock_file="5 s", rest="wait.timer").model()
    lock = finding("LOCK-CONTENTION", {"lock.file": 5 * S}, "One lock, whose holder sleeps.", mechanism=Mechanism.SLEEP)
    assert verdict(model, lock)[1].count("on a timer") == 0


def test_a_slow_peer_does_not_acquit_who_sleeps_too() -> None:
    peer = finding("NET-PEER-SLOW", {"net.receive": 5 * S}, "10.0.0.7:80 answers slowly.")
    kind, text = verdict(Builder().thread("a", net_receive="5 s", rest="wait.timer").model(), peer)
    assert kind == Kind.CAUSE.value and ACQUITTAL not in text and "sleeps 5.00 s" in text


def test_a_sleep_that_is_most_of_the_window_leads_whatever_the_thread_suffers_besides() -> None:
    """A server slept for 2.65 of 3 s, and the verdict spoke of the 310 ms in which it waited for a CPU."""

    def told(others: str = "0 ms", faults: int = S) -> str:
        queued = finding("CPU-CONTENTION", {"runq.busy": faults}, "Threads waited for CPUs.")
        builder = Builder().thread("server", runq_busy=f"{faults} ns", net_receive="200 ms", rest="wait.timer")
        return verdict(builder.thread("worker", disk_flush=others).model(), queued)[1]

    assert told().startswith("Thread server (100) sleeps 8.80 s of 10.0 s on a timer")
    assert told().index("sleeps") < told().index("Threads waited for CPUs")
    for other in (told("9 s"), told(faults=45 * S // 10)):  # others work; it suffers half as long as it sleeps
        assert other.startswith("Threads waited for CPUs.") and "Thread server (100) sleeps" in other


def test_no_sleep_stands_before_what_is_critical() -> None:
    """The heap was full, and the report began with workers that pause between their jobs."""
    full = finding("JVM-HEAP-EXHAUSTED", {"runq.busy": S}, "The heap is full.", severity=Severity.CRITICAL)
    text = verdict(Builder().thread("server", runq_busy="1 s", rest="wait.timer").model(), full)[1]
    assert text.startswith("The heap is full.") and "Thread server (100) sleeps" in text


def test_children_that_sleep_one_after_the_other_are_a_sleep_of_their_parents() -> None:
    """A parent waited for them for 3.94 of 4 s, and the verdict spoke of CPUs only."""
    queued = finding("CPU-CONTENTION", {"runq.busy": 3 * S // 2}, "Threads waited for CPUs.")

    def told(parent: str) -> str:
        builder = Builder().thread("make", runq_busy="1500 ms", rest=parent)
        for pid in range(200, 220):
            builder.thread("job", pid=pid, wall="420 ms", exited=True, rest="wait.timer")
        return verdict(builder.model(), queued)[1]

    assert told("wait.child").startswith("20 threads (job) sleep 8.40 s of 8.40 s on a timer")
    assert told("wait.events").startswith("Threads waited for CPUs.")


def test_who_computes_for_most_of_the_window_comes_before_who_sleeps_beside() -> None:
    """A program computes for 7 of 10 s, and a helper sleeps for longer: the remedy is about the first."""
    model = Builder().thread("busy", cpu_user="7 s").thread("cron", rest="wait.timer").model()
    limit = finding("CPU-BOUND", {"cpu.user": 7 * S}, "It computes.", severity=Severity.INFO)
    _, text = verdict(model, limit)
    assert "sleeps" in text and text.index("computing") < text.index("sleeps"), text
    model = Builder().thread("busy", cpu_user="2 s").thread("cron", rest="wait.timer").model()
    _, text = verdict(model, finding("CPU-BOUND", {"cpu.user": 2 * S}, "It computes.", severity=Severity.INFO))
    assert text.index("sleeps") < text.index("computing"), text


@pytest.mark.parametrize(("part", "first"), [(0.8, "computing"), (0.4, "sleeps")])
def test_a_job_with_pauses_is_told_by_its_work_if_that_is_known(part: float, first: str) -> None:
    """It works for 3 of 10 s: of a job that runs git again and again only its pauses were told."""
    builder = Builder().thread("job", rest="wait.timer")
    builder.thread("git", pid=200, wall="3 s", cpu_user="3 s", exited=True)
    _, text = verdict(
        builder.model(), finding("CPU-BOUND", {"cpu.user": round(3 * S * part)}, "It.", severity=Severity.INFO)
    )
    assert min(("computing", "sleeps"), key=lambda word: text.index(word) if word in text else len(text)) == first, text


def test_a_script_sleeps_by_the_program_that_it_starts_again_and_again() -> None:
    """The runner beside it sleeps for longer than each of them, and for less than all."""
    builder = Builder(window="9 s").thread("runner", wait_timer="1500 ms", rest="wait.child")
    for number in range(15):
        builder.thread("sleep", pid=200 + number, wall="500 ms", exited=True, rest="wait.timer")
    asleep = sleep(builder.model())
    assert asleep and asleep.headline == "15 threads (sleep) sleep 7.50 s of 7.50 s on a timer"


def test_a_script_is_asked_about_its_jobs_and_not_about_its_pauses() -> None:
    """`while :; do zip ...; sleep 0.5; done`: the report spoke of sleep alone."""

    def script(job: str) -> str:
        builder = Builder(comm="sh").thread("sh", rest="wait.child")
        builder.thread("zip", pid=101, tid=101, cpu_user=job, wall="2 s", exited=True)
        for pid in (102, 103):
            builder.thread("sleep", pid=pid, tid=pid, rest="wait.timer", wall="3 s", exited=True)
        model = builder.model()
        computes = replace(finding("CPU-BOUND", {"cpu.user": model.ns("cpu.user")}, "It runs."), severity=Severity.INFO)
        return verdict(model, computes)[1]

    assert script("1900 ms").startswith("zip is computing")
    assert script("500 ms").startswith("2 threads (sleep) sleep")  # a twentieth of the window
