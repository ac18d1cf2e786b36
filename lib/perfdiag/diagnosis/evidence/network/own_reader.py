"""Who alone reads the requests of a target, and asks the target something: it waits for itself."""

from collections.abc import Sequence

from perfdiag.model.model import Model, Row
from perfdiag.model.thread_accounts import ThreadLedger


def reader_that_asks(model: Model, rows: Sequence[Row]) -> ThreadLedger | None:
    """Return the thread that waits for all of these answers of the target, where no other reads a request.

    Nobody can answer it meanwhile: None where most of its calls are answered, because then somebody else does.
    """
    readers = [thread for thread in model.threads if thread.requests_read]
    pids, accounts = {row.pid for row in rows}, {row.account for row in rows}
    waiters = [thread for thread in model.threads if thread.pid in pids and accounts & thread.accounts.keys()]
    if not rows or len(readers) != 1 or readers != waiters or not readers[0].tid:
        return None
    keys = {row.key for row in rows}
    calls = [each.line for each in model.exchanges if not each.served and each.line.object in keys]
    answered = sum(line.count for line in calls)
    return readers[0] if 2 * answered < sum(line.count + line.unanswered + line.open for line in calls) else None
