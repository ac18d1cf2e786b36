"""Requests that lie unread while a virtual machine of Java has stopped its threads."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from perfdiag.model.requests.unread_requests import LONG_NS, has_finding
from perfdiag.model.thread_accounts import AccountTotal
from perfdiag.model.waits.futexes import Futexes
from perfdiag.model.waits.stopped_threads import ACCOUNT
from perfdiag.recording import schema
from perfdiag.recording.accounts import PARKED

# Lines of unread requests do not name threads: from this part of such waits on they are taken to be for a stop.
MOSTLY = 0.8


def with_stops(
    lines: Iterable[schema.RequestUnread],
    because: Sequence[schema.Because],
    futexes: Futexes,
    accounts: Mapping[str, AccountTotal],
) -> list[schema.RequestUnread]:
    """Return the lines; of those whose reader waited for the thread that had stopped it, the stop is the account.

    Only long waits tell: a server hands work from thread to thread all the time, and no request waits long for that.
    """
    lines = list(lines)
    if ACCOUNT not in accounts or not has_finding(ACCOUNT, accounts[ACCOUNT]):
        return lines
    roots = {line.root for line in lines if line.account == PARKED}
    long = [line for line in because if line.sum_ns >= LONG_NS * line.count]
    stopped = {root for root in roots if futexes.stopped_part(long, root) >= MOSTLY}
    return [
        msgspec.structs.replace(line, account=ACCOUNT, root=ACCOUNT)
        if line.account == PARKED and line.root in stopped
        else line
        for line in lines
    ]
