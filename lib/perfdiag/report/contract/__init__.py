"""The report as data: what --json prints and what other programs may rely on (ARCHITECTURE, "The JSON report").

Times are nanoseconds, shares are of the target's busy time, those of findings of `request_time` if there is one (0 to
1), None is "unknown" and never zero. Percentiles (p50_ns, p90_ns, p99_ns) are interpolated in a log2 histogram: each is
right to a factor of two; sums, counts and maxima are exact. Texts that hold names of the target are `Untrusted`:
printable, but chosen by the target.
"""

from perfdiag.report.contract.accounts import Account, Operation, Releaser, Stack, Thread, Waiting, Work
from perfdiag.report.contract.base import Part, Untrusted
from perfdiag.report.contract.coverage import Cost, Coverage, GivenUp, Program, Threshold
from perfdiag.report.contract.findings import Checked, Evidence, Finding, NotMeasured, Other, Remedy, Verdict
from perfdiag.report.contract.guest_host import Exits, HostFinding, HostSide, HostTime
from perfdiag.report.contract.host_consumers import Consumer, Consumers, Everyone
from perfdiag.report.contract.jvm import JavaCollector, JavaMachine, JavaPool
from perfdiag.report.contract.requests import Call, NamedCall, Percentiles, Request, RequestTime, Sample, Silent, Unread
from perfdiag.report.contract.statements import LongestStatement, SqlCall, Statement
from perfdiag.report.contract.target import (
    Application,
    Host,
    KernelSaid,
    Process,
    Target,
    UnusualSetting,
    Window,
)

SCHEMA_VERSION = 1


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
    thresholds: list[Threshold] = []  # that the configuration sets
    stacks: list[Stack] = []  # the heaviest of each account
    everyone: Everyone | None = None  # of a recording of the whole host
    host_side: HostSide | None = None  # of a guest whose host was recorded too
    java_machines: list[JavaMachine] = []  # of the target, by their own counters
    statements: list[Statement] = []  # of SQL, that servers of the target ran
    sql_calls: list[SqlCall] = []  # statements that the target sent
    answered: Percentiles | None = None  # all requests that the target served, whatever their name
    sample: Sample | None = None  # None: all of them were followed
    few_timed: bool = False  # most messages may be no requests, or several at once: `answered` tells of few
    requests: list[Request] = []  # that the target served
    unread: list[Unread] = []  # requests that nobody had read in the end
    silent: list[Silent] = []  # connections that may hold a question from before the window
    calls: list[Call] = []  # that it made
    named_calls: list[NamedCall] = []  # of these, those whose text shows what they ask for
    request_time: RequestTime | None = None  # the whole of all shares of findings; None: that is `busy_ns`
    unusual_settings: list[UnusualSetting] = []  # those that bear on most time first
    kernel_log: list[KernelSaid] = []  # troubles, in the order in which the kernel first said them


__all__ = [
    "SCHEMA_VERSION",
    "Account",
    "Application",
    "Call",
    "Checked",
    "Consumer",
    "Consumers",
    "Cost",
    "Coverage",
    "Everyone",
    "Evidence",
    "Exits",
    "Finding",
    "GivenUp",
    "Host",
    "HostFinding",
    "HostSide",
    "HostTime",
    "JavaCollector",
    "JavaMachine",
    "JavaPool",
    "KernelSaid",
    "LongestStatement",
    "NamedCall",
    "NotMeasured",
    "Operation",
    "Other",
    "Percentiles",
    "Process",
    "Program",
    "Releaser",
    "Remedy",
    "Report",
    "Request",
    "RequestTime",
    "Sample",
    "Silent",
    "SqlCall",
    "Stack",
    "Statement",
    "Target",
    "Thread",
    "Threshold",
    "Unread",
    "UnusualSetting",
    "Verdict",
    "Waiting",
    "Window",
    "Work",
]
