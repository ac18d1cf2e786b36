"""Which words are one lock: stacks as recorded from CPython 3.11, HotSpot 17 and glibc 2.36 on Linux 6.18."""

from __future__ import annotations

import pytest
from perfdiag.model.model import Model
from perfdiag.model.stacks.symbols import caller, readable
from perfdiag.model.waits.futexes import Verdict, joins, judge
from perfdiag.model.waits.runtime_locks import RUNTIME_LOCKS, lock_of
from perfdiag.recording import schema

from unit.support import Builder

S = 1_000_000_000
WAIT = ["__futex_abstimed_wait_common (libc.so.6)"]
MUTEX = ["__lll_lock_wait (libc.so.6)"]
PYTHON = "libpython3.11.so.1.0"
TAKE_GIL = ["pthread_cond_timedwait (libc.so.6)", f"take_gil ({PYTHON})", f"_PyEval_EvalFrameDefault ({PYTHON})"]
# A word that was left in a gap stands between.
RESTORE = ["pthread_cond_timedwait (libc.so.6)", f"meth_get__doc__ ({PYTHON})", f"take_gil ({PYTHON})"]
GIL_MUTEX = ["__pthread_mutex_cond_lock (libc.so.6)", "pthread_cond_timedwait (libc.so.6)", f"take_gil ({PYTHON})"]
ACQUIRE = [
    f"meth_get__doc__ ({PYTHON})",
    "__new_sem_wait_slow64 (libc.so.6)",
    f"PyThread_acquire_lock_timed ({PYTHON})",
    f"acquire_timed ({PYTHON})",
    f"lock_PyThread_acquire_lock ({PYTHON})",
]
MONITOR = [
    "pthread_cond_wait (libc.so.6)",
    "_ZN2os13PlatformEvent4parkEv (libjvm.so)",
    "_ZN13ObjectMonitor6EnterIEP10JavaThread (libjvm.so)",
    "_ZN13ObjectMonitor7TrySpinEP10JavaThread (libjvm.so)",
]
OBJECT_WAIT = [
    "pthread_cond_wait (libc.so.6)",
    "_ZN2os13PlatformEvent4parkEv (libjvm.so)",
    "_ZN13ObjectMonitor4waitElbP10JavaThread (libjvm.so)",
    "_ZN13ObjectMonitor6EnterIEP10JavaThread (libjvm.so)",
]
SERVICE = [
    "pthread_cond_timedwait (libc.so.6)",
    "_ZN2os15PlatformMonitor4waitEl (libjvm.so)",
    "_ZN7Monitor28wait_without_safepoint_checkEl (libjvm.so)",
]
PARKER = ["pthread_cond_wait (libc.so.6)", "_ZN6Parker4parkEbl (libjvm.so)", "Unsafe_Park (libjvm.so)"]


def waits(*words: tuple[str, str, list[str], list[str]], threads: int = 1, pid: int = 100) -> Builder:
    """Threads of one process, each parked on every (futex, time, user stack, scan)."""
    builder = Builder()
    for number in range(threads):
        builder.thread("worker", pid=pid, tid=pid + number, rest="wait.timer")
        for futex, time, _, _ in words:
            builder.row("wait.parked", futex, time, count=10)
    for futex, time, user, scan in words:
        builder.stack("wait", "wait.parked", pid=pid, object=futex, user=user, scan=scan, weight=time)
    return builder


def behind(root: str, *steps: str, inside: bool = False, root_object: str = "", kernel: str = "pipe_read") -> Model:
    """Threads that wait for a mutex whose holder was in the first of these meanwhile, and its own waker in the root."""
    builder = waits(("futex:0x10", "8 s", MUTEX, []))
    builder.stack("wait", "ipc.pipe", object="pipe:5", kernel=["schedule", kernel], weight="1 s")
    because = schema.Because(
        pid=100, account="wait.parked", object="futex:0x10", steps=list(steps), cut=False, root=root,
        root_object=root_object, root_tid=0, root_tid_ns=0, sum_ns=7 * S, count=9, inside=inside,
    )  # fmt: skip
    return builder.line(because).model()


@pytest.mark.parametrize(
    ("root", "inside", "account"),
    [
        ("net.accept", False, "wait.work"),
        ("net.request", False, "wait.work"),
        ("net.accept", True, "lock.futex"),  # who has a request waits for its sake
        ("disk.flush", False, "lock.futex"),
        ("wait.events", False, "wait.parked"),  # for work, or for the answer of a peer
        ("wait.events", True, "lock.futex"),
    ],
)
def test_a_pool_that_waits_for_work_behind_a_lock_is_idle(root: str, inside: bool, account: str) -> None:
    """A mutex around accept(): one has it and waits for a connection, the others wait for their turn."""
    assert behind(root, inside=inside).ns(account) == 8 * S


@pytest.mark.parametrize("own", ["wait.events", "ipc.pipe", "ipc.unix"])
def test_a_holder_that_waits_for_another_thread_does_not_sleep_itself(own: str) -> None:
    """A pool that takes turns in reading a pipe, or in epoll: who writes there sleeps between two items of work."""
    assert behind("wait.timer", own).ns("wait.parked") == 8 * S
    assert behind("wait.timer", own, inside=True).ns("lock.futex") == 8 * S
    assert behind("disk.flush", own).ns("lock.futex") == 8 * S, "the work is waited for"


def test_a_holder_that_waits_for_an_answer_or_for_room_has_the_lock() -> None:
    assert behind("wait.events", root_object="peer:10.0.0.7:80").ns("lock.futex") == 8 * S
    assert behind("wait.timer", "ipc.pipe", kernel="anon_pipe_write").ns("lock.futex") == 8 * S
    assert behind("wait.timer", "lock.file").ns("lock.futex") == 8 * S and behind("wait.timer").ns("lock.futex")


def keys(model: Model) -> set[str]:
    return {row.key for row in model.rows_of("lock.futex")}


def test_all_words_of_the_gil_are_one_lock() -> None:
    model = waits(
        ("futex:0x7f3d29b4e6f0", "3 s", WAIT, TAKE_GIL),
        ("futex:0x7f3d29b4e6f4", "2 s", WAIT, RESTORE),
        ("futex:0x7f3d29b4e6f8", "100 ms", MUTEX, GIL_MUTEX),
        threads=2,
    ).model()
    assert keys(model) == {"lock:gil:100"} and {row.object for row in model.rows_of("lock.futex")} == {"the GIL"}
    assert model.ns("lock.futex") == 2 * (3 * S + 2 * S + S // 10)
    assert {stack.object for stack in model.stacks} == {"lock:gil:100"}


def test_each_process_has_its_own_gil() -> None:
    builder = waits(("futex:0x10", "3 s", WAIT, TAKE_GIL))
    builder.thread("other", pid=200, rest="wait.timer").row("wait.parked", "futex:0x10", "1 s", count=10)
    model = builder.stack("wait", "wait.parked", pid=200, object="futex:0x10", user=WAIT, scan=TAKE_GIL).model()
    assert keys(model) == {"lock:gil:100", "lock:gil:200"}
    assert {row.object for row in model.rows_of("lock.futex")} == {"the GIL of app (100)", "the GIL of other (200)"}


def test_monitors_of_java_are_told_as_one_kind() -> None:
    words = [(f"futex:{0x7F6D2C125778 + 0x1000 * number:#x}", "1 s", WAIT, MONITOR) for number in range(4)]
    model = waits(*words).model()
    assert keys(model) == {"lock:monitor:100"} and model.ns("lock.futex") == 4 * S


def test_the_other_word_of_a_condition_belongs_to_it_unless_its_own_stack_says_otherwise() -> None:
    silent: tuple[str, str, list[str], list[str]] = ("futex:0x7f6d2c12577c", "1 s", WAIT, [])
    monitor = ("futex:0x7f6d2c125778", "1 s", WAIT, MONITOR)
    assert waits(monitor, silent).model().ns("lock.futex") == 2 * S
    assert waits(monitor, ("futex:0x7f6d2c12577c", "1 s", WAIT, OBJECT_WAIT)).model().ns("lock.futex") == S
    condition = ["pthread_cond_wait (libc.so.6)", "worker (app)"]
    assert waits(monitor, (silent[0], "1 s", condition, [])).model().ns("lock.futex") == S
    rust = "_ZN3std3sys4sync5mutex5futex5Mutex14lock_contended17h0123456789abcdefE (app)"
    assert waits(("futex:0x20", "1 s", [rust], []), ("futex:0x24", "1 s", WAIT, [])).model().ns("lock.futex") == S


def test_a_lock_that_no_condition_stands_for_is_left_from_an_earlier_call() -> None:
    """As recorded of Java whose main() has returned: its thread waits in a monitor of the JVM until all others end."""
    left = ["pthread_cond_wait (libc.so.6)", "_ZN2os15PlatformMonitor4waitEl (libjvm.so)"]
    left += ["_ZN5Mutex14lock_contendedEP6Thread (libjvm.so)", "_ZN7Monitor4waitEl (libjvm.so)"]
    assert not waits(("futex:0x10", "9 s", WAIT, left)).model().ns("lock.futex")
    taken = ["pthread_mutex_lock (libc.so.6)", left[2]]
    assert waits(("futex:0x10", "9 s", WAIT, taken)).model().ns("lock.futex") == 9 * S
    taken.insert(1, left[0])  # left from an earlier call, too
    assert waits(("futex:0x10", "9 s", WAIT, taken)).model().ns("lock.futex") == 9 * S


TABLE_LOCK = ["pthread_cond_timedwait (libc.so.6)", "thr_multi_lock (mariadbd)"]


@pytest.mark.parametrize(
    ("more", "locked"),
    [
        (["pthread_cond_timedwait (libc.so.6)"], True),
        (["pthread_cond_timedwait (libc.so.6)", "0x600006bf0"], True),
        (["pthread_cond_timedwait (libc.so.6)", "get_task (mariadbd)"], False),
    ],
)
def test_a_condition_of_whose_callers_none_is_known_says_nothing_against_a_lock(more: list[str], locked: bool) -> None:
    """As recorded of MariaDB 10.11: where a wait begins, less of the stack is looked at than where the window ends."""
    builder = waits(("futex:0x10", "9 s", WAIT, more))
    builder.row("wait.parked", "futex:0x10", "1 ms", waker_tid=100, waker_count=1)
    builder.stack("wait", "wait.parked", object="futex:0x10", user=WAIT, scan=TABLE_LOCK, weight="400 ms")
    model = builder.model()
    assert keys(model) == ({"lock:table:100"} if locked else set())
    assert not keys(waits(("futex:0x10", "9 s", WAIT, more)).model()), "nothing for one, either"


@pytest.mark.parametrize("scan", [OBJECT_WAIT, SERVICE, PARKER])
def test_what_waits_for_work_in_java_is_no_lock(scan: list[str]) -> None:
    assert waits(("futex:0x10", "3 s", WAIT, scan)).model().ns("lock.futex") == 0


def python_lock(*sums: tuple[int, str, int], futexes: tuple[str, ...] = ("futex:0x40",)) -> Model:
    """Threads (tid, time, waker) that wait in CPython's acquire, each on its own word or all on one."""
    builder = Builder()
    for number, (tid, time, waker) in enumerate(sums):
        futex = futexes[number % len(futexes)]
        builder.thread("python3", tid=tid, rest="wait.timer")
        builder.row("wait.parked", futex, time, count=50, waker_tid=waker)
        builder.stack("wait", "wait.parked", tid=tid, object=futex, user=WAIT, scan=ACQUIRE, weight=time)
    return builder.thread("python3", tid=900).model()


def test_a_threading_lock_is_one_whose_waiters_wake_each_other() -> None:
    model = python_lock((101, "3 s", 102), (102, "3 s", 101))
    assert model.ns("lock.futex") == 6 * S and keys(model) == {"lock:threading:100:0x40"}
    assert model.rows_of("lock.futex")[0].object == "a threading.Lock 0x40"


def test_a_threading_lock_is_one_that_two_wait_for_at_the_same_time() -> None:
    assert python_lock((101, "7 s", 900), (102, "7 s", 900)).ns("lock.futex") == 14 * S


def test_a_queue_or_event_of_python_gives_each_waiter_a_lock_of_its_own() -> None:
    own = ("futex:0x40", "futex:0x80")
    assert python_lock((101, "9 s", 900), (102, "9 s", 900), futexes=own).ns("lock.futex") == 0
    # Memory is used again: two took turns on one word, woken by a third.
    assert python_lock((101, "4 s", 900), (102, "4 s", 900)).ns("lock.futex") == 0


def timed(comm: str, scan: list[str], wait: str = "5 ms", threads: int = 2) -> Model:
    """Threads that wait again and again with a timeout, as in an interpreter without symbols (Debian's python3)."""
    builder = Builder(comm=comm)
    for number in range(threads):
        builder.thread(comm, tid=100 + number, rest="wait.timer")
        builder.row("wait.parked", "futex:0xa5b8f0", durations={wait: 400})
    return builder.stack("wait", "wait.parked", object="futex:0xa5b8f0", user=WAIT, scan=scan, weight="1 s").model()


@pytest.mark.parametrize(
    "above", [[], ["_PyEval_EvalFrameDefault (python3.11)"], ["PyEval_RestoreThread (python3.11)"]]
)
def test_the_gil_of_an_interpreter_without_symbols_is_known_by_its_timeouts(above: list[str]) -> None:
    assert keys(timed("python3", [TAKE_GIL[0], *above])) == {"lock:gil:100"}


def test_both_words_of_its_condition_variable_are_the_gil() -> None:
    # A name left on the stack from an earlier call says nothing against what its other word shows.
    def both(other: str) -> Model:
        builder = Builder(comm="python3")
        for tid in (100, 101):
            builder.thread("python3", tid=tid, rest="wait.timer")
            for word in ("futex:0xa5b8f0", other):
                builder.row("wait.parked", word, durations={"5 ms": 400}, waker_tid=201 - tid, waker_count=1)
        builder.stack("wait", "wait.parked", object="futex:0xa5b8f0", user=WAIT, scan=[TAKE_GIL[0]], weight="1 s")
        stale = [TAKE_GIL[0], "PyObject_GetAttr (python3.11)"]
        return builder.stack("wait", "wait.parked", object=other, user=WAIT, scan=stale, weight="1 s").model()

    assert both("futex:0xa5b8f4").ns("lock.futex") == 8 * S
    assert both("futex:0xa5b8e0").ns("lock.futex") == 4 * S, "another condition variable"


def test_what_only_looks_like_that_is_none() -> None:
    assert not keys(timed("server", [TAKE_GIL[0]]))
    assert not keys(timed("python3", [TAKE_GIL[0], "worker (fast.so)"]))
    assert not keys(timed("python3", ["pthread_cond_wait (libc.so.6)"]))
    assert not keys(timed("python3", [TAKE_GIL[0]], wait="20 ms"))
    assert not keys(timed("python3", [TAKE_GIL[0]], threads=1))


@pytest.mark.parametrize(
    ("name", "id"),
    [
        ("take_gil", "gil"),
        ("drop_gil", "gil"),
        ("_ZN13ObjectMonitor5enterEP10JavaThread", "monitor"),
        ("ObjectMonitor::ReenterI(JavaThread*, ObjectWaiter*)", "monitor"),
        ("_ZN13ObjectMonitor26enter_with_contention_markEP10JavaThreadR21ObjectMonitorContentionMark", "monitor"),
        ("_PyMutex_LockTimed", "python"),
        ("LWLockAcquire", "lwlock"),
        ("LWLockAcquireOrWait", "walwrite"),
        ("lock_wait_suspend_thread", "rowlock"),
        ("_Z9lock_waitP9que_thr_t", "rowlock"),
        ("_ZN8MDL_wait10timed_waitEP18MDL_context_ownerP8timespecbPK16PSI_stage_info_v", "metadata"),
        ("thr_multi_lock", "table"),
        ("_ZN11Query_cache8try_lockEP3THDNS_19Cache_try_lock_modeE", "query_cache"),
        ("_ZN11Query_cache6unlockEv", ""),
        ("open_thr_lock_list", ""),
        ("__lll_lock_wait", ""),
        ("pthread_mutex_lock", ""),
        ("_ZN13ObjectMonitor4waitElbP10JavaThread", ""),
    ],
)
def test_who_takes_a_runtimes_lock(name: str, id: str) -> None:
    lock = lock_of(name)
    assert (lock.id if lock else "") == id


def test_kinds_of_locks_are_told_apart() -> None:
    assert len({lock.id for lock in RUNTIME_LOCKS}) == len(RUNTIME_LOCKS)
    assert all(":" not in lock.id for lock in RUNTIME_LOCKS)


def test_a_thread_that_is_joined_is_known_by_its_frames() -> None:
    join = ["__pthread_clockjoin_ex (libc.so.6)", "main (dead)", "__libc_start_call_main (libc.so.6)"]
    [stack] = Builder().thread("a").stack("wait", "wait.parked", user=WAIT, scan=join).model().stacks
    assert joins(stack) and judge(join) is Verdict.NO_LOCK
    stale = ["pthread_cond_wait (libc.so.6)", "worker (app)", "start_thread (libc.so.6)", *join]
    [stack] = Builder().thread("a").stack("wait", "wait.parked", user=WAIT, scan=stale).model().stacks
    assert not joins(stack)


@pytest.mark.parametrize(
    ("mangled", "name"),
    [
        ("_ZN13ObjectMonitor6EnterIEP10JavaThread (libjvm.so)", "ObjectMonitor::EnterI (libjvm.so)"),
        ("_ZNK4node5StartEiPPc (node)", "node::Start (node)"),
        ("_ZN3std6thread4park17h0123456789abcdefE", "std::thread::park"),
        ("_ZN4node12_GLOBAL__N_1L20PlatformWorkerThreadEPv (node)", "node::PlatformWorkerThread (node)"),
        ("_ZN3tok4main28_$u7b$$u7b$closure$u7d$$u7d$17h745d2a8fae48811cE (tok)", "tok::main::{closure} (tok)"),
        ("_ZN999toolong (app)", "_ZN999toolong (app)"),
        ("_Z12mysql_updateP3THDP10TABLE_LIST (mariadbd)", "mysql_update (mariadbd)"),
        ("_ZL5servei (style)", "serve (style)"),
        ("_Z3foo3bar", "foo"),
        ("_Z9toolong (app)", "_Z9toolong (app)"),
        ("_ZL9toolong", "_ZL9toolong"),
        ("__memcpy_avx512_unaligned_erms (libc.so.6)", "memcpy (libc.so.6)"),
        ("__libc_start_main (libc.so.6)", "__libc_start_main (libc.so.6)"),
        ("_ZN23_$LT$A$u20$as$u20$B$GT$5clone17h0123456789abcdefE (app)", "<A as B>::clone (app)"),
        ("main (app)", "main (app)"),
        ("", ""),
    ],
)
def test_mangled_names_are_made_readable(mangled: str, name: str) -> None:
    assert readable(mangled) == name


@pytest.mark.parametrize(
    ("frames", "name"),
    [
        (["pthread_mutex_lock (libc.so.6)", "uv_mutex_lock (node)", "uv__work_done (node)"], "uv__work_done (node)"),
        (["0x12 (app)", "_ZNSt5mutex4lockEv (app)", "serve (app)"], "serve (app)"),
        (["PyThread_acquire_lock_timed (python3.11)"], "PyThread_acquire_lock_timed (python3.11)"),
        (["pthread_cond_wait (libc.so.6)", "0"], ""),
        ([], ""),
    ],
)
def test_the_code_that_waits_is_the_programs_own(frames: list[str], name: str) -> None:
    assert caller(frames) == name
