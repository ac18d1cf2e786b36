"""Who is granted which nanosecond: every one of them once, the most specific finding first.

A finding states what it *wants* (`Finding.claims`).  Several may want the same time: a slow flush, the full queue
that makes it slow and the cgroup limit that fills the queue.  `settle` grants in this order:

1. faults before profile (severity INFO), because a fact must not take time from its cause;
2. of faults, those first that are the root of what others waited for (wait_paths.py): a path is not its own cause;
3. a rule before every rule it beats, directly or through others (`Rule.beats`, precedence.py);
4. otherwise a fixed order of the findings' own content, so that the order in which rules ran never shows.

A multiplier (low clock, remote memory) makes each nanosecond longer instead of adding some: it is granted its
fraction of what is *left* of an account, so two multipliers never give back more than there is.
Idle time is granted in the same order, but apart (`Finding.idle_ns`): no share counts it.  Of "cannot tell"
accounts that is so for profile alone: no fault is made of them.

Of a target that serves requests (`Model.request_time`) the whole is their time, not that of its threads: of what a
finding wants of an account, it is granted the part that requests spent there.

Ranked is by the time granted, faults before profile, and what background threads alone suffer below the rest.  Idle
time makes only a fault larger: what most of the busy time is stands above where a target was idle.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from perfdiag.common.by_key import sums_by_key
from perfdiag.diagnosis.evidence.requests.fast_answers import (
    answering_ns,
    answers_fast,
    is_fast_server,
    no_answer_is_slow,
)
from perfdiag.diagnosis.evidence.requests.parts_inside import parts_inside
from perfdiag.diagnosis.policy import general_policy
from perfdiag.diagnosis.precedence import levels
from perfdiag.diagnosis.rule import Claim, Confidence, Finding, Role, Rule, Severity, account_of
from perfdiag.diagnosis.rules import RULES
from perfdiag.diagnosis.thread_roles import Roles
from perfdiag.model.model import Model
from perfdiag.model.requests.request_time import QUEUED
from perfdiag.model.share_denominator import counted, whole_accounts, whole_name, whole_ns
from perfdiag.recording.accounts import OF_CPUS, Kind, kind_of


@dataclass(frozen=True)
class Settlement:
    """The findings in the order of the report; `claims` of each now holds what was granted."""

    findings: Sequence[Finding]
    superseded: Sequence[Finding]  # true, but (nearly) all of their time has a more specific name
    unclaimed_ns: int


def settle(model: Model, findings: Iterable[Finding], rules: Mapping[str, Rule] = RULES) -> Settlement:
    """Grant the target's busy time to `findings` and rank them; the shares and `unclaimed_ns` add up to all of it."""
    purse, roles = _Purse(model), Roles(model)
    kept: list[Finding] = []
    superseded: list[Finding] = []
    for finding in _in_order(findings, rules):
        multiplies = finding.id in rules and rules[finding.id].multiplier
        granted = {
            claim: purse.grant(claim, wanted, part_of_rest=multiplies)
            for claim, wanted in sorted(finding.claims.items(), key=str)
        }
        total, wanted = sum(granted.values()), purse.worth(finding)
        idle_ns = sum(purse.grant_idle(account_of(claim), ns, finding) for claim, ns in finding.claims.items())
        taken = [claim for claim, ns in granted.items() if ns]
        threads, role = roles.of(taken)
        part = total / purse.whole_ns if purse.whole_ns else 0.0
        settled = replace(
            finding,
            severity=_felt(model, finding, part, total + idle_ns, partial(roles.read_requests, taken)),
            threads=threads,
            role=role,
            claims={claim: ns for claim, ns in granted.items() if ns},
            claimed_ns=total,
            idle_ns=idle_ns,
            share=part,
            of=whole_name(model),
        )
        idles = finding.severity is Severity.INFO and not wanted and any(each in purse.idle for each in finding.claims)
        if (wanted and total < general_policy.residue_share * wanted) or (idles and not idle_ns):
            purse.give_back(granted)
            superseded.append(replace(settled, claims={}, claimed_ns=0, share=0.0))
        else:
            kept.append(settled)
    return Settlement(sorted(kept, key=_rank), superseded, purse.left_ns)


def _felt(model: Model, finding: Finding, part: float, ns: int, read_requests: Callable[[], bool]) -> Severity:
    """Return the severity: what threads suffer warns of nothing where the requests hardly do, and where all requests
    are answered fast not for next to no time, nor where none of them reads requests, nor of waits where each was
    answered fast: a CPU that is used up leaves no room for more requests. Next to no time is also what could not be
    felt even if all of it were the requests'."""
    if not finding.claims or finding.severity is not Severity.WARNING:
        return finding.severity
    hardly = part < general_policy.fault_share if model.request_time else False
    if ns < general_policy.felt_of_threads_share * model.wall_ns:
        hardly |= ns < general_policy.fault_share * answering_ns(model) or answers_fast(model)
    elif model.request_time is None and is_fast_server(model):
        waits = not any(account_of(claim).startswith(OF_CPUS) for claim in finding.claims)
        hardly |= (waits and no_answer_is_slow(model)) or not read_requests()
    return Severity.INFO if hardly else finding.severity


class _Purse:
    """What nobody has been granted yet: of the target, of each account, and of each row."""

    def __init__(self, model: Model) -> None:
        self.accounts = whole_accounts(model)
        self.left_ns = self.whole_ns = whole_ns(model)
        self.account_ns = dict(self.accounts)
        idle = (name for name in model.accounts if not counted(name) and name not in self.accounts)
        self.idle = {name: model.ns(name) for name in idle}
        self.inside = parts_inside(model)
        rows = sums_by_key(
            ((row.account, row.key), self._inside((row.account, row.key), row.distribution.sum_ns))
            for row in model.rows
        )
        for reader, ns in model.request_time.queued.items() if model.request_time else ():
            rows[QUEUED, reader.account] += ns
        self.row_ns = rows  # tens of thousands, of which few are taken
        self.taken_ns: defaultdict[Claim, int] = defaultdict(int)

    def worth(self, finding: Finding) -> int:
        """Return what the finding would be granted if it were alone."""
        return sum(min(max(self._inside(claim, ns), 0), self._whole(claim)) for claim, ns in finding.claims.items())

    def grant(self, claim: Claim, wanted_ns: int, *, part_of_rest: bool) -> int:
        account = account_of(claim)
        left, whole = self.accounts.get(account, 0), self._whole(claim)
        if not isinstance(claim, str):
            left = min(left, self.row_ns.get(claim, 0) - self.taken_ns.get(claim, 0))
        left = min(left, self.left_ns)
        wanted_ns = min(max(self._inside(claim, wanted_ns), 0), whole)
        if part_of_rest and whole:
            wanted_ns = wanted_ns * left // whole
        granted = min(wanted_ns, left)
        self._take(claim, granted)
        return granted

    def grant_idle(self, account: str, wanted_ns: int, finding: Finding) -> int:
        proven = kind_of(account) is Kind.IDLE or finding.severity is Severity.INFO
        granted = min(max(wanted_ns, 0), self.idle.get(account, 0)) if proven else 0
        if granted:
            self.idle[account] -= granted
        return granted

    def give_back(self, granted: Mapping[Claim, int]) -> None:
        for claim, ns in granted.items():
            self._take(claim, -ns)

    def _inside(self, claim: Claim, ns: int) -> int:
        """Return the part of the threads' time in an account, or row, that counts."""
        if not self.inside:
            return ns
        part = self.inside.get(claim, self.inside.get(account_of(claim), 1.0))
        return ns if part == 1.0 else round(ns * part)

    def _whole(self, claim: Claim) -> int:
        if isinstance(claim, str):
            return self.account_ns.get(claim, 0)
        return min(self.row_ns.get(claim, 0), self.account_ns.get(claim[0], 0))

    def _take(self, claim: Claim, ns: int) -> None:
        if not ns:
            return
        self.left_ns -= ns
        self.accounts[account_of(claim)] -= ns
        if not isinstance(claim, str):
            self.taken_ns[claim] += ns


def _in_order(findings: Iterable[Finding], rules: Mapping[str, Rule]) -> list[Finding]:
    level = levels(rules)

    def key(finding: Finding) -> tuple[object, ...]:
        return (
            finding.severity is Severity.INFO,
            not finding.is_root,
            -level.get(finding.id, 0),
            _CONFIDENCE[finding.confidence],
            -sum(finding.claims.values()),
            finding.id,
            -finding.weight,
            finding.claim,
            sorted(map(str, finding.claims.items())),
        )

    return sorted(findings, key=key)


_CONFIDENCE = {Confidence.HIGH: 0, Confidence.MEDIUM: 1, Confidence.LOW: 2}
_SEVERITY = {Severity.CRITICAL: 0, Severity.WARNING: 1, Severity.INFO: 2}


def _rank(finding: Finding) -> tuple[object, ...]:
    return (
        finding.severity is Severity.INFO,
        finding.role is Role.BACKGROUND,
        -(finding.claimed_ns if finding.severity is Severity.INFO else finding.taken_ns),
        _SEVERITY[finding.severity],
        _CONFIDENCE[finding.confidence],
        finding.id,
        -finding.weight,
        finding.claim,
    )
