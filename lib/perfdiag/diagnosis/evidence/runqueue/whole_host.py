"""The CPUs of the whole host: how many the target may use, and how idle they were."""

from __future__ import annotations

from perfdiag.diagnosis.evidence.target import (
    idle_share,
    usable_cpus,
)
from perfdiag.diagnosis.rule import (
    Evidence,
)
from perfdiag.diagnosis.significance import (
    percent,
)
from perfdiag.model.model import Model

# A wait behind a computing task lasts a scheduler slice, 0.75 to 3 ms: from 524 us on (a bucket's edge).
SLICE_NS = 524_288
# With a third of the host's CPUs idle, threads wait because of placement.
PLACEMENT_IDLE = 0.3


def host(model: Model) -> list[Evidence]:
    """Return how many CPUs the target may use, and how idle the host was."""
    idle = idle_share(model)
    online = model.header.host.cpus_online
    cpus = online if online is None else usable_cpus(model)
    found = (
        []
        if cpus is None or cpus == online
        else [Evidence(f"{cpus} of {online} CPUs are allowed", float(cpus), "count", "/proc/PID/status")]
    )
    if idle is not None:
        placed = ": threads wait because of placement" if idle >= PLACEMENT_IDLE else ""
        found.append(Evidence(f"{percent(idle)} of the host's CPU time was idle{placed}", idle, "share", "/proc/stat"))
    return found


__all__ = ["SLICE_NS", "host"]
