"""Locks of language runtimes and servers: by which functions they are known, and what of them is one lock.

Most are made of a primitive of the C library and of words that say nothing: the GIL of two condition variables and
two mutexes, a monitor of a word for each thread that waits.  What belongs together is one lock here.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from perfdiag.model.stacks.symbols import is_named, symbol_of
from perfdiag.model.waits.stopped_threads import ACCOUNT as STOPPED


class Words(Enum):
    """How the words that threads are parked on belong to locks."""

    ONE_LOCK = "one lock"  # all of a process are one lock
    OF_THREADS = "of threads"  # each thread waits on a word of its own: which lock it waits for cannot be told
    OF_LOCKS = "of locks"  # each lock has its word


@dataclass(frozen=True)
class RuntimeLock:
    """A kind of lock; `name` is for people, `id` for object keys ("lock:gil:1234")."""

    id: str
    name: str
    words: Words
    functions: re.Pattern[str]
    taken: bool = True  # False: no thread of the program's ever holds it, only the runtime does
    shared: bool = False  # by all processes of a server: what one waits for another holds
    account: str = "lock.futex"
    by_condition: bool = True  # False: who waits for it never waits for a condition of the C library


def _lock(
    id: str,
    name: str,
    words: Words,
    functions: str,
    *,
    taken: bool = True,
    shared: bool = False,
    account: str = "lock.futex",
    by_condition: bool = True,
) -> RuntimeLock:
    return RuntimeLock(id, name, words, re.compile(functions), taken, shared, account, by_condition)


RUNTIME_LOCKS: tuple[RuntimeLock, ...] = (
    _lock("gil", "the GIL", Words.ONE_LOCK, r"(take|drop)_gil"),
    _lock("gvl", "Ruby's GVL", Words.ONE_LOCK, r"gvl_acquire|thread_sched_(to_running|wait_running)"),
    _lock(
        "monitor",
        "Java monitors (synchronized)",
        Words.OF_THREADS,
        r"ObjectMonitor(::|\d*)([Rr]e)?[Ee]nter|ObjectSynchronizer(::|\d*)enter",
    ),
    _lock("python", "Python's locks", Words.OF_THREADS, r"_?PyMutex_Lock"),
    _lock("ruby", "Ruby mutexes", Words.OF_THREADS, r"(rb|do)_mutex_lock"),
    # Of Rust's library, which calls the kernel itself, and of HotSpot, by a mutex.
    _lock("rust", "", Words.OF_LOCKS, r"lock_contended|(read|write)_contended", by_condition=False),
    _lock("parking_lot", "locks of parking_lot", Words.OF_THREADS, r"lock_(shared_|exclusive_)?slow"),
    _lock("abseil", "Abseil mutexes", Words.OF_THREADS, r"absl.*Mutex.*Lock"),
    # Only who waits for the log to be on disk takes a lock in this way, as XLogFlush() does.
    _lock("walwrite", "PostgreSQL's WALWriteLock", Words.ONE_LOCK, r"LWLockAcquireOrWait", shared=True),
    _lock("lwlock", "PostgreSQL's LWLocks", Words.OF_THREADS, r"LWLockAcquire", shared=True),
    _lock("rowlock", "InnoDB's row locks", Words.OF_THREADS, r"^(_Z\d+)?lock_wait(_suspend_thread)?(P9que_thr_t)?$"),
    _lock("innodb", "InnoDB's latches", Words.OF_THREADS, r"TTASEventMutex|rw_lock_[sx]_lock|sync_array_wait_event"),
    _lock("metadata", "MariaDB's metadata locks", Words.OF_THREADS, r"MDL_wait(::|\d*)timed_wait"),
    _lock("table", "MariaDB's table locks", Words.OF_THREADS, r"^thr_(multi_)?lock$"),
    _lock("query_cache", "the lock of MariaDB's query cache", Words.ONE_LOCK, r"Query_cache(::|\d*)(try_)?lock"),
    # Who allocates waits for the heap's lock, and for the collection that it asked for.
    _lock(
        "collection",
        "a garbage collection of the JVM, or its heap's lock",
        Words.ONE_LOCK,
        r"attempt_allocation_slow|mem_allocate|alloc_page_stall|MemAllocator(::|\d*)allocate|VM_GC_Operation|VM_\w*Collect",
        taken=False,
        account=STOPPED,
    ),
    _lock(
        "safepoint",
        "a stop of all threads of the JVM (safepoint)",
        Words.ONE_LOCK,
        r"SafepointSynchronize(::|\d*)block",
        taken=False,
        account=STOPPED,
    ),
    _lock("go", "locks of Go's runtime", Words.OF_THREADS, r"^runtime\.lock2$"),
    # Known by who waits and who wakes too, not by a function alone: see futexes.py.
    _lock("threading", "a threading.Lock", Words.OF_LOCKS, r"(?!)"),
)
BY_ID = {lock.id: lock for lock in RUNTIME_LOCKS}

# What these locks are made of, and what stands between it and them.
_PRIMITIVE = re.compile(
    r"futex|lll_|pthread_(cond|mutex)_|cancel|clock_?wait|timedwait|sem_\w*wait|pthread_(cond|mutex)|native_cond"
    r"|Platform(Event|Monitor|Mutex)|uv_(cond|mutex)_|PyCOND_|PyMUTEX_|_PySemaphore|_PyParkingLot|do_(timed)?wait"
)
_WAITS_FOR = re.compile(r"pthread_(cond)_(?:timed|clock)?wait|pthread_(?:mutex_)\w*lock")
# What a thread did before leaves names in gaps of its stack: so many strangers may stand between.
_STRANGERS = 2


def lock_of(name: str) -> RuntimeLock | None:
    """Return the kind of lock that this function takes."""
    return next((lock for lock in RUNTIME_LOCKS if lock.functions.search(name)), None)


def is_caller(frame: str) -> bool:
    """Return whether a frame names a function that may take one of these locks, and none that they are made of."""
    return is_named(frame) and not _PRIMITIVE.search(symbol_of(frame))


def on_top(names: Sequence[str], others: re.Pattern[str]) -> tuple[RuntimeLock | None, bool]:
    """Return the runtime's own lock that stands right above the primitive it is made of, innermost name first.

    Or whether one of `others` stands there, which are made of the same primitives.  A name that stands further out may
    be left from an earlier call and proves nothing.
    """
    strangers = 0
    innermost = next((match[1] for name in names if (match := _WAITS_FOR.search(symbol_of(name)))), "")
    in_condition = innermost == "cond"
    for name in map(symbol_of, names):
        if (lock := lock_of(name)) and (lock.by_condition or not in_condition):
            return lock, False
        if others.fullmatch(name):
            return None, True
        strangers += not _PRIMITIVE.search(name)
        if strangers > _STRANGERS:
            break
    return None, False
