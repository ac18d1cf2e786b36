"""How many threads there are to serve requests."""

from perfdiag.model.model import Model


def pool_size(model: Model) -> int:
    """Return how many threads serve requests, if as many requests were in progress at once as threads have read any.

    0 if not: threads that ended may have served as well, and an event loop serves several at once.
    """
    readers = sum(thread.threads for thread in model.threads if thread.requests_read)
    inside = model.requests_inside
    return readers if inside is not None and inside.most == readers and not inside.unseen else 0
