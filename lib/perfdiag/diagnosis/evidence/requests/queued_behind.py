"""Requests that lie unread behind a cause: whoever would read them is in it, with the request before.

A pool whose workers all wait for one disk, one lock or slow clients is full, and a loop that forks a large process is
held up: the pool, or the loop, is the way, the cause is what its threads are in.  Rules claim the time of threads;
`with_queues` adds that of the requests which nobody read meanwhile.  Only of causes that are a fault: behind what is as
fast as it can be, the number of workers is what can be changed.

Not of waits for the answer to a call, or of a sleep: another worker would not have shared them, and would have read the
request at once, so that the pool is too small, or the loop must not wait itself.  But where one thread is in such a
wait while it holds what others wait for, another worker would wait behind it, too.  Slow clients take as many workers
as there are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from perfdiag.common.units import duration
from perfdiag.diagnosis.evidence.locks.held_while_waiting import ANSWERS
from perfdiag.diagnosis.evidence.locks.wait_paths import by_pair
from perfdiag.diagnosis.rule import RULES, Evidence, Finding, Severity, account_of
from perfdiag.diagnosis.significance import WORTH_SHARE
from perfdiag.model.model import Model
from perfdiag.model.requests.request_time import QUEUED, RequestTime

# Waits of a worker that take nothing from the others.
OF_ITS_OWN = (*ANSWERS, "wait.events", "wait.timer")


def with_queues(model: Model, findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings; those that held up who reads requests claim the time of those that lay unread."""
    time = model.request_time
    if time is None or not time.queued:
        return list(findings)
    return [_with_queue(model, time, finding) for finding in findings]


def _with_queue(model: Model, time: RequestTime, finding: Finding) -> Finding:
    multiplies = finding.id in RULES and RULES[finding.id].multiplier  # what others are: it has no waits of its own
    if finding.severity is Severity.INFO or multiplies or any(account_of(each) == QUEUED for each in finding.claims):
        return finding
    behind: dict[str, int] = {}
    is_root = finding.is_root
    for reader, ns in time.queued.items():
        part = _part(model, time, finding, reader.account) if reader.behind or reader.account not in OF_ITS_OWN else 0.0
        is_root |= part > 0
        if reader.parked and not part:  # the lock is no root: whatever its holder waits for comes first
            part = _part_of_parked(model, time, finding)
        if part_ns := round(ns * part):
            behind[reader.account] = behind.get(reader.account, 0) + part_ns
    whole_ns = sum(behind.values())
    if not whole_ns or whole_ns < WORTH_SHARE * time.ns:
        return finding
    readers = "the event loop" if time.by.loop else "all workers"
    mostly = max(behind, key=lambda account: behind[account])
    text = f"requests lay unread for {duration(whole_ns)} while {readers} that could read them were in it ({mostly})"
    return replace(
        finding,
        claim=f"{finding.claim} Requests waited {duration(whole_ns)} to be read meanwhile.",
        claims={**finding.claims, **{(QUEUED, account): ns for account, ns in behind.items()}},
        evidence=[*finding.evidence, Evidence(text, float(whole_ns), "ns", "lines of time")],
        is_root=is_root,
    )


def _part(model: Model, time: RequestTime, finding: Finding, account: str) -> float:
    """Return which part of an account's time a finding claims: of that of threads, or of requests."""
    whole_ns = model.ns(account) or time.accounts.get(account, 0)
    claimed_ns = sum(ns for claim, ns in finding.claims.items() if account_of(claim) == account)
    return min(1.0, claimed_ns / whole_ns) if whole_ns else 0.0


def _part_of_parked(model: Model, time: RequestTime, finding: Finding) -> float:
    """Return which part of the time that requests waited on futexes a finding claims: for a lock, whose holder
    computes, another worker would wait, too."""
    parts = {pair: ns / by_pair(model)[pair] for pair, ns in time.rows.items() if by_pair(model).get(pair)}
    wanted = sum(finding.claims.get(pair, 0) * part for pair, part in parts.items())
    whole = sum(time.rows.values())
    return min(1.0, wanted / whole) if whole else 0.0


__all__ = ["with_queues"]
