"""The part of the host facts that is about control groups: the targets' own first, then their ancestors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perfdiag.facts import cgroup
from perfdiag.facts.cgroup import Cgroup, CpuGroup, CpusetGroup, IoGroup, MemoryGroup, PidsGroup
from perfdiag.facts.storage_facts import StorageFacts
from perfdiag.facts.texts import fact


class GroupFacts(StorageFacts):
    """Limits and counters of the groups, found through the mounts of their hierarchies."""

    @fact
    def _groups(self) -> cgroup.Reader:
        return cgroup.Reader(self.texts, self.mounts)

    @fact
    def group_depth(self) -> int | None:
        """How many visible ancestors the deepest of the targets' groups has; None where none is known."""
        return max((each.depth for each in self._groups.directories), default=None)

    @fact
    def cpu_groups(self) -> Sequence[CpuGroup]:
        """CPU bandwidth."""
        return list(self._groups.cpu())

    @fact
    def cpuset_groups(self) -> Sequence[CpusetGroup]:
        """CPUs that groups may use."""
        return list(self._groups.cpusets())

    @fact
    def memory_groups(self) -> Sequence[MemoryGroup]:
        """Memory limits."""
        return list(self._groups.memory())

    @fact
    def io_groups(self) -> Sequence[IoGroup]:
        """I/O limits."""
        return list(self._groups.io())

    @fact
    def pids_groups(self) -> Sequence[PidsGroup]:
        """Task limits."""
        return list(self._groups.pids())

    @fact
    def frozen(self) -> Mapping[int, bool]:
        """Whether the control group of a target was frozen at the end, by pid; of others it is not known."""
        return self._groups.frozen()

    def cgroup_of(self, identity: int) -> Cgroup | None:
        """Return the group of an object "cgroup:ID"."""
        return self._by_inode.get(identity)

    @fact
    def _by_inode(self) -> Mapping[int | None, Cgroup]:
        groups: list[Cgroup] = [*self.cpu_groups, *self.memory_groups, *self.io_groups, *self.pids_groups]
        return {group.inode: group for group in reversed(groups)}
