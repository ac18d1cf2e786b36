"""Whether a target can be ruled out as the slow part: what it answered, and who may wait for its answer.

Silence proves nothing: a server that hangs with the requests of all its clients receives none either.
"""

from collections.abc import Sequence

from perfdiag.common.units import first_of, plural
from perfdiag.diagnosis.evidence.requests.calls import not_followed
from perfdiag.diagnosis.evidence.requests.untimed_requests import came_by_datagram, several_at_once
from perfdiag.diagnosis.policy import network_policy
from perfdiag.facts.host_facts import Listener
from perfdiag.model.model import Model
from perfdiag.model.requests.exchanges import Latencies, together

SHOWN = 2


def asked(model: Model) -> str:
    """Return that a listening target received no request, or that connections are not accepted; "" if that is
    unknown."""
    listeners = model.facts.listeners
    if not listeners or not listeners.sockets:
        return ""
    if waiting := [each for each in listeners.sockets if each.queued]:
        many = plural(sum(each.queued for each in waiting), "connection")
        return f"At the end {many} waited to be accepted on {_ports(waiting)}."
    if not model.measured("requests") or not_followed(model) or any(each.served for each in model.exchanges):
        return ""
    if came_by_datagram(model):
        return ""
    none = "no request came in meanwhile: nothing shows whether it answers"
    return f"It listens on {_ports(listeners.sockets)}, and {none}."


def unproven(model: Model) -> str:
    """Return why nothing shows that the target answers; "" if requests do."""
    if asked(model):
        return ""
    if not model.measured("requests"):
        return "It was not measured whether it answers."
    if _whole(model).count:
        return ""
    if came := came_by_datagram(model):
        return f"{came} It is unknown which of these are answers."
    return "No request of this window shows whether it answers."


def are_prompt(model: Model) -> bool:
    """Return whether most of the requests' time is in ones so short that nobody waits for them."""
    return 0 < _whole(model).typical_ns() < network_policy.prompt_answer_ns


def is_slow(model: Model) -> bool:
    """Return whether most of the requests' time is in long ones, so that its cause is unknown."""
    return _whole(model).typical_ns() >= network_policy.slow_answer_ns


def unseen(model: Model) -> list[str]:
    """Return the sentences on requests that could not be followed; none if all were."""
    served = [each.line for each in model.exchanges if each.served]
    untimed, streams = (sum(line.untimed for line in served if line.wants_answers is sure) for sure in (False, True))
    parts = [
        several_at_once(model),
        f"{plural(streams, 'answer')} that went on with pauses when the window ended" if streams else "",
        f"{plural(untimed, 'message')} that may need no answer" if untimed else "",
        not_followed(model),
    ]
    told = "; ".join(part for part in parts if part)
    return [f"Not followed: {told}." if told else "", came_by_datagram(model)]


def _whole(model: Model) -> Latencies:
    return together(each.whole for each in model.exchanges if each.from_outside)


def _ports(sockets: Sequence[Listener]) -> str:
    ports = sorted({each.port for each in sockets})
    return f"port{'' if len(ports) == 1 else 's'} {first_of([str(port) for port in ports], SHOWN)}"
