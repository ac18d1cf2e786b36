"""NET-CHATTY: requests make many short calls, one after the other."""

from collections.abc import Iterable
from dataclasses import replace

from perfdiag.diagnosis.evidence.fix_checks import measured
from perfdiag.diagnosis.evidence.network.chatty_calls import ACCOUNTS, KERNEL, ChattyCalls
from perfdiag.diagnosis.evidence.peers import name_of
from perfdiag.diagnosis.evidence.requests.calls import by_peer, not_followed, until_answered_ns, without_time
from perfdiag.diagnosis.frame import conclude
from perfdiag.diagnosis.policy import network_policy
from perfdiag.diagnosis.rule import Check, Evidence, Finding, Mechanism, Outcome, rule
from perfdiag.diagnosis.significance import about, brief, duration, fix, percent
from perfdiag.model.model import Model, once
from perfdiag.model.requests.exchanges import Exchange

ID = "NET-CHATTY"


@rule(
    ID,
    title="Requests make many short calls",
    accounts=(*ACCOUNTS, KERNEL),
    meaning="Each request makes many calls to the same peer, one after the other. No answer is slow: the number of"
    " calls takes the time.",
    measured="Calls of requests by peer, from the last byte sent to the first byte of the answer. Needs at least"
    " five calls a request, a quarter of the requests' time, and half of the calls' time in calls of at"
    " most 1 ms (from ten calls on: 10 ms), or two of the shortest round trips. A warning from ten calls and"
    " half of the time on, or a hundred and a quarter. From ten calls on the kernel's work for them counts, too, by"
    " sampled stacks.",
    alternatives="The protocol cannot ask for several things at once; a background job makes its calls on the same"
    " threads.",
    remedies="Ask for everything at once: a join, a batch, a pipeline, a cache.",
    verify="Each request makes fewer calls to the peer.",
    beats=(
        "NET-PEER-SLOW",
        "IPC-PEER-SLOW",
        "NET-SELF-SLOW",
        "CPU-KERNEL-HEAVY",
    ),
)
def chatty(model: Model) -> Iterable[Outcome]:
    """Yield one finding for each peer that a request calls many times."""
    if model.request_time is None or not_followed(model):
        yield without_time(model, ID, "no requests were served, so calls are not counted per request")
        return
    calls = [
        ChattyCalls(call, _calls_a_request(model, call), call.whole) for call in by_peer(model, "connected").values()
    ]
    many = [each for each in calls if each.are_too_many(model)]
    found = [replace(_finding(model, each), peer=each.call.line.object) for each in many]
    yield from found
    if not found:
        most = max((each.times for each in calls), default=0.0)
        yield Check(ID, f"at most {most:.1f} calls a request to one peer", most, "count")


def _calls_a_request(model: Model, call: Exchange) -> float:
    """Return how many calls each request made to one peer."""
    return call.line.count * _owned_of_a_request(model)


@once
def _owned_of_a_request(model: Model) -> float:
    """Return the part of calls that requests made, by their number. It is known only of all peers together, by time."""
    served = [each for each in model.exchanges if each.from_outside]
    all_ns = sum(each.line.sum_ns + each.connect.sum_ns for each in model.exchanges if not each.served)
    owned = min(1.0, until_answered_ns(model, served) / all_ns) if all_ns else 0.0
    count = sum(each.line.count for each in served)
    return owned / count if count and owned >= network_policy.chatty_owned_share else 0.0


def _finding(model: Model, calls: ChattyCalls) -> Finding:
    sending_ns = calls.sending_ns(model)
    line, name, number = calls.call.line, name_of(calls.call.line.object, calls.call.object), calls.times
    middle, mean_ns = calls.latencies.quantile_ns(0.5) or 0, line.sum_ns // max(1, line.count)
    return conclude(
        model,
        calls.claims(model) | ({KERNEL: sending_ns} if sending_ns else {}),
        headline=f"Each request makes {number:,.0f} calls to {brief(name)}, none of them slow",
        claim=(
            f"Each request calls {name} {number:,.0f} times, {about(middle)} each: together"
            f" {percent(calls.part(model))} of the requests' time. No answer is slow; there are too many calls."
        ),
        mechanism=Mechanism.MANY,
        severity=calls.severity(model),
        evidence=[
            Evidence(f"{number:,.1f} calls a request to {name}", number, "count", "sockets"),
            Evidence(
                f"{line.count:,} calls, {duration(mean_ns)} each on average, p50 {about(middle)}",
                float(line.sum_ns),
                "ns",
                "sockets",
            ),
            *([_sending(sending_ns)] if sending_ns else []),
        ],
        remedies=[
            fix("combine the calls into one: a join, a list of keys or a batch instead of a loop"),
            fix(
                "if there must be many calls, send them without waiting for each answer (a pipeline), or cache answers"
            ),
        ],
        alternatives=["the protocol cannot ask for several things at once"],
        verify=measured(model, f"fewer calls a request to {name}, now {number:,.0f}"),
    )


def _sending(ns: int) -> Evidence:
    text = f"{duration(ns)} in the kernel to send the questions and receive the answers"
    return Evidence(text, float(ns), "ns", "stack samples")
