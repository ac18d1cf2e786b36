"""What the time of the books went to: objects, code and operations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from perfdiag.recording.schema.base import AccountSums, Buckets, Count, Line, Nanoseconds
from perfdiag.recording.schema.limits import RECORDER, Account, Comm, Object, RequestName, Symbol, Word, at_most

Frames = Annotated[Sequence[Symbol], at_most(RECORDER["STACK_FRAMES"])]
Script = Annotated[Sequence[Symbol], at_most(RECORDER["SCRIPT_FRAMES"])]
Steps = Annotated[Sequence[Account], at_most(RECORDER["CHAIN_STEPS"])]
Scan = Annotated[Sequence[Symbol], at_most(RECORDER["SCAN_NAMES"])]


class Detail(Line, tag="detail"):
    """One account and object of one process (pid 0: exited processes), with its distribution.

    Bucket 0 counts waits below 256 ns, bucket i those in [2**(i+7), 2**(i+8)) ns, bucket 31 all longer ones.
    """

    pid: Count
    account: Account
    object: Object  # "", "device:254:0", "peer:10.0.0.1:5432", "task:123:comm", "cgroup:42", ... see object_names.py
    sum_ns: Nanoseconds
    count: Count
    max_ns: Nanoseconds
    buckets: Buckets
    waker_tid: Count = 0  # who ended most of these waits or, of locks, had it longest meanwhile; 0: unknown or timer
    waker_count: Count = 0  # how many of `count` are known to be due to it, at least
    waker_pid: Count = 0  # its process, of waits as for waker_comm and of a host; 0: not known
    waker_comm: Comm = ""  # its name when the window ended, where it can be another process's


class Because(Line, tag="because"):
    """For what another thread was waited for: the root of waits of one account and object of one process.

    A second view on time that stands in the details in full, never to be added to it.  What no such line tells of a
    wait had no other thread behind it, was under 20 us, or nothing is known of that thread.
    """

    pid: Count  # as in Detail
    account: Account
    object: Object
    steps: Steps  # the accounts between the wait and its root, the nearest first
    cut: bool  # there were more steps, next to the root
    root: Account  # the account of the thread at the end of the chain
    root_object: Object  # of wait.events the peer that it asked, if it read its answer before it woke somebody
    root_tid: Count  # who was in it most of the time; 0: not known
    root_tid_ns: Nanoseconds  # how much of sum_ns is known to be due to it, at least
    sum_ns: Nanoseconds
    count: Count  # of waits; one with several roots counts for each
    inside: bool = False  # of threads in the middle of a request, that had not waited for events since they read it


class PeerWait(Line, tag="peer_wait"):
    """Waits of one account and object of one process that a process outside of the target ended, and what that was in
    meanwhile: itself, or whoever it waited for.

    A second view, as Because is: of waits of 20 us and more, from when that process had been met.
    """

    pid: Count  # as in Detail
    account: Account
    object: Object
    peer_pid: Count  # who ended the waits
    peer_comm: Comm  # its name when the window ended
    root: Account
    root_object: Object
    root_pid: Count  # the process of the thread that was in the root; 0: that has ended, or is not known
    root_comm: Comm  # the name of that thread
    sum_ns: Nanoseconds
    root_tid: Count = 0  # that thread; 0: several for which the table had no room


class FailedCall(Line, tag="failed_call"):
    """Sleeps of a millisecond and more of threads of one name, each of which followed a system call that had failed,
    an answer that was an error, or a child that had failed: the sleep of its parent, or of another child.

    A second view, as Because is. The last failed call since the sleep before counts, if the thread failed in the same
    before another sleep; one that often fails without any harm (no such file) does not count behind another.
    """

    comm: Comm  # who slept: threads of that name, or children of `pid`
    pid: Count  # of one of them, or of who tried
    sleeps: Count
    sum_ns: Nanoseconds
    max_ns: Nanoseconds
    call: Object = ""  # "syscall:link"
    error: Count = 0  # errno
    object: Object = ""  # the peer or the file that it was for, of the longest sleep
    file: Object = ""  # or the last component of its path
    request: RequestName = ""  # instead of a call: what was asked of that peer
    status: Word = ""  # and the answer, as in Answer
    command: Comm = ""  # of a child of `pid` that ended so; the others tell why, where that is known
    exit_code: Count = 0  # as of wait(2)


class Stack(Line, tag="stack"):
    """One distinct stack: where CPU time was spent (kind "cpu") or a wait of `account` began (kind "wait").

    Equal stacks of a process are folded: `tid` is the first thread seen to wait with it.  CPU samples and
    sleeps are folded by thread, or where there are very many stacks of all threads together (0).
    """

    kind: Word
    pid: Count
    tid: Count
    account: Account
    object: Object
    count: Count
    weight_ns: Nanoseconds
    kernel: Frames  # function names, innermost first; may be empty; "code without a symbol": of a compiled filter
    user: Frames  # "function (module)" or "0x.. (module)", innermost first
    # functions found by scanning the top of the user stack: hints where frames are missing
    scan: Scan = []
    # of an interpreter, the functions of its script: "function (path:line)", innermost first; "0x..": without a name
    script: Script = []
    # of `count`, how many over 10 ms after a thread that serves took up or answered a request last, or idled
    long_turn_count: Count = 0


class PeerStack(Stack, tag="peer_stack"):
    """The same of a process outside of the target that ends its waits."""


class Interpreter(Line, tag="interpreter"):
    """A file that processes of the target have mapped, which runs scripts."""

    file: Object
    known: bool  # whether it is of a version whose scripts' functions can be read


class Unnamed(Line, tag="unnamed"):
    """Addresses of user stacks that have no name because their file could not be read, or not in time."""

    file: Object  # "": not known, or one of those without room
    reason: Word
    addresses: Count


class Operation(Line, tag="operation"):
    """One kind of operation (today: a system call that blocked) with the exact ledger of its own time."""

    name: Object
    count: Count
    errors: Count
    sum_ns: Nanoseconds
    max_ns: Nanoseconds
    buckets: Buckets
    over_slo: Count
    accounts: AccountSums
    over_slo_accounts: AccountSums = []
