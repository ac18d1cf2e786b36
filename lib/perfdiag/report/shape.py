"""The report as data: what --json prints and what other programs may rely on (ARCHITECTURE, "The JSON report").

Times are nanoseconds, shares are of the target's non-idle time (0 to 1), None is "not known" and never zero.
Percentiles (p50_ns, p90_ns, p99_ns) are interpolated in a log2 histogram: each is right to a factor of two, sums,
counts and maxima are exact.
Texts that hold names of the target are `Untrusted`: made printable, but still somebody else's words.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

SCHEMA_VERSION = 1

Untrusted = Annotated[str, msgspec.Meta(extra_json_schema={"untrusted": True})]


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """Base of everything in a report."""


class Process(Part, frozen=True, kw_only=True):
    """One process of the target."""

    pid: int
    namespace_pid: int  # in its own pid namespace
    comm: Untrusted


class Target(Part, frozen=True, kw_only=True):
    """The first process that was asked for, and all of them."""

    command: Untrusted  # what was asked: "perfdiag latency --port 5432"; of a recording, what asks for the same again
    pid: int
    namespace_pid: int
    comm: Untrusted
    threads: int  # that have a ledger
    processes: list[Process]


class Window(Part, frozen=True, kw_only=True):
    """When was measured; `start` is wall-clock time, RFC 3339, UTC."""

    start: str
    duration_ns: int
    asked_ns: int  # 0: until told to stop
    ended: str  # why: duration, signal, command ended, targets gone, output closed, cut off


class Releaser(Part, frozen=True, kw_only=True):
    """The thread that ended most waits on a lock, and what its own ledger shows (shares of its wall time)."""

    tid: int
    comm: Untrusted
    count: int
    accounts: dict[str, float]


class Account(Part, frozen=True, kw_only=True):
    """One account and object of the whole target."""

    account: str
    object: Untrusted
    kind: str  # latency, idle or unknown ("waiting or idle: cannot tell")
    ns: int
    share: float | None  # of latency accounts only
    count: int
    p50_ns: int | None
    p99_ns: int | None  # None below 300 waits
    max_ns: int
    released_by: Releaser | None = None  # of locks and parked threads
    code: Untrusted = ""  # the function most of its sampled waits began in


class Waiting(Part, frozen=True, kw_only=True):
    """A thread that sat in one wait, not an idle one, or was stopped, (nearly) all the time and still at its end."""

    pid: int
    tid: int
    comm: Untrusted
    account: str
    object: Untrusted
    at_least_ns: int
    code: Untrusted = ""  # the function it waits in


class Thread(Part, frozen=True, kw_only=True):
    """One thread; tid 0 is a fold of threads that ended."""

    pid: int
    tid: int
    namespace_tid: int
    comm: Untrusted
    threads: int
    exited: bool
    wall_ns: int
    accounts: dict[str, int]


class Stack(Part, frozen=True, kw_only=True):
    """One sampled stack, innermost function first; `share` is of the sampled time of its account."""

    account: str
    object: Untrusted
    pid: int
    ns: int
    count: int
    share: float
    kernel: list[Untrusted]
    user: list[Untrusted]
    callers: list[Untrusted]  # found by a scan of the stack: hints, any of which an earlier call may have left


class Operation(Part, frozen=True, kw_only=True):
    """One kind of operation with the exact books of its own time."""

    name: Untrusted
    count: int
    errors: int
    per_second: float
    p50_ns: int | None
    p90_ns: int | None
    p99_ns: int | None  # None below 300 operations
    max_ns: int
    rarity_unseen: float | None  # 3/n: what is rarer may well have been missed by this window
    over_slo: int | None
    accounts: dict[str, int]
    slowest: dict[str, int]  # accounts of the operations over the SLO


class Work(Part, frozen=True, kw_only=True):
    """Work done in the window."""

    name: str
    amount: int
    unit: str


class Evidence(Part, frozen=True, kw_only=True):
    """One number that carries a claim."""

    text: Untrusted
    value: float
    unit: str
    probe: str
    error: float | None


class Remedy(Part, frozen=True, kw_only=True):
    """One thing to do; kind is try, fix or risky."""

    kind: str
    text: Untrusted
    undo: Untrusted
    present_value: Untrusted
    risk: Untrusted


class Finding(Part, frozen=True, kw_only=True):
    """A cause; `share` is the most a remedy can give back, and no time is in two findings."""

    id: str
    severity: str  # critical, warning, info
    share: float
    ns: int
    confidence: str  # high, medium, low
    claim: Untrusted
    evidence: list[Evidence]
    ruled_out: list[Untrusted]
    alternatives: list[Untrusted]
    limits: list[Untrusted]  # what lowers the confidence
    remedy: list[Remedy]
    verify: Untrusted
    runbook: str | None


class Checked(Part, frozen=True, kw_only=True):
    """Looked at without finding a fault, with the number that says so; `fine`: none of its shares is large either."""

    id: str
    number: float
    unit: str
    text: Untrusted
    fine: bool = True


class NotMeasured(Part, frozen=True, kw_only=True):
    """What the report cannot know; `ids` are the findings that kept silent for it."""

    what: Untrusted
    reason: Untrusted
    fix: Untrusted
    ids: list[str]


class Coverage(Part, frozen=True, kw_only=True):
    """How far the report can be believed."""

    closed_error: float
    worst_thread_error: float
    unexplained_share: float
    cannot_tell_ns: int
    uncertain_share: float  # unexplained, lost and "cannot tell", against which the verdict is weighed
    cpu_split_error: float | None  # half width of the user part of cpu.*
    records: int
    lost: dict[str, int] | None  # None: the recording has no end, losses are not known
    stack_agreement: float | None
    stack_samples: int
    disagreements: list[tuple[str, str, int]]  # account, class of its kernel stack, ns
    complete: bool
    contradictions: list[str] = []  # what the recording says twice, and not the same


class Program(Part, frozen=True, kw_only=True):
    """Calibrated cost of one BPF program."""

    name: str
    runs: int | None  # None, here and below: not measured
    ns: int | None


class Cost(Part, frozen=True, kw_only=True):
    """What the recording took from the host."""

    cpu_ns: int
    rss_bytes: int | None
    probes: list[Program]


class Host(Part, frozen=True, kw_only=True):
    """Where was recorded."""

    name: Untrusted
    kernel: str
    machine: str
    cpus: int
    hypervisor: str | None


class Verdict(Part, frozen=True, kw_only=True):
    """One of five kinds: cause, causes, elsewhere (this process is not the slow part), profile, cannot tell."""

    kind: str
    text: Untrusted
    ids: list[str]  # the findings it speaks of


class Consumer(Part, frozen=True, kw_only=True):
    """One process of a host; pid 0: all processes of that name that have no entry of their own."""

    pid: int
    comm: Untrusted
    kernel: bool  # a kernel thread, or all of that name
    threads: int | None  # that ran or waited; None: not counted here
    ns: int
    share: float  # of the account


class Consumers(Part, frozen=True, kw_only=True):
    """Who has most of one account on a host, the largest first."""

    account: str
    ns: int
    consumers: list[Consumer]
    behind: list[Consumer]  # of runq.busy: who had the CPU meanwhile


class Everyone(Part, frozen=True, kw_only=True):
    """Of a recording of the whole host: its largest consumers, and whom the books leave out."""

    left_out: int | None  # threads that slept all along, whose time is idle; None: not counted
    consumers: list[Consumers]


class HostTime(Part, frozen=True, kw_only=True):
    """Time of some of an emulator's threads in one account; `share` is of all time of these threads."""

    account: str
    ns: int
    share: float


class Exits(Part, frozen=True, kw_only=True):
    """What a guest was left for, as its host saw it."""

    reason: str  # of the processor, "HLT"; the device where one was touched: "IDE disk"
    emulated: bool  # the emulator in user space was asked, not the kernel alone
    count: int
    away_ns: int  # from exit to entry, less the time that the guest was idle
    running_ns: int  # of it on a CPU
    polled_ns: int  # of that, waiting for the end of a halt without sleeping


class HostFinding(Part, frozen=True, kw_only=True):
    """A finding of the host's own recording; `share` is of the emulator's busy time: never to be added to another."""

    id: str
    severity: str
    share: float
    ns: int
    claim: Untrusted


class HostSide(Part, frozen=True, kw_only=True):
    """Of a guest whose host was recorded too: what that saw of the whole guest, in its own window."""

    host: Host
    pid: int
    comm: Untrusted
    window: Window
    overlap_ns: int  # of both windows, by wall clocks that nobody has compared
    virtual_cpus: int  # that ran or were halted
    wall_ns: int  # of these
    accounts: list[HostTime]  # of these, the largest first
    others: list[HostTime]  # busy time of the emulator's other threads
    exits: list[Exits]  # those first that kept the guest away longest
    findings: list[HostFinding]
    notes: list[Untrusted]  # what makes it doubtful that both belong together


class Report(Part, frozen=True, kw_only=True):
    """Everything a report says, however it is shown."""

    schema: int
    verdict: Verdict
    target: Target
    window: Window
    notes: list[Untrusted]  # what a reader must know about window and target before any number
    wall_ns: int
    busy_ns: int
    idle_ns: int
    work: list[Work]
    operations: list[Operation]
    accounts: list[Account]
    still_waiting: list[Waiting]
    threads: list[Thread]
    findings: list[Finding]
    unclaimed_ns: int
    unclaimed_share: float
    unclaimed: dict[str, int]  # by account
    checked: list[Checked]
    not_measured: list[NotMeasured]
    coverage: Coverage
    cost: Cost | None
    host: Host
    versions: dict[str, str]
    stacks: list[Stack] = []  # the heaviest of each account
    everyone: Everyone | None = None  # of a recording of the whole host
    host_side: HostSide | None = None  # of a guest whose host was recorded too


__all__ = [
    "SCHEMA_VERSION",
    "Account",
    "Checked",
    "Consumer",
    "Consumers",
    "Cost",
    "Coverage",
    "Everyone",
    "Evidence",
    "Exits",
    "Finding",
    "Host",
    "HostFinding",
    "HostSide",
    "HostTime",
    "NotMeasured",
    "Operation",
    "Process",
    "Program",
    "Releaser",
    "Remedy",
    "Report",
    "Stack",
    "Target",
    "Thread",
    "Verdict",
    "Waiting",
    "Window",
    "Work",
]
