"""Waits for others behind a cause: if a lock's holder waits for a flush, the flush is the cause of both waits.

Rules claim the time of threads that are in the cause themselves; `with_paths` adds that of the threads that waited for
those, as recorded at each wake-up. It does so only for causes that are a fault: behind anything that is as fast as it
can be, only the lock can be improved. And only for waits: if the holder computes, the section under the lock is the
cause. At pipes and sockets between processes of the target there is nothing to improve but what the other one does: its
cause claims those waits though it is no fault.
"""

from collections.abc import Iterable
from dataclasses import replace

from perfdiag.common.by_key import groups_by_key, sums_by_key
from perfdiag.diagnosis.evidence.locks.database_locks import of_serving
from perfdiag.diagnosis.evidence.locks.held_through import held_through
from perfdiag.diagnosis.evidence.locks.held_while_waiting import with_held_locks
from perfdiag.diagnosis.evidence.locks.overlapping_readers import overlaps
from perfdiag.diagnosis.policy import locks_policy
from perfdiag.diagnosis.rule import Evidence, Finding, Severity, account_of
from perfdiag.diagnosis.significance import duration, lowered, worth
from perfdiag.model.model import Model, once
from perfdiag.model.share_denominator import counted
from perfdiag.model.waits.stopped_threads import ACCOUNT as STOPPED
from perfdiag.model.waits.wait_chains import Chain, own_account
from perfdiag.recording.accounts import PARKED

Pair = tuple[str, str]
QUEUE = "runq.busy"
BETWEEN_PROCESSES = ("ipc.pipe", "ipc.unix")
NOT_SEEN = "who holds the lock was not seen: all who take it hardly ran, and waited for the same"
OF_LINE_ONLY = "only the first threads of a queue were followed: the others are taken to wait for the same"


def behind_ns(model: Model, account: str, key: str) -> int:
    """Return the time that threads waited for others that were in `account` on that object."""
    return sum(_of_row_ns(model, chain) for chain in _by_root(model).get((account, key), ()))


def with_paths(model: Model, findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings; those that cause waits for others claim these too, and say so."""
    return [_with_paths(model, finding) for finding in findings]


@once
def _by_root(model: Model) -> dict[Pair, list[Chain]]:
    """Return chains of waits by their cause, the longest first."""
    found: dict[Pair, list[Chain]] = {}
    for chain in (*model.chains, *held_through(model)):
        if (chain.account, chain.key) in overlaps(model):
            continue  # who waits for several readers in turn does not wait for what one of them does
        if _counts(model, chain) and not chain.root.startswith(("cpu.", "lock.")):
            found.setdefault((chain.root, chain.root_key), []).append(chain)
    return found


@once
def _by_waiting(model: Model) -> dict[Pair, list[Chain]]:
    """Return chains of waits by the account and object that was waited for."""
    return groups_by_key(((chain.account, chain.key), chain) for chain in (*model.chains, *held_through(model)))


def _counts(model: Model, chain: Chain) -> bool:
    """Return whether that wait costs something: inside a request also one on a futex, or for a lock of a database."""
    time = model.request_time
    if time and (chain.account, chain.key) in time.rows:
        return chain.inside
    return counted(chain.account) or _is_for_database_lock(model, chain)


def _is_for_database_lock(model: Model, chain: Chain) -> bool:
    """Return whether requests wait for the lock of a database there, in a call that looks idle."""
    in_requests = model.request_time is not None and chain.account in model.request_time.accounts
    return in_requests and any(
        kind.account == chain.account and chain.pid in waits.pids for kind, waits in of_serving(model)
    )


def _of_row_ns(model: Model, chain: Chain) -> int:
    """Return how much of its row's time a chain explains: if requests were blocked or idle, the same part as of
    theirs."""
    pair, time = (chain.account, chain.key), model.request_time
    if time and _is_for_database_lock(model, chain):
        return by_pair(model).get(pair, 0) * chain.ns // max(1, time.accounts[chain.account], chain.ns)
    if time is None or pair not in time.rows or not chain.inside:
        return chain.ns
    inside_ns = round(time.parked_ns.get(pair, 0) / _for_all_in_line(model, chain))
    return by_pair(model).get(pair, 0) * chain.ns // max(1, inside_ns, _inside_ns(model)[pair])


def _for_all_in_line(model: Model, chain: Chain) -> float:
    """Return the factor by which the time of a chain exceeds what was seen of it: 1 for no more."""
    pair, time = (chain.account, chain.key), model.request_time
    if time is None or not chain.inside or pair not in _lines(model):
        return 1.0
    return max(1.0, time.parked_ns.get(pair, 0) / _inside_ns(model)[pair])


@once
def _lines(model: Model) -> frozenset[Pair]:
    """Return where threads that serve requests queue behind each other for the same thing, and enough of it was seen to
    stand for the rest. Queues for several things cannot be told apart: nothing is added for those."""
    time = model.request_time
    if time is None:
        return frozenset()
    inside = [each for each in model.chains if each.inside and each.account == PARKED and each.ns]
    serving = {(c.account, c.key) for c in inside if (c.root_tid or c.some_tid) in time.parked_tids}
    pairs = {
        pair
        for pair in serving
        if _inside_ns(model)[pair] >= locks_policy.queue_part_share * time.parked_ns.get(pair, 0)
    }
    roots: dict[Pair, int] = sums_by_key(
        ((each.root, each.root_key), each.ns) for each in inside if (each.account, each.key) in pairs
    )
    same = max(roots.values(), default=0) >= locks_policy.queue_same_cause_share * sum(roots.values())
    return frozenset(pairs) if same else frozenset()


@once
def _inside_ns(model: Model) -> dict[Pair, int]:
    return sums_by_key(
        ((chain.account, chain.key), chain.ns) for chain in (*model.chains, *held_through(model)) if chain.inside
    )


@once
def by_pair(model: Model) -> dict[Pair, int]:
    """Return the time of rows by account and key."""
    return sums_by_key(((row.account, row.key), row.distribution.sum_ns) for row in model.rows)


def _with_paths(model: Model, finding: Finding) -> Finding:
    profile = finding.severity is Severity.INFO
    claims, longest, longest_ns, in_line = dict(finding.claims), None, 0, False
    behind: dict[Chain, int] = {}
    for pair, part in _parts(model, finding).items():
        for chain in _by_root(model)[pair]:
            if profile and not (chain.account in BETWEEN_PROCESSES and counted(chain.root)):
                continue  # who sleeps, or waits for work, may have no reason to come sooner
            if chain.account == STOPPED and _is_of_own_threads(finding):
                continue  # these have the CPU because all have to stop: why they have to is the cause
            more = _for_all_in_line(model, chain)
            ns = round(part * chain.ns * more)
            if (chain.account, chain.key) in finding.claims or chain.account in finding.claims:
                continue  # it is its own path
            claimed_ns = round(part * _of_row_ns(model, chain))
            claims[chain.account, chain.key] = claims.get((chain.account, chain.key), 0) + claimed_ns
            behind[chain] = ns
            in_line |= more > 1
            if longest is None or ns > longest_ns:
                longest, longest_ns = chain, ns
    moved = sum(behind.values())
    if longest is None or not worth(model, moved):
        return finding
    most = "mostly" if 2 * longest_ns > moved else "most often"
    behind_it = f"Others waited {duration(moved)} behind that ({most} {longest.path})."
    inferred = not behind.keys().isdisjoint(held_through(model))
    text = f"others waited {duration(moved)} behind it: {longest.path}"
    evidence = [*finding.evidence, Evidence(text, float(moved), "ns", "sched_waking")]
    told = with_held_locks(model, finding, behind)
    made = replace(told, claim=f"{told.claim} {behind_it}", claims=claims, evidence=evidence, is_root=True)
    doubts = [*([OF_LINE_ONLY] if in_line else []), *([NOT_SEEN] if inferred else [])]
    if not doubts:
        return made
    return replace(made, limits=[*finding.limits, *doubts], confidence=lowered(finding.confidence))


def _is_of_own_threads(finding: Finding) -> bool:
    """Return whether a finding is of waits for CPUs that mostly the target's own threads used."""
    queued = {claim: ns for claim, ns in finding.claims.items() if account_of(claim) == QUEUE}
    own_ns = sum(ns for claim, ns in queued.items() if not isinstance(claim, str) and claim[1].startswith("own:"))
    return own_ns > 0 and 2 * own_ns >= sum(queued.values())


def _parts(model: Model, finding: Finding) -> dict[Pair, float]:
    """Return the causes that a finding claims, and the part of their time: those with the longest waits first."""
    parts: dict[Pair, float] = {}
    for claim, wanted in finding.claims.items():
        if isinstance(claim, str):
            whole = model.ns(claim)
            pairs = [pair for pair in _roots_by_account(model).get(claim, ()) if pair not in finding.claims]
        else:
            whole = by_pair(model).get(claim, 0)
            pairs = [claim] if claim in _by_root(model) else []
        if wanted and whole:
            parts.update(dict.fromkeys(pairs, min(1.0, wanted / whole)))
    places = _places(model)
    return dict(sorted(parts.items(), key=lambda part: places[part[0]]))


@once
def _roots_by_account(model: Model) -> dict[str, list[Pair]]:
    """Return the causes by their account."""
    return groups_by_key((pair[0], pair) for pair in _by_root(model))


@once
def _places(model: Model) -> dict[Pair, int]:
    """Return the place of each cause in their order."""
    return {pair: place for place, pair in enumerate(_by_root(model))}


def roots_of(model: Model, account: str, key: str) -> dict[tuple[str, str], int]:
    """Return the causes behind waits for an account and object, the largest first."""
    found = sums_by_key(
        ((chain.root, chain.root_object), chain.ns) for chain in _by_waiting(model).get((account, key), ())
    )
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def way_to(model: Model, account: str, key: str, root: str, root_object: str) -> str:
    """Return what the thread waited for was itself doing, most of the time that led to that cause."""
    found = sums_by_key(
        (own_account(chain), chain.ns)
        for chain in _by_waiting(model).get((account, key), ())
        if (chain.root, chain.root_object) == (root, root_object)
    )
    return max(found, key=lambda name: found[name], default=root)
