"""Clients that send a request piece by piece, or read the answer slowly."""

from perfdiag.model.model import Model
from perfdiag.model.requests.request_time import unsure


def tells_of_requests(model: Model) -> bool:
    """Return whether waits to receive from clients are known to be inside of requests: they then belong to
    NET-SLOW-CLIENT.  Messages without a name that may want no answer may be whole, and the wait one for work."""
    served = [each.line for each in model.exchanges if each.served]
    named = any(line.count and line.name for line in served)
    return model.measured("requests") and bool(served) and (named or not unsure(served))
