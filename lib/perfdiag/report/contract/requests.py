"""Requests served and calls made, with percentiles that are right to 3 %."""

from collections.abc import Mapping

from perfdiag.report.contract.base import Part, Untrusted


class Percentiles(Part, frozen=True, kw_only=True):
    """How long something took."""

    count: int
    mean_ns: int | None
    p50_ns: int | None
    p90_ns: int | None
    p99_ns: int | None  # None below 300
    max_ns: int
    count_error: int = 0  # `count` is an estimate, and so far off at most in 95 of 100 cases; 0: it is exact
    p50_range_ns: tuple[int, int] | None = None  # in 95 of 100 cases; None: all were timed
    p90_range_ns: tuple[int, int] | None = None
    p99_range_ns: tuple[int, int] | None = None


class Sample(Part, frozen=True, kw_only=True):
    """Requests on a part of the connections stand for all: what is counted is an estimate."""

    one_of: int  # connections: one of so many was followed
    after_ns: int  # since the window began; before that all were
    error: float  # of the number of all requests, relatively: so far off at most in 95 of 100 cases


class Request(Part, frozen=True, kw_only=True):
    """Requests of one name on one port, from the first byte's arrival to the last byte of the answer."""

    name: Untrusted  # "" where plain text shows none
    port: Untrusted
    per_second: float
    whole: Percentiles
    first_byte: Percentiles  # to the first byte of the answer
    read_delay: Percentiles  # from the first byte's arrival until it was read
    unanswered: int | None  # None, here and below: a sample of connections does not tell
    open: int | None
    oldest_ns: int | None  # of those that are open
    untimed: int  # of which nothing tells whether they were answered, or had to be
    unsure: int  # of the answered ones: what was sent may have been news
    errors: Mapping[str, int] = {}  # answered with an error, by status: "503"; those that were seen
    early: int
    declined: int
    on_one_thread: float | None  # the part whose accounts are known
    limit_ns: int | None  # of --slo, for this name or for all
    over_slo: int | None
    rarity_unseen: float | None  # 3/n: what is rarer may well have been missed by this window
    bytes_in: int
    bytes_out: int
    accounts: Mapping[str, int]
    slowest: Mapping[str, int]  # accounts of those over the objective


class Unread(Part, frozen=True, kw_only=True):
    """Requests that had arrived and were not read when the window ended."""

    place: Untrusted  # "port 80", ...
    count: int
    oldest_ns: int  # since the first of them arrived, as far as that is known


class Silent(Part, frozen=True, kw_only=True):
    """Connections that were silent in the window, and whose last message may have been a request."""

    place: Untrusted  # "port 80", or the peer that was asked
    called: bool  # the target asked there
    pids: list[int]  # that hold them
    count: int
    oldest_ns: int | None  # since the first of these words; None: whose the last was is not known


class Call(Part, frozen=True, kw_only=True):
    """Calls to one peer, from the last byte sent to the first byte of the answer."""

    peer: Untrusted
    lookups: bool  # of names
    datagrams: int | None  # sent by UDP, whether they ask for something or not; None: no such calls
    came_back: int | None  # of these
    per_second: float
    whole: Percentiles
    outstanding_share: float  # of the window, in which at least one was not answered
    unanswered: int
    open: int
    oldest_ns: int
    connect: Percentiles
    connects_failed: int
    connecting: int  # neither made nor failed when the window ended; `connect` counts them, too
    unawaited: int  # more was sent after a wait for the answer had ended by a timeout
    retries: int
    bytes_in: int
    bytes_out: int


class NamedCall(Part, frozen=True, kw_only=True):
    """Calls that ask one peer for the same, for requests of one name."""

    name: Untrusted  # "GET /users/#", or a command of Redis or memcached
    peer: Untrusted
    request: Untrusted  # "": it has no name, or is not known
    whole: Percentiles
    ns: int  # of all of them together
    times: float  # so often a request of that name makes one, on average; 0: none is known to
    errors: Mapping[str, int] = {}  # answered with an error, by status, or the word of Redis: "503", "LOADING"


class RequestTime(Part, frozen=True, kw_only=True):
    """The time of all requests, which shares of findings are of; None if it is unknown."""

    count: int
    own_count: int  # beside these, in `ns`, too: what the target's processes ask of each other
    ns: int
    excess: bool  # of requests over the objective alone, what they took beyond the median of their name
    median_over: bool  # of a name the median itself is over it: of that name, all they took
    accounts: dict[str, int]  # and those of requests, "request.peers", "request.held", ...
