"""Wait for a state instead of sleeping for a while: a busy host may take its time, a wrong one is told."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

PATIENCE_SECONDS = 30  # below the time limit of a test, and far above what a busy host needs
PAUSE_SECONDS = 0.01


def until(state: Callable[[], T], what: str, seconds: float = PATIENCE_SECONDS) -> T:
    """Return the first result of `state` that is true; fail when there is none in time."""
    end = time.monotonic() + seconds
    while True:
        late = time.monotonic() > end  # told before the last look, so that no look is older than the deadline
        if found := state():
            return found
        assert not late, f"not within {seconds} s: {what}"
        time.sleep(PAUSE_SECONDS)


__all__ = ["until"]
