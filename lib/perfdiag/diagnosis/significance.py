"""When a time is worth a finding, how confident a rule may be, and how numbers are worded."""

import functools
from collections import defaultdict
from collections.abc import Iterable, Mapping

from perfdiag.common.by_key import groups_by_key
from perfdiag.common.text import printable
from perfdiag.common.units import about, about_at_most, counted, duration, size
from perfdiag.common.units import share as percent
from perfdiag.diagnosis.policy import general_policy
from perfdiag.diagnosis.rule import (
    Check,
    Claim,
    Confidence,
    Evidence,
    EvidenceKind,
    Remedy,
    RemedyKind,
    Severity,
    Silence,
)
from perfdiag.model.model import Model, Row, once
from perfdiag.model.stacks.symbols import without_package
from perfdiag.model.thread_accounts import ThreadLedger
from perfdiag.recording import schema
from perfdiag.recording.accounts import phrase_of
from perfdiag.recording.distribution import Distribution, edges_ns, merged

LONGEST_HEADLINE = 110  # characters, as a report has room for
LONGEST_BRIEF = 40  # characters of a name in a headline of about 75

_STEPS = (Confidence.LOW, Confidence.MEDIUM, Confidence.HIGH)


def plain(name: str) -> str:
    """Return a name as people are shown it: escaped, and methods of Java without their package."""
    return without_package(printable(name))


def worth(model: Model, ns: int) -> bool:
    """Return True when `ns` is a share of the target's time that somebody could feel."""
    return (
        model.busy_ns > 0
        and ns / model.busy_ns >= general_policy.worth_share
        and ns >= general_policy.worth_of_window_share * model.window_ns
        and ns > 0
    )


def fault(model: Model, ns: int) -> Severity:
    """Return WARNING for a fault that takes enough time to be worth waking somebody, else INFO."""
    felt = (
        model.busy_ns
        and ns / model.busy_ns >= general_policy.fault_share
        and ns >= general_policy.fault_of_window_share * model.window_ns
    )
    return Severity.WARNING if felt else Severity.INFO


def lowered(confidence: Confidence, steps: int = 1) -> Confidence:
    """Return `confidence`, so many steps lower, never below LOW."""
    return _STEPS[max(0, _STEPS.index(confidence) - steps)]


def recording_limits(model: Model) -> list[str]:
    """Return what makes any statement about this recording less certain."""
    coverage = model.coverage
    found = []
    waits = sum(total.count for total in model.accounts.values())
    if coverage.lost_total > general_policy.tolerable_loss_share * waits:
        worst = max(coverage.time_lost, key=lambda name: coverage.time_lost[name])
        found.append(f"{coverage.lost_total:,} records lost of {waits:,} waits (most: {worst})")
    if not coverage.complete:
        found.append("the recording was cut off before its end: losses are unknown")
    if coverage.contradictions:
        found.append(f"the recording contradicts itself: {plain(coverage.contradictions[0])}")
    if coverage.closed_error > general_policy.closed_error_share:
        found.append(f"accounted time differs from the threads' time by {percent(coverage.closed_error)}")
    if coverage.stack_agreement is not None and coverage.stack_agreement < general_policy.stack_agreement_share:
        found.append(f"accounts agree with sampled stacks for only {percent(coverage.stack_agreement)} of the time")
    return found


def little(model: Model, id: str, what: str, ns: float, more: str = "") -> Check:
    """Return the check of a rule whose time is too little to be felt."""
    share = ns / model.busy_ns if model.busy_ns else 0.0
    return Check(id, f"{what} {percent(share)} of busy time{more}", share, "share")


def fine(model: Model, id: str, what: str, *accounts: str) -> Check | Silence:
    """Return the check of a rule whose accounts hold too little to be felt; the silence where they hold more, but the
    recording does not say at what."""
    return without_rows(model, id, *accounts) or little(model, id, what, model.ns(*accounts))


def without_rows(model: Model, id: str, *accounts: str) -> Silence | None:
    """Return the silence where the time of accounts is known, but not the objects that were waited for: those are
    written at the end of a recording."""
    missing_ns = rowless_ns(model, *accounts)
    if not missing_ns:
        return None
    return Silence(
        id,
        f"it is unknown what {duration(missing_ns)} of waiting was for"
        f" ({', '.join(sorted(name for name in accounts if model.ns(name)))}): the recording was cut off",
        "record again and let it end, with Ctrl-C if need be: the recorder then writes the rest",
    )


def rowless_ns(model: Model, *accounts: str) -> int:
    """Return how much of the time of accounts no row has, 0 where that is hardly felt or the smaller part."""
    ns = model.ns(*accounts)
    missing_ns = ns - total_ns(model.rows_of(*accounts))
    return missing_ns if worth(model, missing_ns) and 2 * missing_ns >= ns else 0


@functools.cache
def midpoint_ns(bucket: int) -> float:
    """Return the middle of a log2 bucket."""
    return sum(edges_ns(bucket)) / 2


def share_above(distribution: Distribution, ns: int) -> float:
    """Return the share of the *time* (not of the count) that was spent in waits longer than `ns`.

    Whole buckets only, each taken at its middle and scaled to the exact sum: `ns` should be a bucket's edge.
    """
    total = above = 0.0
    for bucket, count in distribution.buckets.items():
        middle_ns = midpoint_ns(bucket)
        total += count * middle_ns
        above += count * middle_ns if middle_ns > ns else 0.0
    if not total:  # a wait that has not ended has no bucket yet
        return 1.0 if distribution.sum_ns > ns else 0.0
    return above / total


def typical_ns(distribution: Distribution) -> int:
    """Return the length of wait in which half of the time was spent: small waits by the thousand do not hide it.

    Inside its bucket it stands where the exact sum puts it: waits of one length come out as that length.
    """
    weights = {bucket: count * midpoint_ns(bucket) for bucket, count in distribution.buckets.items()}
    whole = sum(weights.values())
    rest = whole / 2
    for bucket in sorted(weights):
        rest -= weights[bucket]
        if rest <= 0 and whole:
            low, high = edges_ns(bucket)
            scaled = midpoint_ns(bucket) * distribution.sum_ns / whole
            return min(int(max(low, min(high, scaled))), distribution.max_ns or distribution.sum_ns)
    return distribution.max_ns or distribution.sum_ns


def together(rows: Iterable[Row]) -> Distribution:
    """Return the distribution of all `rows`."""
    return merged(row.distribution for row in rows)


def by_key(rows: Iterable[Row]) -> dict[tuple[str, str], list[Row]]:
    """Return rows by (account, key), the largest sum first: several processes may share an object."""
    groups = groups_by_key(((row.account, row.key), row) for row in rows)
    return dict(sorted(groups.items(), key=lambda item: -total_ns(item[1])))


def total_ns(rows: Iterable[Row]) -> int:
    """Return the time of all `rows`."""
    return sum(row.distribution.sum_ns for row in rows)


def claims_of(rows: Iterable[Row]) -> dict[Claim, int]:
    """Return what `rows` claim, by account and key."""
    return {pair: total_ns(group) for pair, group in by_key(rows).items()}


Still = tuple[ThreadLedger, schema.OpenWait]


@once
def _open_waits(model: Model) -> dict[tuple[str, str | None], list[Still]]:
    """Return the waits that were open when the window ended, by account and object; and all of an account."""
    found: defaultdict[tuple[str, str | None], list[Still]] = defaultdict(list)
    for thread in model.threads:
        if wait := thread.still_waiting:
            found[wait.account, None].append((thread, wait))
            found[wait.account, wait.object].append((thread, wait))
    return dict(found)


def still_waiting(
    model: Model, *accounts: str, part: float = general_policy.still_waiting_share, key: str | None = None
) -> list[Still]:
    """Return the threads that waited in one of `accounts` when the window ended, for at least `part` of it; with what
    for: for the object `key`, or any."""
    end_ns = model.header.start_ns + model.window_ns
    return [
        (thread, wait)
        for account in accounts
        for thread, wait in _open_waits(model).get((account, key), ())
        if end_ns - wait.since_ns >= part * model.window_ns
    ]


def waits(distribution: Distribution, what: str, probe: str = "ledger") -> Evidence:
    """Return the evidence of a distribution: count, p50, p99 (where there are enough) and maximum."""
    parts = [counted(distribution.count, what)]
    p50, p99 = distribution.quantile_ns(0.5), distribution.quantile_ns(0.99)
    if p50 is not None and distribution.count > 1:
        parts.append(f"p50 {about_at_most(p50, distribution.max_ns)}")
    if p99 is not None and distribution.count >= general_policy.waits_for_p99:
        parts.append(f"p99 {about_at_most(p99, distribution.max_ns)}")
    parts.append(f"longest {duration(distribution.max_ns or distribution.sum_ns)}")
    without_sum = ", ".join(parts)
    return Evidence(
        f"{duration(distribution.sum_ns)} in {without_sum}",
        float(distribution.sum_ns),
        "ns",
        probe,
        kind=EvidenceKind.WAITS,
        without_sum=without_sum,
    )


def brief(name: str) -> str:
    """Return a name as a headline has room for it: of a longer one its end, which tells more than its beginning.

    Marks at its end would be taken for those of the sentence, and are left out.
    """
    name = name.rstrip(".:;,") or f"'{name}'"
    return name if len(name) <= LONGEST_BRIEF else f"...{name[3 - LONGEST_BRIEF :]}"


def with_room(headline: str, shorter: str, longest: int = LONGEST_HEADLINE) -> str:
    """Return a headline if a report has room for it, else the shorter one."""
    return headline if len(headline) <= longest else shorter


def thread_of(model: Model, tid: int) -> ThreadLedger | None:
    """Return the ledger of a thread of the target, None when it is not one (or its row was folded)."""
    return _by_tid(model).get(tid)


@once
def _by_tid(model: Model) -> dict[int, ThreadLedger]:
    return {thread.tid: thread for thread in reversed(model.threads) if thread.tid}


def top(accounts: Mapping[str, int], count: int = 3) -> str:
    """Return the largest of some accounts or functions: "flushing to disk 79 %, own code on a CPU 12 %"."""
    whole = sum(accounts.values())
    if not whole:
        return "nothing"
    first, *others = sorted(accounts.items(), key=lambda item: -item[1])[:count]
    largest = [first, *((name, ns) for name, ns in others if ns >= general_policy.worth_share * whole)]
    return ", ".join(f"{phrase_of(name)} {percent(ns / whole)}" for name, ns in largest)


def attempt(command: str, undo: str, present: str) -> Remedy:
    """Return a reversible remedy."""
    return Remedy(RemedyKind.TRY, command, undo=undo, present_value=present)


def fix(text: str) -> Remedy:
    """Return a remedy that takes a change somewhere else."""
    return Remedy(RemedyKind.FIX, text)


__all__ = [
    "about",
    "attempt",
    "brief",
    "by_key",
    "claims_of",
    "duration",
    "fault",
    "fine",
    "fix",
    "little",
    "midpoint_ns",
    "percent",
    "plain",
    "rowless_ns",
    "share_above",
    "size",
    "still_waiting",
    "thread_of",
    "together",
    "top",
    "total_ns",
    "typical_ns",
    "waits",
    "with_room",
    "without_rows",
    "worth",
]
