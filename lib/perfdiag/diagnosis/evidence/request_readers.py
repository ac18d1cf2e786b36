"""The threads that read requests: what requests wait in is theirs, not what others do beside them."""

from collections.abc import Sequence

from perfdiag.model.model import Model, once
from perfdiag.recording import schema


@once
def request_readers(model: Model) -> frozenset[int]:
    """Return the threads that read requests, by tid; none where threads' time is ranked, not requests'."""
    return frozenset(each.tid for each in model.threads if each.requests_read) if model.request_time else frozenset()


def of_readers(model: Model, stacks: Sequence[schema.Stack]) -> Sequence[schema.Stack]:
    """Return those stacks that are of threads which read requests, all where none is."""
    readers = request_readers(model)
    return [stack for stack in stacks if stack.tid in readers] or stacks
