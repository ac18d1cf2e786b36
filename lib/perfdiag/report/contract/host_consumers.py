"""The processes of a recording of the whole host."""

from perfdiag.report.contract.base import Part, Untrusted


class Consumer(Part, frozen=True, kw_only=True):
    """One process of a host; pid 0: all processes of that name that have no entry of their own."""

    pid: int
    comm: Untrusted
    kernel: bool  # a kernel thread, or all of that name
    threads: int | None  # that ran or waited; None: not counted here
    ns: int
    share: float  # of the account


class Consumers(Part, frozen=True, kw_only=True):
    """The processes with most time of one account on a host, the largest first."""

    account: str
    ns: int
    consumers: list[Consumer]
    behind: list[Consumer]  # of runq.busy: who had the CPU meanwhile


class Everyone(Part, frozen=True, kw_only=True):
    """The largest consumers in a recording of the whole host, and what the recording leaves out."""

    left_out: int | None  # threads that slept all along, whose time is idle; None: not counted
    consumers: list[Consumers]
