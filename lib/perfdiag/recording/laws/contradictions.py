"""What a recording says twice, and not the same: rows against their accounts, its end against its begin.

A sound recording has none of these.  One that was made by hand, mixed or damaged may, and its books may close all the
same: what is found in it is worth little.
"""

from collections.abc import Iterable, Iterator
from itertools import chain, islice

from perfdiag.common.by_key import sums_by_key
from perfdiag.common.units import duration, plural
from perfdiag.recording import schema
from perfdiag.recording.accounts import Kind, kind_of
from perfdiag.recording.laws import budget_laws, exchange_laws, failure_laws, row_laws
from perfdiag.recording.laws.tolerance import TOLERATED_NS, exceeds
from perfdiag.recording.recording import Recording

MOST = 200  # that are told; forged tables can have tens of thousands
STALLED_NS = 5_000_000_000  # of a host in trouble, between the last rows and the end of the window
BEGIN_NS = 60_000_000_000  # facts are read in two seconds; a host in trouble may stall before or between them
# With these a thread's time was kept and its rows were not: by the kernel side, by the recorder, by a damaged file.
ROWS_LOST = frozenset({"detail_full", "details", "output_lines", "ring_buffer", "snapshots_torn", "storage_failed"})


def find(recording: Recording) -> list[str]:
    """Return each contradiction in a few words, the worst of a kind first; names of accounts in them are untrusted."""
    rows = _of_rows(recording) if recording.footer else ()
    first = (_of_order(recording), _of_time(recording), exchange_laws.find(recording), rows)
    own = (laws.find(recording) for laws in (row_laws, failure_laws, budget_laws))
    found = chain(*first, chain.from_iterable(own))
    told = list(islice(found, MOST))
    return told if next(found, None) is None else [*told, "further contradictions"]  # how many, is not worth the time


def _of_order(recording: Recording) -> Iterator[str]:
    footer = recording.footer
    if footer and footer.at_ns < recording.header.start_ns:
        yield f"its end is {duration(recording.header.start_ns - footer.at_ns)} before its begin"
    yield from _of_begin(recording)
    if footer:
        yield from _of_end(recording, footer)
    if footer and footer.lines not in (None, recording.lines_before_end):
        yield f"{plural(footer.lines or 0, 'line')} came before its end, {recording.lines_before_end:,} are there"
    if footer and recording.header.accounts and not any(footer.lost.values()):
        there = sum(line.threads for line in recording.exited.values()) + len(recording.threads)
        if footer.threads_seen != there:  # a script does not count lines
            yield f"it has seen {plural(footer.threads_seen, 'thread')}, {there:,} are there"
    if recording.goes_back:
        yield f"it is not in order: line {recording.goes_back} is older than the one it replaces"
    if recording.after_footer:
        yield f"it is not in order: line {recording.after_footer} stands behind its end"


def _of_begin(recording: Recording) -> Iterator[str]:
    """Threads are seen from the window's begin on, and facts of the begin are read then."""
    start_ns = recording.header.start_ns
    seen_ns = min((line.start_ns for line in recording.threads.values()), default=start_ns)
    read_ns = min((fact.at_ns for fact in recording.facts if fact.phase == "begin"), default=start_ns)
    if seen_ns < start_ns - STALLED_NS:
        yield f"a thread is seen {duration(start_ns - seen_ns)} before its begin"
    if abs(read_ns - start_ns) > BEGIN_NS:
        yield f"what was read at its begin is {duration(abs(read_ns - start_ns))} away from that"


def _of_end(recording: Recording, footer: schema.Footer) -> Iterator[str]:
    """The window ends after its last rows and before the facts that are read at its end."""
    read_ns = max((fact.at_ns for fact in recording.facts if fact.phase == "end"), default=footer.at_ns)
    rows_ns = max((line.at_ns for line in (*recording.books(), *recording.intervals)), default=footer.at_ns)
    lasting = footer.reason == "targets gone" or any(line.state == "alive" for line in recording.threads.values())
    if footer.at_ns > read_ns + TOLERATED_NS:
        yield f"its end is {duration(footer.at_ns - read_ns)} later than what was read after it"
    elif lasting and footer.at_ns > rows_ns + STALLED_NS:
        yield f"its end is {duration(footer.at_ns - rows_ns)} later than its last rows"
    if rows_ns > footer.at_ns + TOLERATED_NS:
        yield f"its last rows are {duration(rows_ns - footer.at_ns)} later than its end"


def _of_time(recording: Recording) -> Iterator[str]:
    timeless = [line for line in recording.books() if not line.wall_ns and _booked_ns(line.accounts)]
    if timeless:
        booked_ns = sum(_booked_ns(line.accounts) for line in timeless)
        yield f"{duration(booked_ns)} are booked to threads that took no time"


def _of_rows(recording: Recording) -> Iterator[str]:
    """Rows are parts of accounts: together they are no longer, and no shorter where none was lost."""
    accounts = sums_by_key((each.account, each.sum_ns) for line in recording.books() for each in line.accounts)
    rows = sums_by_key((detail.account, detail.sum_ns) for detail in recording.details.values())
    too_long = {name: ns - accounts[name] for name, ns in rows.items() if exceeds(ns, accounts[name])}
    for name in sorted(too_long, key=lambda name: (-too_long[name], name)):
        yield f"rows of {name} are {duration(rows[name])}, the account {duration(accounts[name])}"
    if _has_all_rows(recording):
        too_short = {name: ns - rows[name] for name, ns in accounts.items() if exceeds(ns, rows[name])}
        for name in sorted(too_short, key=lambda name: (-too_short[name], name)):
            yield f"{name} is {duration(accounts[name])}, its rows {duration(rows[name])}"
    because = sums_by_key((reason.account, reason.sum_ns) for reason in recording.because)
    for name, ns in sorted(because.items()):
        if exceeds(ns, accounts[name]):
            yield f"waits for others in {name} are {duration(ns)}, the account {duration(accounts[name])}"
    peers = sums_by_key((line.account, line.sum_ns) for line in recording.peer_waits if line.pid)
    for name, ns in sorted(peers.items()):
        if exceeds(ns, accounts[name]):
            yield f"waits for other processes in {name} are {duration(ns)}, the account {duration(accounts[name])}"
    awake_ns = sum(ns for name, ns in accounts.items() if kind_of(name) is not Kind.IDLE)
    for what, ns, whole_ns in (
        ("flushes of NFS", sum(line.sum_ns for line in recording.nfs_flushes), awake_ns),
        ("flushes of files", sum(line.sum_ns for line in recording.files_flushed), awake_ns),
        ("reads of files", sum(line.sum_ns for line in recording.files_read), awake_ns),
        ("exits of virtual CPUs", sum(line.running_ns for line in recording.vm_exits), accounts["vm.exit"]),
        ("halts of virtual CPUs", sum(line.halted_ns for line in recording.vm_exits), accounts["vm.halt"]),
    ):
        if exceeds(ns, whole_ns):
            yield f"{what} took {duration(ns)}, of {duration(whole_ns)} that were there"


def _has_all_rows(recording: Recording) -> bool:
    """Whether each nanosecond must stand in a row: a host's recording has the largest rows alone."""
    header, lost = recording.header, recording.footer.lost if recording.footer else {}
    whole = header.engine == schema.OWN_ENGINE and not header.options.host and not recording.bad_lines
    return whole and not any(lost.get(counter) for counter in ROWS_LOST)


def _booked_ns(accounts: Iterable[schema.AccountSum]) -> int:
    return sum(each.sum_ns for each in accounts)
