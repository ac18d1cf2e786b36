"""Calls that requests may wait for which could not be followed: who made them, and for which request, is not known."""

from perfdiag.common.units import about, plural, share
from perfdiag.diagnosis.evidence.network.unanswered_calls import sent_again
from perfdiag.diagnosis.policy import network_policy
from perfdiag.model.model import Model
from perfdiag.model.requests.exchanges import Exchange


def outstanding_calls(model: Model) -> list[str]:
    """Return the sentence on the peer that was waited for longest, where its answers are slow."""
    slow = [each for each in model.exchanges if _is_long(each, model.window_ns)]
    most = max(slow, key=lambda each: each.line.busy_ns, default=None)
    if most is None:
        return []
    if _is_silent(most):
        resent = sent_again(model, most)
        lost = f", and {plural(resent, 'segment')} to it were sent again" if resent else ""
        return [
            f"Requests may wait for calls to {most.object}: {most.line.unanswered:,} of {_number(most):,} got no"
            f" answer{lost}."
        ]
    part = share(min(1.0, most.line.busy_ns / model.window_ns))
    requests = sum(each.line.count for each in model.exchanges if each.served)
    times = f", {_number(most) / requests:.0f} for each of them" if _number(most) >= 2 * requests > 0 else ""
    return [
        f"Requests may wait for calls to {most.object}{times}: answers take {about(most.median_ns or 0)}, and one was"
        f" outstanding for {part} of the window."
    ]


def questions_for_clients(model: Model) -> list[str]:
    """Return the sentence on the peer that is asked by UDP for what clients ask by UDP, as a forwarder of names does,
    where its answers are slow: which of them waits for which is not known."""
    if not any(each.line.direction == "datagram_port" and each.line.untimed for each in model.exchanges):
        return []
    slow = [each for each in model.exchanges if _is_long(each, model.window_ns, "datagram")]
    most = max(slow, key=lambda each: each.line.busy_ns, default=None)
    if most is None:
        return []
    part = share(min(1.0, most.line.busy_ns / model.window_ns))
    return [
        f"Its clients may wait for {most.object}, which it asks by UDP: answers take {about(most.median_ns or 0)}, and"
        f" for {part} of the window one was awaited."
    ]


def _number(call: Exchange) -> int:
    return call.line.count + call.line.unanswered + call.line.open


def _is_silent(call: Exchange) -> bool:
    """Return whether so many calls ended without an answer that requests wait for those."""
    return call.line.unanswered >= network_policy.silent_calls_share * _number(call)


def _is_long(call: Exchange, window_ns: int, direction: str = "connected") -> bool:
    return (
        window_ns > 0
        and call.line.direction == direction
        and ((call.median_ns or 0) >= network_policy.slow_answer_ns or _is_silent(call))
        and call.line.busy_ns >= network_policy.perhaps_awaited_share * window_ns
    )
