"""Facts of a recording of the whole host.

Files of processes were read of the busiest ones only, and after the window: they are neither "the target's" nor all.
"""

from collections.abc import Mapping

from perfdiag.facts.host_facts import Facts
from perfdiag.facts.jvm import HotSpot
from perfdiag.facts.process import Descriptors, Process


class HostFacts(Facts):
    """Host facts without those of processes; control groups keep their names and limits."""

    @property
    def processes(self) -> Mapping[int, Process]:
        """No process is the target."""
        return {}

    @property
    def descriptors(self) -> Mapping[int, Descriptors]:
        """No process is the target."""
        return {}

    @property
    def java_machines(self) -> Mapping[int, HotSpot]:
        """No process is the target."""
        return {}
