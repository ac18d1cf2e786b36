"""What a finding is, and the rule that makes it.  A rule is a pure function of a `Model`; it never prints."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from enum import Enum
from functools import partial

from perfdiag.model.model import Model


class Severity(Enum):
    """INFO is profile (departs from no norm) and stands below every fault."""

    CRITICAL = "critical"
    WARNING = "warning"
    INFO = "info"


class Confidence(Enum):
    """Never HIGH on sampled or subtracted numbers without their error."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Role(Enum):
    """What the threads are for that suffer a finding; BACKGROUND only where all of them are and others serve."""

    SERVING = "serving"
    BACKGROUND = "background"
    UNKNOWN = "unknown"  # or different ones


class Mechanism(Enum):
    """How a finding's cause takes time: what decides about a finding asks this, never its sentences."""

    SLOW = "slow"  # what is waited for takes longer than its norm
    MANY = "many"  # each is fast: their number costs
    LARGE = "large"  # each is fast: how much each brings or takes costs
    ABOVE = "above"  # a layer above what is waited for, or a limit there, holds requests up
    BUSY = "busy"  # what is wanted is in use: a CPU, a lock, a disk, a worker
    LIMIT = "limit"  # a setting, or a capacity that is used up, holds it back
    SLEEP = "sleep"  # it, or whoever is waited for, sleeps on a timer
    STOPPED = "stopped"  # a signal, a debugger or a freezer stopped it
    ONE_THREAD = "one_thread"  # one thread runs all the time, and is the limit
    WORK = "work"  # CPU time of work that is done
    OTHERS = "others"  # a wait for somebody else that departs from no norm
    FAILED = "failed"  # an error, a loss, a refusal, a kill
    MISSED = "missed"  # an objective was missed: why, other findings tell
    UNDETERMINED = "undetermined"  # the finding itself cannot tell its cause


class Relation(Enum):
    """What somebody else has to do with a finding."""

    COMPETITOR = "competitor"  # had the CPU, or the disk
    HOLDER = "holder"  # has the lock
    PEER = "peer"  # should answer, read, or give work
    WRITER = "writer"  # fills memory with what has to be written
    CHILD = "child"
    VICTIM = "victim"  # was killed
    TRACER = "tracer"  # stops the target with ptrace(2)


@dataclass(frozen=True)
class Other:
    """A process or thread that a finding names, so that something can be done about it."""

    pid: int  # 0: not known
    comm: str
    relation: Relation


class EvidenceKind(Enum):
    """What a piece of evidence is, for whoever lays it out."""

    NUMBER = "number"
    WAITS = "waits"  # a distribution: sum, count, quantiles
    FUNCTIONS = "functions"  # names code of the target, from sampled stacks
    CALLS = "calls"  # names the path of calls that leads to most of it


class RemedyKind(Enum):
    """TRY is reversible and names undo and present value; RISKY says what it can lose and never stands first."""

    TRY = "try"
    FIX = "fix"
    RISKY = "risky"


@dataclass(frozen=True)
class Remedy:
    """One thing to do about a finding."""

    kind: RemedyKind
    text: str
    undo: str = ""  # required for TRY
    present_value: str = ""  # required for TRY
    risk: str = ""  # required for RISKY


class OtherCause(str):
    """What else could explain a finding, where other rules look for it."""

    __slots__ = ("ids", "unseen")
    ids: tuple[str, ...]
    unseen: str


def other_cause(text: str, *ids: str, unseen: str = "") -> OtherCause:
    """Return such a cause, the rules that look for it, and the part of it that these cannot see."""
    cause = OtherCause(text)
    cause.ids, cause.unseen = ids, unseen
    return cause


_LOST = "packets are lost on the way"
LOST_PACKETS = other_cause(_LOST, "NET-RETRANSMITS")
LOST_ANSWERS = other_cause(
    _LOST, "NET-RETRANSMITS", unseen="answers are lost on the way, which only the peer can count"
)


@dataclass(frozen=True)
class Evidence:
    """One number that carries the claim."""

    text: str  # "p50 4.1 ms, p99 9.8 ms over 1,310 flushes on vda"
    value: float
    unit: str  # "ns", "count", "share", "Hz", ...
    probe: str  # where it was measured: "ledger", "block_rq_complete", "/proc/pressure/io"
    error: float | None = None  # half width in `unit`, where the number is sampled or subtracted
    kind: EvidenceKind = EvidenceKind.NUMBER
    without_sum: str = ""  # of waits: the text without their time in all, "1,310 flushes on vda, p50 4.1 ms"


Claim = str | tuple[str, str]  # an account, or an account and a key of `Row`
Claims = Mapping[Claim, int]  # in ns


def account_of(claim: Claim) -> str:
    """Return the account of what is claimed: all of an account, or what was waited for in it."""
    return claim if isinstance(claim, str) else claim[0]


@dataclass(frozen=True)
class Finding:
    """A cause with its share of the target's busy time.

    `claims` says which nanoseconds the finding wants: account, or (account, key of `Row`), to ns.  `settle`
    (in claims.py) grants each nanosecond once, the most specific finding first, and sets what stands below `verify`.
    """

    id: str
    severity: Severity
    confidence: Confidence
    claim: str  # what is the case in detail: one or two sentences, no newline
    claims: Claims
    evidence: Sequence[Evidence]
    remedies: Sequence[Remedy]
    ruled_out: Sequence[str] = ()
    alternatives: Sequence[str] = ()  # what else could explain it
    limits: Sequence[str] = ()  # what lowers the confidence
    verify: str = ""
    returns: str = ""  # a sentence on what a fix gives back, where that is not simply the time it claims
    weight: float = 0  # of several of one rule, where time does not tell them apart: the larger stands first
    is_root: bool = False  # others waited behind it, and it claims their time too: set by `with_paths` (wait_paths.py)
    claimed_ns: int = 0
    idle_ns: int = 0  # what it was granted of idle time, which no share counts
    share: float = 0.0
    of: str = ""  # what it is a share of: "busy time", "request time"; set by `settle` too
    threads: Sequence[str] = ()  # names of those that suffer it, set by `settle` too
    role: Role = Role.UNKNOWN
    others: Sequence[Other] = ()  # whom it names, the one that matters most first
    peer: str = ""  # key of the peer that requests wait for in what it claims of no `Row`; "": that is nobody's alone
    _: KW_ONLY
    inside: bool = False  # who is waited for is the target's own, or it holds a lock meanwhile: that acquits nobody
    headline: str  # subject, active verb, cause: one plain sentence of about 75 characters, without its full stop
    mechanism: Mechanism

    @property
    def name(self) -> str:
        """What reports call it: the id of its rule, unless that would say something else than its headline."""
        return RULES[self.id].names.get(self.mechanism, self.id) if self.id in RULES else self.id

    @property
    def taken_ns(self) -> int:
        """What it was granted of busy and of idle time."""
        return self.claimed_ns + self.idle_ns


@dataclass(frozen=True)
class Check:
    """Something that was looked at and is fine, with the number that says so."""

    id: str
    text: str  # "run queue 0.3 % of busy time"
    number: float
    unit: str
    large: bool | None = None  # whether a reader should see it though it is no fault; None: a share that is felt is


@dataclass(frozen=True)
class Silence:
    """A rule could not decide because its input was not measured or was lost."""

    id: str
    reason: str
    fix: str


Outcome = Finding | Check | Silence


@dataclass(frozen=True)
class Rule:
    """A diagnosis: its documentation (perfdiag explain, perfdiag-findings(7)) and its function."""

    id: str
    title: str
    accounts: tuple[str, ...]  # the accounts it can name
    meaning: str
    measured: str  # what it joins, on which key, in which window
    alternatives: str
    remedies: str
    verify: str
    function: Callable[[Model], Iterable[Outcome]]
    beats: tuple[str, ...] = ()  # ids of the rules that get of the same time only what it leaves
    one_process: bool = False  # what it asks has no answer for a host: whose thread, descriptors, sockets, child
    multiplier: bool = False  # it makes each nanosecond longer instead of adding some
    elsewhere: bool = (
        False  # the cause is outside the target: if it is most of the time, the target is not the slow part
    )
    objective: bool = False  # it says that an objective was missed, which was asked for, and names no cause
    met: bool = True  # a real fault has shown it, in a test that makes one
    # What reports call its findings of a mechanism that its id does not fit. The id stays theirs in JSON, for runbooks
    # and for `perfdiag explain`, which knows both.
    names: Mapping[Mechanism, str] = field(default_factory=dict)

    @property
    def how_measured(self) -> str:
        """How it is measured, and whether that was ever tried on a real fault."""
        return self.measured if self.met else f"{self.measured} {NEVER_MET}"

    @property
    def also_called(self) -> str:
        """What else reports call it, as sentences; "" if they do not."""
        return " ".join(f"Reports call it {name} where {_where(each, name)}." for each, name in self.names.items())


def _where(mechanism: Mechanism, name: str) -> str:
    noun = name.split("-")[1].lower()  # "reads" of DISK-READS-MANY
    return _WHERE[mechanism].format(noun=noun)


_WHERE = {
    Mechanism.MANY: "{noun} are fast, and there are too many of them",
    Mechanism.LARGE: "{noun} begin soon, and are long",
    Mechanism.ABOVE: "{noun} take longer than the disk needs for them",
    Mechanism.STOPPED: "somebody asks for the stops",
}
NEVER_MET = "Never met on real hardware: only recordings made for tests have shown it."
RULES: dict[str, Rule] = {}


def rule(
    id: str,
    *,
    title: str,
    accounts: tuple[str, ...],
    meaning: str,
    measured: str,
    alternatives: str,
    remedies: str,
    verify: str,
    beats: tuple[str, ...] = (),
    one_process: bool = False,
    multiplier: bool = False,
    elsewhere: bool = False,
    objective: bool = False,
    met: bool = True,
    names: Mapping[Mechanism, str] | None = None,
    needs: tuple[str, str] | None = None,
    whole: bool = False,
) -> Callable[[Callable[[Model], Iterable[Outcome]]], Callable[[Model], Iterable[Outcome]]]:
    """Register the decorated function as the rule `id`; ids are stable because runbooks link to them.

    `needs`: a feature of recordings, and why the rule is silent without it. `whole`: no sample of connections will do.
    """

    def register(function: Callable[[Model], Iterable[Outcome]]) -> Callable[[Model], Iterable[Outcome]]:
        if id in RULES:
            raise ValueError(f"finding id {id} is registered twice")

        RULES[id] = Rule(
            id,
            title,
            accounts,
            meaning,
            measured,
            alternatives,
            remedies,
            verify,
            partial(_outcomes, id, needs, whole, function),
            beats=beats,
            one_process=one_process,
            multiplier=multiplier,
            elsewhere=elsewhere,
            objective=objective,
            met=met,
            names=names or {},
        )
        return function

    return register


def _outcomes(
    id: str, needs: tuple[str, str] | None, whole: bool, function: Callable[[Model], Iterable[Outcome]], model: Model
) -> Iterable[Outcome]:
    if whole and (one_of := model.one_connection_in) > 1:
        reason = f"it needs all connections, and one in {one_of} was followed, to keep the cost low"
        return [Silence(id, reason, "--max-cost 100% follows all")]
    if needs and not model.measured(needs[0]):
        return [Silence(id, needs[1], model.would_measure(needs[0]))]
    return (outcome if outcome.id else replace(outcome, id=id) for outcome in function(model))


def is_elsewhere(finding: Finding) -> bool:
    """Return whether the cause of a finding is outside the target."""
    return not finding.inside and finding.id in RULES and RULES[finding.id].elsewhere


def is_objective(id: str) -> bool:
    """Return whether what a rule says is that an objective was missed, or kept."""
    return id in RULES and RULES[id].objective


def named(name: str) -> Rule | None:
    """Return the rule with an id, or whose findings have this name; None where there is none."""
    return RULES.get(name) or next((each for each in RULES.values() if name in each.names.values()), None)
