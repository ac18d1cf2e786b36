"""What a recording means: typed sums, distributions and host facts that findings are computed from.

Built by `builder.build` from a `Recording`.  Nothing here prints, reads files or knows a terminal.
All times are nanoseconds; shares are of `Model.busy_ns`, the target's non-idle time, unless a name says otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from operator import attrgetter
from typing import Any, TypeVar, cast

from perfdiag.common.by_key import groups_by_key
from perfdiag.facts.host_facts import Facts
from perfdiag.model.requests.exchanges import Exchange
from perfdiag.model.requests.request_time import RequestTime
from perfdiag.model.requests.unread_requests import is_awaited
from perfdiag.model.thread_accounts import AccountTotal, ThreadLedger
from perfdiag.model.waits.calls_for_work import WAITING_COMMANDS
from perfdiag.model.waits.peer_waits import PeerWait
from perfdiag.model.waits.wait_chains import Chain
from perfdiag.recording import schema
from perfdiag.recording.distribution import Distribution
from perfdiag.recording.given_up import one_connection_in


class NotRecorded(LookupError):
    """A rule asked for what the recording does not say, as those of scripts do not: its answer is silence."""


@dataclass(frozen=True, slots=True)
class Row:
    """One account and object of the whole target: the finest sum there is, with its distribution."""

    account: str
    object: str  # resolved for people where facts allow ("vda (254:0)"), else as recorded
    key: str  # as recorded; what belongs to one lock of a runtime has that lock's ("lock:gil:1234")
    pid: int  # 0: of exited processes
    distribution: Distribution
    waker_tid: int = 0
    waker_count: int = 0
    waker_comm: str = ""  # of a thread outside the target, where it was asked for
    waker_pid: int = 0  # its process, where it was asked for


@dataclass(frozen=True)
class Coverage:
    """How far the recording can be believed."""

    closed_error: float  # |booked - wall| / wall over all threads
    worst_thread_error: float  # of threads observed at least 1 s
    unexplained_share: float  # of busy time
    lost: Mapping[str, int]  # every counter of the footer
    stack_agreement: float | None  # account against sampled kernel stack, by time; None: no samples
    stack_samples: int
    disagreements: Mapping[tuple[str, str], int]  # (account, class of the stack) -> ns
    complete: bool  # the recording has its footer
    reason: str  # why it ended
    contradictions: Sequence[str] = ()  # what it says twice, and not the same; names in it are untrusted

    @property
    def time_lost(self) -> Mapping[str, int]:
        """The counters whose records may have taken time of the books with them."""
        return {name: number for name, number in self.lost.items() if name not in schema.NO_TIME_LOST}

    @property
    def lost_total(self) -> int:
        """How many records may have taken time of the books with them."""
        return sum(self.time_lost.values())


@dataclass(frozen=True, slots=True)
class FileRead:
    """A file that was not (all) in memory when the target read it."""

    name: str  # for people
    waits: int  # for reads; faults are rows of memory.major_fault
    waited_ns: int
    read_bytes: int  # brought into the page cache, read-ahead included
    size_bytes: int
    device: str  # "254:0"
    name_alone: str  # without its place; "": not known


@dataclass(frozen=True, slots=True)
class FileFlush:
    """A file that the target waited to have safe on disk."""

    name: str  # for people
    device: str  # "8:1"
    waits: int
    waited_ns: int


@dataclass(frozen=True)
class NotMeasured:
    """Something that could not be measured, why, and what would make it so."""

    what: str
    reason: str
    fix: str
    feature: str = ""  # key for findings: the part of the ledger that is missing
    given_up: str = ""  # what of it was given up to keep the budget, as a line of the recording names it


@dataclass(frozen=True)
class Host:
    """Of a recording of the whole host: what its processes are called, and whom the books leave out."""

    names: Mapping[int, str]  # by pid; kernel threads of one name share one
    kernel: frozenset[int]  # which of them are kernel threads
    left_out: int | None  # threads that never ran in the window: asleep all along; None where not counted


@dataclass(frozen=True)
class HostSide:
    """Of a guest: what was recorded on its host of the emulator that runs it, at about the same time."""

    model: Model
    overlap_ns: int  # of the two windows, if both wall clocks agree: nobody has compared them


@dataclass(frozen=True)
class Model:
    """A recording, understood."""

    header: schema.Header
    window_ns: int
    wall_ns: int  # sum over threads
    busy_ns: int  # wall without idle and "cannot tell": the whole of every share
    idle_ns: int
    parked_ns: int
    accounts: Mapping[str, AccountTotal]  # of the whole target, after futex evidence was weighed
    rows: Sequence[Row]  # largest first
    threads: Sequence[ThreadLedger]  # largest busy time first
    stacks: Sequence[schema.Stack]
    devices: Sequence[schema.Device]
    files_flushed: Sequence[FileFlush]  # longest waits first
    files_read: Sequence[FileRead]  # longest waits first
    writebacks: Sequence[schema.Writeback]
    dirtiers: Sequence[schema.Dirtier]  # most first
    disk_users: Sequence[schema.DiskUser]
    sockets: Sequence[schema.Socket]
    operations: Sequence[schema.Operation]
    events: Sequence[schema.Event]
    facts: Facts
    coverage: Coverage
    not_measured: Sequence[NotMeasured]
    footer: schema.Footer | None
    chains: Sequence[Chain] = ()  # longest first; a second view on the rows
    rpcs: Sequence[schema.Rpc] = ()
    nfs_flushes: Sequence[schema.NfsFlush] = ()
    nfs_server: Sequence[schema.NfsServer] = ()
    cpus: Sequence[schema.Cpu] = ()  # those that the target ran on
    vm_exits: Sequence[schema.VmExit] = ()
    calibrations: Sequence[schema.Calibration] = ()
    exchanges: Sequence[Exchange] = ()  # requests served and calls made, those that took most time first
    requests_inside: schema.RequestsInside | None = None  # how many were in progress at once
    requests_left: Sequence[schema.RequestLeft] = ()  # that had arrived and were not read when the window ended
    silent: Sequence[schema.Silent] = ()  # connections that nobody used, and that may hold a question
    applications: Sequence[schema.Application] = ()
    given_up: Sequence[schema.GivenUp] = ()  # to keep the budget, in the order of time
    interpreters: Sequence[schema.Interpreter] = ()
    statements: Sequence[schema.Statement] = ()
    sql_calls: Sequence[schema.SqlCall] = ()
    packet_drops: Sequence[schema.PacketDrop] = ()
    peer_stacks: Sequence[schema.PeerStack] = ()
    peer_waits: Sequence[PeerWait] = ()  # longest first; a second view on the rows, too
    failed_calls: Sequence[schema.FailedCall] = ()  # before sleeps: a second view on these; objects in words
    named_calls: Sequence[schema.NamedCall] = ()
    answers: Sequence[schema.Answer] = ()  # that are errors
    database_waits: Sequence[schema.DatabaseWait] = ()  # a second view on rows of other objects
    request_time: RequestTime | None = None  # None: it serves hardly any
    host: Host | None = None  # None: of chosen processes
    host_side: HostSide | None = None  # None: the report of one recording
    unseen: frozenset[str] = frozenset()  # accounts that who recorded cannot tell: their time stands in others
    # What was computed of it `once`; not what it says, so that a changed copy begins without.
    derived: dict[object, object] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def cost(self) -> schema.Cost | None:
        """What recording cost, as the recorder measured itself; None where the recording has no end."""
        return self.footer.cost if self.footer else None

    @property
    def cpus_online(self) -> int:
        """How many CPUs the host had.  Raises NotRecorded."""
        return _recorded(self.header.host.cpus_online, "the number of CPUs")

    @property
    def requests_awaited(self) -> list[schema.RequestLeft]:
        """What is left unread and somebody may wait for: what came before the window may have been no request."""
        return [line for line in self.requests_left if not line.earlier or is_awaited(line)]

    @property
    def page_bytes(self) -> int:
        """The size of a page.  Raises NotRecorded."""
        return _recorded(self.header.host.page_size_bytes, "the size of a page")

    def ns(self, *accounts: str) -> int:
        """Return the sum of the named accounts; a prefix ending in a dot ("disk.") stands for its whole class."""
        classes = tuple(name for name in accounts if name.endswith("."))
        names = {*accounts, *(name for name in self.accounts if classes and name.startswith(classes))}
        return sum(self.accounts[name].ns for name in names if name in self.accounts)

    def share(self, *accounts: str) -> float:
        """Return `ns(*accounts)` as a share of busy time, 0 when there is none."""
        return self.ns(*accounts) / self.busy_ns if self.busy_ns else 0.0

    def share_of_requests(self, *accounts: str) -> float:
        """Return the named accounts as a share of requests' time, 0 when there is none: who waits for a program of its
        own is busy twice, and the request once."""
        time = self.request_time
        return sum(time.accounts.get(name, 0) for name in accounts) / time.ns if time and time.ns else 0.0

    def rows_of(self, *accounts: str, pid: int | None = None, key: str | None = None) -> list[Row]:
        """Return the rows of the named accounts, largest first: all, or those of one process or one key."""
        if pid is not None:
            rows = _rows_by_process(self).get(pid, ())
            return [row for row in rows if row.account in accounts and key in (None, row.key)]
        if key is not None:
            return [row for row in _rows_by_key(self).get(key, ()) if row.account in accounts]
        if len(accounts) == 1:
            return list(_rows(self).get(accounts[0], ()))
        return [row for row in self.rows if row.account in accounts]

    def devices_of(self, device: str) -> Sequence[schema.Device]:
        """Return the lines of a block device, one for each operation."""
        return _devices(self).get(device, ())

    def threads_of(self, pid: int) -> Sequence[ThreadLedger]:
        """Return the threads of a process."""
        return _threads(self).get(pid, ())

    def stacks_of(self, pid: int) -> Sequence[schema.Stack]:
        """Return the stacks of a process, of waits and of running threads."""
        return _stacks(self).get(pid, ())

    def wait_stacks(self, *accounts: str, key: str | None = None) -> list[schema.Stack]:
        """Return the stacks sampled where waits began: of the named accounts or all, for the object `key` or any."""
        stacks = self.stacks if key is None else _wait_stacks(self).get(key, ())
        return [stack for stack in stacks if stack.kind == "wait" and (not accounts or stack.account in accounts)]

    def limit_ns(self, name: str) -> int | None:
        """Return how long requests, or operations, of this name may take (--slo); None without a limit, as without one
        of their own for requests that are asked to wait."""
        return _limits(self).get(name, None if name in WAITING_COMMANDS else self.header.options.slo_ns)

    @property
    def one_connection_in(self) -> int:
        """Of how many accepted connections one was followed at the end of the window: 1 is all, 0 none."""
        return one_connection_in(self.given_up)

    @property
    def gave_up_requests(self) -> bool:
        """Whether no request was followed any more at the end of the window, to keep the budget."""
        return self.one_connection_in == 0

    @property
    def request_error(self) -> float:
        """Return how far the numbers of requests may be off, relatively, in 95 of 100 cases; 0: they are exact."""
        served = [each.line for each in self.exchanges if each.served]
        count = sum(line.count for line in served)
        return math.hypot(*(line.count_error for line in served)) / count if count else 0.0

    def measured(self, feature: str) -> bool:
        """Return False when the recording says that `feature` was not measured."""
        return all(item.feature != feature for item in self.not_measured)

    def would_measure(self, feature: str) -> str:
        """Return what to do so that `feature`, which was not measured, is."""
        given_up = (item.fix for item in self.not_measured if item.given_up and item.feature == feature)
        return next(given_up, f"see perfdiag check, feature {feature}")


def _recorded(number: int | None, what: str) -> int:
    if number is None:
        raise NotRecorded(f"{what} was not recorded")
    return number


Answer = TypeVar("Answer")


def once(function: Callable[[Model], Answer]) -> Callable[[Model], Answer]:
    """Make a function compute its answer of a model only once, however many rules ask; nobody may change it."""

    @wraps(function)
    def answer(model: Model) -> Answer:
        if function not in model.derived:
            model.derived[function] = function(model)
        return cast(Answer, model.derived[function])

    return answer


def _index(lines_of: Callable[[Model], Iterable[Any]], name: str) -> Callable[[Model], dict[Any, list[Any]]]:
    """Return the index of a table by one of its fields, made when it is first asked for; lines keep their order."""
    field_of = attrgetter(name)

    @once
    def index(model: Model) -> dict[Any, list[Any]]:
        return groups_by_key((field_of(line), line) for line in lines_of(model))

    return index


_rows = _index(lambda model: model.rows, "account")
_rows_by_process = _index(lambda model: model.rows, "pid")
_rows_by_key = _index(lambda model: model.rows, "key")
_devices = _index(lambda model: model.devices, "device")
_threads = _index(lambda model: model.threads, "pid")
_stacks = _index(lambda model: model.stacks, "pid")
_wait_stacks = _index(lambda model: (stack for stack in model.stacks if stack.kind == "wait"), "object")


@once
def _limits(model: Model) -> dict[str, int]:
    return {each.name: each.limit_ns for each in model.header.options.slo_names}
