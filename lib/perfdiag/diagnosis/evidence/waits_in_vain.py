"""Waits for an answer that never comes: the target's own timeout ends them, and then it closes the connection.

Who waits for work keeps its connection and waits on.  Who asks, waits and closes needed an answer.
"""

from collections.abc import Sequence

from perfdiag.common.units import plural
from perfdiag.diagnosis.evidence.fix_checks import fewer
from perfdiag.diagnosis.evidence.questions import calls_to
from perfdiag.diagnosis.evidence.silent_ends import LOOKS_THE_SAME
from perfdiag.diagnosis.evidence.target import subject
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import general_policy, network_policy
from perfdiag.diagnosis.rule import Evidence, Finding, Mechanism, Other, Remedy
from perfdiag.diagnosis.significance import (
    about,
    brief,
    claims_of,
    duration,
    fix,
    together,
    total_ns,
    typical_ns,
    waits,
)
from perfdiag.model.model import Model, Row


def never_answered(
    model: Model, rows: list[Row], place: str, measure: Remedy, others: Sequence[Other] = ()
) -> Finding | None:
    """Return the finding of waits at `place`, where nobody has answered any call and timeouts ended most of them; None
    where that is not known."""
    keys = {row.key for row in rows}
    calls = calls_to(model, keys)
    timed_out, unanswered = sum(line.timed_out for line in calls), sum(line.unanswered for line in calls)
    whole = together(rows)
    known = {line.object for line in calls} == keys and not any(line.count for line in calls)
    if not known or not timed_out or 2 * timed_out < unanswered or typical_ns(whole) < network_policy.slow_answer_ns:
        return None
    asked, each = unanswered + sum(line.open for line in calls), about(typical_ns(whole))
    by_time = f"{plural(timed_out, 'call')} ended without an answer after a timeout"
    return conclude(
        model,
        claims_of(rows),
        headline=f"Nobody answers at {brief(place)}; timeouts end the waits, {each} each",
        claim=(
            f"Nobody has answered any of {plural(asked, 'call')} at {place}. Threads wait {duration(whole.sum_ns)}"
            f" there, until a timeout of {subject(model)} ends the wait, half of the time in waits of {each}."
        ),
        mechanism=Mechanism.FAILED,
        doubts=["" if _keeps_requests(model, rows) else LOOKS_THE_SAME],
        evidence=[waits(whole, f"waits at {place}"), Evidence(by_time, float(timed_out), "count", "requests")],
        remedies=[fix("stop asking there while nobody answers, or shorten the timeout"), measure],
        alternatives=["it answers too late for this timeout"],
        verify=fewer(model, f"calls at {place} without an answer", unanswered),
        others=others,
    )


def _keeps_requests(model: Model, rows: Sequence[Row]) -> bool:
    """Return whether requests wait there for a good part of their time: nobody waits for work inside of one.  What has
    not been answered when the recording ends is in no request's time, so this asks for a part of theirs."""
    time, account = model.request_time, rows[0].account
    elsewhere_ns = model.ns(account) - total_ns(rows)
    inside_ns = time.accounts.get(account, 0) - elsewhere_ns if time else 0
    return time is not None and inside_ns >= general_policy.fault_share * time.ns
