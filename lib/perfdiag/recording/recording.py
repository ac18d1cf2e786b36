"""A recording in memory: its lines by type."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from perfdiag.recording import schema

MOST_PROBLEMS_TOLD = 20

# Lines that are kept as they come.
LISTS: dict[type[schema.Line], str] = {
    schema.Because: "because",
    schema.Stack: "stacks",
    schema.Unnamed: "unnamed",
    schema.Interpreter: "interpreters",
    schema.Application: "applications",
    schema.DatabaseWait: "database_waits",
    schema.Statement: "statements",
    schema.NamedCall: "named_calls",
    schema.Answer: "answers",
    schema.SqlCall: "sql_calls",
    schema.Device: "devices",
    schema.DiskUser: "disk_users",
    schema.FileFlush: "files_flushed",
    schema.FileRead: "files_read",
    schema.Writeback: "writebacks",
    schema.Dirtier: "dirtiers",
    schema.PacketDrop: "packet_drops",
    schema.PeerStack: "peer_stacks",
    schema.PeerWait: "peer_waits",
    schema.FailedCall: "failed_calls",
    schema.Socket: "sockets",
    schema.Exchange: "exchanges",
    schema.Latency: "latencies",
    schema.RequestsInside: "requests_inside",
    schema.RequestLeft: "requests_left",
    schema.RequestParked: "requests_parked",
    schema.RequestUnread: "requests_unread",
    schema.Silent: "silent",
    schema.Rpc: "rpcs",
    schema.NfsFlush: "nfs_flushes",
    schema.NfsServer: "nfs_server",
    schema.Cpu: "cpus",
    schema.VmExit: "vm_exits",
    schema.Calibration: "calibrations",
    schema.Operation: "operations",
    schema.Event: "events",
    schema.GivenUp: "given_up",
}
PLACES: Mapping[type[schema.Line], str] = LISTS | {
    schema.Detail: "details",
    schema.Thread: "threads",
    schema.Exited: "exited",
    schema.Process: "processes",
    schema.Interval: "intervals",
}


@dataclass
class Recording:
    """All lines of a recording by type, in the order they came; of each thing only its last line."""

    header: schema.Header
    facts: list[schema.Fact] = field(default_factory=list)
    threads: dict[int, schema.Thread] = field(default_factory=dict)  # by serial
    exited: dict[str, schema.Exited] = field(default_factory=dict)  # by comm; cumulative, the last one counts
    processes: dict[tuple[int, str], schema.Process] = field(default_factory=dict)  # pid, comm; of a host
    intervals: list[schema.Interval] = field(default_factory=list)  # the last one: they are cumulative
    details: dict[tuple[int, str, str], schema.Detail] = field(default_factory=dict)  # pid, account, object
    because: list[schema.Because] = field(default_factory=list)
    stacks: list[schema.Stack] = field(default_factory=list)
    unnamed: list[schema.Unnamed] = field(default_factory=list)
    interpreters: list[schema.Interpreter] = field(default_factory=list)
    applications: list[schema.Application] = field(default_factory=list)
    database_waits: list[schema.DatabaseWait] = field(default_factory=list)
    statements: list[schema.Statement] = field(default_factory=list)
    named_calls: list[schema.NamedCall] = field(default_factory=list)
    answers: list[schema.Answer] = field(default_factory=list)
    sql_calls: list[schema.SqlCall] = field(default_factory=list)
    devices: list[schema.Device] = field(default_factory=list)
    disk_users: list[schema.DiskUser] = field(default_factory=list)
    files_flushed: list[schema.FileFlush] = field(default_factory=list)
    files_read: list[schema.FileRead] = field(default_factory=list)
    writebacks: list[schema.Writeback] = field(default_factory=list)
    dirtiers: list[schema.Dirtier] = field(default_factory=list)
    packet_drops: list[schema.PacketDrop] = field(default_factory=list)
    peer_stacks: list[schema.PeerStack] = field(default_factory=list)
    peer_waits: list[schema.PeerWait] = field(default_factory=list)
    failed_calls: list[schema.FailedCall] = field(default_factory=list)
    sockets: list[schema.Socket] = field(default_factory=list)
    exchanges: list[schema.Exchange] = field(default_factory=list)
    latencies: list[schema.Latency] = field(default_factory=list)
    requests_inside: list[schema.RequestsInside] = field(default_factory=list)  # at most one
    requests_left: list[schema.RequestLeft] = field(default_factory=list)
    requests_parked: list[schema.RequestParked] = field(default_factory=list)
    requests_unread: list[schema.RequestUnread] = field(default_factory=list)
    silent: list[schema.Silent] = field(default_factory=list)
    rpcs: list[schema.Rpc] = field(default_factory=list)
    nfs_flushes: list[schema.NfsFlush] = field(default_factory=list)
    nfs_server: list[schema.NfsServer] = field(default_factory=list)
    cpus: list[schema.Cpu] = field(default_factory=list)
    vm_exits: list[schema.VmExit] = field(default_factory=list)
    calibrations: list[schema.Calibration] = field(default_factory=list)
    operations: list[schema.Operation] = field(default_factory=list)
    events: list[schema.Event] = field(default_factory=list)
    given_up: list[schema.GivenUp] = field(default_factory=list)
    footer: schema.Footer | None = None
    problems: list[str] = field(default_factory=list)  # one a bad line, for people
    bad_lines: int = 0  # may be more than `problems` tells
    after_footer: int = 0  # the first line behind the end; 0: there is none
    goes_back: int = 0  # the first line that is older than the one it replaces; 0: there is none
    last_at_ns: int = 0  # the latest time any row carries
    lines_before_end: int = 0  # blank ones apart

    @property
    def end_ns(self) -> int:
        """When the window ended; of a recording that was cut off, the latest time any row carries."""
        return self.footer.at_ns if self.footer else self.last_at_ns

    def books(self) -> list[schema.Thread | schema.Exited | schema.Process]:
        """Return every line that carries books of its own: no nanosecond stands in two of them."""
        processes = (line for line in self.processes.values() if line.threads)
        return [*self.threads.values(), *self.exited.values(), *processes]

    def lines_of(self, kind: type[schema.Line]) -> Iterable[Any]:
        """Return the lines of one kind that count, in no order."""
        lines = getattr(self, PLACES[kind])
        return lines.values() if isinstance(lines, dict) else lines

    def problem(self, text: str) -> None:
        """Count a bad line and keep its description, unless too many are known already."""
        self.bad_lines += 1
        if len(self.problems) < MOST_PROBLEMS_TOLD:
            self.problems.append(text)
