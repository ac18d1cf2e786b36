"""CPU time that goes along with requests, though nothing tells for which each thread computes.

A server that hands requests from thread to thread (goroutines, executors, children) computes on whichever comes.  But
if the target computes only while requests are in progress, that is for them: then so much of the requests' time was
computing.
"""

from collections.abc import Sequence

from perfdiag.recording import schema

MOST_ALONE = 0.1  # of the target's CPU time. A job of its own computes whether a request is in progress or not.
LEAST = 0.5  # of the unexplained time: background work that requests set off takes less than they themselves


def computed_part(
    inside: Sequence[schema.RequestsInside], cpu_ns: int, of_readers_ns: int, awaited_ns: int, rest_ns: int
) -> float:
    """Return which part of the unexplained time of requests the target computes for them on threads that did not read
    them.  Of its CPU time, `of_readers_ns` is that of those who did, and `awaited_ns` that of processes which requests
    are known to wait for.

    Of requests that wait together for one CPU each would have the whole of that: this is what they have at least.
    """
    line = next(iter(inside), None)
    if line is None or line.beside_ns is None or line.unseen or rest_ns <= 0:
        return 0.0
    alone_ns, theirs_ns = cpu_ns - of_readers_ns - line.beside_ns, line.beside_ns - awaited_ns
    if alone_ns > MOST_ALONE * cpu_ns or theirs_ns < LEAST * rest_ns:
        return 0.0
    return min(1.0, theirs_ns / rest_ns)
