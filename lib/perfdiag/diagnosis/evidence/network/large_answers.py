"""Answers of a peer that begin soon and are long: part of NET-PEER-SLOW, though nobody is slow.

Whoever reads one waits again and again for its next piece, and sends nothing meanwhile. What it asks for is what it can
change.
"""

from collections.abc import Sequence

from perfdiag.common.units import duration, plural
from perfdiag.diagnosis.evidence.fix_checks import measured
from perfdiag.diagnosis.evidence.network.peer_waits import PeerWaits
from perfdiag.diagnosis.evidence.sql.statement_of import in_short, shown
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import network_policy
from perfdiag.diagnosis.rule import Evidence, Finding, Mechanism, Severity
from perfdiag.diagnosis.significance import brief, claims_of, fault, fix, plain, size, total_ns, waits, with_room
from perfdiag.model.model import Model
from perfdiag.model.requests.exchanges import Exchange
from perfdiag.model.statements import sql_calls


def large_answers(model: Model, found: PeerWaits) -> Finding | None:
    """Return the finding of waits of which most are for the rest of answers that begin soon and are long; else None."""
    group = found.rows
    keys = {row.key for row in group}
    calls = [each for each in model.exchanges if not each.served and each.line.object in keys]
    count, received_bytes = sum(each.line.count for each in calls), sum(each.line.bytes_in for each in calls)
    rest_ns = sum(each.line.rest_ns or 0 for each in calls)
    slow = rest_ns > network_policy.slow_way_ns_per_byte * received_bytes
    late = sum(each.line.sum_ns for each in calls) > rest_ns
    small = not count or received_bytes < network_policy.large_answer_bytes * count
    if not found.receives or small or slow or late or 2 * rest_ns < total_ns(group):
        return None
    answer_size = size(received_bytes // count)
    asked = _asked(model, calls, keys)
    begin = f"{brief(found.name)} answers with {answer_size} each time"
    whole = f"The answer to {in_short(asked)} is {answer_size} each time, from {brief(found.name)}" if asked else begin
    passed_bytes = _passed_on(model, keys)
    wasted, used = False, ""
    if passed_bytes is not None and received_bytes >= network_policy.large_for_answer * passed_bytes:
        wasted, used = True, f", of which {size(passed_bytes)} was passed on"
    read = f"{plural(count, 'answer')}, {size(received_bytes)} in all{used}; {duration(rest_ns)} from their first bytes"
    return conclude(
        model,
        claims_of(group),
        headline=with_room(whole, begin),
        claim=(
            f"{found.name} answers soon, with {answer_size} each time. Threads wait again and again for the next piece."
        ),
        mechanism=Mechanism.LARGE,
        severity=fault(model, total_ns(group)) if wasted else Severity.INFO,
        evidence=[
            Evidence(f"{read} to their last", float(received_bytes), "bytes", "sockets"),
            waits(found.waits, f"waits for {found.name}"),
        ],
        remedies=[
            fix("ask for less: only the rows and fields that are used (LIMIT, WHERE), or a page at a time"),
            fix("see whether the client reads all at once: fetch size of its driver, cursors, streaming"),
        ],
        verify=measured(model, f"answers of {found.name} of less than {answer_size}"),
        inside=True,
    )


def _passed_on(model: Model, keys: set[str]) -> int | None:
    """Return how many bytes were sent to clients and other peers; None where that is not known of all clients."""
    if model.request_time is None or any(each.line.declined for each in model.exchanges if each.served):
        return None
    unasked = (model.requests_inside.unasked_bytes or 0) if model.requests_inside else 0
    return unasked + sum(each.line.bytes_out for each in model.exchanges if each.line.object not in keys)


def _asked(model: Model, calls: Sequence[Exchange], keys: set[str]) -> str:
    """Return what was asked for, where that is one thing: a statement, or the name of a call."""
    statements = {shown(each) for each in sql_calls(model.sql_calls) if each.line.object in keys}
    names = statements or {plain(each.line.name) for each in calls if each.line.name}
    return names.pop() if len(names) == 1 else ""
