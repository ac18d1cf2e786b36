"""Requests that the target served and calls that it made, as its sockets show them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec

from perfdiag.recording.schema.base import Count, Line, Nanoseconds
from perfdiag.recording.schema.limits import ACCOUNTS, RECORDER, Account, Object, RequestName, Word, at_most

LATENCY_UNIT_NS = 1024
OTHER_NAMES = "(other names)"  # instead of a name: there was no room for more
LATENCY_STEPS = 16  # buckets for each doubling
LATENCY_BUCKETS = LATENCY_STEPS * (1 + RECORDER["LATENCY_DOUBLINGS"])
FineBuckets = Annotated[
    Sequence[tuple[Annotated[int, msgspec.Meta(ge=0, lt=LATENCY_BUCKETS)], Count]], at_most(LATENCY_BUCKETS)
]


class PartSum(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What requests spent in one account: ``[account, sum_ns]``."""

    account: Account
    sum_ns: Nanoseconds


PartSums = Annotated[Sequence[PartSum], at_most(ACCOUNTS)]


class Level(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """So many at once: ``[level, sum_ns]``; of 32 and more the lowest level of two, of 64 and more of four."""

    level: Count
    sum_ns: Nanoseconds  # with that many


class CallLevel(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """So many calls at once: ``[level, sum_ns, answered, waited]``, levels as in Level."""

    level: Count
    sum_ns: Nanoseconds  # with that many outstanding
    answered: Count  # calls whose answer came meanwhile
    waited: Count  # of them, while more requests were in progress than calls outstanding, to all peers


CallLevels = Annotated[Sequence[CallLevel], at_most(RECORDER["LEVELS"])]


class Exchange(Line, tag="exchange"):
    """Requests of one name on one port of the target's ("accepted"), or calls and name look-ups that it made of one
    peer ("connected", "lookup").  By UDP also what it sent to a peer ("datagram") or got at a port ("datagram_port"),
    whether that asks for anything or not: `unawaited` were sent, `untimed` received.

    A request lasts from its first byte's arrival until the last byte of its answer was sent, a call from its last
    byte sent until the first byte of its answer arrived.
    """

    object: Object  # "port:8080", "peer:10.0.0.1:5432", ... as in Detail
    # "GET /users/#" of HTTP/1 and "KEYS" of Redis or memcached in plain text, or ""; "(other names)" without room,
    # "(all names)" where none is kept
    name: RequestName
    direction: Word
    count: Count  # answered
    sum_ns: Nanoseconds
    unanswered: Count  # the connection ended before
    open: Count  # not answered when the window ended
    oldest_ns: Nanoseconds  # of those
    early: Count  # requests that came in before the one before them was answered
    declined: Count  # connections that carry several requests at once (HTTP/2); of calls: several there count as one
    turns: Count  # answered requests whose thread had turned to them from another connection that was still open
    whole: Count  # requests that one thread served from begin to end: `accounts` are theirs
    whole_ns: Nanoseconds
    read_delay_ns: Nanoseconds  # of requests, from arrived until read
    arriving_ns: Nanoseconds  # of requests, from their first byte read until their last
    peers_ns: Nanoseconds  # of requests, while calls made for them were not answered, or not whole
    connects: Count
    connects_failed: Count
    connecting: Count  # neither, when the window ended: "connect" counts them, too, for as long as that took
    retries: Count  # SYNs sent again, or look-ups asked again
    busy_ns: Nanoseconds  # of calls: while one or more were not answered
    bytes_in: Count  # received and sent, of what was answered
    bytes_out: Count
    accounts: PartSums
    missed: Count = 0  # of `count`: requests that have looked up what was not there, as in NamedCall
    missed_ns: Nanoseconds = 0
    over_slo: Count = 0  # of `count`, and what of the sums is theirs
    over_slo_ns: Nanoseconds = 0
    over_slo_whole_ns: Nanoseconds = 0
    over_slo_read_delay_ns: Nanoseconds = 0
    over_slo_arriving_ns: Nanoseconds = 0
    over_slo_peers_ns: Nanoseconds = 0
    over_slo_accounts: PartSums = []
    held_ns: Nanoseconds | None = None  # while this host's kernel kept the last piece sent back (Nagle)
    over_slo_held_ns: Nanoseconds = 0
    corked_ns: Nanoseconds | None = None  # likewise, while it waited for more that the sender had said would come
    over_slo_corked_ns: Nanoseconds = 0
    # Requests of whose answers segments were sent again by a timeout, after the last byte was written.
    resent: Count = 0
    resent_ns: Nanoseconds | None = None  # for so long at least that kept them from the client
    over_slo_resent_ns: Nanoseconds = 0
    # Of requests, while the send buffer was full of what the client had not taken.
    untaken_ns: Nanoseconds | None = None
    over_slo_untaken_ns: Nanoseconds = 0
    # Of `untaken_ns`, what is of answers that the client's receive window kept most often, and the buffer's own size.
    untaken_window_ns: Nanoseconds | None = None
    untaken_buffer_ns: Nanoseconds | None = None
    # Of `read_delay_ns`, what request_unread may tell of the wrong accounts: cut off what was short and merged.
    unread_error_ns: Nanoseconds | None = None
    over_slo_unread_error_ns: Nanoseconds = 0
    # Of `read_delay_ns`, while a call for the request before on the same connection was under way, and the reader idle.
    unread_peers_ns: Nanoseconds = 0
    over_slo_unread_peers_ns: Nanoseconds = 0
    unanswered_ns: Nanoseconds | None = None  # of calls: while requests that they were made for waited
    unanswered_lasted_ns: Nanoseconds | None = None  # of calls, until their connection ended
    unanswered_longest_ns: Nanoseconds | None = None  # of requests: until their connection was seen to end
    timed_out: Count = 0  # of `unanswered` calls: a wait for their answer had ended by a timeout
    greetings: Count = 0  # connections of calls on which the peer said something before it was asked
    greeting_ns: Nanoseconds = 0  # of these, since they were made
    rest_ns: Nanoseconds | None = None  # of answered calls: while their requests waited for more of the answer
    until_end: Count = 0  # calls: answered, and their request waited on; nothing came but the connection's end
    until_end_ns: Nanoseconds | None = None  # of these, how long that was
    behind: Count = 0  # calls that requests sent on a connection where another one was not answered yet
    behind_ns: Nanoseconds = 0  # of these, until that was
    unawaited: Count = 0  # calls: a wait for their answer ended by a timeout, and more was sent
    unawaited_ns: Nanoseconds | None = None  # of these, until more was sent
    untimed: Count = 0  # requests of which nothing tells whether they were answered, or had to be
    # of `count`, those that may have been no requests: what the target then sent may be news of its own accord
    unsure: Count = 0
    over_slo_unsure: Count = 0
    # Where a part of the connections was followed (given_up), all numbers but maxima are estimates. In 95 of 100 cases
    # `count` is no further from the true one.
    count_error: Count = 0
    awaited: Count = 0  # of `open`, by UDP: somebody watches their socket
    most: Count | None = None  # of calls ("connected"): outstanding at once, at most
    levels: CallLevels = []  # levels that were reached; from 128 on they are not told apart, and not here

    @property
    def wants_answers(self) -> bool:
        """Return whether each of these requests wants an answer, as those of HTTP do. Redis has commands that want
        none; their names are single words."""
        return " " in self.name and self.name != OTHER_NAMES  # there may be commands among those


def unread_ns(line: Exchange, *, over_slo: bool = False) -> int:
    """Return for how long requests, or those over the objective, lay unread, without what waited for a peer."""
    if over_slo:
        return max(0, line.over_slo_read_delay_ns - line.over_slo_unread_peers_ns)
    return max(0, line.read_delay_ns - line.unread_peers_ns)


class RequestsInside(Line, tag="requests_inside"):
    """How many requests were in progress at once, on all ports together: read, and nothing of their answer sent."""

    most: Count
    levels: Annotated[Sequence[Level], at_most(RECORDER["LEVELS"])]  # as in Exchange
    # Unix sockets closed in the middle without a sign: what was under way there counted on until the end.
    unseen: Count
    accepted: Count | None = None  # connections that were used; older recordings do not say
    # The time of all of them together, as far as there were as many calls of the target's at each moment, to whomever;
    # and the time of these calls, as far as there were fewer requests.
    accompanied_ns: Nanoseconds | None = None
    alone_ns: Nanoseconds | None = None
    # Sends on accepted connections that answer nothing, as news and greetings; and connections that got several.
    unasked: Count | None = None
    unasked_bytes: Count | None = None
    unasked_connections: Count | None = None
    # CPU time of threads of the target that served no request which they had read, while some was in progress.
    beside_ns: Nanoseconds | None = None


class RequestParked(Line, tag="request_parked"):
    """Time that requests were parked on one futex of a process: those that one thread served from begin to end, as long
    as it had not waited for events since it read them: then it may be parked for another one.  The lines add up to what
    stands in their `accounts`, but for what found no room.
    """

    pid: Count  # also of a process that has ended
    object: Object  # as in Detail
    over_slo: bool  # of those that took as long as the objective or longer, or of the others
    count: Count  # of requests
    sum_ns: Nanoseconds


class RequestUnread(Line, tag="request_unread"):
    """Time that answered requests lay unread, by what the thread that then read them was in meanwhile.

    The lines add up to `read_delay_ns` less `unread_peers_ns` of their exchange, but for what lies before the last
    segments that are kept of a thread, or found no room.
    """

    object: Object  # these two as in Exchange
    name: RequestName
    over_slo: bool  # of those that took as long as the objective or longer, or of the others
    account: Account  # of the thread itself
    root: Account  # of the thread that it waited for, however far behind others; `account` where it waited for none
    sum_ns: Nanoseconds
    served: bool = False  # that thread was with another request; recordings without requests_read do not say


class LeftPart(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """In what their reader was while requests waited: ``[account, root, served, sum_ns]``, as in RequestUnread."""

    account: Account
    root: Account
    served: bool
    sum_ns: Nanoseconds


LeftParts = Annotated[Sequence[LeftPart], at_most(RECORDER["UNREAD_PARTS"])]


class RequestLeft(Line, tag="request_left"):
    """Requests that had arrived and that nobody had read when the window ended.

    What their reader was in is told of who read there last; where nobody has, of whoever of the process is kept from
    reading, if all such are in the same.
    """

    object: Object  # as in Exchange
    earlier: bool  # they arrived before the window, or it is not known when
    count: Count
    sum_ns: Nanoseconds  # since they arrived, or the window began
    oldest_ns: Nanoseconds  # since the first of them arrived; 0: that is not known of any
    parts: LeftParts  # of `sum_ns`, as far as that is known
    queued: bool = False  # on connections that nobody has accepted


class Silent(Line, tag="silent"):
    """Connections on which nothing came or went in the window, and on which somebody may wait since before.

    Of TCP those on which the last word was a question, if it was one: the client's where the target has accepted, the
    target's where it has connected.  What needs no answer looks the same, and times are as fine as the kernel's clock
    ticks.  Of accepted unix sockets all: they keep no time.
    """

    object: Object  # these two as in Exchange
    direction: Word
    pid: Count  # who holds them; 0: several processes
    count: Count
    never: Count  # of them, on which who was asked has not said anything yet
    oldest_ns: Nanoseconds  # since the first of these last words; 0: whose the last was is not known


class Latency(Line, tag="latency"):
    """How long one thing of an exchange took.

    Bucket i < 16 counts i units of 1,024 ns and more, up to the next; bucket 16 + 16 d + s those of 2**(d + 4) *
    (1 + s / 16) units and more: a quantile is right to 3 %.
    """

    object: Object  # these three as in Exchange
    name: RequestName
    direction: Word
    measure: Word  # "whole", "first_byte" (of the answer), "read_delay", "connect"
    count: Count
    sum_ns: Nanoseconds
    max_ns: Nanoseconds
    buckets: FineBuckets


class NamedCall(Line, tag="named_call"):
    """Calls that ask one peer for the same, as their plain text shows, for requests of one name.

    Each lasts as a call does, and is among those of an Exchange.  Buckets as in Latency.
    """

    object: Object  # the peer, as in Exchange
    name: RequestName  # "GET /users/#", or a command of Redis or memcached, "GET"
    request: RequestName  # as in Exchange; "": the request has no name, or none is known that made the call
    count: Count  # answered
    sum_ns: Nanoseconds
    max_ns: Nanoseconds
    owned: Count  # of `count`: the request that made it is known
    buckets: FineBuckets
    missed: Count = 0  # of `count`: Redis or memcached answered that what was looked up is not there

    @property
    def has_name(self) -> bool:
        """Whether all of them ask for the same."""
        return self.name != OTHER_NAMES


class Answer(Line, tag="answer"):
    """Answers that are errors of one kind, to requests of one name that the target served, or to calls that it made.

    They are among the answered ones of an Exchange or a NamedCall, or to statements: all of a peer's together.  Only
    the first piece of an answer is looked at: one that comes in smaller ones than its status does not count.
    """

    object: Object  # as in Exchange
    name: RequestName
    direction: Word  # "accepted", or "connected"
    # "503"; the first word of an error of Redis, "LOADING"; SQLSTATE of PostgreSQL, "40001"; the number of MySQL's,
    # "1213"; "OTHER"
    status: Word
    count: Count
    sum_ns: Nanoseconds  # until their first byte
    count_error: Count = 0  # as in Exchange
