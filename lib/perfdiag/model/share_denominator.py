"""What shares are shares of: the time of requests where that is known, else the busy time of threads."""

from functools import cache

from perfdiag.model.model import Model
from perfdiag.model.thread_accounts import ThreadLedger, times_of
from perfdiag.recording.accounts import Kind, kind_of

REQUEST_TIME = "request time"


@cache  # of a few dozen names, for each of thousands of threads
def counted(account: str) -> bool:
    """Return whether time of this account is part of the busy time that shares are shares of."""
    return kind_of(account) is Kind.LATENCY


def busy_ns_of(thread: ThreadLedger) -> int:
    """Return the busy time of a thread."""
    return sum(ns for name, ns in times_of(thread.accounts) if counted(name))


def whole_ns(model: Model) -> int:
    """Return what shares are shares of: the time of requests, or the busy time of threads."""
    return model.request_time.ns if model.request_time else model.busy_ns


def whole_name(model: Model) -> str:
    """Return what that time is called."""
    return REQUEST_TIME if model.request_time else "busy time"


def whole_accounts(model: Model) -> dict[str, int]:
    """Return what that time consists of.  Inside a request no wait is idle."""
    if model.request_time:
        return dict(model.request_time.accounts)
    return {name: total.ns for name, total in model.accounts.items() if counted(name)}
