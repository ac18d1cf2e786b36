"""The laws of a recording (closed, exclusive, consistent, honest), checked on every one that a live test makes."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator

from perfdiag.recording import schema
from perfdiag.recording.accounts import BY_NAME, Kind

from live.support.recording import Books, Recording, table

CLOSED_SHARE = 0.01
CLOSED_SLACK_NS = 50_000  # for threads that lived so shortly that 1 % is nothing
UNEXPLAINED_SHARE = 0.01
ROUNDING_NS = 1000  # the kernel side keeps the longest wait in microseconds
WINDOW_SLACK_NS = 50_000_000  # and as much again for every thousand threads: the last sweep takes its time
TICK_NS = 10_000_000  # user_ns and kernel_ns are sampled by ticks
COUNTERS = frozenset(
    {
        "ring_buffer", "storage_failed", "detail_full", "names_full", "wakeups_missing",
        "snapshots_torn", "stacks_failed", "output_lines", "exited_folded_full", "details", "stacks",
    }
)  # fmt: skip


def check(recording: Recording) -> None:
    """Raise AssertionError that lists every broken law, with the rows that break it."""
    broken = [text for law in LAWS for text in law(recording)]
    assert not broken, f"{recording.path} breaks {len(broken)} laws:\n" + "\n".join(broken[:5])


def framed(recording: Recording) -> Iterator[str]:
    """One header first, one footer last, every counter of losses in it."""
    if not isinstance(recording.lines[0], schema.Header) or len(recording.of(schema.Header)) != 1:
        yield "the header is not the first line, or not the only header"
    if not isinstance(recording.lines[-1], schema.Footer) or len(recording.of(schema.Footer)) != 1:
        yield "the footer is not the last line, or not the only footer"
    if missing := COUNTERS - recording.footer.lost.keys():
        yield f"counters missing in the footer: {sorted(missing)}"
    if not recording.header.start_ns <= recording.footer.at_ns:
        yield "the window ends before it begins"


def closed(recording: Recording) -> Iterator[str]:
    """The accounts of a thread add up to its wall time, in every row of it."""
    rows: list[Books] = [*recording.of(schema.Thread), *recording.of(schema.Exited)]
    for row in rows:
        booked = sum(total.sum_ns for total in row.accounts)
        slack = max(CLOSED_SHARE * row.wall_ns, CLOSED_SLACK_NS * getattr(row, "threads", 1))
        if abs(booked - row.wall_ns) > slack:
            yield f"not closed by {booked - row.wall_ns:+,} ns: {table(row)}"


def rooted(recording: Recording) -> Iterator[str]:
    """What waits were for is a part of them: never more than an account has, and no other one's."""
    sums: defaultdict[str, int] = defaultdict(int)
    roots: defaultdict[str, int] = defaultdict(int)
    for total in itertools.chain.from_iterable(row.accounts for row in recording.books):
        sums[total.account] += total.sum_ns
    for line in recording.of(schema.Because):
        roots[line.account] += line.sum_ns
        if {line.account, line.root, *line.steps} - BY_NAME.keys():
            yield f"unknown account: {line}"
        if (line.account, line.object) == (line.root, line.root_object) or len(line.steps) > 3 or not line.count:
            yield f"cannot be true: {line}"
    for account, ns in roots.items():
        if ns > sums[account]:
            yield f"{account} is {sums[account]:,} ns, and was waited in for {ns:,}"


def exclusive(recording: Recording) -> Iterator[str]:
    """An account stands once in a row, is known, and its numbers can be true together."""
    rows: list[Books | schema.Interval] = [*recording.of(schema.Thread), *recording.of(schema.Exited)]
    for row in [*rows, *recording.of(schema.Interval)]:
        names = [total.account for total in row.accounts]
        if len(names) != len(set(names)):
            yield f"an account stands twice: {names}"
        for total in row.accounts:
            if total.account not in BY_NAME:
                yield f"unknown account {total.account!r}"
            if total.max_ns > total.sum_ns + ROUNDING_NS or (total.sum_ns and not total.count):
                yield f"cannot be true: {total}"
            if total.sum_ns > total.count * (total.max_ns + ROUNDING_NS):
                yield f"more time than waits times the longest wait: {total}"


def explained(recording: Recording) -> Iterator[str]:
    """Less than 1 % of the time that is not idle is unexplained."""
    sums: defaultdict[str, int] = defaultdict(int)
    for total in itertools.chain.from_iterable(row.accounts for row in recording.books):
        sums[total.account] += total.sum_ns
    busy = sum(ns for name, ns in sums.items() if name in BY_NAME and BY_NAME[name].kind is Kind.LATENCY)
    if sums["unexplained"] > UNEXPLAINED_SHARE * busy:
        yield f"unexplained: {sums['unexplained']:,} of {busy:,} busy ns"


def cumulative(recording: Recording) -> Iterator[str]:
    """Nothing ever shrinks from one row of a thread, or one interval, to the next; an exit is the last word."""
    last: dict[int, schema.Thread] = {}
    for row in recording.of(schema.Thread):
        before = last.get(row.serial)
        if before and (before.state == "exited" or (before.pid, before.start_ns) != (row.pid, row.start_ns)):
            yield f"serial {row.serial} goes on after its exit, or is another thread: {before} {row}"
        if before and shrunk(before.accounts, row.accounts):
            yield f"a thread's sums shrink: {table(before)}\n then {table(row)}"
        last[row.serial] = row
    intervals = recording.of(schema.Interval)
    for earlier, later in itertools.pairwise(intervals):
        if later.at_ns < earlier.at_ns or later.wall_ns < earlier.wall_ns:
            yield f"intervals go backwards at {later.at_ns}: wall {earlier.wall_ns:,} then {later.wall_ns:,}"
        for account in shrunk(earlier.accounts, later.accounts):
            yield f"interval at {later.at_ns}: {account} shrinks"


def shrunk(before: list[schema.AccountSum], after: list[schema.AccountSum]) -> list[str]:
    """Return the accounts that lost time; an open wait may be booked elsewhere once its end is known."""
    sums = {total.account: total.sum_ns for total in after}
    return [
        total.account
        for total in before
        if total.sum_ns - sums.get(total.account, 0) > CLOSED_SLACK_NS and total.account not in REVISED
    ]


# Extended virtually while still open: how a run-queue wait ends decides its account.
REVISED = frozenset({"runq.busy", "runq.waking", "runq.throttled", "cpu.user", "cpu.irq", "cpu.stolen"})


def timed(recording: Recording) -> Iterator[str]:
    """Rows lie inside the window, and a thread's wall time is the time from its start to its row."""
    start, end = recording.header.start_ns, recording.footer.at_ns
    end += WINDOW_SLACK_NS * (1 + len(recording.threads) // 1000)
    for row in recording.of(schema.Thread):
        if abs(row.at_ns - row.start_ns - row.wall_ns) > CLOSED_SLACK_NS:
            yield f"wall is not end minus start: {row.at_ns - row.start_ns:,} {table(row)}"
        if row.start_ns < start - CLOSED_SLACK_NS or row.at_ns > end:
            yield f"outside the window by {start - row.start_ns:,} or {row.at_ns - end:,} ns: {table(row)}"
        if row.user_ns + row.kernel_ns > row.wall_ns + 2 * TICK_NS:
            yield f"more CPU time than wall time: {row.user_ns:,} + {row.kernel_ns:,}: {table(row)}"
        if row.open and not row.start_ns <= max(row.open.since_ns, row.start_ns) <= row.at_ns:
            yield f"an open wait from the future: {row.open}"


def identified(recording: Recording) -> Iterator[str]:
    """A tid belongs to one thread at a time; the footer knows how many threads there were."""
    lives: defaultdict[int, list[schema.Thread]] = defaultdict(list)
    for row in recording.threads:
        lives[row.tid].append(row)
    heirs = {event.pid for event in recording.of(schema.Event) if "exec" in event.name}
    for tid, rows in lives.items():
        if tid in heirs:
            continue  # exec by a thread: it was another tid before, and its row carries the one it took over
        rows.sort(key=lambda row: row.start_ns)
        for earlier, later in itertools.pairwise(rows):
            if later.start_ns < earlier.at_ns:
                yield f"two threads {tid} at once: {earlier} {later}"
    seen = len(recording.threads) + sum(fold.threads for fold in recording.folds)
    if seen != recording.footer.threads_seen:
        yield f"{recording.footer.threads_seen} threads in the footer, {seen} in the rows"


def detailed(recording: Recording) -> Iterator[str]:
    """By account, the details add up to the threads, in time and in number; buckets add up to the details.

    A wait for a CPU is one wait of its thread, and one behind each of those that ran meanwhile.
    """
    if any(recording.footer.lost.get(name) for name in ("detail_full", "ring_buffer", "exited_folded_full", "details")):
        return  # then they cannot, and the footer says so
    of_threads: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    of_details: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    for total in itertools.chain.from_iterable(row.accounts for row in recording.books):
        of_threads[total.account][0] += total.sum_ns
        of_threads[total.account][1] += total.count
    keys = set()
    for row in recording.of(schema.Detail):
        of_details[row.account][0] += row.sum_ns
        of_details[row.account][1] += row.count
        # running has sums alone: nobody asks how long its slices were
        told = 0 if row.account in ("cpu.user", "cpu.irq", "cpu.stolen") else row.count
        if sum(count for _, count in row.buckets) != told:
            yield f"buckets do not add up to the count: {row}"
        if row.max_ns > row.sum_ns + ROUNDING_NS or row.waker_count > row.count:
            yield f"cannot be true: {row}"
        if (key := (row.pid, row.account, row.object)) in keys:
            yield f"a detail stands twice: {key}"
        keys.add(key)
        if row.object.startswith("own:") and row.count > of_threads[row.account][1]:
            yield f"more waits behind own threads than waits: {row}"
    for account in of_threads.keys() | of_details.keys():
        (ns, count), (detail_ns, detail_count) = of_threads[account], of_details[account]
        more_ns, more = detail_ns - ns, detail_count - count
        several = account == "runq.busy" and more >= 0  # of one wait, behind each of those that ran meanwhile
        if more_ns or (more and not several):
            yield f"{account}: threads say {ns:,} ns in {count}, details {detail_ns:,} ns in {detail_count}"


def summed(recording: Recording) -> Iterator[str]:
    """The last interval never knows more than the rows at the end, and its own books are closed."""
    intervals = recording.of(schema.Interval)
    if not intervals:
        yield "no interval in the whole recording"
        return
    for row in intervals:
        booked = sum(total.sum_ns for total in row.accounts)
        if abs(booked - row.wall_ns) > max(CLOSED_SHARE * row.wall_ns, CLOSED_SLACK_NS * max(row.threads, 1)):
            yield f"interval at {row.at_ns} not closed: booked {booked:,}, wall {row.wall_ns:,}"
    if intervals[-1].wall_ns > recording.wall_ns + CLOSED_SLACK_NS:
        yield f"the last interval has {intervals[-1].wall_ns:,} ns of wall, the rows {recording.wall_ns:,}"


def operated(recording: Recording) -> Iterator[str]:
    """The ledger of an operation adds up to its time."""
    for row in recording.of(schema.Operation):
        booked = sum(total.sum_ns for total in row.accounts)
        if abs(booked - row.sum_ns) > max(CLOSED_SHARE * row.sum_ns, 2000 * row.count):
            yield f"operation not closed: {row}"
        if sum(count for _, count in row.buckets) != row.count or row.over_slo > row.count:
            yield f"cannot be true: {row}"


LAWS = (framed, closed, rooted, exclusive, explained, cumulative, timed, identified, detailed, summed, operated)

__all__ = ["check"]
