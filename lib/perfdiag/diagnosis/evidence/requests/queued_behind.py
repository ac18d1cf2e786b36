"""Requests that wait to be read because every possible reader is held up by a cause, with the request before.

A pool is full if all workers wait for one disk, one lock or slow clients; a loop that forks a large process is held up.
The cause is what the threads do, not the pool or the loop. Rules claim the time of threads; `with_queues` adds the time
of the requests that nobody read meanwhile. Only for causes that are a fault: otherwise the number of workers can be
changed. Not for waits for the answer to a call, or for a sleep: another worker would have read the request at once, so
that the pool is too small, or the loop must not wait itself. But if a thread holds what others wait for during such a
wait, another worker would wait behind it, too. Slow clients occupy any number of workers, and so do a few requests that
take far longer than the typical one.
"""

from collections.abc import Iterable
from dataclasses import replace

from perfdiag.common.units import duration
from perfdiag.diagnosis.evidence.locks.held_while_waiting import ANSWERS
from perfdiag.diagnosis.evidence.locks.wait_paths import by_pair
from perfdiag.diagnosis.evidence.requests.typical_requests import held_by, that_hold_workers
from perfdiag.diagnosis.policy import general_policy
from perfdiag.diagnosis.rule import RULES, Evidence, Finding, Severity, account_of
from perfdiag.model.model import Model
from perfdiag.model.requests.request_time import QUEUED, RequestTime
from perfdiag.recording.accounts import phrase_of

# Waits of a worker that take nothing from the others.
OF_ITS_OWN = (*ANSWERS, "wait.events", "wait.timer")


def with_queues(model: Model, findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings; causes that held up all readers claim the time of unread requests."""
    time = model.request_time
    if time is None or not time.queued:
        return list(findings)
    return [_with_queue(model, time, finding) for finding in findings]


def _with_queue(model: Model, time: RequestTime, finding: Finding) -> Finding:
    multiplies = finding.id in RULES and RULES[finding.id].multiplier  # what others are: it has no waits of its own
    if finding.severity is Severity.INFO or multiplies or any(account_of(each) == QUEUED for each in finding.claims):
        return finding
    behind: dict[str, int] = {}
    is_root, few = finding.is_root, [] if time.by.loop else that_hold_workers(model)
    for reader, ns in time.queued.items():
        is_cause = reader.behind or reader.account not in OF_ITS_OWN or (bool(few) and reader.taken)
        part = _part(model, time, finding, reader.account) if is_cause else 0.0
        is_root |= part > 0
        if reader.parked and not part:  # the lock is no root: whatever its holder waits for comes first
            part = _part_of_parked(model, time, finding)
        if part_ns := round(ns * part):
            behind[reader.account] = behind.get(reader.account, 0) + part_ns
    whole_ns = sum(behind.values())
    if not whole_ns or whole_ns < general_policy.worth_share * time.ns:
        return finding
    readers = "the event loop" if time.by.loop else "all workers"
    mostly = max(behind, key=lambda account: behind[account])
    text = (
        f"requests waited {duration(whole_ns)} to be read while {readers} that could read them were in it"
        f" ({phrase_of(mostly)})"
    )
    return replace(
        finding,
        claim=f"{finding.claim} Requests waited {duration(whole_ns)} to be read meanwhile.",
        claims={**finding.claims, **{(QUEUED, account): ns for account, ns in behind.items()}},
        evidence=[*finding.evidence, *held_by(few), Evidence(text, float(whole_ns), "ns", "lines of time")],
        is_root=is_root,
    )


def _part(model: Model, time: RequestTime, finding: Finding, account: str) -> float:
    """Return the part of an account's time that a finding claims, of threads or of requests."""
    whole_ns = model.ns(account) or time.accounts.get(account, 0)
    claimed_ns = sum(ns for claim, ns in finding.claims.items() if account_of(claim) == account)
    return min(1.0, claimed_ns / whole_ns) if whole_ns else 0.0


def _part_of_parked(model: Model, time: RequestTime, finding: Finding) -> float:
    """Return the part of the requests' time on futexes that a finding claims for a lock: if its holder computes,
    another worker would wait, too."""
    whole, pairs = sum(time.rows.values()), by_pair(model)
    parts = (
        ns * time.rows[claim] / pairs[claim]
        for claim, ns in finding.claims.items()
        if isinstance(claim, tuple) and claim in time.rows and pairs.get(claim)
    )
    return min(1.0, sum(parts) / whole) if whole else 0.0
