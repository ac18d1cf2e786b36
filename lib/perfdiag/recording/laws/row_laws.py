"""What each line of a recording must obey by itself: no part is more than its whole, and nothing more than can be.

Fields go by the names that perfdiag-recording(5) gives them; what buckets must obey is in bucket_laws.py, and what
requests and calls must, in exchange_laws.py.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from perfdiag.common.units import duration
from perfdiag.recording import schema
from perfdiag.recording.laws import bucket_laws
from perfdiag.recording.laws.bucket_laws import ROUNDED_NS, STILL_COUNTED, STILL_COUNTED_SHARE
from perfdiag.recording.laws.tolerance import exceeds
from perfdiag.recording.recording import Recording

Kind = type[schema.Line]

# Of each pair the second is the whole.  Plain numbers are exact, but where the kernel still counts (bucket_laws.py).
PART_AND_WHOLE: Mapping[Kind, tuple[tuple[str, str], ...]] = {
    schema.Because: (("root_tid_ns", "sum_ns"),),
    schema.Cpu: (("clock_ns", "ran_ns"),),
    schema.DatabaseWait: (("max_ns", "sum_ns"),),
    schema.Detail: (("waker_count", "count"), ("max_ns", "sum_ns")),
    schema.Device: (("errors", "count"),),
    schema.Exited: (("processes", "threads"),),
    schema.Latency: (("max_ns", "sum_ns"),),
    schema.NfsFlush: (("max_ns", "sum_ns"),),
    schema.Operation: (("errors", "count"), ("over_slo", "count"), ("max_ns", "sum_ns")),
    schema.Process: (("processes", "threads"),),
    schema.Rpc: (("errors", "count"),),
    schema.Thread: (("requests_turned", "requests_read"),),
    schema.VmExit: (("running_ns", "sum_ns"), ("polled_ns", "sum_ns"), ("max_ns", "sum_ns")),
}
# Time of nothing: the first is 0 where the second is.
TIME_AND_COUNT: Mapping[Kind, tuple[tuple[str, str], ...]] = {
    schema.Because: (("sum_ns", "count"),),
    schema.DatabaseWait: (("sum_ns", "count"),),
    schema.Exchange: (("over_slo_ns", "over_slo"), ("whole_ns", "whole"), ("over_slo_whole_ns", "whole")),
    schema.FileFlush: (("sum_ns", "waits"),),
    schema.FileRead: (("sum_ns", "waits"),),
    schema.RequestParked: (("sum_ns", "count"),),
}


def find(recording: Recording) -> Iterator[str]:
    """Yield what is contradictory."""
    for kind, pairs in PART_AND_WHOLE.items():
        for line in recording.lines_of(kind):
            yield from _of_parts(line, pairs)
    for kind, pairs in TIME_AND_COUNT.items():
        for line in recording.lines_of(kind):
            for time, number in pairs:
                if getattr(line, time) and not getattr(line, number):
                    yield f"{time} of a line {_name(line)} is {duration(getattr(line, time))}, its {number} 0"
    yield from bucket_laws.find(recording)
    yield from _of_flushes(recording)
    yield from _of_cpus(recording)
    yield from _of_operations(recording)
    for book in recording.books() if not recording.header.accounts else ():
        yield from _of_accounts(book)
    for thread in recording.threads.values():
        yield from _of_thread(thread, recording)


def _of_parts(line: schema.Line, pairs: tuple[tuple[str, str], ...]) -> Iterator[str]:
    for part, whole in pairs:
        had, most = getattr(line, part), getattr(line, whole) or 0
        if type(line) in STILL_COUNTED:
            most += max(1, int(most * STILL_COUNTED_SHARE))
        if had > most:
            shown = [duration(ns) if part.endswith("_ns") else f"{ns:,}" for ns in (had, getattr(line, whole) or 0)]
            yield f"{part} of a line {_name(line)} is {shown[0]}, its {whole} {shown[1]}"


def _of_flushes(recording: Recording) -> Iterator[str]:
    """A flush reads both numbers one after the other: meanwhile each CPU can have begun one more WRITE."""
    at_once = recording.header.host.cpus_online or 1
    for line in recording.nfs_flushes:
        if line.stable_writes > line.writes + line.count * at_once:
            yield f"stable_writes of a line 'nfs_flush' is {line.stable_writes:,}, its writes {line.writes:,}"


def _of_cpus(recording: Recording) -> Iterator[str]:
    """A CPU either runs somebody or sleeps."""
    window_ns = recording.footer.at_ns - recording.header.start_ns if recording.footer else 0
    for line in recording.cpus if window_ns > 0 else ():
        took_ns = line.ran_ns + sum(ns for _, _, ns in line.idle)
        if exceeds(took_ns, window_ns):
            yield f"CPU {line.cpu} ran or slept {duration(took_ns)} of {duration(window_ns)}"


def _of_operations(recording: Recording) -> Iterator[str]:
    for line in recording.operations:
        booked_ns, slow_ns = (sum(a.sum_ns for a in sums) for sums in (line.accounts, line.over_slo_accounts))
        for what, part_ns, whole_ns in (
            ("accounts", booked_ns, line.sum_ns),
            ("sum_ns", line.sum_ns, booked_ns),
            ("over_slo_accounts", slow_ns, booked_ns),
        ):
            if exceeds(part_ns, whole_ns):
                yield f"{what} of a line 'operation' are {duration(part_ns)}, of {duration(whole_ns)}"


def _of_accounts(line: schema.Thread | schema.Exited | schema.Process) -> Iterator[str]:
    for each in line.accounts:
        if each.max_ns > each.sum_ns or each.sum_ns > each.count * (each.max_ns + ROUNDED_NS):
            longest = f"{each.count:,} of {duration(each.max_ns)} or less"
            yield f"{each.account} of a line {_name(line)} is {duration(each.sum_ns)}, in {longest}"


def _of_thread(line: schema.Thread, recording: Recording) -> Iterator[str]:
    lasted_ns = line.at_ns - line.start_ns
    if recording.header.engine == schema.OWN_ENGINE and exceeds(abs(lasted_ns - line.wall_ns), 0):
        yield f"a thread lasted {duration(line.wall_ns)}, by its start and end {duration(abs(lasted_ns))}"
    if line.requests_turned > (line.requests_read or 0):
        yield f"a thread turned for {line.requests_turned:,} requests, of {line.requests_read or 0:,} that it read"
    if not line.futexes and not line.open:
        return
    sums = {each.account: each.sum_ns for each in line.accounts}
    parked_ns = sum(each.sum_ns for each in line.futexes)
    if parked_ns > sums.get("wait.parked", 0):
        yield f"a thread was parked on futexes {duration(parked_ns)}, of {duration(sums.get('wait.parked', 0))}"
    if line.open:  # the end of it is in the second account where the thread runs again, and was not seen coming in
        open_ns = line.at_ns - max(line.open.since_ns, line.start_ns)
        booked_ns = sums.get(line.open.account, 0) + sums.get("cpu.user", 0)
        if not 0 <= open_ns <= booked_ns:
            yield f"a thread has been in {line.open.account} for {duration(abs(open_ns))}, of {duration(booked_ns)}"


def _name(line: Any) -> str:
    return repr(str(line.__struct_config__.tag))
