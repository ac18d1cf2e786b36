"""The recording: one JSON object a line, and the only place where recorder and Python meet.

Every line has a ``type``.  All times are nanoseconds of CLOCK_MONOTONIC unless the name says otherwise.
Sums are cumulative since the start of the window, so a lost or cut-off line costs freshness, never truth.
Names that come from the target (comm, paths, functions, peers) are hostile bytes: see `UNTRUSTED_FIELDS`.
The prose twin of this module is perfdiag-recording(5); a test compares the two.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

SCHEMA_VERSION = 1

LARGEST = 2**63 - 1  # what is more has wrapped or was forged, and no sum of such lines would fit a float
Nanoseconds = Annotated[int, msgspec.Meta(ge=0, le=LARGEST)]
Count = Annotated[int, msgspec.Meta(ge=0, le=LARGEST)]
Buckets = list[tuple[Annotated[int, msgspec.Meta(ge=0, le=31)], Count]]  # (bucket index, count), empty ones left out

UNTRUSTED_FIELDS = frozenset(
    {"comm", "waker_comm", "by_comm", "text", "kernel", "user", "scan", "object", "name", "path", "local"}
)


class Line(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    """Common base: unknown fields are ignored, so that an older reader reads a newer minor recording."""


class AccountSum(msgspec.Struct, frozen=True, array_like=True):
    """One account of one thread (or sum of threads): ``[account, sum_ns, count, max_ns]``."""

    account: str
    sum_ns: Nanoseconds
    count: Count
    max_ns: Nanoseconds


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """What uname(2) and sysconf(3) say of the recorded host."""

    nodename: str
    release: str
    machine: str
    cpus_online: Count
    page_size_bytes: Count
    tick_ns: Nanoseconds


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What the recorder was asked for."""

    duration_ns: Nanoseconds  # 0: until told to stop
    interval_ns: Nanoseconds
    descendants: bool
    stacks: str  # "sampled" or "all"
    slo_ns: Nanoseconds | None = None
    host: bool = False  # all tasks of the host were followed, kernel threads too


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """One process the recording was started on."""

    pid: Count
    namespace_pid: Count  # the pid inside the innermost pid namespace
    comm: str


class Probe(msgspec.Struct, frozen=True, kw_only=True):
    """One BPF program, attached or not; `feature` is the part of the ledger that is lost without it."""

    name: str
    hook: str
    feature: str
    attached: bool
    reason: str | None = None  # why not attached


class Header(Line, tag="header"):
    """First line of every recording."""

    schema: Count
    perfdiag: str
    engine: str  # "libbpf"
    realtime_ns: Nanoseconds  # wall-clock time of start_ns
    start_ns: Nanoseconds
    host: Host
    options: Options
    targets: list[Target]
    probes: list[Probe]


class Fact(Line, tag="fact"):
    """One small file of /proc or /sys as it was read, or why it could not be.

    A symbolic link is recorded with its destination as text, a directory as "N inode M": entries and inode number.
    What is below /cpuid is no file: the CPUID instruction told it, in a guest; /sock_diag/nfs is sock_diag(7)'s answer.
    """

    at_ns: Nanoseconds
    phase: str  # "begin", "series" or "end"
    path: str
    text: str | None = None
    error: str | None = None
    truncated: bool = False  # only the beginning; of /dev/kmsg only the end


class OpenWait(msgspec.Struct, frozen=True, kw_only=True):
    """The account a thread was in when its row was written (already included in its sums)."""

    account: str
    object: str
    since_ns: Nanoseconds


class FutexSum(msgspec.Struct, frozen=True, array_like=True):
    """Time parked on one futex by one thread: ``[object, sum_ns, count, waker_tid]`` (as in Detail)."""

    object: str
    sum_ns: Nanoseconds
    count: Count
    waker_tid: Count


class Thread(Line, tag="thread"):
    """One thread's ledger so far.  The last row of a serial counts."""

    at_ns: Nanoseconds
    serial: Count  # unique in the recording; tids can be reused
    pid: Count
    tid: Count
    namespace_tid: Count
    comm: str
    state: str  # "alive" or "exited"
    start_ns: Nanoseconds
    wall_ns: Nanoseconds
    user_ns: Nanoseconds  # tick-sampled by the kernel: only for the split of cpu.*
    kernel_ns: Nanoseconds
    accounts: list[AccountSum]
    open: OpenWait | None = None
    futexes: list[FutexSum] = []


class Exited(Line, tag="exited"):
    """Threads that ended in the window and have no row of their own, folded by the comm of their process."""

    at_ns: Nanoseconds
    comm: str
    threads: Count
    processes: Count
    wall_ns: Nanoseconds
    user_ns: Nanoseconds
    kernel_ns: Nanoseconds
    accounts: list[AccountSum]


class Process(Line, tag="process"):
    """Of a recording of the host: the threads of one process that have no row of their own, added up.

    Kernel threads of one name are one process, under the pid of the first one met.  `pid` 0 are the processes of one
    name that have no line of their own.
    """

    at_ns: Nanoseconds
    pid: Count
    comm: str
    kernel: bool  # kernel threads
    threads: Count
    processes: Count
    wall_ns: Nanoseconds
    user_ns: Nanoseconds
    kernel_ns: Nanoseconds
    accounts: list[AccountSum]


class Interval(Line, tag="interval"):
    """Cumulative sums of the whole target at one moment."""

    at_ns: Nanoseconds
    threads: Count
    wall_ns: Nanoseconds
    accounts: list[AccountSum]


class Detail(Line, tag="detail"):
    """One account and object of one process (pid 0: exited processes), with its distribution.

    Bucket 0 counts waits below 256 ns, bucket i those in [2**(i+7), 2**(i+8)) ns, bucket 31 all longer ones.
    """

    pid: Count
    account: str
    object: str  # "", "device:254:0", "peer:10.0.0.1:5432", "task:123:comm", "cgroup:42", ... see objects.py
    sum_ns: Nanoseconds
    count: Count
    max_ns: Nanoseconds
    buckets: Buckets
    waker_tid: Count = 0  # who ended most of these waits or, of locks, had it longest meanwhile; 0: unknown or timer
    waker_count: Count = 0  # how many of `count` are known to be due to it, at least
    waker_pid: Count = 0  # its process, in a recording of the host; 0: not known
    waker_comm: str = ""  # its name when the window ended, where it can be another process's


class Stack(Line, tag="stack"):
    """One distinct stack: where CPU time was spent (kind "cpu") or a wait of `account` began (kind "wait").

    Equal stacks of a process are folded: `tid` is the first thread seen with it.
    """

    kind: str
    pid: Count
    tid: Count
    account: str
    object: str
    count: Count
    weight_ns: Nanoseconds
    kernel: list[str]  # function names, innermost first; may be empty
    user: list[str]  # "function (module)" or "0x.. (module)", innermost first
    scan: list[str] = []  # functions found by scanning the top of the user stack: hints where frames are missing


class Device(Line, tag="device"):
    """Requests of one block device and operation, whoever asked; queue and service time from the request itself."""

    device: str  # "254:0"
    operation: str  # read, write, flush, discard, other
    count: Count
    errors: Count
    bytes: Count
    queue_ns: Nanoseconds
    service_ns: Nanoseconds
    max_ns: Nanoseconds
    queue_buckets: Buckets
    service_buckets: Buckets


class FileRead(Line, tag="file_read"):
    """A file the target read that was not (all) in memory: by read(2) and the like, or by a fault of a mapping."""

    object: str  # as in Detail
    bytes: Count  # brought into the page cache by the target's threads, read-ahead included
    waits: Count  # for a read; faults stand in the details of memory.major_fault
    sum_ns: Nanoseconds  # of these waits
    size_bytes: Count  # of the file when it was last brought in; 0: nothing was


class Writeback(Line, tag="writeback"):
    """Dirty pages of one backing device, seen each time a writer to it (anybody's) was held to the limit."""

    device: str  # "254:0"; of a network file system "0:45"
    cgroup: Count  # inode number of the memory cgroup whose pages they are; 0: not told apart
    rounds: Count
    dirty_bytes: Count  # the most at any time, dirty or being written
    written_bytes: Count  # between the first time and the last
    span_ns: Nanoseconds


class Dirtier(Line, tag="dirtier"):
    """A thread, of the target or not, that was held to the limit of dirty pages while writing to a device."""

    device: str
    pid: Count
    tid: Count
    comm: str  # of its process
    rounds: Count
    bytes: Count  # dirtied by it, since it was last held to the limit before


class Socket(Line, tag="socket"):
    """A TCP socket the target waited on, as last seen when a wait on it began."""

    object: str  # as in Detail
    local: str
    rtt_us: Count
    minimum_rtt_us: Count
    congestion_window: Count
    in_flight: Count
    send_window_bytes: Count
    receive_window_bytes: Count
    retransmits: Count  # of this connection since it was opened
    retransmits_seen: Count  # inside the window
    waits_congestion: Count
    waits_receiver: Count
    waits_buffer: Count
    waits_unasked: Count | None = None  # to receive, nothing written on the same connection since the wait before


class Rpc(Line, tag="rpc"):
    """Remote procedure calls of one NFS mount and procedure, whoever caused them, from the kernel's own clocks."""

    object: str  # "mount:0:45"; "server:10.0.0.5" where the mount is not known
    program: str  # "nfs", "nlm" (locks of NFS 3), "nfsacl"
    version: Count  # of the program
    procedure: str  # "WRITE", "COMMIT", ...
    count: Count
    errors: Count  # calls that ended without an answer, or with one that the kernel calls an error
    retransmits: Count
    bytes_sent: Count
    bytes_received: Count
    queue_ns: Nanoseconds  # in the client: from the call until it was sent
    wire_ns: Nanoseconds  # from sent to answered: the network both ways, and the server
    reply_ns: Nanoseconds  # in the client: from the answer until the call was done
    max_ns: Nanoseconds  # the longest call, all three together
    queue_buckets: Buckets
    wire_buckets: Buckets


class NfsFlush(Line, tag="nfs_flush"):
    """Flushes of files on one NFS mount by threads of the target, from begin to end; see `commits` for the kind."""

    object: str  # "mount:0:45"
    cause: str  # the system call: "fsync", "close", ...; "" where it is not known
    count: Count
    sum_ns: Nanoseconds
    max_ns: Nanoseconds
    buckets: Buckets
    commits: Count  # COMMITs of these files begun meanwhile, whoever began them (two flushes at once both count them)
    writes: Count  # WRITEs, likewise
    stable_writes: Count  # of them those that the server must not answer before the data is safe (FILE_SYNC)
    bytes: Count  # of all WRITEs


class NfsServer(Line, tag="nfs_server"):
    """Requests that this host's own NFS server served, whoever asked, by procedure; of NFS 4 also each operation."""

    program: str
    version: Count
    procedure: str
    count: Count
    sum_ns: Nanoseconds  # from taken up by a thread of the server until answered
    max_ns: Nanoseconds
    buckets: Buckets


class Cpu(Line, tag="cpu"):
    """One CPU that threads of the target ran on: for how long, at which clock, and how the CPU slept in the window."""

    cpu: Count
    ran_ns: Nanoseconds
    clock_ns: Nanoseconds  # of ran_ns: since its clock was set for the first time in the window
    clock_cycles: Count  # in clock_ns, at the clocks that were asked for
    clock_changes: Count
    idle: list[tuple[Count, Count, Nanoseconds]]  # (index of the idle state, how often it was left, time in it)
    clock_ticks: Count = 0  # at whose end the target ran; 0: not counted, likewise the next two
    delivered_cycles: Count = 0  # APERF
    rated_cycles: Count = 0  # MPERF


class VmExit(Line, tag="vm_exit"):
    """Exits of the virtual CPUs of one process for one reason, at one device.

    An exit lasts until its guest goes on, or until user space turned to something else; time in which the guest was
    idle is not part of `sum_ns`, `max_ns` and `buckets`.  It is counted when its guest goes on.
    """

    pid: Count
    vendor: str  # whose exit codes these are: svm, vmx or arm64
    code: Count
    user: bool  # the emulator in user space was asked to handle it
    device: str  # the port or page that was touched: "port:0x3f8", "mmio:0xfee00000", or ""
    count: Count
    sum_ns: Nanoseconds
    max_ns: Nanoseconds
    running_ns: Nanoseconds  # of sum_ns, on a CPU (vm.exit); in the rest it waited
    halted_ns: Nanoseconds  # the guest was idle (vm.halt)
    polled_ns: Nanoseconds  # of running_ns, waiting for the end of a halt without going to sleep
    buckets: Buckets


class Calibration(Line, tag="calibration"):
    """In a guest, at the begin and at the end: how long a loop of a known number of cycles took on one CPU, and how
    late the recorder went on after sleeps of half a millisecond."""

    at_ns: Nanoseconds
    cycles: Annotated[int, msgspec.Meta(ge=1, le=LARGEST)]
    shortest_ns: Nanoseconds
    median_ns: Nanoseconds
    tries: Count
    late_shortest_ns: Nanoseconds | None = None  # None, here and below: no sleep was timed
    late_median_ns: Nanoseconds | None = None
    sleeps: Count = 0


class Operation(Line, tag="operation"):
    """One kind of operation (today: a system call that blocked) with the exact ledger of its own time."""

    name: str
    count: Count
    errors: Count
    sum_ns: Nanoseconds
    max_ns: Nanoseconds
    buckets: Buckets
    over_slo: Count
    accounts: list[AccountSum]
    over_slo_accounts: list[AccountSum] = []


class Event(Line, tag="event"):
    """Something rare and worth a line: a process replaced by exec, an OOM kill, descriptors refused."""

    at_ns: Nanoseconds
    name: str
    pid: Count
    tid: Count
    text: str
    by_pid: Count = 0  # of an OOM kill: the process that asked for memory; 0: not said
    by_comm: str = ""


class ProgramCost(msgspec.Struct, frozen=True, kw_only=True):
    """Calibrated cost of one BPF program over the window."""

    name: str
    runs: Count | None = None  # None, here and below: the kernel did not tell
    ns: Nanoseconds | None = None


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """What the recording itself took."""

    cpu_ns: Nanoseconds  # of the recorder's own threads
    resident_bytes: Count | None = None
    programs: list[ProgramCost]  # empty when none was measured


class Footer(Line, tag="footer"):
    """Last line; a recording without it was cut off and says so in its report."""

    at_ns: Nanoseconds
    reason: str  # "duration", "signal", "command ended", "targets gone", "output closed"
    threads_seen: Count
    lost: dict[str, Count]  # counter name -> records lost or look-ups failed; every known counter stands here
    cost: Cost
    threads_left_out: Count | None = None  # of a host: they never ran, so they have no books


# Counters of the footer that cost names or samples, or time that another clock then told; all others may have taken
# time of the books with them.
NO_TIME_LOST = frozenset(
    {
        "calls_skipped",
        "detail_full",
        "details",
        "devices_full",
        "dirtiers_full",
        "files_full",
        "names_full",
        "operations_full",
        "rpc_full",
        "stacks",
        "stacks_dropped",
        "stacks_failed",
        "switches_missing",
        "vm_exits_full",
        "wakeups_missing",
    }
)

AnyLine = (
    Header
    | Fact
    | Thread
    | Exited
    | Process
    | Interval
    | Detail
    | Stack
    | Device
    | Rpc
    | NfsFlush
    | NfsServer
    | Cpu
    | VmExit
    | FileRead
    | Writeback
    | Dirtier
    | Socket
    | Calibration
    | Operation
    | Event
    | Footer
)

__all__ = [
    "NO_TIME_LOST",
    "SCHEMA_VERSION",
    "UNTRUSTED_FIELDS",
    "AccountSum",
    "AnyLine",
    "Calibration",
    "Cost",
    "Cpu",
    "Detail",
    "Device",
    "Dirtier",
    "Event",
    "Exited",
    "Fact",
    "FileRead",
    "Footer",
    "FutexSum",
    "Header",
    "Host",
    "Interval",
    "Line",
    "NfsFlush",
    "NfsServer",
    "OpenWait",
    "Operation",
    "Options",
    "Probe",
    "Process",
    "ProgramCost",
    "Rpc",
    "Socket",
    "Stack",
    "Target",
    "Thread",
    "VmExit",
    "Writeback",
]
