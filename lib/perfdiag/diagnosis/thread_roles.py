"""Whose time counts: which threads suffer a finding, and whether those are background threads only (LEDGER.md).

No thread says what it is for, so only what the books show counts.  A group of threads of one name *serves* when it
waited for somebody's data or events; it works in the *background* when a clock alone starts it (its idle time is
wait.timer) and nobody was seen to wait for it.  Everything else is not known, and what is not known ranks as it did.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable

from perfdiag.diagnosis.policy import general_policy
from perfdiag.diagnosis.rule import Claim, Role, account_of
from perfdiag.model.model import Model
from perfdiag.model.thread_accounts import ThreadLedger, times_of

Group = tuple[int, str]

SERVING = frozenset({"net.accept", "net.receive", "net.send", "ipc.pipe", "ipc.unix", "wait.events", "wait.io_uring"})
CLOCK = "wait.timer"
# Any of these is a sign that something other than a clock starts the thread.
STARTED_OTHERWISE = SERVING | {"wait.parked", "wait.work", "wait.child", "wait.signal", "net.connect"}
# Of what these lost it is not known who waited for whom.
WAKERS = ("detail_full", "details", "wakeups_missing")


class Roles:
    """The roles of the threads of a model, by process and name."""

    def __init__(self, model: Model) -> None:
        self._pids: defaultdict[Claim, set[int]] = defaultdict(set)
        for row in model.rows:
            self._pids[row.account, row.key].add(row.pid)
        groups: defaultdict[Group, list[ThreadLedger]] = defaultdict(list)
        # By account, process and group, summed up once: there may be thousands of threads, and thousands of claims.
        self._spent: defaultdict[str, dict[int, defaultdict[Group, int]]] = defaultdict(dict)
        for thread in model.threads:
            group = _group(thread)
            groups[group].append(thread)
            for account, ns in times_of(thread.accounts):
                self._spent[account].setdefault(thread.pid, defaultdict(int))[group] += ns
        waits = sum(total.count for total in model.accounts.values())
        unseen = sum(model.coverage.lost.get(name, 0) for name in WAKERS)
        known = model.coverage.complete and unseen <= general_policy.tolerable_loss_share * waits
        wakers = {row.waker_tid for row in model.rows if row.waker_tid}
        self._readers = {group for group, members in groups.items() if any(map(_may_read, members))}
        self._roles = {group: _role(members, wakers if known else None) for group, members in groups.items()}
        if Role.SERVING not in self._roles.values():  # then there is no background either: it is all there is
            self._roles = dict.fromkeys(self._roles, Role.UNKNOWN)

    def of(self, claims: Iterable[Claim]) -> tuple[tuple[str, ...], Role]:
        """Return the names of those who suffer the time claimed, the largest part first, and their common role.

        Of an object it is known which processes waited for it, not which of their threads: all that waited in the
        account are taken, so that a background thread is never the only one by mistake.
        """
        groups = self._suffering(claims)
        roles = {self._roles[group] for group in groups}
        names = dict.fromkeys(name for _pid, name in groups)
        return tuple(names), roles.pop() if len(roles) == 1 else Role.UNKNOWN

    def read_requests(self, claims: Iterable[Claim]) -> bool:
        """Return whether anybody who suffers the time claimed reads requests, as far as that was recorded."""
        return not self._readers.isdisjoint(self._suffering(claims))

    def _suffering(self, claims: Iterable[Claim]) -> list[Group]:
        """Return the groups that suffer the time claimed, the largest part first."""
        suffered: defaultdict[Group, int] = defaultdict(int)
        for claim in set(claims):
            spent = self._spent.get(account_of(claim), {})
            for pid in spent if isinstance(claim, str) else self._pids.get(claim, set()) & spent.keys():
                for group, ns in spent[pid].items():
                    suffered[group] += ns
        felt = general_policy.felt_of_account_share * sum(suffered.values())
        return sorted((group for group, ns in suffered.items() if ns > felt), key=lambda each: (-suffered[each], each))


def _group(thread: ThreadLedger) -> Group:
    """Threads of a pool are told apart by the last number in their names; one before it ("pool-2-thread-7") is the
    pool's."""
    return thread.pid, re.sub(r"\d+(?=\D*$)", "N", thread.comm)


def _may_read(thread: ThreadLedger) -> bool:
    return thread.requests_read is None or thread.requests_read > 0


def _role(members: Collection[ThreadLedger], wakers: Collection[int] | None) -> Role:
    """Return the role of a group; wakers: the threads somebody waited for, None where that is not known."""
    spent = {name for thread in members for name, ns in times_of(thread.accounts) if ns}
    if SERVING & spent or any(thread.requests_read for thread in members):
        return Role.SERVING
    folded = any(not thread.tid for thread in members)
    if wakers is None or folded or CLOCK not in spent or STARTED_OTHERWISE & spent:
        return Role.UNKNOWN
    return Role.UNKNOWN if {thread.tid for thread in members} & set(wakers) else Role.BACKGROUND
