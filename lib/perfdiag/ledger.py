"""From a recording to the model: close the books, split CPU time, weigh futex evidence, sum up.

Every step moves nanoseconds between accounts of one thread and creates or destroys none (law 2).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec

from perfdiag import coverage, objects, schema
from perfdiag.accounts import Kind, kind_of
from perfdiag.cpusplit import CpuSplit
from perfdiag.facts import Facts
from perfdiag.facts.host import HostFacts
from perfdiag.futexes import Futexes
from perfdiag.model import AccountTotal, Distribution, FileRead, Host, Model, Row, ThreadLedger, ns_of
from perfdiag.reader import Recording
from perfdiag.receiving import PARKED, Receiving

IDLE_RING_KEY = "io_uring:idle"
UNLISTED = "(not yet listed by thread)"  # too long for the name of a thread: none can pose as it


@dataclass
class Books:
    """One thread's (or fold's) books while they are being settled."""

    line: schema.Thread | schema.Exited | schema.Process
    accounts: dict[str, AccountTotal]
    cpu_error: float | None = None

    @property
    def pid(self) -> int:
        return 0 if isinstance(self.line, schema.Exited) else self.line.pid

    def move(self, source: str, target: str, ns: int, count: int = 0, max_ns: int = 0) -> int:
        """Move up to `ns` from one account to another; return how much there was to move."""
        return move(self.accounts, source, target, ns, count, max_ns)


def move(accounts: dict[str, AccountTotal], source: str, target: str, ns: int, count: int = 0, max_ns: int = 0) -> int:
    """Move up to `ns` and `count` waits, the longest `max_ns`, between two accounts; return how much was moved."""
    have = accounts.get(source)
    moved = min(ns, have.ns) if have else 0
    if have is None or moved <= 0:
        return 0
    count, left_ns = min(count, have.count), have.ns - moved
    if left_ns:
        accounts[source] = AccountTotal(source, left_ns, have.count - count, min(have.max_ns, left_ns))
    else:
        del accounts[source]
    had = accounts.get(target, AccountTotal(target, 0, 0, 0))
    longest = max(had.max_ns, min(max_ns, moved))
    accounts[target] = AccountTotal(target, had.ns + moved, had.count + count, longest)
    return moved


def build(recording: Recording) -> Model:
    """Return what `recording` means; never fails on a recording that `reader.read` accepted."""
    facts = (HostFacts if recording.header.options.host else Facts).parse(recording.facts)
    books = [Books(line, totals(line.accounts)) for line in recording.books()]
    if recording.footer is None:
        books += _newest_unlisted(recording, books)

    split = CpuSplit(recording)
    for book in books:
        share, book.cpu_error = split.of(book.line)
        if "cpu.user" in book.accounts and "cpu.kernel" not in book.accounts:
            on_cpu_ns = book.accounts["cpu.user"].ns
            book.move("cpu.user", "cpu.kernel", on_cpu_ns - round(on_cpu_ns * share))

    futexes = Futexes(recording)
    receiving = Receiving(recording.threads.values(), recording.details.values(), recording.stacks)
    names = objects.Names(facts, recording)
    rows = _rows(recording, books, futexes, receiving, names)
    recorded = _summed(books)
    for book in books:
        _set_receiving_apart(book, receiving)
        for futex in getattr(book.line, "futexes", ()):
            if booking := futexes.booking(book.pid, futex.object):
                book.move(PARKED, booking.account, futex.sum_ns, futex.count, futex.sum_ns)
        _set_idle_rings_apart(book, rows)
    _take_proven_of_processes(books, recording, futexes)

    accounts = _summed(books)
    _complete_proven(accounts, recorded, recording, futexes)
    threads = sorted(
        (_thread(book, futexes, receiving) for book in books), key=lambda t: (-busy_ns(t.accounts), t.pid, t.tid)
    )
    end_ns = recording.footer.at_ns if recording.footer else recording.last_at_ns
    wall_ns = sum(thread.wall_ns for thread in threads)
    stacks = [receiving.of_stack(_with_final_account(stack, futexes)) for stack in recording.stacks]
    return Model(
        header=recording.header,
        window_ns=max(0, end_ns - recording.header.start_ns),
        wall_ns=wall_ns,
        busy_ns=busy_ns(accounts),
        idle_ns=_sum_of(accounts, Kind.IDLE),
        parked_ns=_sum_of(accounts, Kind.UNKNOWN),
        accounts=dict(sorted(accounts.items(), key=lambda item: -item[1].ns)),
        rows=rows,
        threads=threads,
        stacks=stacks,
        devices=recording.devices,
        files_read=_files_read(recording, names),
        writebacks=recording.writebacks,
        dirtiers=sorted(recording.dirtiers, key=lambda line: (-line.bytes, line.device, line.pid)),
        sockets=recording.sockets,
        operations=[receiving.of_operation(operation) for operation in recording.operations],
        events=recording.events,
        intervals=recording.intervals,
        facts=facts,
        coverage=coverage.measure(recording, threads, accounts, stacks, busy_ns(accounts)),
        not_measured=coverage.not_measured(recording, facts),
        cost=recording.footer.cost if recording.footer else None,
        footer=recording.footer,
        rpcs=recording.rpcs,
        nfs_flushes=recording.nfs_flushes,
        nfs_server=recording.nfs_server,
        cpus=recording.cpus,
        vm_exits=recording.vm_exits,
        calibrations=recording.calibrations,
        host=_host(recording),
    )


def _host(recording: Recording) -> Host | None:
    if not recording.header.options.host:
        return None
    lines = [line for line in recording.processes.values() if line.pid]
    return Host(
        names={line.pid: line.comm for line in lines},
        kernel=frozenset(line.pid for line in lines if line.kernel),
        left_out=recording.footer.threads_left_out if recording.footer else None,
    )


def _take_proven_of_processes(books: Sequence[Books], recording: Recording, futexes: Futexes) -> None:
    """Of a process without rows of its threads the details tell what is proven, less what the rows it has tell."""
    told: defaultdict[tuple[int, str], int] = defaultdict(int)
    for line in recording.threads.values():
        for futex in line.futexes:
            told[line.pid, futex.object] += futex.sum_ns
    processes = {book.pid: book for book in books if isinstance(book.line, schema.Process) and book.pid}
    for detail in recording.details.values():
        book = processes.get(detail.pid)
        if book and detail.account == PARKED and (booking := futexes.booking(detail.pid, detail.object)):
            ns = detail.sum_ns - told[detail.pid, detail.object]
            book.move(PARKED, booking.account, ns, detail.count, detail.max_ns)


def totals(sums: Iterable[schema.AccountSum]) -> dict[str, AccountTotal]:
    """Return the sums by account, empty ones left out; those of an account that stands there twice together."""
    return _added(AccountTotal(s.account, s.sum_ns, s.count, s.max_ns) for s in sums if s.sum_ns or s.count)


def _added(several: Iterable[AccountTotal]) -> dict[str, AccountTotal]:
    found: dict[str, AccountTotal] = {}
    for each in several:
        had = found.get(each.account)
        found[each.account] = (
            each
            if had is None
            else AccountTotal(each.account, had.ns + each.ns, had.count + each.count, max(had.max_ns, each.max_ns))
        )
    return found


def busy_ns(accounts: Mapping[str, AccountTotal]) -> int:
    """Return the time that counts: neither idle nor "cannot tell"; accounts of newer recorders count."""
    return _sum_of(accounts, Kind.LATENCY)


def _sum_of(accounts: Mapping[str, AccountTotal], kind: Kind) -> int:
    return sum(total.ns for name, total in accounts.items() if kind_of(name) is kind)


def _newest_unlisted(recording: Recording, books: Sequence[Books]) -> list[Books]:
    """Of a recording without its end: what the last interval knows and the rarer thread rows do not, as one fold."""
    if not recording.intervals:
        return []
    last = recording.intervals[-1]
    listed = _summed(books)
    left = [
        msgspec.structs.replace(s, sum_ns=s.sum_ns - listed[s.account].ns if s.account in listed else s.sum_ns)
        for s in last.accounts
        if s.account not in listed or s.sum_ns > listed[s.account].ns
    ]
    wall_ns = last.wall_ns - sum(book.line.wall_ns for book in books)
    if wall_ns <= 0 or not left:
        return []
    line = schema.Exited(
        at_ns=last.at_ns,
        comm=UNLISTED,
        threads=last.threads,
        processes=0,
        wall_ns=wall_ns,
        user_ns=0,
        kernel_ns=0,
        accounts=left,
    )
    return [Books(line, totals(left))]


def _rows(
    recording: Recording, books: Sequence[Books], futexes: Futexes, receiving: Receiving, names: objects.Names
) -> list[Row]:
    user_share = _user_share_by_process(books)
    rows: list[Row] = []
    for line in recording.details.values():
        account, key = receiving.account(line.pid, line.account, line.object), line.object
        distribution = Distribution(line.count, line.sum_ns, line.max_ns, dict(line.buckets))
        if account == PARKED and (booking := futexes.booking(line.pid, key)):
            account, key = booking
        elif account == "wait.io_uring" and key == "idle":
            account, key = "wait.events", IDLE_RING_KEY
        elif recording.header.options.host:
            key = _of_whom(key, line.pid)
        waker = (line.waker_tid, line.waker_count, line.waker_comm)
        row = Row(account, names.resolve(key), key, line.pid, distribution, *waker)
        rows += _split_row(row, user_share(line.pid)) if account == "cpu.user" else [row]
    return sorted(rows, key=lambda row: (-row.distribution.sum_ns, row.account, row.key, row.pid))


def _files_read(recording: Recording, names: objects.Names) -> list[FileRead]:
    lines = sorted(recording.files_read, key=lambda line: (-line.sum_ns, -line.bytes, line.object))
    return [
        FileRead(names.resolve(line.object), line.object, line.waits, line.sum_ns, line.bytes, line.size_bytes)
        for line in lines
    ]


def _of_whom(key: str, pid: int) -> str:
    """Of a host all tasks are its own: what counts is whether it was the same process that had the CPU."""
    kind, _, rest = key.partition(":")
    return f"task:{rest}" if kind == "own" and rest.partition(":")[0] != str(pid) else key


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


def _set_idle_rings_apart(book: Books, rows: Sequence[Row]) -> None:
    """Completions waited for with nothing in flight are idle; a thread's part of them is that of its process."""
    waiting = book.accounts.get("wait.io_uring")
    if waiting is None:
        return
    own = [row for row in rows if row.pid == book.pid]
    idle = sum(row.distribution.sum_ns for row in own if row.key == IDLE_RING_KEY)
    busy = sum(row.distribution.sum_ns for row in own if row.account == "wait.io_uring")
    if idle:
        book.move("wait.io_uring", "wait.events", round(waiting.ns * idle / (idle + busy)))


def _set_receiving_apart(book: Books, receiving: Receiving) -> None:
    """Other waits in calls that receive are parked; a thread's part of them is that of its process."""
    other, part = book.accounts.get("kernel.other"), receiving.part(book.pid)
    if other and part:
        book.move(other.account, PARKED, round(other.ns * part), round(other.count * part), other.max_ns)


def _summed(books: Sequence[Books]) -> dict[str, AccountTotal]:
    return _added(total for book in books for total in book.accounts.values())


def _complete_proven(
    accounts: dict[str, AccountTotal], before: Mapping[str, AccountTotal], recording: Recording, futexes: Futexes
) -> None:
    """Details know every wait on a futex, the threads' short lists only the longest: take what the details prove."""
    proven: defaultdict[str, list[schema.Detail]] = defaultdict(list)
    for line in recording.details.values():
        if line.account == PARKED and (booking := futexes.booking(line.pid, line.object)):
            proven[booking.account].append(line)
    for account, lines in proven.items():
        none = AccountTotal(account, 0, 0, 0)
        had, own = accounts.get(account, none), before.get(account, none)
        ns = sum(line.sum_ns for line in lines) - (had.ns - own.ns)
        longest_ns = max(line.max_ns for line in lines)
        count = max(0, sum(line.count for line in lines) - (had.count - own.count))
        move(accounts, PARKED, account, ns, count, longest_ns)
        if account in accounts:
            whole = accounts[account]
            accounts[account] = replace(whole, max_ns=min(max(own.max_ns, longest_ns), whole.ns))


def _thread(book: Books, futexes: Futexes, receiving: Receiving) -> ThreadLedger:
    line = book.line
    if isinstance(line, schema.Exited):
        return ThreadLedger(
            0,
            0,
            0,
            line.comm,
            line.wall_ns,
            book.accounts,
            line.threads,
            line.processes,
            exited=True,
            cpu_split_error=book.cpu_error,
        )
    if isinstance(line, schema.Process):
        folded = (line.threads, line.processes)
        return ThreadLedger(
            line.pid, 0, 0, line.comm, line.wall_ns, book.accounts, *folded, cpu_split_error=book.cpu_error
        )
    waiting = line.open
    if waiting and waiting.account == PARKED and (booking := futexes.booking(line.pid, waiting.object)):
        waiting = msgspec.structs.replace(waiting, account=booking.account, object=booking.object)
    elif waiting:
        waiting = msgspec.structs.replace(waiting, account=receiving.account(line.pid, waiting.account, waiting.object))
    return ThreadLedger(
        line.pid,
        line.tid,
        line.namespace_tid,
        line.comm,
        line.wall_ns,
        book.accounts,
        processes=int(line.pid == line.tid),
        exited=line.state == "exited",
        still_waiting=waiting,
        cpu_split_error=book.cpu_error,
    )


def _with_final_account(stack: schema.Stack, futexes: Futexes) -> schema.Stack:
    if stack.account == PARKED and (booking := futexes.booking(stack.pid, stack.object)):
        return msgspec.structs.replace(stack, account=booking.account, object=booking.object)
    if stack.account == "cpu.user" and stack.kernel:
        return msgspec.structs.replace(stack, account="cpu.kernel")
    return stack


__all__ = ["UNLISTED", "build", "move"]
