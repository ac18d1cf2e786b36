"""Sessions that wait for each other: a deadlock, which the server finds after deadlock_timeout and ends by an error."""

from collections.abc import Sequence
from dataclasses import dataclass

from perfdiag.common.units import plural
from perfdiag.diagnosis.evidence.session_waits import chains_behind, looks_in, looks_ns
from perfdiag.diagnosis.policy import sql_policy
from perfdiag.diagnosis.rule import Evidence
from perfdiag.diagnosis.significance import duration, total_ns
from perfdiag.model.model import Model, Row


@dataclass(frozen=True)
class Deadlock:
    """What tells that the holders of some locks were those who waited for them."""

    looks: int  # waits that lasted until the session looked for a deadlock
    waits: int  # all of them
    sessions: int

    @property
    def evidence(self) -> Evidence:
        """Why it is one."""
        timeout = f"deadlock_timeout ({duration(sql_policy.deadlock_timeout_ns)} by default)"
        text = (
            f"{self.looks} of {plural(self.waits, 'wait')} lasted until {timeout}; every session that"
            " ended a wait had waited itself"
        )
        return Evidence(text, self.looks / self.waits, "share", "wait event, sched_waking")


def deadlock_of(model: Model, rows: Sequence[Row]) -> Deadlock | None:
    """Return that the sessions of these waits for locks waited for each other; None if that is not known.

    Nobody does anything with the locks meanwhile, so nearly no time of a holder is known.  The waits end when a session
    looks for a deadlock, and most of those at once: who only looks while somebody works sleeps on after it.  What it
    then gives up wakes the next of the circle: whoever ended a wait waited itself.
    """
    keys = sorted({row.key for row in rows})
    waiters = {row.pid for row in rows if row.pid}
    chains = chains_behind(model, keys)
    looks = sum(map(looks_in, rows))
    waits = sum(row.distribution.count for row in rows)
    ended_by = {row.waker_tid for row in rows if row.waker_tid} | {chain.root_tid for chain in chains if chain.root_tid}
    waited_ns = total_ns(rows)
    if (
        len(waiters) < 2
        or not ended_by
        or not ended_by <= waiters
        or sum(chain.ns for chain in chains) >= sql_policy.holder_named_share * waited_ns
        or looks_ns(model, keys) < sql_policy.deadlock_share * waited_ns
        or waits - looks > sql_policy.deadlock_rest_share * looks
    ):
        return None
    return Deadlock(looks, waits, len(waiters))
