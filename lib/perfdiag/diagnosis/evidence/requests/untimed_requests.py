"""Requests that came in and were not timed: several at once on a connection (HTTP/2), and all by UDP."""

from perfdiag.common.units import plural
from perfdiag.diagnosis.evidence.requests.places import places
from perfdiag.model.model import Model
from perfdiag.model.requests.request_time import ENOUGH_REQUESTS, unsure


def several_at_once(model: Model) -> str:
    """Return how many connections carry several requests at once, or ""."""
    declined = sum(each.line.declined for each in model.exchanges if each.served)
    if not declined:
        return ""
    return f"{plural(declined, 'connection')} that {'carries' if declined == 1 else 'carry'} several requests at once"


def mostly_at_once(model: Model) -> str:
    """Return how many connections carry several requests at once, if most may have come on these, or "": how many
    requests such a connection carries is not known."""
    lines = [each.line for each in model.exchanges if each.from_outside]
    timed, declined = sum(line.count for line in lines), sum(line.declined for line in lines)
    return several_at_once(model) if timed < ENOUGH_REQUESTS * declined else ""


def mostly_unsure(model: Model) -> bool:
    """Return whether most messages of the target's clients may be no requests, or several at once."""
    return unsure(each.line for each in model.exchanges if each.from_outside)


def why_few_timed(model: Model) -> str:
    """Return how requests came in of which none, or few, were timed; "" if most were, or none is known to have come."""
    if several := mostly_at_once(model):
        return f"few requests were timed: most may have come on {several}"
    timed = any(each.from_outside and each.line.count for each in model.exchanges)
    return "" if timed else came_by_datagram(model).rstrip(".")


def came_by_datagram(model: Model) -> str:
    """Return the sentence on datagrams received and sent; "" if none came."""
    ports = [each.line for each in model.exchanges if each.line.direction == "datagram_port"]
    came, went = sum(line.untimed for line in ports), sum(line.unawaited for line in ports)
    return f"On {places(ports)} it received {plural(came, 'datagram')} and sent {went:,}." if came else ""


__all__ = ["came_by_datagram", "mostly_at_once", "mostly_unsure", "several_at_once", "why_few_timed"]
