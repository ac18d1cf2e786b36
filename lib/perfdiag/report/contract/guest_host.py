"""What the host of a guest saw of it."""

from perfdiag.report.contract.base import Part, Untrusted
from perfdiag.report.contract.target import Host, Window


class HostTime(Part, frozen=True, kw_only=True):
    """Time of some of an emulator's threads in one account; `share` is of all time of these threads."""

    account: str
    ns: int
    share: float


class Exits(Part, frozen=True, kw_only=True):
    """Why a guest was left, as its host saw it."""

    reason: str  # of the processor, "HLT"; the device where one was touched: "IDE disk"
    emulated: bool  # the emulator in user space was asked, not the kernel alone
    count: int
    away_ns: int  # from exit to entry, less the time that the guest was idle
    running_ns: int  # of it on a CPU
    polled_ns: int  # of that, waiting for the end of a halt without sleeping


class HostFinding(Part, frozen=True, kw_only=True):
    """A finding of the host's own recording; `share` is of the emulator's busy time and must not be added to others."""

    id: str
    severity: str
    share: float
    ns: int
    claim: Untrusted


class HostSide(Part, frozen=True, kw_only=True):
    """What the host's recording says of the whole guest, in its own window."""

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
