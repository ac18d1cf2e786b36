"""What was measured, when and where."""

from perfdiag.report.contract.base import Part, Untrusted


class Process(Part, frozen=True, kw_only=True):
    """One process of the target."""

    pid: int
    namespace_pid: int  # in its own pid namespace
    comm: Untrusted


class Application(Part, frozen=True, kw_only=True):
    """An application that was recognised in the target, and by which means it was read."""

    pid: int  # the first process it was met in
    kind: str  # postgresql, mariadb, mysql or hotspot
    version: Untrusted  # "": not known
    processes: int  # when it was met
    means: str  # what was read: my_wait_event_info, counters in memory or in a file; "": nothing
    lack: Untrusted  # why nothing was read


class Target(Part, frozen=True, kw_only=True):
    """The first process given, and all of them."""

    command: Untrusted  # what was asked: "perfdiag latency --port 5432"; of a recording, what asks for the same again
    pid: int
    namespace_pid: int
    comm: Untrusted
    threads: int  # that have a ledger
    processes: list[Process]
    applications: list[Application] = []


class Window(Part, frozen=True, kw_only=True):
    """The measured window; `start` is wall-clock time, RFC 3339, UTC."""

    start: str
    duration_ns: int
    asked_ns: int  # 0: until told to stop
    ended: str  # why: duration, signal, command ended, targets gone, output closed, cut off


class KernelSaid(Part, frozen=True, kw_only=True):
    """A trouble that the kernel logged in the window."""

    text: Untrusted  # of the first line, names of users as "#"; other lines may have other numbers in it
    count: int


class UnusualSetting(Part, frozen=True, kw_only=True):
    """A setting of the host or the target that is not the usual one, and bears on much of the time."""

    text: Untrusted  # "/srv (ext4) is mounted with sync"
    effect: str  # "each write waits until it is safe"
    shown_by: Untrusted  # a file or a command
    ns: int  # the time that it may have made longer
    findings: list[str]  # ids of those that name it


class Host(Part, frozen=True, kw_only=True):
    """The host of the recording."""

    name: Untrusted  # here and in the next two: "" where a script recorded, which cannot know
    kernel: str
    machine: str
    cpus: int | None
    hypervisor: str | None
