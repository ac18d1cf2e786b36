"""Calls that go along with requests, though nothing tells for which each was made.

A server that hands requests from thread to thread (goroutines, executors, coroutines) makes its calls on whichever
thread comes.  But if calls are only outstanding while requests are in progress, and no more of them than requests, each
is made for one: then so much of the requests' time was a wait for a peer.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from perfdiag.model.requests.exchanges import Exchange
from perfdiag.recording import schema
from perfdiag.recording.levels import together_ns

# Of the time of all calls. What polls a queue for long, or sends without an answer, is outstanding without a request.
MOST_ALONE = 0.1
LEAST_CALLS = 0.5  # of the number of requests
LONGER = 1.05  # than the longest request: durations are right to 3 %


def accompanied_part(inside: Sequence[schema.RequestsInside], rest_ns: int) -> float:
    """Return which part of the unexplained time of requests is spent while a call is outstanding for them.

    It is what calls accompany of the time since requests were read, less what is known to be in something else.
    """
    line = next(iter(inside), None)
    if line is None or line.accompanied_ns is None or line.alone_ns is None or rest_ns <= 0:
        return 0.0
    if line.unseen or line.alone_ns > MOST_ALONE * (line.accompanied_ns + line.alone_ns):
        return 0.0
    known_ns = max(0, together_ns(line.levels) - rest_ns)
    return min(1.0, max(0, line.accompanied_ns - known_ns) / rest_ns)


def may_be_for_requests(exchanges: Sequence[Exchange]) -> bool:
    """Return whether calls can be those of requests by their number and length: there are not far fewer, and those that
    take most of the time are no longer than the longest request, as a poll of a queue is."""
    calls = [each for each in exchanges if each.line.direction == "connected"]
    served = [each for each in exchanges if each.served]
    count = sum(each.line.count + each.line.unanswered + each.line.open for each in calls)
    most = max(calls, key=lambda each: each.lasted_ns, default=None)
    longest_ns = max((each.whole.max_ns for each in served), default=0)
    enough = count >= LEAST_CALLS * sum(each.line.count for each in served)
    return most is not None and enough and most.typical_ns <= LONGER * longest_ns


def with_given_up(line: schema.Exchange) -> schema.Exchange:
    """Return calls of a peer, in which a request waited for each unanswered one for as long as it lasted."""
    return replace(line, unanswered_ns=max(line.unanswered_ns or 0, line.unanswered_lasted_ns or 0))
