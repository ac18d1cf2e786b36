"""What the run queues of the whole host say, whoever waited."""

from __future__ import annotations

from perfdiag.diagnosis.evidence.target import (
    idle_share,
    subject,
    usable_cpus,
)
from perfdiag.diagnosis.rule import (
    Evidence,
)
from perfdiag.diagnosis.significance import (
    percent,
)
from perfdiag.model.model import Model

# Behind somebody who computes one waits a slice of the scheduler, 0.75 to 3 ms: from 524 us on (a bucket's edge).
SLICE_NS = 524_288
# With a third of the host's CPUs idle, waiting for one is a matter of placement.
PLACEMENT_IDLE = 0.3


def host(model: Model) -> list[Evidence]:
    """Return which CPUs the target may use, and whether the host had any left."""
    idle = idle_share(model)
    online = model.header.host.cpus_online
    cpus = online if online is None else usable_cpus(model)
    found = (
        []
        if cpus is None or cpus == online
        else [Evidence(f"{subject(model)} may use {cpus} of {online} CPUs", float(cpus), "count", "/proc/PID/status")]
    )
    if idle is not None:
        placed = ": waiting is a matter of placement" if idle >= PLACEMENT_IDLE else ""
        found.append(
            Evidence(f"the host's CPUs were idle {percent(idle)} of the time{placed}", idle, "share", "/proc/stat")
        )
    return found


__all__ = ["SLICE_NS", "host"]
