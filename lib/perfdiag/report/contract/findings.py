"""Causes and what to do about them: the verdict, findings, and checks without a finding."""

from perfdiag.report.contract.base import Part, Untrusted


class Verdict(Part, frozen=True, kw_only=True):
    """One of five kinds: cause, causes, elsewhere (this process is not the slow part), profile, cannot tell."""

    kind: str
    text: Untrusted  # all sentences
    sentences: list[Untrusted]  # the most important first: who lacks room leaves out whole ones from the end
    tells: list[Untrusted]  # commands that would tell more
    doubt: Untrusted  # the first of them where that makes the whole recording unsure, else ""
    ids: list[str]  # the findings it speaks of
    of_all: Untrusted = ""  # of the sentences, the one on how long all requests took
    status: str = ""  # the same in one word: critical, warning, busy, ok, idle, cannot tell


class Evidence(Part, frozen=True, kw_only=True):
    """One number that carries a claim."""

    text: Untrusted
    value: float
    unit: str
    probe: str
    error: float | None
    kind: str = "number"  # number, waits (a distribution) or functions (code, from sampled stacks)
    without_sum: Untrusted = ""  # of waits that are as long in all as their finding's time: the text without that


class Other(Part, frozen=True, kw_only=True):
    """Another process or thread that a finding names; relation is competitor, holder, peer, writer, child or victim."""

    pid: int  # 0: not known
    comm: Untrusted
    relation: str


class Remedy(Part, frozen=True, kw_only=True):
    """One thing to do; kind is try, fix or risky."""

    kind: str
    text: Untrusted
    undo: Untrusted
    present_value: Untrusted
    risk: Untrusted


class Finding(Part, frozen=True, kw_only=True):
    """A cause; `share` is the most a remedy can save, and no time is in two findings."""

    id: str  # of its rule
    severity: str  # critical, warning, info
    share: float
    ns: int
    confidence: str  # high, medium, low
    headline: Untrusted  # the cause in one short sentence, without its full stop
    mechanism: (
        str  # slow, many, above, busy, limit, sleep, stopped, one_thread, work, others, failed, missed, undetermined
    )
    others: list[Other]  # the one that matters most first
    claim: Untrusted
    evidence: list[Evidence]
    ruled_out: list[Untrusted]
    alternatives: list[Untrusted]
    limits: list[Untrusted]  # what lowers the confidence
    remedy: list[Remedy]
    verify: Untrusted
    runbook: str | None
    accounts: dict[str, int] = {}  # what it claims, by account
    idle_ns: int = 0  # what it explains of idle time, which no share counts
    name: str = ""  # what reports call it, where that is not its id

    @property
    def shown(self) -> str:
        """What a reader is shown."""
        return self.name or self.id


class Checked(Part, frozen=True, kw_only=True):
    """A check without a fault, with its number; `fine`: the number is not large either."""

    id: str
    number: float
    unit: str
    text: Untrusted
    fine: bool = True


class NotMeasured(Part, frozen=True, kw_only=True):
    """What the report cannot know; `ids` are the findings without an answer because of it."""

    what: Untrusted
    reason: Untrusted
    fix: Untrusted
    ids: list[str]
    matters: bool = True  # to this report: it would tell something of where much of the time went
    given_up: bool = False  # in the window, to keep the budget (--max-cost)
