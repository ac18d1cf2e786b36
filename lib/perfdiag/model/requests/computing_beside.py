"""CPU time that goes along with requests, though nothing tells for which each thread computes.

A server that hands requests from thread to thread (goroutines, executors, children) computes on whichever comes.  But
if the target computes only while requests are in progress, that is for them: then so much of the requests' time was
computing.
"""

from collections.abc import Sequence

from perfdiag.recording import schema
from perfdiag.recording.levels import above_ns

MOST_IDLE_RATE = 0.25  # CPU time a second without requests, of that with some: a job of its own computes alike in both
LEAST_IDLE = 0.05  # of the window without requests: in less nothing tells that the target would compute then, too
LEAST = 2 / 3  # of the unexplained time: where much less is computed, requests wait for something else


def computed_part(
    inside: Sequence[schema.RequestsInside],
    cpu_ns: int,
    of_readers_ns: int,
    awaited_ns: int,
    rest_ns: int,
    window_ns: int,
) -> float:
    """Return which part of the unexplained time of requests the target computes for them on threads that did not read
    them.  Of its CPU time, `of_readers_ns` is that of those who did, and `awaited_ns` that of processes which requests
    are known to wait for.

    Of requests that wait together for one CPU each has the whole of that: then it is more.  Where one request computes
    on several threads at once, it is less.
    """
    line = next(iter(inside), None)
    if line is None or line.beside_ns is None or line.unseen or rest_ns <= 0:
        return 0.0
    busy_ns = above_ns(line.levels, 0)
    idle_ns, beside_ns = window_ns - busy_ns, min(line.beside_ns, cpu_ns - of_readers_ns)
    if busy_ns <= 0 or idle_ns < LEAST_IDLE * window_ns:
        return 0.0
    alone_ns = cpu_ns - of_readers_ns - beside_ns
    if alone_ns / idle_ns > MOST_IDLE_RATE * (beside_ns + of_readers_ns) / busy_ns:
        return 0.0
    theirs_ns = beside_ns - awaited_ns
    return min(1.0, theirs_ns / rest_ns) if theirs_ns >= LEAST * rest_ns else 0.0
