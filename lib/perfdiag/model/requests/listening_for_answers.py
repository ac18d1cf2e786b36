"""Readers that wait in epoll for the answers to several calls, and meanwhile do not listen to requests."""

from collections.abc import Sequence

from perfdiag.model.requests.exchanges import Exchange
from perfdiag.model.thread_accounts import ThreadLedger
from perfdiag.recording import schema

RECEIVE = "net.receive"
EPOLL = ("do_epoll_wait", "ep_poll")
MOSTLY = 0.8  # of the waits whose stack is known


def listen_for_answers_alone(
    stacks: Sequence[schema.Stack], exchanges: Sequence[Exchange], threads: Sequence[ThreadLedger]
) -> bool:
    """Return whether the threads that wait for a peer wait in epoll for whichever answer comes first: then more calls
    are under way than threads could make that block.

    A wait in epoll counts as one for a peer only if nothing of work is in its set, neither a listening socket nor an
    accepted connection.  Requests that lie unread meanwhile are kept out; a thread in a blocking call cannot read them.
    """
    most = max((each.line.most or 0 for each in exchanges if not each.served), default=0)
    waits = [each for each in stacks if each.kind == "wait" and each.account == RECEIVE]
    in_epoll = sum(each.weight_ns for each in waits if any(name in EPOLL for name in each.kernel))
    readers = sum(1 for thread in threads if thread.requests_read)
    return 0 < readers < most and in_epoll > 0 and in_epoll >= MOSTLY * sum(each.weight_ns for each in waits)
