"""The accounts of the ledger: every nanosecond of a thread stands in exactly one of them."""

from dataclasses import dataclass
from enum import Enum

from perfdiag.common.text import printable


class Kind(Enum):
    """How the time of an account counts."""

    LATENCY = "latency"  # work, or waiting that somebody pays for
    IDLE = "idle"  # waiting for work: shown, never counted
    UNKNOWN = "unknown"  # waiting or idle, nothing proves which: its own line, counted as neither


@dataclass(frozen=True)
class Account:
    """One account."""

    name: str
    meaning: str
    phrase: str  # the row of a table: where a thread or a request was, in at most 25 letters
    kind: Kind = Kind.LATENCY
    object: str = ""  # what its rows name
    recorded: bool = True  # False: the kernel side knows no such account, evidence proves it afterwards
    of_requests: bool = False  # part of requests' time alone: no thread spends it
    explained: str = ""  # of an unknown one: what remains known of time that findings explain


_IDLE, _UNKNOWN = Kind.IDLE, Kind.UNKNOWN

# The order is the order of the enum in bpf/core/records.h; a test compares the two.
ACCOUNTS: tuple[Account, ...] = (
    Account("cpu.user", "running its own code", "own code on a CPU", object="hot stack"),
    Account("cpu.kernel", "running kernel code on its own behalf", "kernel code on a CPU", object="hot stack"),
    Account("cpu.irq", "current, but an interrupt or softirq had the CPU", "CPU lost to interrupts"),
    Account("cpu.stolen", "current in a guest whose virtual CPU was taken away", "CPU taken by hypervisor"),
    Account("vm.guest", "a virtual CPU running its guest", "inside the guest"),
    Account(
        "vm.exit", "a virtual CPU being served by the kernel or the emulator", "handling VM exits", object="reason"
    ),
    Account("vm.halt", "a virtual CPU whose guest is idle", "guest halted", _IDLE),
    Account("runq.busy", "runnable while its CPU ran somebody else", "waiting for a CPU", object="who ran"),
    Account("runq.waking", "runnable while its idle CPU woke up", "CPU waking from idle", object="idle state left"),
    Account(
        "runq.throttled",
        "runnable, but held back: its cgroup had used up its CPU quota, the thread what it had reserved, or the"
        " real-time threads of its CPU what is left to them",
        "held back by a CPU limit",
        object="cgroup or policy",
    ),
    Account("disk.read", "waiting for a read from a block device", "reading from disk", object="device"),
    Account("disk.write", "waiting for a write to a block device", "writing to disk", object="device"),
    Account(
        "disk.flush",
        "waiting until data was safe: fsync, journal commit, cache flush",
        "flushing to disk",
        object="device",
    ),
    Account("nfs.read", "waiting for data of an NFS server", "reading from NFS", object="mount"),
    Account("nfs.write", "waiting for an NFS server to take data", "writing to NFS", object="mount"),
    Account(
        "nfs.commit",
        "waiting until an NFS server has data safe: fsync, close, O_SYNC",
        "flushing to NFS",
        object="mount",
    ),
    Account("nfs.metadata", "waiting for NFS names and attributes", "NFS names, attributes", object="mount"),
    Account("nfs.lock", "waiting for an NFS lock", "waiting for an NFS lock", object="mount"),
    Account(
        "remote.fs",
        "waiting for a remote or user-space file system: FUSE, CIFS, 9p, Ceph, virtiofs",
        "remote file system",
        object="mount",
    ),
    Account("memory.reclaim", "freeing memory itself before it got any (CPU time included)", "freeing memory"),
    Account(
        "memory.compaction",
        "making room for large pages (CPU time included)",
        "moving memory pages",
        object="order of the size",
    ),
    Account(
        "memory.dirty_throttle",
        "paused because too many pages wait to be written",
        "too many dirty pages",
        object="device",
    ),
    Account("memory.swap_in", "waiting for its memory to come back from swap", "reading back from swap"),
    Account("memory.major_fault", "waiting for a mapped file's page to be read", "reading mapped files", object="file"),
    Account(
        "memory.cgroup",
        "stopped by its cgroup's memory limit",
        "at its memory limit",
        object="which limit: high or max",
    ),
    Account("lock.futex", "waiting for a user-space lock, shown by evidence", "waiting for a lock", object="futex"),
    Account("lock.file", "waiting for a file lock", "waiting for a file lock", object="file"),
    Account(
        "lock.kernel", "waiting for a lock inside the kernel", "waiting for a kernel lock", object="kernel function"
    ),
    Account(
        "wait.parked",
        "waiting on a futex, a semaphore or a queue, or for something unknown: blocked or idle, which is unknown",
        "blocked or idle, unknown",
        _UNKNOWN,
        object="futex or system call",
        explained="blocked",
    ),
    Account("net.connect", "waiting for a connection to be answered", "connecting to a peer", object="peer"),
    Account(
        "net.receive",
        "waiting for data from a peer, also by poll, select or epoll",
        "waiting for a peer",
        object="peer",
    ),
    Account("net.send", "waiting until a peer takes data", "sending to a peer", object="peer"),
    Account("ipc.pipe", "waiting for another process at a pipe", "waiting at a pipe", object="pipe"),
    Account("ipc.unix", "waiting for another process at a unix socket", "waiting at a unix socket", object="peer"),
    Account(
        "wait.io_uring",
        "waiting for completions of io_uring or libaio",
        "waiting for async I/O",
        object="in flight or uncounted",
    ),
    Account(
        "runtime.safepoint",
        "stopped by its own language runtime: at a safepoint, or until garbage is collected",
        "stopped by its runtime",
        object="why",
    ),
    Account(
        "wait.events", "waiting for events, work among them: poll, select, epoll, inotify", "waiting for events", _IDLE
    ),
    Account("wait.timer", "sleeping for a chosen time", "sleeping", _IDLE),
    Account("wait.child", "waiting for a child process", "waiting for a child", _IDLE),
    Account("wait.signal", "waiting for a signal", "waiting for a signal", _IDLE),
    Account("net.accept", "waiting for a connection to come in", "waiting for a connection", _IDLE, object="port"),
    Account(
        "net.request",
        "waiting for the next request on a connection it accepted",
        "waiting for a request",
        _IDLE,
        object="port",
    ),
    Account("wait.stopped", "stopped, traced or frozen", "stopped or frozen", _IDLE),
    Account(
        "kernel.other",
        "blocked in the kernel for a reason its object names",
        "blocked in the kernel",
        object="system call",
    ),
    Account(
        "lock.database",
        "waiting for a lock of a database, as the database says",
        "database lock",
        object="the database's name for it",
    ),
    Account("unexplained", "none of the above could be shown", "unexplained"),
    Account(
        "wait.work",
        "a thread of a language runtime or its pool, idle because there was nothing to do, or that waits for its turn"
        " to wait for work",
        "waiting for work",
        _IDLE,
        object="whose threads",
        recorded=False,
    ),
    Account(
        "request.queued",
        "it has arrived, and whoever serves is with others",
        "waiting to be read",
        recorded=False,
        of_requests=True,
    ),
    Account(
        "request.arriving",
        "its first byte has been read, and its last one has not come",
        "still arriving",
        recorded=False,
        of_requests=True,
    ),
    Account(
        "request.peers",
        "its calls are not answered yet: its thread serves other requests, or sleeps, until they are",
        "waiting for its calls",
        recorded=False,
        of_requests=True,
    ),
    Account(
        "request.untaken",
        "its answer fills the send buffer, and the client has not taken enough of it for more",
        "client not reading",
        recorded=False,
        of_requests=True,
    ),
    Account(
        "request.held",
        "it is answered, and this host's kernel keeps the end of the answer back",
        "answer held back here",
        recorded=False,
        of_requests=True,
    ),
    Account(
        "request.corked",
        "it is answered, and the end of the answer waits for more to be sent, or for its socket to be uncorked",
        "answer corked",
        recorded=False,
        of_requests=True,
    ),
    Account(
        "request.resent",
        "it is answered, and what was lost of the answer on the way is sent again",
        "answer lost and resent",
        recorded=False,
        of_requests=True,
    ),
    Account(
        "request.rest",
        "nothing here tells: another thread had it, or it waited for what no socket shows",
        "not followed",
        _UNKNOWN,
        explained="waiting",
        recorded=False,
        of_requests=True,
    ),
)

# Accounts that many modules ask for.
PARKED = "wait.parked"
TIMER = "wait.timer"
PIPE = "ipc.pipe"
OF_CPUS = ("cpu.", "runq.")  # how accounts begin of who has a CPU, or waits for one

BY_NAME: dict[str, Account] = {account.name: account for account in ACCOUNTS}


def kind_of(name: str) -> Kind:
    """Return how the time of an account counts: that of newer recorders, whose names are not known, as latency."""
    return BY_NAME[name].kind if name in BY_NAME else Kind.LATENCY


def phrase_of(name: str) -> str:
    """Return an account in words; of a newer recorder's, whose name is not known, that name."""
    return BY_NAME[name].phrase if name in BY_NAME else printable(name)


def explained_phrase_of(name: str) -> str:
    """Return in words where a thread was in time of an unknown account that findings explain; "" of all others."""
    return BY_NAME[name].explained if name in BY_NAME else ""
