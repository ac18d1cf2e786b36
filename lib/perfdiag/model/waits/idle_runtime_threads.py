"""Threads of language runtimes that have nothing to do: by which functions they are known.

A thread of a pool that waits for work is idle.  So is one that a scheduler of goroutines or tasks parks because none of
them can run; but those may wait for each other, and no thread shows it.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from perfdiag.model.stacks.symbols import nearest_of

WORK, TIMER = "wait.work", "wait.timer"


@dataclass(frozen=True)
class IdleThreads:
    """A kind of thread that idles; `name` is for people, `id` for object keys ("runtime:go")."""

    id: str
    name: str
    functions: str  # that park a thread, or are its outermost loop
    through: str  # what these wait in: any other name in between is of a wait of the program's own
    threads: str = ""  # how names of threads begin that the runtime alone gives
    strangers: int = 0  # so many names left by earlier calls may stand in between
    tasks: str = ""  # what there was none of to run, if they can wait for each other
    tells: str = ""  # what shows where those wait
    limit: str = ""  # on how many run at a time, of a scheduler that lets none keep a thread from the others
    account: str = WORK

    def rests(self, names: Sequence[str], comm: str) -> bool:
        """Return whether a thread of that name, with these functions on its stack, innermost first, is of this kind."""
        if not re.match(self.threads, comm):
            return False
        return bool(nearest_of(names, self.functions, self.through, _WAIT, self.strangers))


_CONDITION = r"_*pthread_cond_(timed|clock)?wait\w*"
_SEMAPHORE = r"_*(new_)?sem_(timed|clock)?wait\w*"
# The C libraries' own ways to wait, apart from locks; the second line is musl's.
_WAIT = re.compile(
    rf"_*futex_abstimed_wait\w*|{_CONDITION}|{_SEMAPHORE}|syscall|_*pthread_(timed|clock)?join\w*"
    r"|__timedwait(_cp)?|__syscall_cp\w*|__cp_end"
)

IDLE_THREADS: tuple[IdleThreads, ...] = (
    IdleThreads(
        "go",
        "Go's scheduler",
        r"runtime\.(stopm|mPark|stoplockedm|sysmon|templateThread)|os/signal\.signal_recv",
        r"runtime\.(?!sema|lock|stopTheWorld|forEachP).*",
        tasks="goroutine",
        tells="net/http/pprof, profiles goroutine, mutex and block",
        limit="GOMAXPROCS",
    ),
    IdleThreads(
        "tokio",
        "tokio's scheduler",
        r".*tokio.*runtime.*park.*Inner.*park.*",
        r"syscall|.*[Cc]ondvar.*wait.*",
        strangers=1,
        tasks="task",
        tells="tokio-console",
    ),
    IdleThreads("blocking", "tokio's blocking pool", r".*tokio.*blocking.*pool.*Inner.*run.*", r".*[Cc]ondvar.*wait.*"),
    IdleThreads("rayon", "rayon's workers", r".*rayon_core.*sleep.*Sleep.*sleep.*", r"syscall|.*[Cc]ondvar.*wait.*"),
    # libuv's pool, V8's pool, the inspector's helper.
    IdleThreads(
        "node",
        "helper threads of Node.js",
        r"worker \((node|libuv).*|.*PlatformWorkerThread.*|.*StartIoThreadMain.*",
        r"uv_(cond|sem)_wait|.*BlockingPop.*",
    ),
    IdleThreads(
        "python",
        "Python's SimpleQueue, thread pools among them",
        r"_queue_SimpleQueue_get\w*|simplequeue_get\w*",
        r"PyThread_acquire_lock_timed|_PyParkingLot_Park|_PySemaphore_\w+",
    ),
    IdleThreads("redis", "background threads of Redis", "bioProcessBackgroundJobs", _CONDITION),
    IdleThreads(
        "mariadb",
        "idle threads of MariaDB",
        r".*tpool.*thread_pool_generic.*wait_for_tasks.*|handle_manager|slave_deadlock_handler|ma_checkpoint_background",
        _CONDITION,
    ),
    IdleThreads(
        "mysql",
        "idle threads of MySQL",
        r".*os_event.*timed_wait.*|(_Z\d+)?(log_\w*(notifier|writer|flusher|checkpointer)|(srv|buf)_\w+_thread).*"
        r"|.*(Event_queue.*cond_wait|Rpl_opt_tracker.*worker).*",
        rf"{_CONDITION}|.*os_event.*wait.*",
        threads="ib_|evt_sched|rpl_opt_tracker",
    ),
    IdleThreads("jemalloc", "jemalloc's purging", _CONDITION, "", threads="jemalloc_bg_thd"),
    # Whatever they wait for, also each other, nobody waits for them but through a wait of its own.
    IdleThreads(
        "jvm",
        "helper threads of the JVM",
        # JDK 8 and 11 have Monitor::IWait and ILock; a library without symbols exports JVM_MonitorWait alone.
        r".*(PlatformMonitor|PosixSemaphore|ObjectMonitor).*wait.*|.*Parker.*park.*|.*Monitor(::|\d*)I(Wait|Lock).*"
        r"|.*signal_wait.*|JVM_MonitorWait",
        rf"{_CONDITION}|{_SEMAPHORE}|.*PlatformEvent.*park.*|.*PosixSemaphore.*wait.*",
        threads=r"(GC (Thread|task)|G1 |VM (Thread|Periodic Tas)|C[12] Compiler|Signal Dispatch|Service Thread"
        r"|Monitor Deflati|Notification Th|Sweeper thread|Reference Handl|Finalizer|Common-Cleaner|Attach Listener"
        r"|Shenandoah|ParGC|CMS |Concurrent Mark|[XZ](Driver|Worker|Director|Stat|Uncommitter|Unmapper)|RuntimeWorker)",
        strangers=1,
    ),
    IdleThreads(
        # Its first thread does nothing but wait for the end of the one that runs main().
        "jli",
        "Java's launcher",
        "CallJavaMainInNewThread|ContinueInNewThread|JLI_Launch",
        "",
    ),
    IdleThreads(
        "sleep",
        "Thread.sleep of Java",
        r".*JavaThread\d*sleep.*|JVM_Sleep",
        r".*Platform(Event|Monitor).*(park|wait).*",
        account=TIMER,
    ),
)
IDLE_BY_ID = {kind.id: kind for kind in IDLE_THREADS}


def idle_thread(names: Sequence[str], comm: str) -> IdleThreads | None:
    """Return the kind of idle thread that these names, innermost first, show, if any."""
    return next((kind for kind in IDLE_THREADS if kind.rests(names, comm)), None)


def scheduler_of(keys: Iterable[str]) -> IdleThreads | None:
    """Return the first of these kinds, as keys of rows of WORK, that schedules tasks of its own."""
    ids = [key.removeprefix("runtime:") for key in keys]
    return next((kind for id in ids if (kind := IDLE_BY_ID.get(id)) and kind.tasks), None)
