"""Locks of readers and writers whose readers overlap: a writer waits until there is a moment without any of them.

Many such locks let readers in while a writer waits. Then the writer does not wait for what one reader does: it waits
for several times as long, and would wait, too, if each reader were faster.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from perfdiag.diagnosis.evidence.fix_checks import time_under
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import locks_policy
from perfdiag.diagnosis.rule import Evidence, Finding, Mechanism
from perfdiag.diagnosis.significance import (
    claims_of,
    duration,
    fix,
    percent,
    plain,
    thread_of,
    together,
    total_ns,
    typical_ns,
    waits,
)
from perfdiag.model.model import Model, Row, once
from perfdiag.model.stacks.symbols import symbol_of
from perfdiag.model.thread_accounts import ThreadLedger
from perfdiag.model.waits.wait_chains import Chain
from perfdiag.recording.accounts import phrase_of

Pair = tuple[str, str]

_TAKES = re.compile(
    r"_*pthread_(mutex|rwlock)_(timed|clock)?(rd|wr)?lock(_full\w*)?|_*lll_lock_wait|.*(lock|read|write)_contended.*"
)
_WRITES = re.compile(r"_*pthread_rwlock_(timed|clock)?wrlock(_full\w*)?|.*write_contended.*")
# What a reader does for so long at a time is known of waits alone: who computes is interrupted and goes on.
_NO_WAITS = ("cpu.", "runq.", "lock.")


@dataclass(frozen=True)
class Overlap:
    """What writers wait for, and for how long."""

    waits_ns: int  # that a writer waits, as a rule
    reads_ns: int  # that a reader is in its own wait, as a rule
    readers: int
    taken_share: float  # for how much of the time at least one of them is in such a wait, if each comes when it likes
    way: Chain  # the longest to what readers do


@once
def overlaps(model: Model) -> dict[Pair, Overlap]:
    """Return the locks that writers wait for much longer than any reader keeps them, by account and key."""
    ways: dict[Pair, dict[Pair, int]] = {}
    longest: dict[tuple[Pair, Pair], Chain] = {}
    for chain in model.chains:
        if chain.account == "lock.futex":
            lock, root = (chain.account, chain.key), (chain.root, chain.root_key)
            sums = ways.setdefault(lock, {})
            sums[root] = sums.get(root, 0) + chain.ns
            longest.setdefault((lock, root), chain)
    found = {}
    for lock, sums in ways.items():
        way = longest[lock, max(sums, key=lambda root: sums[root])]
        if _is_for_writing(model, lock) and (overlap := _overlap(model, way)):
            found[lock] = overlap
    return found


def _overlap(model: Model, way: Chain) -> Overlap | None:
    """Return how long writers wait beside what readers do, None where one reader may be all that they wait for."""
    reader = thread_of(model, way.root_tid or way.some_tid)
    if way.steps or way.root.startswith(_NO_WAITS) or reader is None or way.root not in reader.accounts:
        return None
    if reader.ns(way.account) * locks_policy.overlap_factor > reader.ns(way.root):
        return None  # it stands in line as writers do
    reads = together(model.rows_of(way.root, key=way.root_key))
    waits_ns, reads_ns = typical_ns(together(model.rows_of(way.account, key=way.key))), typical_ns(reads)
    if not reads_ns or waits_ns < locks_policy.overlap_factor * reads_ns:
        return None
    others = [each for each in _readers(model, way) if each.tid != reader.tid]
    if _taken_share(others, way.root) < locks_policy.overlap_taken_share:
        return None  # one reader may do several such things before it lets the lock go
    return Overlap(waits_ns, reads_ns, len(others) + 1, _taken_share([reader, *others], way.root), way)


def _readers(model: Model, way: Chain) -> list[ThreadLedger]:
    """Return the threads that do what the readers of a lock do, none where that is something else, too."""
    threads = [each for each in model.threads_of(way.pid) if each.tid and way.root in each.accounts]
    of_readers_ns = total_ns(model.rows_of(way.root, key=way.root_key))
    alike = of_readers_ns >= locks_policy.takers_same_cause_share * sum(each.ns(way.root) for each in threads)
    return threads if alike else []


def _taken_share(readers: Iterable[ThreadLedger], root: str) -> float:
    """Return for how much of the time at least one of these threads is in an account, if they do not wait for each
    other."""
    free = 1.0
    for each in readers:
        free *= 1 - each.ns(root) / max(1, each.wall_ns)
    return 1 - free


def _is_for_writing(model: Model, lock: Pair) -> bool:
    """Return whether most of the sampled waits for a lock want to write what it guards."""
    whole_ns = writing_ns = 0
    for stack in model.wait_stacks(lock[0], key=lock[1]):
        whole_ns += stack.weight_ns
        writing_ns += stack.weight_ns if _writes(stack.user) or _writes(stack.scan) else 0
    return writing_ns > locks_policy.holder_share * whole_ns


def _writes(names: Iterable[str]) -> bool:
    """Return whether the nearest known function takes a lock to write."""
    known = (name for name in map(symbol_of, names) if _TAKES.fullmatch(name))
    return bool(_WRITES.fullmatch(next(known, "")))


def finding(model: Model, overlap: Overlap, rows: Sequence[Row], code: Mapping[str, int]) -> Finding:
    """Return the finding on such a lock; `code`: the functions that wait for it, by sampled time."""
    whole, name = together(rows), plain(rows[0].object)
    doing, times = phrase_of(overlap.way.root), round(overlap.waits_ns / overlap.reads_ns)
    somebody = f"For {percent(overlap.taken_share)} of the time at least one of {overlap.readers} readers is {doing}"
    where = f"for {max(code, key=lambda each: code[each])}: " if code else ""
    text = (
        f"half of the waiting is in waits of {duration(overlap.waits_ns)}; a reader is {doing} for"
        f" {duration(overlap.reads_ns)} at a time"
    )
    return conclude(
        model,
        claims_of(rows),
        headline="Writers wait for a lock whose readers overlap, so that it is hardly ever free",
        claim=f"Threads wait {duration(whole.sum_ns)} to write what a lock of readers and writers ({name}) guards."
        f" {somebody}, so that a writer waits {times} times as long as each of them.",
        mechanism=Mechanism.BUSY,
        evidence=[
            waits(whole, f"waits for {name}"),
            Evidence(text, float(overlap.waits_ns), "ns", "sched_waking, ledger"),
        ],
        remedies=[
            fix(
                f"{where}let a waiting writer go before new readers (in C"
                " PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP; std::shared_mutex prefers readers)"
            ),
            fix(
                f"do not hold the read lock while {doing}: copy what is needed, or let writers replace the whole by a"
                " new copy"
            ),
        ],
        doubts=["sampled stacks tell that threads want to write"],
        alternatives=["readers do several such things before they let the lock go"],
        verify=time_under(model, overlap.way.account),
    )
