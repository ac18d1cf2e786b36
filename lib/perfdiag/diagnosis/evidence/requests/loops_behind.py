"""Requests of an event loop that a helper process or a worker thread holds meanwhile.

The loop waits for events meanwhile, which looks idle, and nothing shows which request is where. But each wake-up of the
loop shows what the waking thread had done: the same part of the requests' time in the loop's waits, and of their time
that was not followed, is behind that. Waits that a timer ends stay unknown. Only for causes that are a fault, as in
wait_paths.py.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace

from perfdiag.common.units import duration
from perfdiag.diagnosis.evidence.locks.wait_paths import by_pair
from perfdiag.diagnosis.policy import general_policy
from perfdiag.diagnosis.rule import Evidence, Finding, Severity
from perfdiag.diagnosis.significance import percent
from perfdiag.model.model import Model
from perfdiag.model.requests.request_time import REST, RequestTime
from perfdiag.model.share_denominator import counted

EVENTS = "wait.events"

Pair = tuple[str, str]


def with_loops(model: Model, findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings; causes of the waits of event loops claim that part of the requests' time."""
    time = model.request_time
    behind = _behind(model, time) if time else {}
    if time is None or not behind:
        return list(findings)
    return [_with_loop(model, time, finding, behind) for finding in findings]


def _behind(model: Model, time: RequestTime) -> dict[Pair, int]:
    """Return how long loops waited for threads that waited themselves, except for a lock, by what these waited for."""
    found: defaultdict[Pair, int] = defaultdict(int)
    loops = {loop.pid for loop in time.by.loops}
    for chain in model.chains:
        is_waited_for = counted(chain.root) and not chain.root.startswith(("cpu.", "lock.", "runq."))
        if chain.account == EVENTS and chain.pid in loops and is_waited_for:
            found[chain.root, chain.root_key] += chain.ns
    return dict(found)


def _with_loop(model: Model, time: RequestTime, finding: Finding, behind: Mapping[Pair, int]) -> Finding:
    if finding.severity is Severity.INFO or REST in finding.claims or EVENTS in finding.claims:
        return finding
    waited_ns = sum(loop.ns(EVENTS) for loop in time.by.loops)
    ns = sum(round(ns * _part(model, finding, pair)) for pair, ns in behind.items())
    part = min(1.0, ns / waited_ns) if waited_ns else 0.0
    inside_ns = round(part * (time.accounts.get(EVENTS, 0) + time.accounts.get(REST, 0)))
    if inside_ns < general_policy.worth_share * time.ns:
        return finding
    text = f"threads that had waited there ended {percent(part)} of the event loop's waits ({duration(ns)})"
    return replace(
        finding,
        claim=f"{finding.claim} Requests waited about {duration(inside_ns)} behind that.",
        claims={**finding.claims, EVENTS: ns, REST: round(part * time.accounts.get(REST, 0))},
        evidence=[*finding.evidence, Evidence(text, part, "share", "sched_waking")],
        is_root=True,
    )


def _part(model: Model, finding: Finding, pair: Pair) -> float:
    """Return the part of what threads waited for there that a finding claims."""
    wanted = finding.claims.get(pair)
    whole = by_pair(model).get(pair, 0) if wanted is not None else model.ns(pair[0])
    wanted = finding.claims.get(pair[0], 0) if wanted is None else wanted
    return min(1.0, wanted / whole) if whole else 0.0
