"""LOCK-CONTENTION: who holds the lock, and what the holder does."""

from __future__ import annotations

import msgspec
import pytest
from perfdiag.diagnosis.rule import Confidence, EvidenceKind, Finding, Severity
from perfdiag.diagnosis.significance import fault
from perfdiag.model import builder as ledger
from perfdiag.model.model import Model

from unit.support import Builder
from unit.support.judging import check, finding, findings
from unit.support.queued_requests import requests

ID, FUTEX = "LOCK-CONTENTION", "futex:0x7f00"


def waiters(builder: Builder, count: int = 4, waker: int = 200, each: str = "4 s") -> Model:
    """Threads that wait for one futex, woken by `waker`."""
    for tid in range(101, 101 + count):
        builder.thread("worker", tid=tid, cpu_user="1 s")
        builder.row("lock.futex", FUTEX, each, count=100, waker_tid=waker, waker_count=90)
    return builder.model()


def test_a_holder_in_a_flush_makes_the_flush_the_root() -> None:
    holder = Builder().thread("committer", tid=200, cpu_user="1 s", disk_flush=("8 s", 400))
    found = finding(waiters(holder), ID)
    assert found.severity is Severity.WARNING
    assert "committer (200)" in found.claim and "committer (200)" in found.headline
    assert "disk.flush" in found.claim
    assert sum(found.claims.values()) == 16_000_000_000
    assert "flush less often, or outside the lock" in found.remedies[0].text
    assert found.confidence is Confidence.MEDIUM  # the holder's ledger is of the whole window


def test_a_holder_that_computes_has_a_long_section() -> None:
    found = finding(waiters(Builder().thread("hog", tid=200, cpu_user="9 s")), ID)
    assert "runs its own code" in found.claim and "section under the lock is long" in found.claim


def test_the_place_to_mend_is_where_the_lock_is_held() -> None:
    builder = Builder().thread("hog", tid=200, cpu_user="9 s")
    builder.stack("wait", "lock.futex", object=FUTEX, user=["touch (app)"], weight="9 s")
    assert finding(waiters(builder), ID).remedies[0].text.startswith("where hog (200) holds it: shorten the code")
    builder.stack("cpu", "cpu.user", tid=200, user=["burn (app)"], weight="9 s")
    builder.stack("cpu", "cpu.user", tid=101, user=["touch (app)"], weight="1 s")
    assert finding(builder.model(), ID).remedies[0].text.startswith("in burn (app): shorten the code under the lock")


def test_waits_that_took_no_time_show_no_code() -> None:
    """A report read "wanted by nothing of the sampled waits"."""
    builder = Builder().thread("hog", tid=200, cpu_user="9 s")
    builder.stack("wait", "lock.futex", object=FUTEX, user=["touch (app)"], weight="0 s")
    found = finding(waiters(builder), ID)
    assert not [each for each in found.evidence if each.kind is EvidenceKind.FUNCTIONS]


def test_sleep_under_the_lock_and_work_without_it() -> None:
    """Four threads sleep 20 ms under the lock, which is never free, and compute 8 ms outside it."""
    builder = Builder()
    for tid in range(101, 105):
        builder.thread("worker", tid=tid, cpu_user="1 s", rest="wait.timer")
        builder.row("lock.futex", FUTEX, "6500 ms", count=120)
    found = finding(builder.model(), ID)
    assert "sleeps on a timer" in found.claim and "runs its own code" not in found.claim


def test_who_sleeps_longer_than_a_lock_can_be_held_sleeps_without_it() -> None:
    builder = Builder()
    for tid in range(101, 105):
        builder.thread("worker", tid=tid, cpu_user="10 ms", rest="wait.timer")
        builder.row("lock.futex", FUTEX, "4 s", count=100)
    found = finding(builder.model(), ID)
    assert "taken by 4 threads in turn" in found.claim and "sleep" not in found.claim


def test_a_holder_that_sleeps_is_told_from_one_that_works() -> None:
    found = finding(waiters(Builder().thread("sleeper", tid=200, cpu_user="10 ms", rest="wait.timer")), ID)
    assert "sleeps on a timer" in found.claim


def test_holders_that_take_turns_are_judged_together() -> None:
    builder = Builder()
    for tid in range(101, 109):
        builder.thread("session", tid=tid, cpu_user="100 ms", disk_flush=("1 s", 100))
        builder.row("lock.futex", FUTEX, "7 s", count=100, waker_tid=100 + tid % 3, waker_count=10)
    found = finding(builder.model(), ID)
    assert "8 threads in turn" in found.claim and "disk.flush" in found.claim


def test_an_unknown_holder_lowers_the_confidence() -> None:
    model = waiters(Builder(), waker=0)
    found = finding(model, ID)
    assert "4 threads in turn" in found.claim and found.confidence is Confidence.MEDIUM


def test_a_holder_outside_the_target_is_said() -> None:
    found = finding(waiters(Builder(), waker=4711), ID)
    assert "thread 4711 outside the target" in found.claim and "root" not in found.claim


def test_a_holder_that_waits_for_work_shows_no_root() -> None:
    found = finding(waiters(Builder().thread("reactor", tid=200, rest="wait.events")), ID)
    assert "reactor (200)" in found.claim and "root" not in found.claim


def test_a_hostile_name_is_shown_harmless() -> None:
    found = finding(waiters(Builder().thread("a\x1b[2Jb\n", tid=200, disk_flush="8 s")), ID)
    assert "\x1b" not in found.claim and "\\x1b" in found.claim


def test_a_free_lock_is_fine() -> None:
    model = waiters(Builder().thread("hog", tid=200, cpu_user="9 s"), each="2 ms")
    assert "locks" in check(model, ID).text


def test_the_code_that_wants_the_lock_is_named() -> None:
    builder = Builder().thread("hog", tid=200, cpu_user="9 s")
    model = waiters(
        builder.stack(
            "wait",
            "lock.futex",
            object=FUTEX,
            weight="3 s",
            user=["__lll_lock_wait (libc.so.6)", "0x12 (app)"],
            scan=["pthread_mutex_lock (libc.so.6)", "book_order (app)"],
        )
    )
    assert any("book_order (app)" in evidence.text for evidence in finding(model, ID).evidence)


def test_a_kernel_lock_is_named_by_what_it_guards() -> None:
    function = "function:rwsem_down_read_slowpath"
    model = (
        Builder()
        .thread(cpu_user="1 s")
        .row("lock.kernel", function, "3 s", count=500)
        .stack(
            "wait",
            "lock.kernel",
            object=function,
            weight="50 ms",
            kernel=[
                "__schedule",
                "schedule",
                "rwsem_down_read_slowpath",
                "down_read",
                "mmap_read_lock",
                "do_user_addr_fault",
            ],
        )
        .model()
    )
    found = finding(model, ID)
    assert "mmap_lock" in found.claim and "rwsem_down_read_slowpath()" in found.claim
    assert any("map and unmap less" in remedy.text for remedy in found.remedies)


@pytest.mark.parametrize(
    ("taker", "frozen"),
    [("vfs_write", True), ("mnt_want_write", True), ("cgroup_can_fork", False), ("ext4_writepages", False)],
)
def test_a_file_system_that_is_frozen_is_no_lock_of_the_target(taker: str, frozen: bool) -> None:
    """Writers wait in sb_start_write(), which has the kind of lock that forks have, too."""
    function = "function:percpu_rwsem_wait"
    kernel = ["schedule", "percpu_rwsem_wait", "__percpu_down_read", taker, "do_syscall_64"]
    builder = Builder().thread(cpu_user="1 s").row("lock.kernel", function, "3 s", count=4)
    found = finding(builder.stack("wait", "lock.kernel", object=function, weight="50 ms", kernel=kernel).model(), ID)
    assert (found.headline == "Threads wait for a frozen file system") is frozen, found.headline


def test_metadata_of_a_file_system_is_no_write_lock_of_a_file() -> None:
    """fstrim held the header of an allocation group, and "several threads write one file" was the remedy."""
    kernel = ["schedule", "__down_common", "down", "xfs_buf_lock", "xfs_read_agf", "xfs_free_extent", "xfs_ilock"]
    builder = Builder().thread(cpu_user="1 s").row("lock.kernel", "function:down", "3 s", count=4)
    found = finding(
        builder.stack("wait", "lock.kernel", object="function:down", weight="1 s", kernel=kernel).model(), ID
    )
    assert "metadata" in found.headline and "fstrim" in found.remedies[0].text


def test_a_kernel_lock_without_stacks_is_not_guessed() -> None:
    model = Builder().thread(cpu_user="1 s").row("lock.kernel", "function:__mutex_lock", "3 s", count=500).model()
    found = finding(model, ID)
    assert "in the kernel for a lock" in found.claim and "most waits are for" not in found.claim
    assert any("who had the lock" in limit for limit in found.limits)


def test_file_locks_are_their_own_finding() -> None:
    found = finding(Builder().thread(cpu_user="1 s").row("lock.file", "file:254:0:99", "3 s", count=5).model(), ID)
    assert "inode 99" in found.claim and any("lslocks" in remedy.text for remedy in found.remedies)


def of_runtime(scan: list[str], count: int = 3, **more: str) -> Finding:
    """The finding on threads that each wait on two words of their own, all recognised by `scan`."""
    builder = Builder(comm=more.pop("comm", "app"))
    for number in range(count):
        builder.thread("worker", tid=100 + number, cpu_user="2 s", rest="net.accept")
        for word in range(2):
            futex = f"futex:{0x1000 * (number + 1) + 4 * word:#x}"
            builder.row("wait.parked", futex, "3 s", count=100, waker_tid=100)
            builder.stack("wait", "wait.parked", object=futex, scan=scan, weight="1 s")
    return finding(builder.model(), ID)


def test_the_gil_is_one_lock_with_a_remedy_of_its_own() -> None:
    found = of_runtime(["pthread_cond_timedwait (libc.so.6)", "take_gil (libpython3.11.so.1.0)"])
    assert (
        "Threads wait 18.0 s for the GIL: CPython lets one thread" in found.claim and "3 threads in turn" in found.claim
    )
    assert "root" not in found.claim and "section" not in found.claim
    assert found.claims == {("lock.futex", "lock:gil:100"): 18_000_000_000}
    assert "processes" in found.remedies[0].text and "releases the GIL" in found.remedies[0].text
    assert not any("split" in remedy.text for remedy in found.remedies)
    assert any("take_gil" in evidence.text for evidence in found.evidence)
    assert any("py-spy top --gil --pid 100" in remedy.text for remedy in found.remedies)


def test_java_monitors_are_named_and_their_owner_is_for_jstack() -> None:
    park = ["pthread_cond_wait (libc.so.6)", "_ZN2os13PlatformEvent4parkEv (libjvm.so)"]
    found = of_runtime([*park, "_ZN13ObjectMonitor6EnterIEP10JavaThread (libjvm.so)"])
    assert "for Java monitors (synchronized)" in found.claim and "section under the lock is long" in found.claim
    assert "jstack 100" in found.remedies[0].text
    assert any("ObjectMonitor::EnterI (libjvm.so) 100 %" in evidence.text for evidence in found.evidence)
    assert any("word of its own" in limit for limit in found.limits)


@pytest.mark.parametrize("idle", ["net.accept", "wait.events", "wait.signal"])
def test_an_idle_account_is_never_the_root(idle: str) -> None:
    builder = Builder()
    for tid in (101, 102, 103):
        builder.thread("server", tid=tid, rest=idle)
        builder.row("lock.futex", FUTEX, "2 s", count=100, waker_tid=999)
    found = finding(builder.model(), ID)
    assert idle not in found.claim and "root" not in found.claim
    assert not any(idle in remedy.text for remedy in found.remedies)


def in_turn(*queues: tuple[str, int], runs: str = "1 s", **lost: int) -> str:
    """Say what three holders that take turns do, who queue 3 ms at a time."""
    builder = Builder().lost(**lost)
    for tid in (101, 102, 103):
        builder.thread("worker", tid=tid, cpu_user=runs).row("lock.futex", FUTEX, "4 s", count=100)
        for object, count in queues:
            builder.row("runq.busy", object, durations={"3 ms": count})
    return finding(builder.model(), ID).claim


def test_holders_in_turn_that_neighbours_keep_from_a_cpu_are_no_long_section() -> None:
    starved = in_turn(("task:7:hog", 1_200))
    assert "mostly waits for a CPU" in starved and "section" not in starved
    assert "mostly waits for a CPU" in in_turn(("", 1_600), runs="300 ms")  # no names, and own CPU time is too short
    assert "runs its own code" in in_turn(("task:7:hog", 300))  # nearly: less than they run
    assert "mostly waits for a CPU" not in in_turn(("", 600), details=9)  # all of it may be behind each other


def test_queueing_for_a_cpu_in_turn_is_no_root_and_of_one_holder_it_is() -> None:
    assert "runs its own code" in in_turn(("own:100:worker", 1_200))
    holder = Builder().thread("hog", tid=200, runq_busy="8 s", cpu_user="1 s")
    assert "waits for a CPU" in finding(waiters(holder), ID).claim


def test_no_advice_to_record_what_was_recorded() -> None:
    def remedies(stacks: str) -> str:
        model = waiters(Builder(stacks=stacks).thread("hog", tid=200, cpu_user="9 s"))
        return " ".join(remedy.text for remedy in finding(model, ID).remedies)

    assert "--stacks" in remedies("sampled") and "--stacks" not in remedies("all")
    assert "gdb -p 100" in remedies("all")


def test_a_holder_of_another_program_is_named_where_its_name_is_known() -> None:
    builder = Builder().thread(cpu_user="1 s")
    builder.row("lock.file", "file:254:0:99", "3 s", count=5, waker_tid=4711, waker_count=5)
    recording = builder.recording()
    recording.details = {
        key: msgspec.structs.replace(line, waker_comm="dpkg\x1b[2J" if line.waker_tid == 4711 else "")
        for key, line in recording.details.items()
    }
    assert "dpkg\\x1b[2J (4711) outside the target" in finding(ledger.build(recording), ID).claim


@pytest.mark.parametrize(("known", "inside"), [("1 s", False), ("7 s", True)])
def test_who_queues_behind_a_process_outside_does_not_hold_a_files_lock(known: str, inside: bool) -> None:
    """They take the lock by the hundred, for a moment each, and wake each other."""
    builder = Builder()
    for tid in (101, 102, 103):
        builder.thread("taker", tid=tid, wait_timer="1 s", rest="lock.file")
    builder.row("lock.file", "file:254:0:99", "8 s", count=300, waker_tid=101, waker_count=100)
    builder.because("lock.file", "file:254:0:99", "wait.timer", known)
    (found,) = (each for each in findings(builder.model(), ID) if "inode 99" in each.claim)
    assert ("no thread of the target" in found.claim) is not inside
    assert ("threads in turn" in found.claim) is inside
    assert any("unknown who had the lock" in limit for limit in found.limits) is not inside


def test_of_a_target_that_hardly_works_little_warns_nobody() -> None:
    idle = Builder().thread("worker", tid=101, cpu_user="50 ms", rest="wait.events")
    brief = idle.row("lock.futex", FUTEX, "90 ms", count=10).model()
    assert fault(brief, 90_000_000) is Severity.INFO
    assert fault(brief, brief.window_ns // 100 + 1) is Severity.WARNING


def test_a_lock_inside_the_java_runtime_is_not_the_users_to_shorten() -> None:
    builder = Builder().stack("wait", "lock.futex", object=FUTEX, user=["_ZN5Mutex14lock_contendedEv (libjvm.so)"])
    remedies = " ".join(each.text for each in finding(waiters(builder), ID).remedies)
    assert "-Xlog:gc" in remedies and "shorten" not in remedies


def test_who_waits_for_a_lock_of_the_kernel_reads_of_no_other_remedy_than_its_own() -> None:
    """Which lock of the kernel's a call takes is nothing to mend, but a program may call it less."""
    builder = Builder().thread("writer", tid=200, cpu_user="100 ms", disk_write="8 s")
    for tid in (101, 102):
        builder.thread("writer", tid=tid, cpu_user="100 ms")
        builder.row("lock.kernel", "function:rwsem_down_write_slowpath", "4 s", count=50, waker_tid=200, waker_count=50)
    found = finding(builder.model(), ID)
    assert "waits for writes to disk" in found.claim and "not the lock" not in found.claim


def test_a_name_that_both_the_walk_and_the_scan_of_a_stack_have_is_no_left_over() -> None:
    """As recorded of a server in Rust: the library's own function, and one that an earlier call left, stand first."""
    scan = ["lock_contended (server)", "find_function_or_location (server)", "serve (server)"]
    builder = Builder().thread("hog", tid=200, cpu_user="9 s")
    builder.stack("wait", "lock.futex", object=FUTEX, user=["syscall (libc.so.6)", "serve (server)", "0x1"], scan=scan)
    found = finding(waiters(builder), ID)
    assert any("waits: serve (server)" in each.text for each in found.evidence)


ALLOCATING = ["__lll_lock_wait_private (libc.so.6)", "_int_free (libc.so.6)", "free (libc.so.6)", "serve (server)"]


def test_a_lock_of_malloc_is_no_lock_to_split() -> None:
    """With one arena all threads queue in free(): the remedy was to shorten the locked section of its caller."""
    builder = Builder().thread("hog", tid=200, cpu_user="9 s")
    builder.stack("wait", "lock.futex", object=FUTEX, user=ALLOCATING, weight="9 s")
    found = finding(waiters(builder), ID)
    assert found.headline.startswith("Threads queue for a lock of malloc")
    assert "MALLOC_ARENA_MAX" in found.remedies[0].text


@pytest.mark.parametrize(
    "user",
    [
        ["__lll_lock_wait (libc.so.6)", "pthread_mutex_lock (libc.so.6)", "touch (app)", "malloc (libc.so.6)"],
        ["__lll_lock_wait_private (libc.so.6)", "fputs (libc.so.6)", "touch (app)"],
        ["touch (app)"],
    ],
)
def test_a_mutex_beside_an_old_call_of_malloc_is_the_programs(user: list[str]) -> None:
    builder = Builder().thread("hog", tid=200, cpu_user="9 s")
    builder.stack("wait", "lock.futex", object=FUTEX, user=user, weight="9 s")
    assert "malloc" not in finding(waiters(builder), ID).headline


@pytest.mark.parametrize(("parked_ms", "runs"), [(2000, False), (100, True)])
def test_requests_that_are_blocked_for_longer_than_they_compute_may_be_the_holders(parked_ms: int, runs: bool) -> None:
    """A map's computeIfAbsent() asks another server under its lock: who has it was said to run its own code."""
    builder = Builder()
    for tid in (101, 102, 103):
        builder.thread("worker", tid=tid, cpu_user="3 s", wait_parked="1 s").row("lock.futex", FUTEX, "4 s", count=100)
    requests(builder, {"lock.futex": 12_000, "cpu.user": 500, "wait.parked": parked_ms})
    assert ("runs its own code" in finding(builder.model(), ID).claim) is runs
