"""What the fixtures of conftest.py are, for the signatures of tests."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from live.support.bpftrace import Script
from live.support.recorder import Recorder
from live.support.recording import Recording
from live.support.serving import Server
from live.support.workload import Workload

Cleanup = contextlib.ExitStack
Start = Callable[..., Workload]
Attach = Callable[..., Recorder]
Recorded = tuple[Recording, dict[str, int]]
Record = Callable[..., Recorded]
Serving = Callable[[str], Server]
Trace = Callable[..., Script]

__all__ = ["Attach", "Cleanup", "Record", "Recorded", "Serving", "Start", "Trace"]
