"""Requests that wait for processes which the target has started: what those did meanwhile is what they waited for.

A thread that waits for its child, or reads what that writes to a pipe, idles where it serves nobody.  In the middle of
a request it does not, and a wait for another process of the target is no cause: what that process was in is.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from perfdiag.common.by_key import sums_by_key
from perfdiag.model.requests.request_sums import move
from perfdiag.model.waits.wait_chains import Chain
from perfdiag.recording.accounts import Kind, kind_of

WAITS = ("wait.child", "ipc.pipe")

Roots = Mapping[str, Mapping[str, int]]  # time by account of the wait, and by what was waited for
Parts = Mapping[str, Mapping[str, float]]  # which part of a wait was in which account


def roots_inside(chains: Iterable[Chain]) -> Roots:
    """Return what threads in the middle of a request waited for."""
    roots: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for chain in chains:
        if chain.inside and chain.account in WAITS:
            roots[chain.account][chain.root] += chain.ns
    return roots


def parts_of(roots: Roots, inside: Mapping[str, int]) -> Parts:
    """Return which part of these waits belongs where; `inside`: the accounts of all requests.

    A process that sleeps or waits for work itself is a cause of its own: that time stays with the wait, as does what is
    not known.
    """
    return {
        wait: {
            root: ns / max(sum(of.values()), inside.get(wait, 0))
            for root, ns in of.items()
            if ns and kind_of(root) is Kind.LATENCY and root != wait
        }
        for wait, of in roots.items()
    }


def passed_on(accounts: Mapping[str, int], parts: Parts) -> dict[str, int]:
    """Return accounts of requests with those waits where they belong."""
    found = dict(accounts)
    for wait, into in parts.items():
        ns = found.get(wait, 0)
        for root, part in into.items():
            move(found, root, round(ns * part), (wait,))
    return {name: part for name, part in found.items() if part > 0}


def done_meanwhile(accounts: Mapping[str, int], parts: Parts) -> dict[str, int]:
    """Return what other processes did while requests waited for them, by account."""
    return sums_by_key(
        (root, round(accounts.get(wait, 0) * part)) for wait, into in parts.items() for root, part in into.items()
    )
