"""The books: of threads, of what they are folded into, and of all together."""

from collections.abc import Sequence
from typing import Annotated

import msgspec

from perfdiag.recording.schema.base import AccountSums, Count, Line, Nanoseconds
from perfdiag.recording.schema.limits import RECORDER, Account, Comm, Object, Word, at_most


class OpenWait(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The account a thread was in when its row was written (already included in its sums)."""

    account: Account
    object: Object
    since_ns: Nanoseconds


OpenAccount = OpenWait | None


class FutexSum(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Time parked on one futex by one thread: ``[object, sum_ns, count, waker_tid]`` (as in Detail)."""

    object: Object
    sum_ns: Nanoseconds
    count: Count
    waker_tid: Count


FutexSums = Annotated[Sequence[FutexSum], at_most(RECORDER["DETAILS"])]


class Thread(Line, tag="thread"):
    """One thread's ledger so far.  The last row of a serial counts."""

    at_ns: Nanoseconds
    serial: Count  # unique in the recording; tids can be reused
    pid: Count
    tid: Count
    namespace_tid: Count
    comm: Comm
    state: Word  # "alive" or "exited"
    start_ns: Nanoseconds
    wall_ns: Nanoseconds
    user_ns: Nanoseconds  # tick-sampled by the kernel: only for the split of cpu.*
    kernel_ns: Nanoseconds
    accounts: AccountSums
    open: OpenAccount = None
    futexes: FutexSums = []
    requests_read: Count | None = None  # older recordings do not say
    requests_turned: Count = 0  # of these, for which it left another connection that was open
    helped: Count = 0  # how often it woke a thread of its process that reads requests, and waited for events


class Exited(Line, tag="exited"):
    """Threads that ended in the window and have no row of their own, folded by the comm of their process."""

    at_ns: Nanoseconds
    comm: Comm
    threads: Count
    processes: Count
    wall_ns: Nanoseconds
    user_ns: Nanoseconds
    kernel_ns: Nanoseconds
    accounts: AccountSums


class Process(Line, tag="process"):
    """Of a recording of the host: the threads of one process that have no row of their own, added up.

    Kernel threads of one name are one process, under the pid of the first one met.  `pid` 0 are the processes of one
    name that have no line of their own.
    """

    at_ns: Nanoseconds
    pid: Count
    comm: Comm
    kernel: bool  # kernel threads
    threads: Count
    processes: Count
    wall_ns: Nanoseconds
    user_ns: Nanoseconds
    kernel_ns: Nanoseconds
    accounts: AccountSums


class Interval(Line, tag="interval"):
    """Cumulative sums of the whole target at one moment."""

    at_ns: Nanoseconds
    threads: Count
    wall_ns: Nanoseconds
    accounts: AccountSums
