"""Waits inside requests on futexes of unknown purpose: which threads they were for."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from perfdiag.common.by_key import sums_by_key
from perfdiag.common.units import plural
from perfdiag.diagnosis.evidence.locks.outside_wakers import ended_by
from perfdiag.diagnosis.evidence.requests.timed_out_waits import timed_out
from perfdiag.diagnosis.policy import locks_policy
from perfdiag.diagnosis.significance import plain, thread_of
from perfdiag.model.model import Model
from perfdiag.model.requests.news import is_meant_to_wait
from perfdiag.model.requests.request_time import RequestTime
from perfdiag.model.requests.unread_requests import BOUND
from perfdiag.model.waits.wait_chains import brings_news
from perfdiag.recording.accounts import PARKED


@dataclass(frozen=True)
class Waits:
    """Waits inside requests for threads of one name."""

    name: str  # for people
    tids: frozenset[int]
    parts: Mapping[str, int]  # by futex, of requests
    seen: Mapping[tuple[str, int], int]  # what was waited for behind them, and a thread that was in it, or 0
    has_books: bool  # those threads are of the target, and were not folded
    news: bool  # they were not there when the waits began: they came to tell
    mutual: bool  # they serve requests, and are parked in the middle of them
    chosen: bool = True  # the requests may be meant to wait: most of them do, and they are no statements of SQL
    sessions: bool = False  # the threads are sessions of a database, and the requests statements of SQL

    @property
    def ns(self) -> int:
        """Time of requests."""
        return sum(self.parts.values())

    @cached_property
    def roots(self) -> Mapping[str, int]:
        """What was waited for behind them, by account, as far as that was seen."""
        return self._further or self._sums

    @cached_property
    def root(self) -> str:
        """What most of it was behind them; "" if that is unknown, or several things."""
        root = max(self.roots, key=lambda each: self.roots[each], default="")
        whole_ns = sum(self._further.values()) or self.ns
        return root if root and self.roots[root] >= locks_policy.holder_root_share * whole_ns else ""

    @cached_property
    def holder(self) -> int:
        """The thread that was in the root for most of that time, 0 if that were several, or is unknown."""
        of = self.doers
        most = max(of, key=lambda tid: of[tid], default=0)
        return most if most and of[most] > locks_policy.holder_share * self.roots[self.root] else 0

    @property
    def doers(self) -> Mapping[int, int]:
        """How long which threads were in the root meanwhile, as far as they are known."""
        return {tid: ns for (root, tid), ns in self.seen.items() if tid and root == self.root}

    @property
    def known(self) -> float:
        """The part of it that was seen."""
        return min(1.0, sum(self.roots.values()) / self.ns)

    @cached_property
    def _sums(self) -> Mapping[str, int]:
        return sums_by_key((root, ns) for (root, _), ns in self.seen.items())

    @cached_property
    def _further(self) -> Mapping[str, int]:
        """What was waited for behind a queue, as those saw it who saw more than that the thread before them waits, too.

        They stand for all of the queue.  Empty if they saw too little of it, or if all of it saw more.
        """
        further = {root: ns for root, ns in self._sums.items() if root != PARKED}
        enough = sum(further.values()) >= locks_policy.queue_part_share * self.ns
        return further if self.mutual and enough and PARKED in self._sums else {}

    @property
    def outside(self) -> bool:
        """Whether those threads waited for something from outside, or came with it, and then woke others."""
        return brings_news(self.root) if self.root else self.news

    @property
    def keeps(self) -> bool:
        """Whether those threads keep something from others while they wait for their own clients.

        The others are not meant to wait: most requests get it at once, or they are statements of SQL.
        """
        return not self.chosen and (self.root == BOUND or (self.sessions and self.outside))

    @property
    def holds_locks(self) -> bool:
        """Whether statements wait for locks that a session holds while it waits for its client."""
        return self.keeps and self.sessions

    @property
    def in_turn(self) -> bool:
        """Whether threads that serve requests keep each other waiting, like threads that take a lock in turn. Of a long
        queue only the last few are followed: it is enough that those waited like the others."""
        seen_ns = sum(self.seen.values())
        parked = self._sums.get(PARKED, 0) > locks_policy.holder_share * seen_ns
        followed = parked or seen_ns >= locks_policy.queue_followed_share * self.ns
        return self.mutual and not self.outside and followed


def parked_waits(model: Model, time: RequestTime) -> list[Waits]:
    """Return the waits inside requests by the names of the threads they were for, the longest first; without waits that
    a timeout ended."""
    seen: defaultdict[str, defaultdict[tuple[str, int], int]] = defaultdict(lambda: defaultdict(int))
    for chain in model.chains:
        if chain.inside and chain.account == PARKED:
            # Where several were in the root, one that serves stands for all that do: another may have passed by.
            tid = chain.root_tid or (chain.some_tid if chain.some_tid in time.parked_tids else 0)
            seen[chain.key][chain.root, tid] += chain.ns
    groups: defaultdict[str, list[tuple[str, int, int]]] = defaultdict(list)
    nobodys = timed_out(model, time)
    for (account, key), ns in time.rows.items():
        tid = _for_whom(model, time, key, seen[key]) if account == PARKED and key not in nobodys else 0
        if tid:
            thread = thread_of(model, tid)
            groups[re.sub(r"\d+", "#", plain(thread.comm)) if thread else f"thread {tid}"].append((key, ns, tid))
    found = [_of_doers(model, _waits(model, time, name, parts, seen)) for name, parts in groups.items()]
    return sorted(found, key=lambda each: (-each.ns, each.name))


def _waits(
    model: Model,
    time: RequestTime,
    name: str,
    waits: list[tuple[str, int, int]],
    seen: Mapping[str, Mapping[tuple[str, int], int]],
) -> Waits:
    """Return what is known of waits on futexes with a thread for each: what holds for most of the time."""
    by_tid: defaultdict[int, int] = defaultdict(int)
    behind: defaultdict[tuple[str, int], int] = defaultdict(int)
    for key, ns, tid in waits:
        by_tid[tid] += ns
        whole = max(1, sum(seen[key].values()))
        for root, part in seen[key].items():
            behind[root] += part * min(ns, whole) // whole
    whole_ns = sum(by_tid.values())
    threads = {tid: thread for tid in by_tid if (thread := thread_of(model, tid))}
    sessions = bool(model.applications) and any(thread.requests_read for thread in threads.values())
    later = [tid for tid, thread in threads.items() if thread.wall_ns < whole_ns // time.count]

    def most(tids: Iterable[int]) -> bool:
        return sum(by_tid[tid] for tid in tids) >= locks_policy.holder_share * whole_ns

    first = max(by_tid, key=lambda tid: (by_tid[tid], -tid))
    return Waits(
        _name(model, first) if most([first]) else f"threads named {name}",
        frozenset(by_tid) if not most([first]) else frozenset([first]),
        {key: ns for key, ns, _ in waits},
        behind,
        has_books=most(threads),
        news=most(later),
        mutual=most(time.parked_tids & by_tid.keys()),
        chosen=not sessions
        and any(is_meant_to_wait(each) for each in model.exchanges if each.served and each.line.count),
        sessions=sessions,
    )


def _of_doers(model: Model, waits: Waits) -> Waits:
    """Return waits with the names of those who were in the root, if those are other threads than who ended the waits:
    the one that hands an answer on did not make it."""
    whole_ns, by_tid = waits.roots.get(waits.root, 0), waits.doers
    own_ns = sum(by_tid.get(tid, 0) for tid in waits.tids)
    if not waits.root or waits.mutual or own_ns >= locks_policy.holder_share * whole_ns:
        return waits
    doers: list[int] = []
    while sum(by_tid[tid] for tid in doers) < locks_policy.doers_share * whole_ns:
        rest = by_tid.keys() - doers
        if not rest:
            return waits
        doers.append(max(rest, key=lambda tid: (by_tid[tid], -tid)))
    others = f" and {plural(len(doers) - 1, 'more thread')}" if doers[1:] else ""
    return replace(waits, name=f"{_name(model, doers[0])}{others}", tids=frozenset(doers))


def _for_whom(model: Model, time: RequestTime, key: str, seen: Mapping[tuple[str, int], int]) -> int:
    """Return a thread that waits on a futex were for, or 0 if unknown: one that was in the cause for most of it or that
    serves requests; else the thread that ended them, if most were in requests."""
    by_tid = sums_by_key((tid, part) for (_, tid), part in seen.items())
    ns = time.rows[PARKED, key]
    tid = max(filter(None, by_tid), key=lambda each: by_tid[each], default=0)
    seen_ns = sum(by_tid.values())
    if (
        tid
        and seen_ns >= locks_policy.holder_root_share * ns
        and (by_tid[tid] >= locks_policy.holder_share * seen_ns or tid in time.parked_tids)
    ):
        return tid
    rows = model.rows_of(PARKED, key=key)
    whole_ns = sum(row.distribution.sum_ns for row in rows)
    longest = max(rows, key=lambda row: row.distribution.sum_ns, default=None)
    return longest.waker_tid if longest and ns >= locks_policy.holder_share * whole_ns else 0


def _name(model: Model, tid: int) -> str:
    thread = thread_of(model, tid)
    return thread.name if thread else ended_by(model, model.rows_of(PARKED), tid)
