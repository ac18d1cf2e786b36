"""Where threads were parked while they served requests, and where evidence of each futex books that.

A thread that is parked in the middle of a request does not idle: the request waits.  What for, the futex tells as it
does anywhere; a thread of a runtime that has nothing to do meanwhile shows only that the request is in other hands.
Who waits for a thread that waits for events, and comes with the answer of a peer, waits for that peer; for one that
comes with anything else it waits for news, as in long polling.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable

from perfdiag.common.by_key import sums_by_key
from perfdiag.model.requests.parked_time import Parked
from perfdiag.model.requests.request_sums import PEERS
from perfdiag.model.waits.futexes import Futexes
from perfdiag.model.waits.wait_chains import brings_news, is_for_answer
from perfdiag.recording import schema
from perfdiag.recording.accounts import PARKED
from perfdiag.recording.recording import Recording

# A thread that was parked there for less of what those are on average has been there by accident.
OF_MEAN = 0.1


def parked_of(recording: Recording, futexes: Futexes) -> Parked:
    """Return what a recording says of that."""
    alive = {line.pid for line in recording.threads.values() if line.state == "alive"}
    inside = [line for line in recording.because if line.inside and line.account == PARKED]
    answers_ns = _sums(line for line in inside if is_for_answer(line))
    known_ns = _sums(inside)
    ns: defaultdict[tuple[str, str], int] = defaultdict(int)
    over_slo_ns: defaultdict[tuple[str, str], int] = defaultdict(int)
    whole_ns = _sums(recording.requests_parked)
    for line in recording.requests_parked:
        futex = (line.pid, line.object)
        booking = futexes.booking(line.pid if line.pid in alive else 0, line.object) or (PARKED, line.object)
        for_peer_ns = line.sum_ns * answers_ns[futex] // max(1, whole_ns[futex], known_ns[futex])
        for pair, part in (((PEERS, ""), for_peer_ns), (booking, line.sum_ns - for_peer_ns)):
            if part:
                ns[pair] += part
                over_slo_ns[pair] += part if line.over_slo else 0
    return Parked(dict(ns), dict(over_slo_ns), _outside_ns(recording, inside), _tids(recording))


def _outside_ns(recording: Recording, inside: Iterable[schema.Because]) -> int:
    """Return for how long requests waited for news.

    A statement of SQL asks for none: if it waits for a session that waits for its client, that session holds a lock.
    """
    if recording.applications:
        return 0
    return sum(line.sum_ns for line in inside if brings_news(line.root) and not is_for_answer(line))


def _sums(lines: Iterable[schema.Because | schema.RequestParked]) -> Counter[tuple[int, str]]:
    """Return the time by process and futex."""
    return sums_by_key(((line.pid, line.object), line.sum_ns) for line in lines)


def _tids(recording: Recording) -> frozenset[int]:
    """Return the threads that were parked on futexes of requests for about as long as others."""
    inside = {(line.pid, line.object) for line in recording.requests_parked}
    pids = {pid for pid, _ in inside}
    by_tid = sums_by_key(
        (thread.tid, futex.sum_ns)
        for thread in recording.threads.values()
        if thread.pid in pids
        for futex in thread.futexes
        if (thread.pid, futex.object) in inside
    )
    mean_ns = sum(by_tid.values()) / max(1, len(by_tid))
    return frozenset(tid for tid, ns in by_tid.items() if ns >= OF_MEAN * mean_ns)
