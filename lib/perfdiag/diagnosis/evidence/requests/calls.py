"""What rules on calls share: what was counted at the sockets, and the part of the requests' time it explains."""

from __future__ import annotations

from collections.abc import Mapping

from perfdiag.common.units import plural
from perfdiag.diagnosis.rule import Check, Severity, Silence
from perfdiag.diagnosis.significance import (
    ENOUGH_FOR_P99,
    FAULT_OF_WINDOW,
    FAULT_SHARE,
    WORTH_SHARE,
    about,
    duration,
    fault,
    fine,
    worth,
)
from perfdiag.model.model import Model
from perfdiag.model.requests.exchanges import Exchange, Latencies, calls_ns, own_calls
from perfdiag.model.requests.request_time import PEERS
from perfdiag.recording.distribution import fine_edges_ns


def by_peer(model: Model, direction: str) -> dict[str, Exchange]:
    """Return the calls ("connected") or name look-ups ("lookup") by peer, as rows name it."""
    return {each.line.object: each for each in model.exchanges if each.line.direction == direction}


def of_requests_ns(model: Model, own_ns: int) -> int:
    """Return how much of what requests wait for while no thread does is `own_ns` of calls, look-ups or connects.

    For whose request a call was made is summed over all peers: each has its part by how long its own took.  What the
    target asks itself is not among them.
    """
    if model.request_time is None:
        return 0
    all_ns = calls_ns(own_calls(model.exchanges)[1])
    return model.request_time.accounts.get(PEERS, 0) * min(own_ns, all_ns) // all_ns if all_ns else 0


def claimed(rows: Mapping[tuple[str, str], int], requests_ns: int) -> dict[str | tuple[str, str], int]:
    """Return what a finding claims: waits of threads, and of requests that no thread waits for."""
    claims: dict[str | tuple[str, str], int] = {pair: ns for pair, ns in rows.items() if ns > 0}
    return claims | ({PEERS: requests_ns} if requests_ns else {})


def felt(model: Model, threads_ns: int, requests_ns: int) -> bool:
    """Return whether somebody could feel that time, of threads or of requests."""
    time = model.request_time
    return worth(model, threads_ns) or (time is not None and requests_ns > 0 and requests_ns >= WORTH_SHARE * time.ns)


def severity(model: Model, threads_ns: int, requests_ns: int, loop_ns: int = 0) -> Severity:
    """Return WARNING for time that departs from a norm and is worth waking somebody, else INFO; `loop_ns`: what took
    that long though no thread waited for it, and nothing tells for whose request it was."""
    time = model.request_time
    if time is not None and requests_ns >= FAULT_SHARE * time.ns:
        return Severity.WARNING
    if time is None and loop_ns >= max(1, FAULT_OF_WINDOW * model.window_ns):
        return Severity.WARNING
    return fault(model, threads_ns)


def longer_ns(latencies: Latencies, ns: int) -> int:
    """Return the time in those that took at least `ns`, right to 3 %."""
    long = sum(sum(fine_edges_ns(each)) * count // 2 for each, count in latencies.buckets.items() if _low(each) >= ns)
    return min(long, latencies.sum_ns)


def longer(latencies: Latencies, ns: int) -> int:
    """Return how many took at least `ns`."""
    return sum(count for each, count in latencies.buckets.items() if _low(each) >= ns)


def spread(latencies: Latencies) -> str:
    """Return the middle, the slowest of a hundred where there are enough of them, and the longest."""
    asked = (("p50", 0.5), *([("p99", 0.99)] if latencies.count >= ENOUGH_FOR_P99 else []))
    known = [(name, latencies.quantile_ns(q)) for name, q in asked]
    return ", ".join(
        [*(f"{name} {about(ns)}" for name, ns in known if ns is not None), f"longest {duration(latencies.max_ns)}"]
    )


def not_followed(model: Model) -> str:
    """Return what of connections and calls found no room, "" where all did."""
    lost = model.coverage.lost.get("connections_full", 0) + model.coverage.lost.get("exchanges_full", 0)
    return f"{plural(lost, 'time')} a connection or call was not followed for want of room" if lost else ""


def fine_or_unknown(model: Model, id: str, what: str, *accounts: str) -> Check | Silence:
    """Return the check of a rule that found nothing; the silence where what it asks was not measured, or not all."""
    if not model.measured("requests") and model.ns("wait.events"):
        reason = "calls that no thread waits for, as event loops make them, were not measured"
        return Silence(id, reason, "see perfdiag check, feature requests")
    if lost := not_followed(model):
        return Silence(id, lost, "record for a shorter time, or fewer processes")
    return fine(model, id, what, *accounts)


def without_time(model: Model, id: str, none: str) -> Check | Silence:
    """Return what a rule says that needs to know where requests spend their time, and does not; `none` where the target
    served none at all."""
    if not model.measured("requests"):
        return Silence(id, "requests were not measured", "see perfdiag check, feature requests")
    if lost := not_followed(model):
        return Silence(id, lost, "record for a shorter time, or fewer processes")
    if any(each.served and (each.line.count or each.line.declined) for each in model.exchanges):
        return Silence(id, "where requests spend their time is not known", "record for longer, or the whole service")
    return Check(id, none, 0.0, "count")


def _low(bucket: int) -> int:
    return fine_edges_ns(bucket)[0]


__all__ = [
    "by_peer",
    "claimed",
    "felt",
    "fine_or_unknown",
    "longer",
    "longer_ns",
    "not_followed",
    "of_requests_ns",
    "severity",
    "spread",
    "without_time",
]
