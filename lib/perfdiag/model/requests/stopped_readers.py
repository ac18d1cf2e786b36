"""Requests that lie unread while a virtual machine of Java has stopped its threads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from perfdiag.model.requests.unread_requests import PARKED, has_finding
from perfdiag.model.thread_accounts import AccountTotal
from perfdiag.model.waits.futexes import Futexes
from perfdiag.model.waits.stopped_threads import ACCOUNT
from perfdiag.recording import schema

# Lines of unread requests do not name threads: from this part of such waits on they are taken to be for a stop.
MOSTLY = 0.8


def with_stops(
    lines: Iterable[schema.RequestUnread],
    because: Sequence[schema.Because],
    futexes: Futexes,
    accounts: Mapping[str, AccountTotal],
) -> list[schema.RequestUnread]:
    """Return the lines; of those whose reader waited for the thread that had stopped it, the stop is the account."""
    lines = list(lines)
    if ACCOUNT not in accounts or not has_finding(ACCOUNT, accounts[ACCOUNT]):
        return lines
    roots = {line.root for line in lines if line.account == PARKED}
    stopped = {root for root in roots if futexes.stopped_part(because, root) >= MOSTLY}
    return [
        msgspec.structs.replace(line, account=ACCOUNT, root=ACCOUNT)
        if line.account == PARKED and line.root in stopped
        else line
        for line in lines
    ]


__all__ = ["with_stops"]
