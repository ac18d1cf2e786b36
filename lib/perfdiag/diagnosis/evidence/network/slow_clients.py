"""Clients that send a request piece by piece, or read the answer slowly."""

from perfdiag.model.model import Model
from perfdiag.model.requests.request_time import TOLERABLE_UNSURE


def tells_of_requests(model: Model) -> bool:
    """Return whether waits to receive from clients are known to be inside of requests: they then belong to
    NET-SLOW-CLIENT.  Messages without a name that may want no answer may be whole, and the wait one for work."""
    served = [each.line for each in model.exchanges if each.served]
    perhaps = sum(line.unsure for line in served if not line.name)
    known = perhaps <= TOLERABLE_UNSURE * sum(line.count for line in served)
    return model.measured("requests") and bool(served) and known
