"""Of how many connections one was followed, where the recorder gave up the others."""

from collections.abc import Sequence

from perfdiag.recording import schema

REQUESTS = "requests"  # the feature of these steps


def one_connection_in(steps: Sequence[schema.GivenUp]) -> int:
    """Return of how many accepted connections one was followed at the end of the window: 1 is all, 0 none."""
    return next((step.one_of for step in reversed(steps) if step.feature == REQUESTS), 1)
