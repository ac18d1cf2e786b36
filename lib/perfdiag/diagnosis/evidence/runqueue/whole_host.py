"""The CPUs of the whole host: how many the target may use, and how idle they were."""

from perfdiag.diagnosis.evidence.target import (
    idle_share,
    usable_cpus,
)
from perfdiag.diagnosis.policy import runqueue_policy
from perfdiag.diagnosis.rule import (
    Evidence,
)
from perfdiag.diagnosis.significance import (
    percent,
)
from perfdiag.model.model import Model


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
        placed = ": threads wait because of placement" if idle >= runqueue_policy.idle_cpus_share else ""
        found.append(Evidence(f"{percent(idle)} of the host's CPU time was idle{placed}", idle, "share", "/proc/stat"))
    return found
