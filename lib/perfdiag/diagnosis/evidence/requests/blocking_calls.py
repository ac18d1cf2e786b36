"""Waits for a peer, on the network or on this host, in the thread that reads requests: all of these wait with it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from perfdiag.common.by_key import sums_by_key
from perfdiag.diagnosis.evidence.requests.unread_time import behind_loops_ns, hold_loops, hold_readers
from perfdiag.diagnosis.policy import network_policy, requests_policy
from perfdiag.diagnosis.rule import Evidence, Remedy
from perfdiag.diagnosis.significance import fix, plain, total_ns
from perfdiag.model.model import Model, Row
from perfdiag.model.stacks.scripts import users_function

_DO_NOT_BLOCK = fix(
    "do not wait for it in the thread that reads requests: make the call without blocking, or in another thread"
)
_AWAIT = "await the call, with a driver that lets others run meanwhile, or make it in a worker thread"


@dataclass(frozen=True)
class Holding:
    """What is told of such waits, in front of what is told of any waits for the peer."""

    headline: str
    claim: str  # a sentence, with a space in front
    remedy: Remedy
    evidence: Sequence[Evidence] = ()


def holding(model: Model, rows: Sequence[Row], where: str) -> Holding | None:
    """Return what waits hold up that are all for one peer; None if that is nobody. `where`: "for 10.0.0.7:5432"."""
    accounts = {row.account for row in rows}
    if _hold(model, rows, accounts, hold_loops):
        headline = f"The event loop waits {where} in a blocking call, and all other requests with it"
        claim = " The event loop's own thread waits: until it is back, it reads and answers no other request."
        code = _asks_in(model, rows)
        remedy = fix(f"do not block in the event loop{f', in {code}' if code else ''}: {_AWAIT}")
        return Holding(headline, claim, remedy, _at_once(model, accounts))
    if _hold(model, rows, accounts, hold_readers):
        headline = f"Requests lie unread while their reader waits {where}"
        claim = " That is part of no request: all of them wait until the thread that reads them is back."
        return Holding(headline, claim, _DO_NOT_BLOCK)
    return None


def _hold(model: Model, rows: Sequence[Row], accounts: set[str], hold: Callable[[Model, set[str]], bool]) -> bool:
    most = total_ns(rows) >= network_policy.readers_peer_share * model.ns(*accounts)
    return most and hold(model, accounts)


def _asks_in(model: Model, rows: Sequence[Row]) -> str:
    """Return the function of the program's own script that most of these waits stand below, "" if that is not known."""
    stacks = [stack for row in rows for stack in model.wait_stacks(row.account, key=row.key)]
    weights = sums_by_key((users_function(stack), stack.weight_ns or 1) for stack in stacks)
    most = max(weights, key=lambda name: weights[name], default="")
    return plain(most) if 2 * weights[most] > weights.total() else ""


def _at_once(model: Model, accounts: set[str]) -> list[Evidence]:
    """Return how many requests waited behind their thread while it waited, on average."""
    threads_ns = model.ns(*accounts)
    others = behind_loops_ns(model, accounts) / threads_ns if threads_ns else 0.0
    if others < requests_policy.requests_behind_loop:
        return []
    text = f"while the event loop waited there, {others:.1f} other requests waited for it, on average"
    return [Evidence(text, others, "count", "sockets")]
