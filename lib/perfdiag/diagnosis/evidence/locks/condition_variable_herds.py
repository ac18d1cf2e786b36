"""Threads that are woken from a condition variable and then queue for its mutex: a thundering herd."""

import re
from collections.abc import Iterable

from perfdiag.diagnosis.policy import locks_policy
from perfdiag.diagnosis.rule import Evidence, Remedy
from perfdiag.diagnosis.significance import duration, fix
from perfdiag.model.model import Model
from perfdiag.model.stacks.symbols import symbol_of

# The C library takes the mutex of a condition again in a function of its own, which not every library has a name for.
_WAKES = re.compile(r"_*pthread_mutex_cond_lock(_full)?|_*pthread_cond_(timed|clock)?wait\w*|cnd_(timed)?wait")
_ASKS = re.compile(r"_*pthread_mutex_(lock|timedlock|clocklock)(_full)?|mtx_(timed)?lock|_*pthread_rwlock_\w+")


def woken_ns(model: Model, key: str) -> int:
    """Return how long the sampled waits for a lock were of threads just woken from a condition, 0 unless most were."""
    whole_ns = herd_ns = 0
    for stack in model.wait_stacks("lock.futex", key=key):
        whole_ns += stack.weight_ns
        herd_ns += stack.weight_ns if _woken(stack.user) or _woken(stack.scan) else 0
    return herd_ns if herd_ns > locks_policy.herd_samples_share * whole_ns else 0


def _woken(names: Iterable[str]) -> bool:
    """Return whether the nearest known function is the end of a wait for a condition."""
    known = (name for name in map(symbol_of, names) if _WAKES.fullmatch(name) or _ASKS.fullmatch(name))
    return bool(_WAKES.fullmatch(next(known, "")))


def claim(name: str, ns: int, code: str, *, at_once: bool) -> tuple[str, list[Remedy]]:
    """Return the claim about such a lock, without its full stop, and the remedies."""
    where = f"in {code}: " if code else ""
    why = (
        "more threads are woken at once than can continue"
        if at_once
        else "several threads are woken at once, or before the waker unlocks"
    )
    return (
        f"Threads wait {duration(ns)} for one lock ({name}), mostly just after they were woken from its condition:"
        f" {why}",
        [
            fix(f"{where}wake one waiter (pthread_cond_signal, notify_one), not all of them, if one can do the work"),
            fix(f"{where}wake after unlocking the mutex; let fewer threads wait for the same condition"),
        ],
    )


def shown(ns: int) -> Evidence:
    """Return the evidence for it."""
    return Evidence(
        f"{duration(ns)} of the sampled waits were for the mutex just after a wait for the condition",
        float(ns),
        "ns",
        "stack samples",
    )
