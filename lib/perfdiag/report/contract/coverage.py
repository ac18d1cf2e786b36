"""How far a report can be believed, and what it cost."""

from perfdiag.report.contract.base import Part


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


class Threshold(Part, frozen=True, kw_only=True):
    """A threshold that the configuration sets to something else than its default."""

    name: str  # "disk.timeout_ns"
    value: float
    default: float
    unit: str  # ns, s, bytes, share, times, count or "per second"


class Program(Part, frozen=True, kw_only=True):
    """Calibrated cost of one BPF program."""

    name: str
    runs: int | None  # None, here and below: not measured
    ns: int | None


class GivenUp(Part, frozen=True, kw_only=True):
    """A step that the recorder took to keep the budget."""

    feature: str  # "failed_calls"
    what: str  # in words
    after_ns: int  # since the window began
    one_of: int  # of so many one is followed from then on; 0: none
    per_second: int | None = None  # requests, if these were too many, and not their cost
    share_before: float | None  # what the programs took of the target's CPU time just before, and after
    share_after: float | None  # None: not measured


class Cost(Part, frozen=True, kw_only=True):
    """What the recording took from the host."""

    cpu_ns: int | None
    rss_bytes: int | None
    probes: list[Program]
    max_share: float | None = None  # the budget, as a part of the target's CPU time; None: there was none
    share: float | None = None  # what the programs took of it since the last step; None: not measured
    kept: bool | None = None  # whether that is within the budget
    given_up: list[GivenUp] = []  # to keep it, in the order of time
    of_target: float | None  # part of the target's CPU samples inside perfdiag's own probes; None: not sampled
