"""Where the time went: accounts, threads, code and operations."""

from collections.abc import Mapping

from perfdiag.report.contract.base import Part, Untrusted


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
    phrase: str = ""  # the account in words: "waiting for a lock"
    released_by: Releaser | None = None  # of locks and parked threads
    code: Untrusted = ""  # the function most of its sampled waits began in


class Waiting(Part, frozen=True, kw_only=True):
    """A thread in one wait (not an idle one) or stopped for nearly the whole window, and still at its end."""

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
    accounts: Mapping[str, int]


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
    script: list[Untrusted] = []  # functions of the script that an interpreter ran
    callers: list[Untrusted]  # found by a scan of the stack: hints, any of which an earlier call may have left


class Operation(Part, frozen=True, kw_only=True):
    """One kind of operation with the exact accounts of its own time."""

    name: Untrusted
    count: int
    errors: int
    per_second: float
    p50_ns: int | None
    p90_ns: int | None
    p99_ns: int | None  # None below 300 operations
    max_ns: int
    rarity_unseen: float | None  # 3/n: what is rarer may well have been missed by this window
    limit_ns: int | None  # of --slo, for this name or for all
    over_slo: int | None
    accounts: dict[str, int]
    slowest: dict[str, int]  # accounts of the operations over the SLO


class Work(Part, frozen=True, kw_only=True):
    """Work done in the window."""

    name: str
    amount: int
    unit: str
