"""What is summed of requests, and the accounts their time went to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from perfdiag.recording import schema
from perfdiag.recording.accounts import PARKED

# What a request's time holds beside accounts of the thread that serves it.
PEERS = "request.peers"  # calls made for it are not answered
ARRIVING = "request.arriving"  # its first byte has been read, its last has not come
QUEUED = "request.queued"  # it has arrived, and who serves is with others
UNTAKEN = "request.untaken"  # the send buffer is full of what its client has not taken
HELD = "request.held"  # answered, and this host's kernel keeps the end of the answer back
CORKED = "request.corked"  # answered, and the end of the answer waits for more, or for the socket to be uncorked
RESENT = "request.resent"  # answered, and what was lost of the answer on the way is sent again
REST = "request.rest"  # what nothing here tells of: in other hands, or a wait that no socket shows

WAITS_FOR_PEERS = ("net.connect", "net.receive", "ipc.unix")


@dataclass(frozen=True)
class Sums:
    """What is summed of requests: all of a name, or those over the objective."""

    count: int = 0
    ns: int = 0
    whole_ns: int = 0
    read_delay_ns: int = 0
    arriving_ns: int = 0
    peers_ns: int = 0
    held_ns: int = 0
    corked_ns: int = 0
    resent_ns: int = 0
    untaken_ns: int = 0
    accounts: Mapping[str, int] = field(default_factory=dict)

    def plus(self, other: Sums, times: int = 1) -> Sums:
        """Return both together, the other one so many times; nothing falls below zero."""
        names = self.accounts.keys() | other.accounts.keys()
        return Sums(
            max(0, self.count + times * other.count),
            max(0, self.ns + times * other.ns),
            max(0, self.whole_ns + times * other.whole_ns),
            max(0, self.read_delay_ns + times * other.read_delay_ns),
            max(0, self.arriving_ns + times * other.arriving_ns),
            max(0, self.peers_ns + times * other.peers_ns),
            max(0, self.held_ns + times * other.held_ns),
            max(0, self.corked_ns + times * other.corked_ns),
            max(0, self.resent_ns + times * other.resent_ns),
            max(0, self.untaken_ns + times * other.untaken_ns),
            {name: max(0, self.accounts.get(name, 0) + times * other.accounts.get(name, 0)) for name in names},
        )

    def less(self, other: Sums) -> Sums:
        """Return the rest without the other ones."""
        return self.plus(other, -1)


def of_all(line: schema.Exchange) -> Sums:
    """Return the sums of all requests of a name."""
    return Sums(
        line.count,
        line.sum_ns,
        line.whole_ns,
        schema.unread_ns(line),
        line.arriving_ns,
        line.peers_ns,
        line.held_ns or 0,
        line.corked_ns or 0,
        line.resent_ns or 0,
        line.untaken_ns or 0,
        {part.account: part.sum_ns for part in line.accounts},
    )


def of_slow(line: schema.Exchange) -> Sums:
    """Return those of requests over the objective."""
    return Sums(
        line.over_slo,
        line.over_slo_ns,
        line.over_slo_whole_ns,
        schema.unread_ns(line, over_slo=True),
        line.over_slo_arriving_ns,
        line.over_slo_peers_ns,
        line.over_slo_held_ns,
        line.over_slo_corked_ns,
        line.over_slo_resent_ns,
        line.over_slo_untaken_ns,
        {part.account: part.sum_ns for part in line.over_slo_accounts},
    )


def added(sums: Iterable[Sums]) -> Sums:
    """Return all of them together."""
    whole = Sums()
    for each in sums:
        whole = whole.plus(each)
    return whole


def accounts_of(of: Sums, parked: Mapping[tuple[str, str], int]) -> dict[str, int]:
    """Return where requests spent their time; `parked`: on which futexes, or for which peers, by account and key.

    A thread that waits for the rest of a request, for room to send, or for a peer, does so in an account of its own;
    one that waits for events does it in the place of all its requests, and meanwhile turns to others.  Such time is the
    client's, or the peers', as far as the request was still arriving, its answer not taken, or calls for it under way.
    """
    accounts: defaultdict[str, int] = defaultdict(int, of.accounts)
    accounts.pop(PARKED, None)
    for (account, _), ns in parked.items():
        accounts[account] += ns
    accounts[QUEUED] = min(of.read_delay_ns, of.ns)
    accounts[HELD] = min(of.held_ns, of.ns)
    accounts[CORKED] = min(of.corked_ns, of.ns)
    accounts[RESENT] = min(of.resent_ns, of.ns)
    accounts[REST] = max(0, of.ns - sum(accounts.values()))
    for source, into, ns in _moved(accounts, of):
        move(accounts, into, ns, (source,))
    return {name: part for name, part in accounts.items() if part > 0}


def divided(of: Sums) -> dict[str, dict[str, float]]:
    """Return, of each account of a thread, which part of its time inside of requests is whose.

    What is not in it is all of that account.
    """
    parts: dict[str, dict[str, float]] = {}
    for source, into, ns in _moved(of.accounts, of):
        if ns and of.accounts.get(source, 0):
            parts.setdefault(source, {})[into] = ns / of.accounts[source]
    return parts


def _moved(accounts: Mapping[str, int], of: Sums) -> list[tuple[str, str, int]]:
    """Return what is to be moved, from where to where: waits of threads that are the client's, or the peers'."""
    left, found = dict(accounts), []

    def take(into: str, ns: int, sources: Iterable[str]) -> None:
        for source in sources:
            part = max(0, min(ns, left.get(source, 0)))
            left[source] = left.get(source, 0) - part
            found.append((source, into, part))
            ns -= part

    take(ARRIVING, of.arriving_ns, ("net.receive", "ipc.unix", "wait.events", REST))
    take(UNTAKEN, of.untaken_ns, ("wait.events", REST))
    waited_ns = sum(left.get(name, 0) for name in (*WAITS_FOR_PEERS, PEERS))  # by the thread
    # Last of timers: which request of a loop a call was for is told by what the loop read last, and a time limit for an
    # answer is a timer, too.
    take(PEERS, of.peers_ns - waited_ns, ("wait.events", REST, "wait.timer"))
    return found


def move(accounts: dict[str, int], into: str, ns: int, sources: Iterable[str]) -> None:
    """Book up to `ns` of what stands in `sources`, one after the other, to another account."""
    for source in sources:
        part = max(0, min(ns, accounts.get(source, 0)))
        accounts[source] = accounts.get(source, 0) - part
        accounts[into] = accounts.get(into, 0) + part
        ns -= part
