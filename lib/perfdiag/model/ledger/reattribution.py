"""Time that is moved to another account once it is known what was waited for."""

from collections.abc import Mapping, Sequence

import msgspec

from perfdiag.common.by_key import groups_by_key, sums_by_key
from perfdiag.model.ledger.thread_totals import Books, move
from perfdiag.model.thread_accounts import AccountTotal
from perfdiag.model.waits.futexes import Futexes
from perfdiag.model.waits.receiving_calls import ELSEWHERE, Receiving
from perfdiag.recording import schema
from perfdiag.recording.accounts import PARKED
from perfdiag.recording.recording import Recording


def take_proven_of_processes(books: Sequence[Books], recording: Recording, futexes: Futexes) -> None:
    """Of a process without rows of its threads the details tell what is proven, less what the rows it has tell."""
    processes = {book.pid: book for book in books if isinstance(book.line, schema.Process) and book.pid}
    told = sums_by_key(
        ((line.pid, futex.object), futex.sum_ns)
        for line in recording.threads.values()
        if line.pid in processes
        for futex in line.futexes
    )
    for detail in recording.details.values():
        book = processes.get(detail.pid)
        if book and detail.account == PARKED and (booking := futexes.booking(detail.pid, detail.object)):
            ns = detail.sum_ns - told[detail.pid, detail.object]
            book.move(PARKED, booking.account, ns, detail.count, detail.max_ns)


def complete_proven(
    accounts: dict[str, AccountTotal], before: Mapping[str, AccountTotal], recording: Recording, futexes: Futexes
) -> None:
    """Details know every wait on a futex, the threads' short lists only the longest: take what the details prove."""
    proven = groups_by_key(
        (booking.account, line)
        for line in recording.details.values()
        if line.account == PARKED and (booking := futexes.booking(line.pid, line.object))
    )
    for account, lines in proven.items():
        none = AccountTotal(account, 0, 0, 0)
        had, own = accounts.get(account, none), before.get(account, none)
        ns = sum(line.sum_ns for line in lines) - (had.ns - own.ns)
        longest_ns = max(line.max_ns for line in lines)
        count = max(0, sum(line.count for line in lines) - (had.count - own.count))
        move(accounts, PARKED, account, ns, count, longest_ns)
        if account in accounts:
            whole = accounts[account]
            accounts[account] = msgspec.structs.replace(whole, max_ns=min(max(own.max_ns, longest_ns), whole.ns))


def set_receiving_apart(book: Books, receiving: Receiving) -> None:
    """Waits of which nothing shows whether for work or an answer are parked, those for a turn to receive, or for what a
    peer was asked to wait for, are for work; a thread's part is that of its process."""
    for account in ELSEWHERE:
        waits = book.accounts.get(account)
        if waits is None:
            continue
        for into, part in receiving.parts(book.pid, account).items():
            book.move(account, into, round(waits.ns * part), round(waits.count * part), waits.max_ns)
