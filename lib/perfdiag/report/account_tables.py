"""Where the time went: accounts by object, threads, operations, and threads that still wait."""

import struct
from collections.abc import Iterable, Mapping, Sequence
from math import sqrt

from perfdiag.common.by_key import groups_by_key, sums_by_key
from perfdiag.common.text import printable
from perfdiag.diagnosis.evidence.idle.parked_threads import natural_waits
from perfdiag.diagnosis.evidence.locks.lock_holders import is_outside
from perfdiag.diagnosis.evidence.target import CPU
from perfdiag.diagnosis.policy import general_policy
from perfdiag.diagnosis.significance import thread_of, together
from perfdiag.model.builder import UNLISTED
from perfdiag.model.model import Model, Row
from perfdiag.model.share_denominator import counted
from perfdiag.model.thread_accounts import AccountTotal, times_of
from perfdiag.recording import schema
from perfdiag.recording.accounts import PARKED, Kind, kind_of, phrase_of
from perfdiag.recording.distribution import Distribution
from perfdiag.recording.packed_numbers import ByName, Counts, Sums, number_alone
from perfdiag.report import contract
from perfdiag.report.stacks import waiting_code

_NANOSECONDS = struct.Struct("=Q")
_OF_WAITS = 0.1  # known to be ended by one thread, from which on it is named
_WHOLE_WINDOW = 0.9  # of the window, from which on a wait "sat through" it


def accounts(model: Model) -> list[contract.Account]:
    """Return one entry an account and object; those of one account add up to what the whole target has of it."""
    left = {name: total.ns for name, total in model.accounts.items()}
    found = _of_objects(model, left)
    with_rows = {row.account for row in model.rows}
    for account, ns in left.items():
        if ns:
            alone = account not in with_rows
            total = model.accounts[account]
            distribution = Distribution(total.count if alone else 0, ns, min(total.max_ns, ns))
            found.append(_entry(model, account, "", ns, distribution))
    return sorted(_merged_rests(found), key=lambda each: (each.kind != "latency", -each.ns, each.account, each.object))


def _of_objects(model: Model, left: dict[str, int]) -> list[contract.Account]:
    """Return the entries that rows explain, and take them off what is `left` of each account."""
    rows = groups_by_key(((row.account, row.object), row) for row in model.rows)
    codes = waiting_code(model)
    ledgers: dict[int, dict[str, float]] = {}
    found = []
    for (account, object), same in rows.items():
        merged = together(same)
        # Rows are read after the threads they belong to, so they may be ahead of them by what went on meanwhile.
        ns = min(merged.sum_ns, left.get(account, 0))
        if ns > 0:
            left[account] -= ns
            code = next((codes[account, row.key] for row in same if (account, row.key) in codes), "")
            found.append(_entry(model, account, object, ns, merged, _releaser(model, same, ledgers), code))
    return found


def _entry(
    model: Model,
    account: str,
    object: str,
    ns: int,
    distribution: Distribution,
    releaser: contract.Releaser | None = None,
    code: str = "",
) -> contract.Account:
    return contract.Account(
        account=printable(account),
        object=object,
        kind=kind_of(account).value,
        ns=ns,
        count=distribution.count,
        share=(ns / model.busy_ns if model.busy_ns else 0.0) if counted(account) else None,
        p50_ns=distribution.quantile_ns(0.5),
        p99_ns=distribution.quantile_ns(0.99) if distribution.count >= general_policy.waits_for_p99 else None,
        max_ns=distribution.max_ns,
        phrase=phrase_of(account),
        released_by=releaser,
        code=code,
    )


def _merged_rests(entries: Iterable[contract.Account]) -> list[contract.Account]:
    """Add what no row explains to the account's row without an object, if it has one."""
    kept: dict[tuple[str, str], contract.Account] = {}
    for entry in entries:
        had = kept.get((entry.account, entry.object))
        kept[entry.account, entry.object] = (
            entry
            if had is None
            else contract.Account(
                account=had.account,
                object=had.object,
                kind=had.kind,
                ns=had.ns + entry.ns,
                count=had.count + entry.count,
                share=None if had.share is None or entry.share is None else had.share + entry.share,
                p50_ns=had.p50_ns,
                p99_ns=had.p99_ns,
                max_ns=max(had.max_ns, entry.max_ns),
                phrase=had.phrase,
                released_by=had.released_by,
                code=had.code,
            )
        )
    return list(kept.values())


def _releaser(model: Model, rows: Sequence[Row], ledgers: dict[int, dict[str, float]]) -> contract.Releaser | None:
    """Return the thread that ended most waits for a lock, or that woke a blocked thread most often, with its ledger.

    One thread may end the waits of thousands of rows: they share its ledger, made once, in `ledgers`.
    """
    if not (rows[0].account.startswith("lock.") or rows[0].account == PARKED):
        return None
    wakers = sums_by_key((row.waker_tid, row.waker_count) for row in rows if row.waker_tid)
    waits = sum(row.distribution.count for row in rows)
    tid = max(wakers, key=lambda each: wakers[each], default=0)
    if not tid or wakers[tid] < _OF_WAITS * waits:
        return None
    thread = thread_of(model, tid)
    if thread is None:
        comm = next((row.waker_comm for row in rows if row.waker_tid == tid and row.waker_comm), "a thread")
        return contract.Releaser(tid=tid, comm=printable(comm), count=wakers[tid], accounts={})
    if is_outside(model, rows):
        return None
    if tid not in ledgers:
        largest = sorted(times_of(thread.accounts), key=lambda time: -time[1]) if thread.wall_ns else ()
        ledgers[tid] = {printable(account): ns / thread.wall_ns for account, ns in largest}
    return contract.Releaser(tid=tid, comm=printable(thread.comm), count=wakers[tid], accounts=ledgers[tid])


def still_waiting(model: Model) -> list[contract.Waiting]:
    """Return the threads that were in one wait through nearly the whole window, locks first.

    Idle waits do not count, a stop does. A thread that waits for the end of another depends on that one, and service
    threads of a runtime wait until they are needed.
    """
    end_ns = model.header.start_ns + model.window_ns
    objects = {row.key: row.object for row in model.rows}
    codes, natural = waiting_code(model), natural_waits(model)
    found = []
    for thread in model.threads:
        wait = thread.still_waiting
        if wait is None or not _paid_for(wait.account) or end_ns - wait.since_ns < _WHOLE_WINDOW * model.window_ns:
            continue
        if (wait.account, wait.object) in natural:
            continue
        found.append(
            contract.Waiting(
                pid=thread.pid,
                tid=thread.tid,
                comm=printable(thread.comm),
                account=printable(wait.account),
                object=objects.get(wait.object, printable(wait.object)),
                at_least_ns=max(0, end_ns - wait.since_ns),
                code=codes.get((wait.account, wait.object), ""),
            )
        )
    return sorted(found, key=lambda wait: (wait.account == PARKED, -wait.at_least_ns, wait.tid))


def _paid_for(account: str) -> bool:
    waits = not account.startswith(("cpu.", "vm.", "runq."))
    idle = kind_of(account) is Kind.IDLE and account != "wait.stopped"
    return waits and not idle


def threads(model: Model) -> list[contract.Thread]:
    """Return every thread, and the folds of those that ended."""
    names: dict[tuple[str, ...], tuple[str, ...]] = {}

    def packed(accounts: Mapping[str, AccountTotal]) -> Mapping[str, int]:
        own, times = tuple(accounts), [ns for _, ns in times_of(accounts)]
        shown = names.get(own) or names.setdefault(own, tuple(map(printable, own)))
        try:
            return ByName(Sums(number_alone, _NANOSECONDS, shown, times))
        except struct.error:
            return dict(zip(shown, times, strict=True))

    return [
        contract.Thread(
            pid=t.pid,
            tid=t.tid,
            namespace_tid=t.namespace_tid,
            comm=printable(t.comm),
            threads=t.threads,
            exited=t.exited and t.comm != UNLISTED,
            wall_ns=t.wall_ns,
            accounts=packed(t.accounts),
        )
        for t in model.threads
    ]


def operations(model: Model) -> list[contract.Operation]:
    """Return the operations, those that took most time first."""
    return [_operation(model, op) for op in sorted(model.operations, key=lambda op: (-op.sum_ns, op.name))]


def _operation(model: Model, operation: schema.Operation) -> contract.Operation:
    distribution = Distribution(operation.count, operation.sum_ns, operation.max_ns, Counts(operation.buckets))
    return contract.Operation(
        name=printable(operation.name),
        count=operation.count,
        errors=operation.errors,
        per_second=operation.count * 1e9 / model.window_ns if model.window_ns else 0.0,
        p50_ns=distribution.quantile_ns(0.5),
        p90_ns=distribution.quantile_ns(0.9),
        p99_ns=distribution.quantile_ns(0.99) if operation.count >= general_policy.waits_for_p99 else None,
        max_ns=operation.max_ns,
        rarity_unseen=min(1.0, 3 / operation.count) if operation.count else None,
        limit_ns=model.limit_ns(operation.name),
        over_slo=None if model.limit_ns(operation.name) is None else operation.over_slo,
        accounts=_sums(operation.accounts),
        slowest=_sums(operation.over_slo_accounts),
    )


def _sums(accounts: Iterable[schema.AccountSum]) -> dict[str, int]:
    return {printable(each.account): each.sum_ns for each in accounts}


def cpu_split_error(model: Model) -> float | None:
    """Return the half width of the user share of all CPU time: errors of threads are independent."""
    known = [(t.cpu_split_error, t.ns(*CPU)) for t in model.threads if t.cpu_split_error is not None]
    total = sum(ns for _, ns in known)
    return sqrt(sum((error * ns) ** 2 for error, ns in known)) / total if total else None
