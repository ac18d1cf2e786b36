"""The model: every nanosecond stays in exactly one account, whatever the ledger learns about it."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfdiag.model import builder as ledger
from perfdiag.model.ledger.cpu_split import half_width
from perfdiag.model.thread_accounts import AccountTotal
from perfdiag.model.waits.futexes import Verdict, judge, judge_scan
from perfdiag.model.waits.receiving_calls import ELSEWHERE
from perfdiag.recording import schema
from perfdiag.recording.accounts import BY_NAME, Kind

from unit.support import Builder
from unit.support.strategies import builders

S = 1_000_000_000
LOCK = ["__lll_lock_wait (libc.so.6)", "pthread_mutex_lock (libc.so.6)", "work (app)"]
CONDITION = ["__futex_abstimed_wait_common64 (libc.so.6)", "pthread_cond_wait (libc.so.6)", "worker (app)"]


@given(builders())
def test_law_closed_books_stay_closed(builder: Builder) -> None:
    recording = builder.recording()
    model = ledger.build(recording)
    for thread in model.threads:
        if not thread.tid:
            continue
        row = next(row for row in recording.threads.values() if row.tid == thread.tid)
        assert thread.booked_ns == sum(each.sum_ns for each in row.accounts)
        assert all(total.ns >= 0 and total.count >= 0 for total in thread.accounts.values())
    assert model.wall_ns == sum(thread.wall_ns for thread in model.threads)
    assert sum(total.ns for total in model.accounts.values()) == sum(thread.booked_ns for thread in model.threads)


@given(builders())
def test_law_exclusive_kinds_add_up(builder: Builder) -> None:
    model = builder.model()
    assert model.busy_ns + model.idle_ns + model.parked_ns == sum(total.ns for total in model.accounts.values())
    recorded = sum(detail.sum_ns for detail in builder.recording().details.values())
    assert sum(row.distribution.sum_ns for row in model.rows) == recorded


@given(builders())
def test_rebooking_changes_no_other_account(builder: Builder) -> None:
    """cpu.* among themselves, parked to what evidence proves, waits for peers that owe nothing to parked, idle rings to
    wait.events: nothing else moves."""
    recording = builder.recording()
    model = ledger.build(recording)
    before: dict[str, int] = {}
    for line in recording.books():
        for each in line.accounts:
            before[each.account] = before.get(each.account, 0) + each.sum_ns

    def total(*names: str, after: bool) -> int:
        return sum(model.ns(name) if after else before.get(name, 0) for name in names)

    proven = ("wait.parked", "lock.futex", "wait.work", "wait.timer", *ELSEWHERE)
    groups = [("cpu.user", "cpu.kernel"), proven]
    moved = {name for group in groups for name in group}
    for group in [*groups, *((name,) for name in BY_NAME if name not in moved)]:
        assert total(*group, after=True) == total(*group, after=False)


@given(st.integers(0, S), st.integers(0, 99), st.integers(0, 2 * S), st.integers(0, 200), st.integers(0, S))
def test_move_conserves(have: int, count: int, ns: int, moved_count: int, longest: int) -> None:
    accounts = {
        "wait.parked": AccountTotal("wait.parked", have, count, have),
        "lock.futex": AccountTotal("lock.futex", 5, 1, 5),
    }
    moved = ledger.move(accounts, "wait.parked", "lock.futex", ns, moved_count, longest)
    assert sum(total.ns for total in accounts.values()) == have + 5
    assert accounts["lock.futex"].ns == 5 + moved and moved == min(ns, have)
    assert all(total.max_ns <= total.ns for total in accounts.values())


def test_cpu_time_is_split_by_ticks_with_its_error() -> None:
    model = Builder().thread("app", cpu_user="3 s", cpu_kernel="1 s").model()
    assert (model.ns("cpu.user"), model.ns("cpu.kernel")) == (3 * S, 1 * S)
    assert model.threads[0].cpu_split_error == pytest.approx(0.027, abs=0.002)  # 1,000 ticks


def test_more_stacks_than_ticks_decide_for_threads_without_a_tick() -> None:
    model = (
        Builder()
        .thread("app", cpu_user="10 ms", user=0, kernel=0)
        .stack("cpu", count=30)
        .stack("cpu", kernel=["vfs_read"], count=10)
        .model()
    )
    assert model.ns("cpu.kernel") == 2_500_000
    assert {stack.account for stack in model.stacks} == {"cpu.user", "cpu.kernel"}


def test_an_unknown_split_is_said_to_be_unknown() -> None:
    model = Builder().thread("app", cpu_user="10 ms", user=0, kernel=0).model()
    assert model.threads[0].cpu_split_error == 1.0
    assert Builder().thread("app", disk_read="1 s").model().threads[0].cpu_split_error is None


@given(st.integers(1, 10_000), st.data())
def test_an_error_is_never_zero(samples: int, data: st.DataObject) -> None:
    assert 0 < half_width(data.draw(st.integers(0, samples)), samples) <= 0.5


def parked(user: list[str], scan: list[str] | None = None, waker: int = 0, object: str = "futex:0x10") -> Builder:
    return (
        Builder()
        .thread("a", rest="wait.timer")
        .row("wait.parked", "futex:0x10", "3 s", count=30, waker_tid=waker)
        .row("wait.parked", "futex:0x20", "2 s", count=1)
        .stack("wait", "wait.parked", object=object, user=user, scan=scan or [], kernel=["futex_wait_queue"])
    )


def test_a_stack_in_a_lock_function_makes_its_futex_a_lock_and_only_that_one() -> None:
    model = parked(LOCK).model()
    assert (model.ns("lock.futex"), model.ns("wait.parked")) == (3 * S, 2 * S)
    assert model.accounts["lock.futex"].count == 30
    assert [row.key for row in model.rows_of("lock.futex")] == ["futex:0x10"]
    assert model.threads[0].accounts["lock.futex"].ns == 3 * S
    assert {stack.account for stack in model.stacks} == {"lock.futex"}


def test_a_condition_variable_stays_cannot_tell() -> None:
    assert parked(CONDITION).model().ns("lock.futex") == 0


def test_scanned_names_need_a_waker_of_the_same_process() -> None:
    scan = ["pthread_mutex_lock (libc.so.6)", "work (app)"]
    assert parked([], scan).model().ns("lock.futex") == 0
    assert parked([], scan, waker=4711).model().ns("lock.futex") == 0
    assert parked([], scan, waker=100).model().ns("lock.futex") == 3 * S
    assert parked([], [*scan, "pthread_cond_wait (libc.so.6)"], waker=100).model().ns("lock.futex") == 0


def test_the_heavier_evidence_wins() -> None:
    both = parked(LOCK).stack("wait", "wait.parked", object="futex:0x10", user=CONDITION, weight="5 ms")
    assert both.model().ns("lock.futex") == 0


def test_a_lock_of_another_process_is_no_evidence() -> None:
    builder = parked(LOCK, object="futex:0x20").thread("b", pid=200).row("wait.parked", "futex:0x20", "1 s", count=1)
    model = builder.model()
    assert model.ns("lock.futex") == 2 * S and model.ns("wait.parked") == 4 * S


def test_exited_processes_keep_their_evidence() -> None:
    recording = parked(LOCK).recording()
    recording.threads = {s: msgspec.structs.replace(t, state="exited") for s, t in recording.threads.items()}
    recording.details = {
        (0, detail.account, detail.object): msgspec.structs.replace(detail, pid=0)
        for detail in recording.details.values()
    }
    model = ledger.build(recording)
    assert model.ns("lock.futex") == 3 * S
    assert sum(row.distribution.sum_ns for row in model.rows_of("lock.futex")) == 3 * S


def test_locks_that_a_short_list_of_futexes_left_out_count_in_the_sum() -> None:
    recording = parked(LOCK).recording()
    recording.threads = {s: msgspec.structs.replace(t, futexes=[]) for s, t in recording.threads.items()}
    model = ledger.build(recording)
    assert model.ns("lock.futex") == 3 * S and model.ns("wait.parked") == 2 * S


@pytest.mark.parametrize(
    ("frames", "verdict"),
    [
        (LOCK, Verdict.LOCK),
        (CONDITION, Verdict.NO_LOCK),
        (["__lll_lock_wait", "__pthread_mutex_cond_lock", "pthread_cond_wait"], Verdict.LOCK),
        (["pthread_rwlock_wrlock (libc.so.6)"], Verdict.LOCK),
        (["__pthread_rwlock_rdlock@@GLIBC_2.34 (libc.so.6)"], Verdict.LOCK),
        (["sem_wait (libc.so.6)"], Verdict.NO_LOCK),
        (["__new_sem_wait_slow64 (libc.so.6)"], Verdict.NO_LOCK),
        (["pthread_join (libc.so.6)"], Verdict.NO_LOCK),
        (["pthread_barrier_wait (libc.so.6)"], Verdict.NO_LOCK),
        (["pthread_cond_timedwait (libc.so.6)", "take_gil (python3.11)"], Verdict.LOCK),
        (["PyThread_acquire_lock_timed (python3.11)"], Verdict.NO_LOCK),
        (["pthread_cond_wait", "_ZN13ObjectMonitor5enterEP10JavaThread (libjvm.so)"], Verdict.LOCK),
        (["pthread_cond_wait", "ObjectMonitor::wait(long, bool, JavaThread*) (libjvm.so)"], Verdict.NO_LOCK),
        (["_ZN3std3sys4sync5mutex5futex5Mutex14lock_contended17h0E (app)"], Verdict.LOCK),
        (["runtime.futex (go)", "runtime.futexsleep (go)"], Verdict.NO_LOCK),
        (["0x1234 (app)", "my_pthread_mutex_lock_statistics (app)"], Verdict.SILENT),
        ([], Verdict.SILENT),
    ],
)
def test_what_a_stack_says_of_a_futex(frames: list[str], verdict: Verdict) -> None:
    assert judge(frames) is verdict


def test_a_runtime_lock_found_by_scanning_needs_no_second_witness() -> None:
    gil = ["pthread_cond_timedwait (libc.so.6)", "take_gil (python3.11)", "main (python3.11)"]
    assert parked([], gil).model().ns("lock.futex") == 3 * S
    stale = ["sem_clockwait (libc.so.6)", "PyThread_acquire_lock_timed (python3.11)", "take_gil (python3.11)"]
    assert parked([], stale).model().ns("lock.futex") == 0


def test_scanned_names_contradict_each_other() -> None:
    assert judge_scan(["pthread_mutex_lock", "main"]) is Verdict.LOCK
    assert judge_scan(["pthread_mutex_lock", "pthread_cond_wait"]) is Verdict.NO_LOCK


def test_a_recording_without_its_end_counts_what_its_last_interval_knows() -> None:
    recording = Builder().thread("a", disk_read="4 s").cut().recording()
    early = {
        serial: msgspec.structs.replace(line, wall_ns=6 * S, accounts=[schema.AccountSum("disk.read", 1 * S, 1, 1 * S)])
        for serial, line in recording.threads.items()
    }
    recording.threads = early
    model = ledger.build(recording)
    assert model.ns("disk.read") == 4 * S and model.wall_ns == 10 * S
    recording.threads = {}
    assert ledger.build(recording).ns("disk.read") == 4 * S


@pytest.mark.parametrize("ns", [2**63 - 1, 2**53 + 1, 1])
def test_the_largest_time_is_split_into_no_less_than_nothing(ns: int) -> None:
    recording = Builder().thread("a", cpu_user="4 s").recording()
    key = next(key for key, line in recording.details.items() if line.account == "cpu.user")
    recording.details[key] = msgspec.structs.replace(recording.details[key], sum_ns=ns)
    rows = ledger.build(recording).rows_of("cpu.user", "cpu.kernel")
    assert sum(row.distribution.sum_ns for row in rows) == ns
    assert min(row.distribution.sum_ns for row in rows) > 0


def test_a_whole_recording_is_not_topped_up() -> None:
    recording = Builder().thread("a", disk_read="4 s").recording()
    recording.threads = {}
    assert ledger.build(recording).wall_ns == 0


def test_open_books_show_in_the_coverage() -> None:
    model = Builder().thread("a", disk_read="9 s", open_books=True).thread("b").model()
    assert model.coverage.closed_error == pytest.approx(0.05)
    assert model.coverage.worst_thread_error == pytest.approx(0.1)
    short = Builder().thread("a", wall="10 ms", disk_read="9 ms", open_books=True).model()
    assert short.coverage.worst_thread_error == 0  # too short to be held to 1 %


def test_coverage_of_unknown_and_lost() -> None:
    model = Builder().thread("a", unexplained="1 s", disk_read="3 s", rest="wait.parked").lost(ring_buffer=3).model()
    assert model.coverage.unexplained_share == 0.25
    assert model.parked_ns == 6_000_000_000
    assert model.coverage.lost_total == 3 and model.coverage.complete
    cut = Builder().thread("a").cut().model()
    assert not cut.coverage.complete and cut.coverage.reason == "cut off" and cut.cost is None


def test_features_without_a_probe_are_not_measured_with_reason_and_remedy() -> None:
    model = Builder().thread("a").without("block", "no such hook").model()
    assert not model.measured("block") and model.measured("ledger")
    [missing] = [item for item in model.not_measured if item.feature == "block"]
    assert missing.reason == "no such hook" and missing.fix and "disk" in missing.what


def test_facts_that_were_not_read_in_time_are_said_in_one_line() -> None:
    builder = Builder().thread("a")
    for name in ("io", "wchan"):
        builder.fact(f"/proc/7/{name}", None, error="timeout")
    [missing] = builder.fact("/proc/7/numa_maps", None, error="No such file or directory").model().not_measured
    assert missing.what == "/proc/7/io and 1 more" and "not read in time" in missing.reason and "status" in missing.fix
    assert not Builder().thread("a").fact("/proc/7/io", None, error="Permission denied").model().not_measured


def test_datagrams_that_somebody_lost_are_said_where_the_target_gets_some() -> None:
    def lost(builder: Builder) -> list[str]:
        builder.fact("/proc/100/net/snmp", "Udp: RcvbufErrors\nUdp: 7\n", "Udp: RcvbufErrors\nUdp: 4107\n")
        return [item.what for item in builder.model().not_measured if "datagrams were dropped" in item.what]

    got = Builder().thread("a").exchange("port:514", "datagram_port", {}, untimed=500)
    assert lost(got) == ["whose 4,100 datagrams were dropped because a receive buffer was full"]
    assert not lost(Builder().thread("a"))


def test_files_of_which_only_a_part_was_kept_are_said() -> None:
    builder = Builder().thread("a").fact("/proc/self/mountstats", "device x", truncated=True)
    builder.fact("/proc/diskstats", "8 0", truncated=True).fact("/dev/kmsg", "6,1,1,-;x\n", truncated=True)
    files, log = builder.model().not_measured
    assert files.what == "the end of /proc/self/mountstats and of 1 more" and files.fix
    assert log.what == "older lines of the kernel log" and "dmesg" in log.fix
    assert not Builder().thread("a").fact("/proc/diskstats", "8 0").model().not_measured
    assert not Builder().thread("a").fact("/proc/interrupts", "CPU0", truncated=True).model().not_measured


def test_waits_that_did_not_end_carry_their_final_account() -> None:
    builder = parked(LOCK)
    builder._threads[-1]["open"] = ("wait.parked", "futex:0x10", "3 s")
    [thread] = builder.model().threads
    assert thread.still_waiting is not None and thread.still_waiting.account == "lock.futex"


def test_accounts_of_a_newer_recorder_count_as_busy() -> None:
    recording = Builder().thread("a").recording()
    [line] = recording.threads.values()
    accounts = [schema.AccountSum("disk.novel", 4 * S, 1, S), schema.AccountSum("wait.events", 6 * S, 1, S)]
    recording.threads[line.serial] = msgspec.structs.replace(line, accounts=accounts)
    assert ledger.build(recording).busy_ns == 4 * S


def test_kinds_are_all_known() -> None:
    assert {BY_NAME[name].kind for name in ("cpu.user", "wait.events", "wait.parked")} == set(Kind)


def test_processes_are_counted_by_their_first_threads() -> None:
    builder = Builder().thread("main", pid=100, tid=100).thread("worker", pid=100, tid=101)
    model = builder.exited("grep", threads=40, processes=30, wall="1 s").model()
    assert sorted((thread.comm, thread.processes) for thread in model.threads) == [
        ("grep", 30),
        ("main", 1),
        ("worker", 0),
    ]
