"""Which parked threads have nothing to do: stacks as recorded of Go 1.26, Node 20, HotSpot 17, CPython 3.11, tokio."""

from __future__ import annotations

import pytest
from perfdiag.diagnosis.evidence.idle.sleeps import sleep
from perfdiag.model.model import Model
from perfdiag.model.waits.idle_runtime_threads import IDLE_THREADS, idle_thread
from perfdiag.model.waits.runtime_locks import RUNTIME_LOCKS
from perfdiag.recording.accounts import PARKED

from unit.support import Builder
from unit.support.judging import finding, findings

S = 1_000_000_000
WAIT = "__futex_abstimed_wait_common (libc.so.6)"
CONDITION = "pthread_cond_wait (libc.so.6)"
SEMAPHORE = "__new_sem_wait_slow64 (libc.so.6)"
MONITOR = "_ZN2os15PlatformMonitor4waitEl (libjvm.so)"
EVENT = "_ZN2os13PlatformEvent4parkEl (libjvm.so)"
GO_SCAN = [
    "runtime.futexsleep (app)",
    "runtime.releasepNoTrace (app)",
    "runtime.notesleep (app)",
    "runtime.mput (app)",
    "runtime.stopm (app)",
    "runtime.findRunnable (app)",
]
GO = ["runtime.futex.abi0 (app)", "runtime.notesleep (app)", "runtime.stopm (app)", "runtime.findRunnable (app)"]
GO_LOCK = ["runtime.futex.abi0 (app)", "runtime.semasleep (app)", "runtime.lock2 (app)", "runtime.stopm (app)"]
V8_POOL = [CONDITION, "uv_cond_wait (node)", "_ZN4node12_GLOBAL__N_1L20PlatformWorkerThreadEPv (node)"]
UV_POOL = [CONDITION, "uv_cond_wait (node)", "worker (node)", "start_thread (libc.so.6)"]
QUEUE = [
    SEMAPHORE,
    "PyThread_acquire_lock_timed (libpython3.11.so.1.0)",
    "_queue_SimpleQueue_get_impl (_queue.cpython-311-x86_64-linux-gnu.so)",
]
TOKIO = [
    "_RNvMNtNtNtNtCsjrHSEGnQ3l9_3std3sys4sync7condvar5futexNtB2_7Condvar4wait (app)",
    "_ZN5tokio4util4rand7RngSeed3new17hb03eb80f671ed5b5E (app)",  # left by an earlier call
    "_ZN5tokio7runtime4park5Inner4park17hb8a0aeb2af1c6da8E (app)",
]
TOKIO_WORKER = ["syscall (libc.so.6)", "_ZN5tokio7runtime9scheduler12multi_thread4park5Inner12park_condvar17hb5E (app)"]
GANG = [SEMAPHORE, "_ZN14PosixSemaphore4waitEv (libjvm.so)", "_ZN10GangWorker4loopEv (libjvm.so)"]
VM = [CONDITION, MONITOR, "_ZN7Monitor28wait_without_safepoint_checkEl (libjvm.so)"]
FINALIZER = [CONDITION, EVENT, "_ZN13ObjectMonitor4waitElbP10JavaThread (libjvm.so)"]
OS_EVENT = "_ZN8os_event10timed_waitEPK8timespec (mysqld)"
JDK_11 = [CONDITION, EVENT, "_ZN7Monitor5IWaitEP6Threadl (libjvm.so)"]
TPOOL = "_ZN5tpool19thread_pool_generic14wait_for_tasksERSt11unique_lockISt5mutexEPNS_11worker_dataE (mariadbd)"
LAUNCHER = ["__pthread_clockjoin_ex (libc.so.6)", "CallJavaMainInNewThread (libjli.so)"]
JAVA_SLEEP = ["pthread_cond_timedwait (libc.so.6)", EVENT, "_ZN10JavaThread5sleepEl (libjvm.so)"]


def parked(*stacks: list[str], comm: str = "app", user: list[str] | None = None, wait: str = "9 s") -> Model:
    """A thread parked on one futex, in as many samples as there are scans."""
    builder = Builder().thread(comm, tid=101, rest="net.accept").row(PARKED, "futex:0x10", wait, count=9)
    for scan in stacks:
        builder.stack("wait", PARKED, tid=101, object="futex:0x10", user=user or [WAIT], scan=scan, weight="1 s")
    return builder.model()


@pytest.mark.parametrize(
    ("scan", "comm", "key"),
    [
        (GO_SCAN, "app", "runtime:go"),
        (V8_POOL, "node", "runtime:node"),
        (UV_POOL, "node", "runtime:node"),
        (QUEUE, "python3", "runtime:python"),
        (TOKIO, "app", "runtime:tokio"),
        (TOKIO_WORKER, "tokio-rt-worker", "runtime:tokio"),
        (GANG, "GC Thread#0", "runtime:jvm"),
        (VM, "VM Periodic Tas", "runtime:jvm"),
        (FINALIZER, "Finalizer", "runtime:jvm"),
        (JDK_11, "Service Thread", "runtime:jvm"),
        (
            ["_ZN17CompilationPolicy15can_be_compiledERK12methodHandlei (libjvm.so)", *FINALIZER],
            "Finalizer",
            "runtime:jvm",
        ),
        ([CONDITION, "JVM_MonitorWait (libjvm.so)"], "Reference Handl", "runtime:jvm"),
        (LAUNCHER, "java", "runtime:jli"),
        (["JLI_Launch (libjli.so)"], "java", "runtime:jli"),
        ([CONDITION, "bioProcessBackgroundJobs (redis-server)"], "bio_aof_fsync", "runtime:redis"),
        (["pthread_cond_clockwait (libc.so.6)", TPOOL], "mariadbd", "runtime:mariadb"),
        ([CONDITION, OS_EVENT, "_Z21sync_array_wait_eventP12sync_array_tR (mysqld)"], "ib_dict_stats", "runtime:mysql"),
        (
            [CONDITION, "_ZN8os_event8wait_lowEl (mysqld)", "_Z10log_writerP5log_t (mysqld)"],
            "ib_log_writer",
            "runtime:mysql",
        ),
        (["pthread_cond_timedwait (libc.so.6)"], "jemalloc_bg_thd", "runtime:jemalloc"),
    ],
)
def test_threads_without_work_are_idle(scan: list[str], comm: str, key: str) -> None:
    model = parked(scan, comm=comm)
    assert [row.key for row in model.rows_of("wait.work")] == [key]
    assert (model.ns("wait.work"), model.parked_ns, model.busy_ns) == (9 * S, 0, 0)
    assert {(stack.account, stack.object) for stack in model.stacks} == {("wait.work", key)}


def test_frames_say_it_as_well_as_a_scan() -> None:
    assert parked([], user=GO).ns("wait.work") == 9 * S


@pytest.mark.parametrize(
    ("scan", "comm"),
    [
        ([CONDITION, "wait_for_result (addon.node)", *UV_POOL[2:]], "node"),  # the program's own wait, in a pool
        ([CONDITION, "uv_cond_wait (node)", "wait_for_result (addon.node)", *UV_POOL[2:]], "node"),
        ([CONDITION, *UV_POOL[2:]], "node"),  # its code has no name: libuv itself waits through uv_cond_wait
        ([CONDITION, "uv_cond_wait (app)", "worker (app)"], "app"),
        (VM, "http-nio-8080-e"),  # of the program: an operation of the virtual machine that it waits for
        ([CONDITION, "_ZN6Parker4parkEbl (libjvm.so)", "Unsafe_Park (libjvm.so)"], "pool-1-thread-1"),
        (["futex_wait (app)", "runtime.stopm (app)"], "app"),
        ([], "GC Thread#0"),
        ([CONDITION], "redis-server"),
        ([CONDITION, "wait_for_commit (mariadbd)", TPOOL], "mariadbd"),
    ],
)
def test_what_proves_nothing_stays_cannot_tell(scan: list[str], comm: str) -> None:
    model = parked(scan, comm=comm)
    assert (model.ns("wait.work"), model.parked_ns) == (0, 9 * S)


@pytest.mark.parametrize(
    ("user", "scan", "comm"),
    [
        (["__lll_lock_wait (libc.so.6)", "pthread_mutex_lock (libc.so.6)", *V8_POOL[2:]], [], "node"),
        (["__lll_lock_wait (libc.so.6)"], ["__pthread_mutex_cond_lock (libc.so.6)", *UV_POOL], "node"),
        (GO_LOCK, GO_SCAN, "app"),
        ([WAIT], [CONDITION, EVENT, "_ZN13ObjectMonitor5enterEP10JavaThread (libjvm.so)"], "Finalizer"),
    ],
)
def test_a_lock_nearer_than_an_idle_function_is_a_lock(user: list[str], scan: list[str], comm: str) -> None:
    model = parked(scan, comm=comm, user=user)
    assert (model.ns("lock.futex"), model.ns("wait.work")) == (9 * S, 0)


def test_the_heavier_evidence_wins_and_the_other_word_of_a_condition_follows() -> None:
    condition = [CONDITION, "Consumer::wait (app)"]
    assert parked(UV_POOL, UV_POOL, condition).ns("wait.work") == 9 * S
    assert parked(UV_POOL, condition, condition).ns("wait.work") == 0
    builder = Builder().thread("node", tid=101, rest="net.accept")
    builder.row(PARKED, "futex:0x10", "3 s").row(PARKED, "futex:0x14", "2 s")
    builder.stack("wait", PARKED, tid=101, object="futex:0x10", user=[WAIT], scan=UV_POOL, weight="1 s")
    assert builder.model().ns("wait.work") == 5 * S


def test_a_thread_of_java_that_sleeps_does_so_by_its_own_choice() -> None:
    model = parked(JAVA_SLEEP, comm="retry")
    assert (model.ns("wait.timer"), model.parked_ns) == (9 * S, 0)
    found = sleep(model)
    assert found and found.headline.startswith("Thread retry (101) sleeps 9.00 s") and "futex" not in found.headline


def test_a_thread_pool_of_python_waits_for_no_lock() -> None:
    """All its threads wait for one lock at the same time, and wake each other: what else looks like a lock."""
    builder = Builder(comm="python3")
    for tid in (101, 102):
        builder.thread("python3", tid=tid, rest="net.accept")
        builder.row(PARKED, "futex:0x40", "9 s", count=50, waker_tid=203 - tid)
        builder.stack("wait", PARKED, tid=tid, object="futex:0x40", user=[WAIT], scan=QUEUE, weight="9 s")
    assert (builder.model().ns("wait.work"), builder.model().ns("lock.futex")) == (18 * S, 0)
    stripped = Builder(comm="python3")
    for tid in (101, 102):
        stripped.thread("python3", tid=tid, rest="net.accept")
        stripped.row(PARKED, "futex:0x40", "9 s", count=50, waker_tid=203 - tid)
        stripped.stack("wait", PARKED, tid=tid, object="futex:0x40", user=[WAIT], scan=QUEUE[:2], weight="9 s")
    assert stripped.model().parked_ns == 18 * S  # without names a lock looks the same


def test_collection_of_garbage_is_what_allocating_threads_wait_for() -> None:
    lock = [
        "__lll_lock_wait (libc.so.6)",
        "_ZN5Mutex4lockEv (libjvm.so)",
        "_ZN15G1CollectedHeap23attempt_allocation_slowEm (libjvm.so)",
    ]
    operation = [CONDITION, MONITOR, "_ZN15VM_GC_Operation13doit_prologueEv (libjvm.so)"]
    stop = ["syscall (libc.so.6)", "_ZN20SafepointSynchronize5blockEP10JavaThread (libjvm.so)"]
    builder = Builder(comm="java").thread("Thread-0", tid=101, rest="wait.events")
    for futex, user, scan in (("0x10", lock, []), ("0x20", [WAIT], operation), ("0x30", stop, [])):
        builder.row(PARKED, f"futex:{futex}", "2 s", count=9)
        builder.stack("wait", PARKED, tid=101, object=f"futex:{futex}", user=user, scan=scan, weight="1 s")
    rows = builder.model().rows_of("runtime.safepoint")
    assert [row.key for row in rows] == ["lock:collection:100"] * 2 + ["lock:safepoint:100"]
    assert rows[0].object == "a garbage collection of the JVM, or its heap's lock"
    alone = Builder(comm="java").thread("Thread-0", tid=101).row(PARKED, "futex:0x30", "2 s", count=9)
    alone.stack("wait", PARKED, tid=101, object="futex:0x30", user=stop, weight="1 s")
    (row,) = alone.model().rows_of("runtime.safepoint")
    assert row.object == "a stop of all threads of the JVM (safepoint)"


def test_a_collection_longer_than_the_window_is_no_deadlock() -> None:
    operation = [CONDITION, MONITOR, "_ZN15VM_GC_Operation13doit_prologueEv (libjvm.so)"]
    builder = Builder(comm="java").thread("main", tid=100, rest="wait.events")
    builder.thread("http-1", tid=101, open=(PARKED, "futex:0x20", "10 s")).row(PARKED, "futex:0x20", "10 s", count=1)
    builder.stack("wait", PARKED, tid=101, object="futex:0x20", user=[WAIT], scan=operation, weight="10 s")
    found = finding(builder.model(), "JVM-GC-PRESSURE")
    assert found.claims == {("runtime.safepoint", "lock:collection:100"): 10 * S}
    assert not findings(builder.model(), "LOCK-CONTENTION")


def test_kinds_are_told_apart() -> None:
    assert len({kind.id for kind in IDLE_THREADS}) == len(IDLE_THREADS)
    assert not {kind.id for kind in IDLE_THREADS if ":" in kind.id}
    locks = ["_ZN13ObjectMonitor5enterEP10JavaThread (libjvm.so)", "take_gil (python3.11)", "LWLockAcquire (postgres)"]
    assert not any(idle_thread([CONDITION, name], "GC Thread#0") for name in locks)
    assert all(lock.name or lock.id == "rust" for lock in RUNTIME_LOCKS)
