"""Requests that came in and were not timed: several at once on a connection (HTTP/2), and all by UDP."""

from collections.abc import Iterable

from perfdiag.common.text import printable
from perfdiag.common.units import first_of, plural
from perfdiag.model.model import Model
from perfdiag.model.requests.request_time import ENOUGH_REQUESTS
from perfdiag.recording import schema

SHOWN = 2


def several_at_once(model: Model) -> str:
    """Return how many connections carry several requests at once, or ""."""
    declined = _declined(model)
    if not declined:
        return ""
    return f"{plural(declined, 'connection')} that {'carries' if declined == 1 else 'carry'} several requests at once"


def mostly_at_once(model: Model) -> str:
    """Return how many connections carry several requests at once, if most may have come on these, or "": how many
    requests such a connection carries is not known."""
    timed = sum(each.line.count for each in model.exchanges if each.from_outside)
    return several_at_once(model) if timed < ENOUGH_REQUESTS * _declined(model) else ""


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


def places(lines: Iterable[schema.Silent | schema.Exchange]) -> str:
    """Return where the first of these are, as it is shown."""
    return first_of(list(dict.fromkeys(place(line.object) for line in lines)), SHOWN)


def place(object: str) -> str:
    """Return where requests come in, as it is shown."""
    return printable(object.replace("port:", "port ", 1))


def _declined(model: Model) -> int:
    return sum(each.line.declined for each in model.exchanges if each.served)


__all__ = ["came_by_datagram", "mostly_at_once", "place", "places", "several_at_once", "why_few_timed"]
