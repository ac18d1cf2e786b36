"""Clients that send a request piece by piece, or do not take the answer."""

from __future__ import annotations

from perfdiag.model.model import Model


def tells_of_requests(model: Model) -> bool:
    """Return whether waits to receive from clients are known to lie inside of requests: then this rule has them."""
    return model.measured("requests") and any(each.served for each in model.exchanges)


__all__ = ["tells_of_requests"]
