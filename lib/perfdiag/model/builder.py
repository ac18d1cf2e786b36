"""From a recording to the model: close the books, split CPU time, weigh futex evidence, sum up.

Every step moves nanoseconds between accounts of one thread and creates or destroys none (law 2).
"""

import dataclasses
from collections.abc import Mapping, Sequence

import msgspec

from perfdiag.common.text import printable
from perfdiag.facts.host_facts import Facts
from perfdiag.facts.whole_host_facts import HostFacts
from perfdiag.model import object_names
from perfdiag.model.coverage import coverage, recorder_gaps
from perfdiag.model.ledger.cpu_split import CpuSplit
from perfdiag.model.ledger.object_rows import rows_of
from perfdiag.model.ledger.reattribution import complete_proven, set_receiving_apart, take_proven_of_processes
from perfdiag.model.ledger.thread_totals import UNLISTED, Books, busy_ns, move, newest_unlisted, sum_of, summed, totals
from perfdiag.model.model import FileFlush, FileRead, Host, Model
from perfdiag.model.requests.accompanying_calls import with_given_up
from perfdiag.model.requests.awaited_processes import roots_inside
from perfdiag.model.requests.exchanges import Exchange, exchanges_of
from perfdiag.model.requests.listening_for_answers import RECEIVE, listen_for_answers_alone
from perfdiag.model.requests.parked_futexes import parked_of
from perfdiag.model.requests.request_time import RequestTime, request_time
from perfdiag.model.requests.sampled_connections import without_unanswered
from perfdiag.model.requests.serving_threads import servers
from perfdiag.model.requests.stopped_readers import with_stops
from perfdiag.model.requests.unread_requests import LISTENS, error_of, is_awaited, parts_of
from perfdiag.model.stacks.sleepers_scripts import with_scripts
from perfdiag.model.thread_accounts import AccountTotal, ThreadLedger, ns_of
from perfdiag.model.waits.calls_for_work import calls_for_work
from perfdiag.model.waits.futexes import Futexes
from perfdiag.model.waits.idle_pipes import idle_pipes
from perfdiag.model.waits.peer_waits import peer_waits
from perfdiag.model.waits.receiving_calls import Receiving
from perfdiag.model.waits.statement_locks import without_later_statements
from perfdiag.model.waits.turns_to_receive import turns_to_receive
from perfdiag.model.waits.wait_chains import Chain, chains_of
from perfdiag.recording import schema
from perfdiag.recording.accounts import PARKED, Kind
from perfdiag.recording.recording import Recording

_AS_RECORDED = (
    "applications",
    "calibrations",
    "cpus",
    "database_waits",
    "devices",
    "events",
    "footer",
    "given_up",
    "interpreters",
    "named_calls",
    "answers",
    "peer_stacks",
    "nfs_flushes",
    "nfs_server",
    "requests_left",
    "rpcs",
    "silent",
    "packet_drops",
    "sockets",
    "sql_calls",
    "statements",
    "vm_exits",
    "writebacks",
)  # parts that a model has as they are in the recording


def build(recording: Recording) -> Model:
    """Return what `recording` means; never fails on a recording that `reader.read` accepted."""
    facts = (HostFacts if recording.header.options.host else Facts).parse(recording.facts)
    books, window_ns = _split_books(recording), _window_ns(recording)
    futexes, receiving = Futexes(recording), _receiving(recording, facts, window_ns)
    names = object_names.Names(facts, recording)
    rows = rows_of(recording, books, futexes, receiving, names)  # before anything is moved
    accounts, threads = _attribute(recording, books, futexes, receiving)
    del books  # as large as the rows
    stacks = with_scripts(receiving.of_stack(_with_final_account(each, futexes)) for each in recording.stacks)
    exchanges = exchanges_of(recording.exchanges, recording.latencies, names.resolve, {each.pid for each in threads})
    exchanges = without_unanswered(exchanges, recording.given_up)
    chains = _chains(recording, futexes, receiving, names)
    time = _request_time(recording, exchanges, accounts, threads, futexes, chains, window_ns)
    if time and time.accompanied:
        exchanges = [dataclasses.replace(each, line=with_given_up(each.line)) for each in exchanges]
    return Model(
        header=recording.header,
        window_ns=window_ns,
        wall_ns=sum(thread.wall_ns for thread in threads),
        busy_ns=busy_ns(accounts),
        idle_ns=sum_of(accounts, Kind.IDLE),
        parked_ns=sum_of(accounts, Kind.UNKNOWN),
        accounts=dict(sorted(accounts.items(), key=lambda item: -item[1].ns)),
        rows=rows,
        threads=threads,
        stacks=stacks,
        files_flushed=_files_flushed(recording, names),
        files_read=_files_read(recording, names),
        disk_users=recording.disk_users,
        dirtiers=sorted(recording.dirtiers, key=lambda line: (-line.bytes, line.device, line.pid)),
        operations=[receiving.of_operation(operation) for operation in recording.operations],
        facts=facts,
        coverage=coverage.measure(recording, threads, accounts, stacks, busy_ns(accounts)),
        not_measured=coverage.not_measured(recording, facts),
        chains=chains,
        peer_waits=peer_waits(
            recording.peer_waits, names.resolve, (line.object for line in recording.details.values())
        ),
        failed_calls=[
            msgspec.structs.replace(line, object=names.resolve(line.object) if line.object else "")
            for line in recording.failed_calls
        ],
        exchanges=exchanges,
        requests_inside=next(iter(recording.requests_inside), None),
        request_time=time,
        host=_host(recording),
        unseen=recorder_gaps.unseen_accounts(recording.header),
        **{name: getattr(recording, name) for name in _AS_RECORDED},
    )


def _split_books(recording: Recording) -> list[Books]:
    """Return the books of every thread, with the CPU time split into user and kernel by samples where it must be."""
    books = [Books(line, totals(line.accounts)) for line in recording.books()]
    if recording.footer is None:
        books += newest_unlisted(recording, books)
    split = CpuSplit(recording)
    for book in books:
        if "cpu.kernel" in book.accounts:  # who recorded has split it
            continue
        share, book.cpu_error = split.of(book.line)
        if "cpu.user" in book.accounts:
            on_cpu_ns = book.accounts["cpu.user"].ns
            book.move("cpu.user", "cpu.kernel", on_cpu_ns - round(on_cpu_ns * share))
            book.pack()
    return books


def _window_ns(recording: Recording) -> int:
    return max(0, recording.end_ns - recording.header.start_ns)


def _receiving(recording: Recording, facts: Facts, window_ns: int) -> Receiving:
    return Receiving(
        recording.threads.values(),
        recording.details.values(),
        recording.stacks,
        recording.exchanges,
        recording.sockets,
        window_ns,
        idle_pipes(recording),
        turns_to_receive(recording, facts.file_locks),
        calls_for_work(recording.named_calls, recording.exchanges, recording.details.values()),
    )


def _attribute(
    recording: Recording, books: list[Books], futexes: Futexes, receiving: Receiving
) -> tuple[dict[str, AccountTotal], list[ThreadLedger]]:
    """Move waits of unknown cause to the accounts that evidence proves; return the target's accounts and threads."""
    recorded = summed(books)
    for book in books:
        set_receiving_apart(book, receiving)
        for futex in getattr(book.line, "futexes", ()):
            if booking := futexes.booking(book.pid, futex.object):
                book.move(PARKED, booking.account, futex.sum_ns, futex.count, futex.sum_ns)
        book.pack()
    take_proven_of_processes(books, recording, futexes)
    accounts = summed(books)
    complete_proven(accounts, recorded, recording, futexes)
    return accounts, _threads(books, futexes, receiving)


def _request_time(
    recording: Recording,
    exchanges: Sequence[Exchange],
    accounts: Mapping[str, AccountTotal],
    threads: Sequence[ThreadLedger],
    futexes: Futexes,
    chains: Sequence[Chain],
    window_ns: int,
) -> RequestTime | None:
    if recording.header.options.host:  # whose requests are those of many targets
        return None
    left = [line for line in recording.requests_left if is_awaited(line)]
    unread_lines = with_stops(recording.requests_unread, recording.because, futexes, accounts)
    unread = parts_of(unread_lines, left, exchanges, accounts)
    listens = (*LISTENS, RECEIVE) if listen_for_answers_alone(recording.stacks, exchanges, threads) else LISTENS
    return request_time(
        exchanges,
        recording.footer.lost if recording.footer else {},
        _finer(accounts),
        parked_of(recording, futexes),
        servers(threads, unread, error_of(exchanges), listens),
        busy_ns(accounts),
        window_ns,
        left,
        roots_inside(chains),
        recording.requests_inside,
    )


def _finer(accounts: Mapping[str, AccountTotal]) -> dict[str, dict[str, int]]:
    """Return how the target's time in accounts of the kernel side was divided: of what requests spent there, the same
    parts are taken.  While a request runs, interrupts and the hypervisor take their part of its time, too."""
    return {"cpu.user": {name: ns_of(accounts, name) for name in ("cpu.user", "cpu.kernel", "cpu.irq", "cpu.stolen")}}


def _host(recording: Recording) -> Host | None:
    if not recording.header.options.host:
        return None
    lines = [line for line in recording.processes.values() if line.pid]
    return Host(
        names={line.pid: line.comm for line in lines},
        kernel=frozenset(line.pid for line in lines if line.kernel),
        left_out=recording.footer.threads_left_out if recording.footer else None,
    )


def _chains(recording: Recording, futexes: Futexes, receiving: Receiving, names: object_names.Names) -> list[Chain]:
    def booked(pid: int, account: str, key: str) -> tuple[str, str]:
        if account == PARKED and (booking := futexes.booking(pid, key)):
            return booking
        return receiving.account(pid, account, key), key

    def stopped_by(line: schema.Because) -> tuple[str, str] | None:
        return futexes.stopped(line.pid) if futexes.stops.is_root(line) else None

    pids = {line.tid: line.pid for line in recording.threads.values()}
    return chains_of(without_later_statements(recording), pids, booked, names.resolve, stopped_by)


def _files_flushed(recording: Recording, names: object_names.Names) -> list[FileFlush]:
    found = []
    for line in sorted(recording.files_flushed, key=lambda line: (-line.sum_ns, line.object)):
        device, _, name = object_names.file_parts(line.object) or ("", 0, "")
        found.append(FileFlush(printable(name) or names.resolve(line.object), device, line.waits, line.sum_ns))
    return found


def _files_read(recording: Recording, names: object_names.Names) -> list[FileRead]:
    lines = sorted(recording.files_read, key=lambda line: (-line.sum_ns, -line.bytes, line.object))
    found = []
    for line in lines:
        device, _, name = object_names.file_parts(line.object) or ("", 0, "")
        sums = (line.waits, line.sum_ns, line.bytes, line.size_bytes)
        found.append(FileRead(names.resolve(line.object), *sums, device, printable(name)))
    return found


def _threads(books: Sequence[Books], futexes: Futexes, receiving: Receiving) -> list[ThreadLedger]:
    """Return the ledger of each thread, the busiest first."""
    threads = (_thread(book, futexes, receiving) for book in books)
    return sorted(threads, key=lambda thread: (-busy_ns(thread.accounts), thread.pid, thread.tid))


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
        requests_read=line.requests_read,
        requests_turned=line.requests_turned,
        helped=line.helped > 0,
    )


def _with_final_account(stack: schema.Stack, futexes: Futexes) -> schema.Stack:
    if stack.account == PARKED and (booking := futexes.booking(stack.pid, stack.object)):
        return msgspec.structs.replace(stack, account=booking.account, object=booking.object)
    if stack.account == "cpu.user" and stack.kernel:
        return msgspec.structs.replace(stack, account="cpu.kernel")
    return stack


__all__ = ["UNLISTED", "build", "move"]
