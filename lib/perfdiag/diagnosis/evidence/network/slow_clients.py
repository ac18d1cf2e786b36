"""Clients that send a request piece by piece, or read the answer slowly."""

from perfdiag.model.model import Model


def tells_of_requests(model: Model) -> bool:
    """Return whether waits to receive from clients are known to be inside of requests: they then belong to
    NET-SLOW-CLIENT."""
    return model.measured("requests") and any(each.served for each in model.exchanges)
