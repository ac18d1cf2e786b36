"""NET-CHATTY: requests make many short calls, one after the other."""

from __future__ import annotations

from collections.abc import Iterable

from perfdiag.diagnosis.evidence.fix_checks import measured
from perfdiag.diagnosis.evidence.network.peers import connections_of, name_of, round_trip_ns
from perfdiag.diagnosis.evidence.requests.calls import (
    by_peer,
    claimed,
    longer_ns,
    not_followed,
    of_requests_ns,
    without_time,
)
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import network_policy
from perfdiag.diagnosis.rule import Check, Evidence, Finding, Mechanism, Outcome, Severity, rule
from perfdiag.diagnosis.significance import about, brief, duration, fix, percent, total_ns
from perfdiag.model.model import Model, Row, once
from perfdiag.model.requests.exchanges import Exchange
from perfdiag.model.requests.request_time import RequestTime

ID, ACCOUNTS = "NET-CHATTY", ("net.receive", "ipc.unix")
# Fewer calls than this for a request are how most things are built; less of its time is not worth the change.
SEVERAL, MANY = 5.0, 10.0
GOOD_PART, MOST = 0.25, 0.5


@rule(
    ID,
    title="Requests make many short calls",
    accounts=ACCOUNTS,
    meaning="Each request makes many calls to the same peer, one after the other. No answer is slow: the number of"
    " calls takes the time.",
    measured="Calls of requests by peer, from the last byte sent to the first byte of the answer. Needs at least"
    " five calls a request, a quarter of the requests' time, and half of the calls' time in calls of at"
    " most 1 ms (from ten calls on: 10 ms), or two of the shortest round trips. A warning from ten calls and"
    " half of the time on.",
    alternatives="The protocol cannot ask for several things at once; a background job makes its calls on the same"
    " threads.",
    remedies="Ask for everything at once: a join, a batch, a pipeline, a cache.",
    verify="Each request makes fewer calls to the peer.",
    beats=(
        "NET-PEER-SLOW",
        "IPC-PEER-SLOW",
        "NET-SELF-SLOW",
    ),
)
def chatty(model: Model) -> Iterable[Outcome]:
    """Yield one finding for each peer that a request calls many times."""
    time = model.request_time
    if time is None or not_followed(model):
        yield without_time(model, ID, "no requests were served, so calls are not counted per request")
        return
    counts = {key: _calls_a_request(model, call) for key, call in by_peer(model, "connected").items()}
    found = [
        finding
        for key, call in by_peer(model, "connected").items()
        if (finding := _judged(model, time, call, counts[key])) is not None
    ]
    yield from found
    if not found:
        most = max(counts.values(), default=0.0)
        yield Check(ID, f"at most {most:.1f} calls a request to one peer", most, "count")


def _calls_a_request(model: Model, call: Exchange) -> float:
    """Return how many calls each request made to one peer."""
    return call.line.count * _owned_of_a_request(model)


@once
def _owned_of_a_request(model: Model) -> float:
    """Return the part of calls that requests made, by their number. It is known only of all peers together, by time."""
    served = [each.line for each in model.exchanges if each.served]
    all_ns = sum(each.line.sum_ns + each.connect.sum_ns for each in model.exchanges if not each.served)
    owned = min(1.0, sum(line.peers_ns for line in served) / all_ns) if all_ns else 0.0
    count = sum(line.count for line in served)
    return owned / count if count and owned >= network_policy.chatty_owned_share else 0.0


def _judged(model: Model, time: RequestTime, call: Exchange, number: float) -> Finding | None:
    key = call.line.object
    sockets = connections_of(model).sockets
    way_ns = round_trip_ns([sockets[key]]) if key in sockets else None
    limit_ns = max(
        network_policy.slow_answer_ns if number >= MANY else network_policy.prompt_answer_ns,
        network_policy.prompt_round_trips * (way_ns or 0),
    )
    if number < SEVERAL or 2 * longer_ns(call.whole, limit_ns) > call.line.sum_ns:
        return None
    rows = model.rows_of(*ACCOUNTS, key=key)
    requests_ns = of_requests_ns(model, call.line.sum_ns)
    part = min(1.0, (_inside_ns(model, time, rows) + requests_ns) / time.ns) if time.ns else 0.0
    if part < GOOD_PART:
        return None
    return _finding(model, call, rows, requests_ns, number, part)


def _inside_ns(model: Model, time: RequestTime, rows: list[Row]) -> float:
    """Return the part of threads' waits that is in the requests' time."""
    return sum(
        row.distribution.sum_ns * time.accounts.get(row.account, 0) / model.ns(row.account)
        for row in rows
        if model.ns(row.account)
    )


def _finding(model: Model, call: Exchange, rows: list[Row], requests_ns: int, number: float, part: float) -> Finding:
    line, name = call.line, name_of(call.line.object, call.object)
    middle, mean_ns = call.whole.quantile_ns(0.5) or 0, line.sum_ns // max(1, line.count)
    return conclude(
        model,
        claimed({(account, line.object): _of_ns(rows, account) for account in ACCOUNTS}, requests_ns),
        headline=f"Each request calls {brief(name)} {number:.0f} times; no answer is slow",
        claim=(
            f"Each request calls {name} {number:.0f} times, {about(middle)} each: together {percent(part)} of the"
            " requests' time. No answer is slow; there are too many calls."
        ),
        mechanism=Mechanism.MANY,
        severity=Severity.WARNING if number >= MANY and part >= MOST else Severity.INFO,
        evidence=[
            Evidence(f"{number:.1f} calls to {name} a request", number, "count", "sockets"),
            Evidence(
                f"{line.count:,} calls, {duration(mean_ns)} each on average, p50 {about(middle)}",
                float(line.sum_ns),
                "ns",
                "sockets",
            ),
        ],
        remedies=[
            fix("ask once instead of many times: a join or a list of keys instead of a loop, a batch"),
            fix(
                "if there must be many calls, send them without waiting for each answer (a pipeline), or cache answers"
            ),
        ],
        alternatives=["the protocol cannot ask for several things at once"],
        verify=measured(model, f"fewer calls to {name} a request, now {number:.0f}"),
    )


def _of_ns(rows: list[Row], account: str) -> int:
    return total_ns(row for row in rows if row.account == account)


__all__ = ["chatty"]
