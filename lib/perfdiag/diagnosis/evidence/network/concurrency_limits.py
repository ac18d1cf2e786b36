"""Limits of concurrency: calls to a peer stay at one number while more requests wait to call it."""

from dataclasses import dataclass

from perfdiag.diagnosis.evidence.requests.calls import until_answered_ns
from perfdiag.diagnosis.policy import network_policy
from perfdiag.model.model import Model, once
from perfdiag.model.requests.exchanges import Exchange, Latencies, together
from perfdiag.recording.levels import TOLD_BELOW, above_ns, beyond_ns, highest, together_ns, told_as


@dataclass(frozen=True)
class Limit:
    """At most so many calls to one peer at a time, while requests wait."""

    call: Exchange
    most: int
    held: float  # part of the time with more requests in progress than that, in which so many calls were outstanding
    waiting: float  # requests without a call under way, on average over that time
    waiting_most: int
    answers: int  # that came while so many calls were outstanding
    part: float  # of the time of all requests in progress: without a call under way
    full: float  # part of the window in which so many calls were outstanding

    @property
    def is_of_slow_peer(self) -> bool:
        """Whether calls take long, and the limit is reached all the time, not in bursts: a faster peer leaves room."""
        always_full = self.full >= network_policy.limit_always_full_share
        return always_full and self.call.line.sum_ns >= network_policy.slow_answer_ns * self.call.line.count

    @property
    def is_of_connections(self) -> bool:
        """Whether what is limited may be connections to that peer: calls do not each make one of their own."""
        line = self.call.line
        return line.connects < network_policy.new_connections_share * line.count

    @property
    def is_exact(self) -> bool:
        """Whether it is known for how long there were as many calls as that: from 32 on, levels share a bucket."""
        return told_as(self.most) == highest(told_as(self.most))

    @property
    def refused(self) -> int:
        """Connections that failed in the window: the peer may be what limits them."""
        return self.call.line.connects_failed + self.call.line.connecting


@once
def limits(model: Model) -> dict[str, Limit]:
    """Return the limits that were reached, by peer, the one with most call time first."""
    if model.requests_inside is None:
        return {}
    calls = [each for each in model.exchanges if each.line.direction == "connected" and each.line.levels]
    calls_ns = sum(together_ns(each.line.levels) for each in calls)
    found = [limit for call in calls if (limit := _limit_of(model, call, calls_ns))]
    return {each.call.line.object: each for each in sorted(found, key=lambda each: -each.call.line.sum_ns)}


def _limit_of(model: Model, call: Exchange, calls_ns: int) -> Limit | None:
    inside, most = model.requests_inside, call.line.most or 0
    if inside is None or not 0 < most < TOLD_BELOW:
        return None
    more_ns = above_ns(inside.levels, most)
    top = next((each for each in call.line.levels if each.level == told_as(most)), None)
    if top is None or not more_ns or top.sum_ns < network_policy.limit_held_share * more_ns:
        return None
    # While the last requests of a burst have their calls, no other one is in progress that could wait.
    awaited = top.answered * more_ns / max(top.sum_ns, above_ns(inside.levels, most - 1))
    if top.answered < network_policy.limit_answers or top.waited < network_policy.limit_waited_share * awaited:
        return None
    requests_ns = together_ns(inside.levels)
    # Nobody waits for a turn where no more requests are in progress than calls may be under way.
    waiting_ns = min(requests_ns - calls_ns, beyond_ns(inside.levels, most))
    waiting = waiting_ns / more_ns - inside.unseen
    if waiting < 1 or _share_connections(call) or not _are_delayed(model, call):
        return None
    held = min(1.0, top.sum_ns / more_ns)
    part, full = waiting_ns / requests_ns, top.sum_ns / max(1, model.window_ns)
    return Limit(call, most, held, waiting, inside.most - most, top.answered, part, full)


def _share_connections(call: Exchange) -> bool:
    """Return whether calls go out on connections whose earlier calls are not answered yet, so that they count as one:
    frames of HTTP/2 were seen, requests have asked behind each other, or questions go out during most of a call."""
    if call.line.declined or call.line.behind > network_policy.calls_behind_share * call.line.count:
        return True
    return call.line.sum_ns < network_policy.limit_awaited_share * together_ns(call.line.levels)


def _are_delayed(model: Model, call: Exchange) -> bool:
    """Return whether requests take longer than the calls they make: the median of those that call, or of the slowest
    requests, as many as can have called."""
    calling_ns, calling, timed = _requests(model)
    if calling_ns >= network_policy.call_owners_known_share * call.line.sum_ns:
        timed = calling
    if not timed.count or not call.line.count:
        return False
    if _open_ones_are_delayed(model, call):
        return True
    call_ns, calls_each = call.line.sum_ns / call.line.count, call.line.count / timed.count
    median_ns = timed.quantile_ns(1 - min(1.0, calls_each) / 2) or 0
    return median_ns - max(1.0, calls_each) * call_ns >= network_policy.limit_delayed_share * call_ns


def _open_ones_are_delayed(model: Model, call: Exchange) -> bool:
    """Return whether requests that have no answer yet wait for longer than answered ones of their name took, which is
    as long as a call: whoever came before there was a queue is answered, and tells nothing of the others.

    All that are in progress, over those that are answered in a second, is how long one takes (Little's law).
    """
    inside = model.requests_inside
    served = [each for each in model.exchanges if each.served]
    most = max(served, key=lambda each: each.line.open, default=None)
    if inside is None or most is None or most.line.open < max(network_policy.limit_answers, most.line.count):
        return False  # polls that are meant to wait are fewer than what is answered meanwhile
    each_ns = together_ns(inside.levels) / max(1, sum(each.line.count for each in served))
    late_ns = (1 + network_policy.limit_delayed_share) * call.line.sum_ns / call.line.count
    typical_ns = most.whole.typical_ns()
    return call.line.sum_ns <= typical_ns * call.line.count and typical_ns <= late_ns <= each_ns


@once
def _requests(model: Model) -> tuple[int, Latencies, Latencies]:
    """Return how long requests waited for their calls, and how long those took that made calls, and all of them."""
    requests = [each for each in model.exchanges if each.served and each.line.count]
    calling = [each for each in requests if each.line.peers_ns]
    calling_ns = until_answered_ns(model, calling)
    return calling_ns, together(each.whole for each in calling), together(each.whole for each in requests)
