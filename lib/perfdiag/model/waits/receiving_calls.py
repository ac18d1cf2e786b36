"""Calls that receive: from devices, terminals and netlink, the opening of a FIFO, and connections to peers that were
hardly asked for anything, or for work; and waits for the turn to receive.

Who waits in one waits for work or for an answer, and nothing shows which: it is parked, as on a futex.  The call tells,
and of an opening its sampled kernel stacks do; those of one that had begun before the recording are not known.  Of a
peer the calls tell that were made: no wait for an answer is longer than they were under way.  Of clients the requests
tell: no wait for the rest of one is longer than they took to arrive.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType

import msgspec

from perfdiag.common.by_key import groups_by_key, sums_by_key
from perfdiag.model.waits.calls_for_work import FROM_PEERS, ForWork
from perfdiag.model.waits.idle_runtime_threads import WORK
from perfdiag.model.waits.turns_to_receive import FILE_LOCK
from perfdiag.recording import schema
from perfdiag.recording.accounts import PARKED, PIPE
from perfdiag.recording.distribution import edges_ns

OTHER = "kernel.other"
CALL = "syscall:"
# All else that is read has accounts.  One has a twin of 64-bit times where words have 32.
_RECEIVE = frozenset({"read", "readv", "recvfrom", "recvmsg", "recvmmsg", "recvmmsg_time64"})
# Who sends to a message queue waits for room in it, and is woken by who takes a message out.
QUEUE_SENDS = frozenset(CALL + call for call in ("mq_timedsend", "mq_timedsend_time64", "msgsnd"))
OPEN = frozenset({"open", "openat", "openat2"})
# Where waits in these accounts belong, those that are told apart.
ELSEWHERE = {OTHER: PARKED, PIPE: PARKED, FILE_LOCK: WORK, **dict.fromkeys(FROM_PEERS, PARKED)}
# The rest of an answer is waited for, too, and belongs to it: as long as the waits for its first byte at the most.
OWED = 0.5
FEW_CALLS = 3  # with a connection each
LARGE_BYTES = 65_536  # of an answer: more than a first window of TCP, so that the rest waits for acknowledgements
LEAST_TRIP_NS = 1_000_000  # on shorter ways any wait is as long as a few round trips
PACED = 0.8  # of the waits
_WRITES_UNIX = "unix_stream_sendmsg"
_OPENS_FIFO = frozenset({"fifo_open", "wait_for_partner"})


class Receiving:
    """Which waits of a recording that the kernel side booked as other ones are in calls that receive."""

    def __init__(
        self,
        threads: Iterable[schema.Thread],
        details: Collection[schema.Detail],
        stacks: Collection[schema.Stack],
        exchanges: Collection[schema.Exchange] = (),
        sockets: Collection[schema.Socket] = (),
        window_ns: int = 0,
        idle_pipes: Collection[tuple[int, str]] = (),
        turns: Collection[str] = (),
        calls_for_work: Mapping[str, ForWork] = MappingProxyType({}),
    ) -> None:
        self._idle_pipes, self._turns, self._for_work = idle_pipes, turns, calls_for_work
        self._fifos = _of_fifos(stacks, {line.pid for line in threads if line.state == "alive"})
        waited = sums_by_key((detail.object, detail.sum_ns) for detail in details if detail.account in FROM_PEERS)
        self._unasked = _owing_nothing(waited, exchanges, window_ns) - _asking_anew(exchanges)
        self._unasked -= _flowing(waited, exchanges, details, sockets)
        self._unasked |= _ended_by_time(waited, details)
        self._unasked |= _of_unix_collectors(waited, exchanges, stacks)
        self._unasked |= _between_requests(waited, exchanges, {line.object: line.local for line in sockets}, window_ns)
        waits: defaultdict[tuple[int, str], Counter[str]] = defaultdict(Counter)
        for line in details:
            if line.account in ELSEWHERE:
                own = waits[line.pid, line.account]
                own[self.account(line.pid, line.account, line.object)] += line.sum_ns
                if mixed := self.mixed(line.pid, line.account, line.object):
                    own[line.account] -= round(line.sum_ns * mixed.part)
                    own[WORK] += round(line.sum_ns * mixed.part)
        self._parts = {
            (pid, account): {into: ns / sum(own.values()) for into, ns in own.items() if into != account and ns}
            for (pid, account), own in waits.items()
        }

    def account(self, pid: int, account: str, object: str) -> str:
        """Return the account of a wait: `account`, or parked; that of waiting for work where it is for a turn, or at a
        peer that is asked for nothing else."""
        if account in FROM_PEERS and object in self._for_work and self._for_work[object].part == 1:
            return WORK
        return ELSEWHERE[account] if self._is_elsewhere(pid, account, object) else account

    def mixed(self, pid: int, account: str, object: str) -> ForWork | None:
        """Return which of these waits are for work, where only a part is."""
        is_from_peer = account in FROM_PEERS and self.account(pid, account, object) == account
        return self._for_work.get(object) if is_from_peer else None

    def _is_elsewhere(self, pid: int, account: str, object: str) -> bool:
        if account == FILE_LOCK:
            return object in self._turns
        if account == PIPE:
            return (pid, object) in self._idle_pipes
        if account in FROM_PEERS:
            return object in self._unasked
        receives = object.removeprefix(CALL) in _RECEIVE or (pid, object) in self._fifos
        return account == OTHER and object.startswith(CALL) and receives

    def parts(self, pid: int, account: str) -> Mapping[str, float]:
        """Return the parts that belong elsewhere of what a process (0: those that ended) has in one of ELSEWHERE, by
        the account where they do.

        One that has ended may have a pid, and its details stand with those of all that have.
        """
        return self._parts.get((pid, account), self._parts.get((0, account), {}))

    def of_stack(self, stack: schema.Stack) -> schema.Stack:
        """Return a sampled stack with its account."""
        account = self.account(stack.pid, stack.account, stack.object)
        return stack if account == stack.account else msgspec.structs.replace(stack, account=account)

    def of_operation(self, operation: schema.Operation) -> schema.Operation:
        """Return an operation with the accounts of its waits."""
        if operation.name.removeprefix(CALL) not in _RECEIVE:
            return operation
        return msgspec.structs.replace(
            operation, accounts=_parked(operation.accounts), over_slo_accounts=_parked(operation.over_slo_accounts)
        )


def _owing_nothing(waited: Mapping[str, int], exchanges: Iterable[schema.Exchange], window_ns: int) -> frozenset[str]:
    """Return the peers for which was waited mostly while no call to them was under way.

    A call whose connection ended can have been under way all the time.  Of a peer without any call in the window it is
    not known whether one was made before.
    """
    calls: defaultdict[str, int] = defaultdict(int)
    for line in exchanges:
        if line.direction in ("connected", "datagram"):
            open_ns = min(line.oldest_ns, window_ns) if line.oldest_ns else window_ns
            given_up_ns = line.unawaited_ns or 0 if line.count else 0  # who never answers was perhaps never to
            rest_ns = (line.rest_ns or 0) + (line.until_end_ns or 0) + line.greeting_ns  # known to be for these
            open_ns = line.open * open_ns + line.unanswered * window_ns
            calls[line.object] += line.sum_ns + rest_ns + given_up_ns + open_ns
    return frozenset(peer for peer, ns in waited.items() if calls.get(peer, 0) and calls[peer] < OWED * ns)


def _asking_anew(exchanges: Collection[schema.Exchange]) -> frozenset[str]:
    """Return the peers to which most calls have a connection of their own: once an answer has begun, nothing but its
    rest comes there."""
    calls = [line for line in exchanges if line.direction == "connected"]
    return frozenset(line.object for line in calls if line.count >= FEW_CALLS and line.connects > OWED * line.count)


def _flowing(
    waited: Mapping[str, int],
    exchanges: Collection[schema.Exchange],
    details: Iterable[schema.Detail],
    sockets: Iterable[schema.Socket],
) -> frozenset[str]:
    """Return the peers whose large answers come piece by piece, as windows allow: most of the time is in waits of about
    a round trip, which news that nobody asked for comes after by chance only."""
    large = {line.object for line in exchanges if line.count and line.bytes_in >= LARGE_BYTES * line.count}
    trips = {line.object: line.minimum_rtt_us * 1000 for line in sockets if line.object in large}
    paced: Counter[str] = Counter()
    for line in details:
        trip_ns = trips.get(line.object, 0)
        if line.account in FROM_PEERS and trip_ns >= LEAST_TRIP_NS:
            paced[line.object] += min(line.sum_ns, _least_ns_about(trip_ns, line))
    return frozenset(peer for peer, ns in paced.items() if ns > PACED * waited.get(peer, 0))


def _least_ns_about(trip_ns: int, line: schema.Detail) -> int:
    """Return how long the waits in the buckets from half of that time to twice as long were together, each taken for
    as long as the trip or the longest of its bucket, whichever is less."""
    edges = ((edges_ns(index), count) for index, count in line.buckets)
    return sum(min(high, trip_ns) * count for (low, high), count in edges if 2 * high > trip_ns and low < 2 * trip_ns)


def _ended_by_time(waited: Mapping[str, int], details: Iterable[schema.Detail]) -> frozenset[str]:
    """Return the peers for whom most waits ended by a timeout, so that the kernel side parked them: the last one, too,
    is open when the recording ends."""
    parked = sums_by_key((detail.object, detail.sum_ns) for detail in details if detail.account == PARKED)
    return frozenset(peer for peer, ns in waited.items() if peer and parked.get(peer, 0) > ns)


def _between_requests(
    waited: Mapping[str, int], exchanges: Iterable[schema.Exchange], local: Mapping[str, str], window_ns: int
) -> frozenset[str]:
    """Return the clients for whom was waited mostly while none of their requests was arriving, by port.

    Whoever reads on while another thread answers waits for the next request.  Where nothing on a port is answered it is
    not known what a request is there.
    """
    arriving = sums_by_key(
        (line.object, line.arriving_ns + ((line.open + line.unanswered) * window_ns if line.count else 0))
        for line in exchanges
        if line.direction == "accepted"
    )
    ports = ((f"port:{local.get(peer, '').rpartition(':')[2]}", peer) for peer in waited)
    clients = groups_by_key((port, peer) for port, peer in ports if port in arriving)
    return frozenset(
        peer
        for port, peers in clients.items()
        for peer in peers
        if arriving[port] < OWED * sum(waited[each] for each in peers)
    )


def _of_unix_collectors(
    waited: Mapping[str, int], exchanges: Collection[schema.Exchange], stacks: Iterable[schema.Stack]
) -> frozenset[str]:
    """Return clients at unix sockets that were waited for where none was ever answered, nor asked for anything: what
    a request is there nobody knows.  Not those that leave no room to write."""
    accepted = [line for line in exchanges if line.direction == "accepted" and not line.object.startswith("port:")]
    if not accepted or any(line.count for line in accepted):
        return frozenset()
    asked = {line.object for line in exchanges if line.direction == "connected"}
    full = {stack.object for stack in stacks if stack.kind == "wait" and _WRITES_UNIX in stack.kernel}
    return frozenset(peer for peer in waited if peer.startswith("unix:") and peer not in asked | full)


def _of_fifos(stacks: Iterable[schema.Stack], alive: Collection[int]) -> set[tuple[int, str]]:
    """Return the openings, by process (0: those that ended) and object, most of whose sampled waits are of FIFOs."""
    sums: defaultdict[tuple[int, str], dict[bool, int]] = defaultdict(lambda: {True: 0, False: 0})
    for stack in stacks:
        if stack.kind == "wait" and stack.account == OTHER and stack.object.removeprefix(CALL) in OPEN:
            for pid in {stack.pid} if stack.pid in alive else {stack.pid, 0}:
                sums[pid, stack.object][not _OPENS_FIFO.isdisjoint(stack.kernel)] += stack.weight_ns or 1
    return {key for key, of in sums.items() if of[True] > of[False]}


def _parked(sums: Iterable[schema.AccountSum]) -> list[schema.AccountSum]:
    return [msgspec.structs.replace(each, account=PARKED) if each.account == OTHER else each for each in sums]
