"""Account and object of each process, as the recording details them, each by its final account."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace

from perfdiag.model import object_names
from perfdiag.model.ledger.thread_totals import Books
from perfdiag.model.model import Row
from perfdiag.model.thread_accounts import ns_of
from perfdiag.model.waits.futexes import Futexes
from perfdiag.model.waits.idle_runtime_threads import WORK
from perfdiag.model.waits.receiving_calls import Receiving
from perfdiag.recording import schema
from perfdiag.recording.accounts import PARKED
from perfdiag.recording.distribution import Distribution
from perfdiag.recording.packed_numbers import Counts
from perfdiag.recording.recording import Recording


def rows_of(
    recording: Recording, books: Sequence[Books], futexes: Futexes, receiving: Receiving, names: object_names.Names
) -> list[Row]:
    """Return a row for each, the longest first."""
    user_share = _user_share_by_process(books)
    rows: list[Row] = []
    for line in recording.details.values():
        account, key = receiving.account(line.pid, line.account, line.object), line.object
        distribution = Distribution(line.count, line.sum_ns, line.max_ns, Counts(line.buckets))
        if account == PARKED and (booking := futexes.booking(line.pid, key)):
            account, key = booking
        elif recording.header.options.host:
            key = _of_whom(key, line.pid)
        waker = (line.waker_tid, line.waker_count, line.waker_comm, line.waker_pid)
        row = Row(account, names.resolve(key), key, line.pid, distribution, *waker)
        if account == "cpu.user":
            rows += _split_row(row, user_share(line.pid))
        elif mixed := receiving.mixed(line.pid, line.account, line.object):
            work, rest = mixed.split(distribution)
            rows += [replace(row, account=WORK, distribution=work), replace(row, distribution=rest)]
        else:
            rows.append(row)
    return sorted(rows, key=lambda row: (-row.distribution.sum_ns, row.account, row.key, row.pid))


def _split_row(row: Row, user_share: float) -> list[Row]:
    """CPU time in two; its slices, in which both happened, stay with the user part and have no distribution."""
    user_ns = min(round(row.distribution.sum_ns * user_share), row.distribution.sum_ns)  # a float rounds up from 2**53
    kernel_ns = row.distribution.sum_ns - user_ns
    longest_ns = row.distribution.max_ns
    parts = (
        replace(row, distribution=Distribution(row.distribution.count, user_ns, min(longest_ns, user_ns))),
        replace(row, account="cpu.kernel", distribution=Distribution(0, kernel_ns, min(longest_ns, kernel_ns))),
    )
    return [part for part in parts if part.distribution.sum_ns]


def _user_share_by_process(books: Sequence[Books]) -> Callable[[int], float]:
    """Return a function from a process (0: the exited ones) to the user part of its CPU time."""
    user: defaultdict[int, int] = defaultdict(int)
    kernel: defaultdict[int, int] = defaultdict(int)
    for book in books:
        exited = not isinstance(book.line, schema.Process) and getattr(book.line, "state", "exited") == "exited"
        for pid in {book.pid, 0} if exited else {book.pid}:
            user[pid] += ns_of(book.accounts, "cpu.user")
            kernel[pid] += ns_of(book.accounts, "cpu.kernel")

    def share(pid: int) -> float:
        chosen = pid if user[pid] + kernel[pid] else 0
        total = user[chosen] + kernel[chosen]
        return user[chosen] / total if total else 1.0

    return share


def _of_whom(key: str, pid: int) -> str:
    """Of a host all tasks are its own: what counts is whether it was the same process that had the CPU."""
    kind, _, rest = key.partition(":")
    return f"task:{rest}" if kind == "own" and rest.partition(":")[0] != str(pid) else key
