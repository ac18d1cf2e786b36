"""Every engine that the guest has records the same work, on stock kernels: the live tests once more."""

from __future__ import annotations

import pytest

from lab.support.guest import Guest
from live.tools.test_engines import (  # noqa: F401
    against,
    test_a_child_that_is_waited_for,
    test_a_peer_over_TCP,
    test_a_process_at_a_pipe,
    test_flushes_of_a_slow_disk,
    test_threads_share_a_CPU,
    test_threads_share_a_lock,
    test_writes_that_are_synchronous,
)


@pytest.fixture
def host(guest: Guest) -> str:
    """The kernel: under its name results are stored."""
    return guest.name
