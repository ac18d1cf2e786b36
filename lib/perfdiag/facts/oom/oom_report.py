"""What a report of the OOM killer says: typed, in bytes.  None is "the log does not say", never zero.

Names (comm, cgroup paths, zones) come from the log and are hostile.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

PAGE_BYTES = 4096  # where the log has no line that tells


@dataclass(frozen=True)
class Task:
    """A row of the table of tasks, which the kernel prints unless vm.oom_dump_tasks is 0."""

    pid: int
    name: str
    resident_bytes: int
    page_table_bytes: int
    swap_bytes: int
    oom_score_adj: int

    @property
    def held_bytes(self) -> int:
        """What its end would free, as the kernel counts it to choose a victim."""
        return self.resident_bytes + self.page_table_bytes + self.swap_bytes


@dataclass(frozen=True)
class Victim:
    """A process that was killed."""

    pid: int
    comm: str
    anonymous_bytes: int | None = None
    file_bytes: int | None = None
    shared_bytes: int | None = None
    oom_score_adj: int | None = None
    at_ns: int | None = None  # when it was told to end, on the clock of the entries

    @property
    def resident_bytes(self) -> int | None:
        """What it had in memory."""
        parts = [self.anonymous_bytes, self.file_bytes, self.shared_bytes]
        known = [part for part in parts if part is not None]
        return sum(known) if known else None


@dataclass(frozen=True)
class GroupMemory:
    """The control group whose limit was met."""

    path: str  # "" where the log does not say
    usage_bytes: int | None = None
    limit_bytes: int | None = None
    swap_limit_bytes: int | None = None
    stat: Mapping[str, int] = field(default_factory=dict)  # as memory.stat, in bytes where that is


@dataclass(frozen=True)
class Zone:
    """A part of a node's memory; `blocks` are free blocks by their size in bytes."""

    node: int
    name: str
    free_bytes: int
    minimum_bytes: int | None = None
    reserved_pages: int = 0  # kept back from requests that any higher zone could serve
    blocks: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class HostMemory:
    """The memory of the whole host; `pages` are counts by the kernel's names (active_anon, shmem, dirty, ...)."""

    pages: Mapping[str, int]
    zones: Sequence[Zone] = ()
    cache_pages: int | None = None  # "total pagecache pages": files, shared memory and what of both is in swap
    total_pages: int | None = None
    reserved_pages: int | None = None
    swap_free_bytes: int | None = None
    swap_total_bytes: int | None = None
    page_bytes: int = PAGE_BYTES

    def bytes(self, name: str) -> int | None:
        """Return a count of `pages` in bytes."""
        return None if name not in self.pages else self.pages[name] * self.page_bytes

    @property
    def usable_bytes(self) -> int | None:
        """Memory that the kernel hands out."""
        if self.total_pages is None:
            return None
        return (self.total_pages - (self.reserved_pages or 0)) * self.page_bytes


@dataclass(frozen=True)
class Report:
    """One run of the OOM killer, from "invoked" to its last victim, as far as the log has it."""

    at_ns: int | None  # of its first line, on the log's own clock
    realtime_ns: int | None  # as the log says it; None: only the clock since boot is known
    begin: bool  # its first line ("invoked oom-killer") is in the log
    asker: str = ""
    asker_pid: int | None = None
    order: int | None = None  # 2**order pages together were asked for; -1: by hand (sysrq f)
    gfp: str = ""  # "GFP_KERNEL|__GFP_NOWARN"
    constraint: str = ""  # CONSTRAINT_NONE, _MEMCG, _CPUSET, _MEMORY_POLICY
    nodes: str = ""  # memory nodes that were allowed, "0-1"
    cpuset: str = ""
    group: GroupMemory | None = None
    of_group: bool = False  # the kernel says that it was out of memory in a control group
    host: HostMemory | None = None
    tasks: Sequence[Task] = ()
    chosen_pid: int | None = None
    victims: Sequence[Victim] = ()
    allocating: bool = False  # vm.oom_kill_allocating_task: whoever asks is killed
    kills: int = 0  # as the kernel counts them: with memory.oom.group the one that was chosen counts twice
    whole_group: str | None = None  # memory.oom.group: all of this group were killed
    reaped: Sequence[int] = ()  # pids whose memory was taken back before they ended
    unreaped: Sequence[int] = ()  # pids that kept it: they could not be reaped
    killable: bool = True  # False: nobody was left who could be killed
    panic: bool = False
    sequence: int | None = None  # of the last record of /dev/kmsg that told a victim, else of the first
    ambiguous: bool = False  # names that users choose look like parts of the line that names group, cpuset and nodes
    mixed: bool = False  # lines of another report stand between its own: sizes may be of either

    @property
    def order_pages(self) -> int:
        """How many pages were wanted together."""
        return 1 << self.order if self.order is not None and 0 <= self.order <= 32 else 1

    @property
    def victim(self) -> Victim | None:
        """The one that was chosen; others went with it."""
        return next((each for each in self.victims if each.pid == self.chosen_pid), None) or next(
            iter(self.victims), None
        )
