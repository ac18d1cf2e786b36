"""Settings of the kernel in network namespaces that the recorder could not enter: its own ones are others."""

from collections.abc import Sequence

from perfdiag.facts.host_facts import Facts
from perfdiag.facts.network_settings import NAMESPACES
from perfdiag.model.model import NotMeasured

FEATURE = "network_settings"
_WHAT = "settings of the kernel for the target's network (sysctl net.*)"


def not_measured(facts: Facts) -> Sequence[NotMeasured]:
    """Say that they are unknown."""
    if facts.texts.errors(NAMESPACES):
        why = f"it is unknown which network namespace it lives in ({facts.texts.errors(NAMESPACES)[0]})"
        return [NotMeasured(_WHAT, why, "by hand: nsenter -t PID -n sysctl -ar '^net[.]'", FEATURE)]
    unread = next((each for each in facts.network_namespaces if each.settings is None), None)
    if unread is None:
        return []
    why = f"those in the network namespace of process {unread.pid} could not be read ({unread.error})"
    return [NotMeasured(_WHAT, why, f"by hand: nsenter -t {unread.pid} -n sysctl -ar '^net[.]'", FEATURE)]
