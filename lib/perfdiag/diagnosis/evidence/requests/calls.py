"""Calls that were counted at sockets, and the part of the requests' time they explain."""

from collections.abc import Iterable, Mapping

from perfdiag.common.units import about_at_most, plural
from perfdiag.diagnosis.policy import general_policy, requests_policy
from perfdiag.diagnosis.rule import Check, Claim, Severity, Silence
from perfdiag.diagnosis.significance import duration, fault, fine, worth
from perfdiag.model.model import Model, once
from perfdiag.model.requests.exchanges import Exchange, Latencies, calls_ns, own_calls
from perfdiag.model.requests.request_time import PEERS, RequestTime
from perfdiag.recording.distribution import fine_edges_ns


def by_peer(model: Model, direction: str) -> dict[str, Exchange]:
    """Return the calls ("connected") or name look-ups ("lookup") by peer, as rows name it."""
    return {each.line.object: each for each in model.exchanges if each.line.direction == direction}


def of_requests_ns(model: Model, own_ns: int) -> int:
    """Return how much of the requests' waiting without a thread is due to `own_ns` of calls, look-ups or connects.

    The recording sums over all peers for which requests calls were made, so each peer gets a part by the time of its
    own calls. Calls of the target to itself do not count.
    """
    if model.request_time is None:
        return 0
    all_ns = _others_ns(model)
    return model.request_time.accounts.get(PEERS, 0) * min(own_ns, all_ns) // all_ns if all_ns else 0


def until_answered_ns(model: Model, requests: Iterable[Exchange]) -> int:
    """Return how long these requests waited for their calls to be answered, without the rest of answers."""
    rest_ns = sum(each.line.rest_ns or 0 for each in model.exchanges)
    return max(0, sum(each.line.peers_ns for each in requests) - rest_ns)


@once
def _others_ns(model: Model) -> int:
    return calls_ns(own_calls(model.exchanges)[1])


def claimed(rows: Mapping[tuple[str, str], int], requests_ns: int) -> dict[Claim, int]:
    """Return what a finding claims: waits of threads, and of requests that no thread waits for."""
    claims: dict[Claim, int] = {pair: ns for pair, ns in rows.items() if ns > 0}
    return claims | ({PEERS: requests_ns} if requests_ns else {})


def felt(model: Model, threads_ns: int, requests_ns: int) -> bool:
    """Return whether that time, of threads or of requests, is large enough to matter."""
    time = model.request_time
    return worth(model, threads_ns) or (
        time is not None and requests_ns > 0 and requests_ns >= general_policy.worth_share * time.ns
    )


def severity(model: Model, threads_ns: int, requests_ns: int, loop_ns: int = 0) -> Severity:
    """Return WARNING for a fault that takes enough time to be worth waking somebody, else INFO.

    `loop_ns`: the same without a thread that waited, and of unknown requests.
    """
    time = model.request_time
    if time is not None and requests_ns >= general_policy.fault_share * time.ns:
        return Severity.WARNING
    if time is None and loop_ns >= max(1, general_policy.fault_of_window_share * model.window_ns):
        return Severity.WARNING
    return fault(model, threads_ns)


def longer_ns(latencies: Latencies, ns: int) -> int:
    """Return the time of those that took at least `ns`, right to 3 %."""
    long = sum(sum(fine_edges_ns(each)) * count // 2 for each, count in latencies.buckets.items() if _low(each) >= ns)
    return min(long, latencies.sum_ns)


def longer(latencies: Latencies, ns: int) -> int:
    """Return how many took at least `ns`."""
    return sum(count for each, count in latencies.buckets.items() if _low(each) >= ns)


def spread(latencies: Latencies) -> str:
    """Return median, p99 (if there are enough) and maximum."""
    asked = (("p50", 0.5), *([("p99", 0.99)] if latencies.count >= general_policy.waits_for_p99 else []))
    known = [(name, latencies.quantile_ns(q)) for name, q in asked]
    return ", ".join(
        [
            *(f"{name} {about_at_most(ns, latencies.max_ns)}" for name, ns in known if ns is not None),
            f"longest {duration(latencies.max_ns)}",
        ]
    )


def not_followed(model: Model) -> str:
    """Return what connections and calls could not be followed, or ""."""
    lost = model.coverage.lost.get("connections_full", 0) + model.coverage.lost.get("exchanges_full", 0)
    return f"{plural(lost, 'connection')} or calls were not followed: a table was full" if lost else ""


def fine_or_unknown(model: Model, id: str, what: str, *accounts: str) -> Check | Silence:
    """Return the check of a rule that found nothing, or a silence if its input was not (fully) measured."""
    if not model.measured("requests") and model.ns("wait.events"):
        reason = "calls of event loops, for which no thread waits, were not measured"
        return Silence(id, reason, model.would_measure("requests"))
    if lost := not_followed(model):
        return Silence(id, lost, "record for a shorter time, or fewer processes")
    return fine(model, id, what, *accounts)


def or_unknown(time: RequestTime, check: Check) -> Check | Silence:
    """Return the check of what the threads that serve requests do; the silence where much of the requests' time was not
    followed, as they went from thread to thread."""
    if time.handed_ns < requests_policy.handed_share * time.ns:
        return check
    return Silence(
        check.id,
        f"it is unknown where requests spend {duration(time.handed_ns)}",
        "record for longer, or the whole service",
    )


def without_time(model: Model, id: str, none: str) -> Check | Silence:
    """Return the outcome of a rule that needs to know where requests spend their time, and does not; `none` if no
    requests were served."""
    if not model.measured("requests"):
        return Silence(id, "requests were not measured", model.would_measure("requests"))
    if lost := not_followed(model):
        return Silence(id, lost, "record for a shorter time, or fewer processes")
    if any(each.served and (each.line.count or each.line.declined) for each in model.exchanges):
        return Silence(id, "it is unknown where requests spend their time", "record for longer, or the whole service")
    return Check(id, none, 0.0, "count")


def _low(bucket: int) -> int:
    return fine_edges_ns(bucket)[0]
