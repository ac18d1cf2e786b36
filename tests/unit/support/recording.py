"""Build valid recordings in a few lines:

    model = (
        Builder(window="10 s")
        .thread("mysqld", cpu_user="2 s", runq_busy=("300 ms", 1200))        # the rest of the window is wait.events
        .row("disk.flush", "device:254:0", "4 s", count=1310, maximum="9.8 ms")  # more time of that thread
        .thread("cleaner", pid=100)                                          # asleep all the time
        .fact("/proc/sys/vm/swappiness", "60\\n")                             # begin and end alike
        .without("block", "no tracepoint block_rq_complete")
        .lost(ring_buffer=3)
        .model()
    )

Times are int nanoseconds or texts ("4 s", "9.8 ms", "120 us", "7 ns").  Accounts as keywords are written with "_"
for ".": disk_flush.  A thread's account is a time, or (time, count), or (time, count, longest).  Books are closed by
`rest`; a thread with more accounts than wall time is an error of the test, unless `open_books=True`.
"""

from __future__ import annotations

import io
from collections.abc import Mapping

import msgspec
from perfdiag.model import builder
from perfdiag.model.model import Model
from perfdiag.recording import reader, schema
from perfdiag.recording.recording import Recording

from unit.support.amounts import Time, nanoseconds
from unit.support.books import details, interval
from unit.support.other_lines import OtherLines
from unit.support.threads import START_NS

TICK_NS = 4_000_000
FEATURES = (
    "peers",
    "ledger",
    "idle_state",
    "clock",
    "clock_counters",
    "irq",
    "block",
    "reclaim",
    "compaction",
    "compaction_order",
    "dirty_throttle",
    "disk_users",
    "fault_file",
    "packet_drops",
    "failed_calls",
    "page_cache",
    "stacks",
    "operations",
    "group",
    "requests",
    "tcp",
    "chains",
    "steal",
    "throttle",
    "oom",
    "vm",
    "vm_device",
)
COUNTERS = (
    "ring_buffer",
    "storage_failed",
    "detail_full",
    "names_full",
    "wakeups_missing",
    "switches_missing",
    "snapshots_torn",
    "stacks_failed",
    "stacks_dropped",
    "exited_folded_full",
    "vm_exits_full",
    "files_full",
    "dirtiers_full",
    "disk_users_full",
    "rpc_full",
    "devices_full",
    "operations_full",
    "connections_full",
    "databases_full",
    "statements_full",
    "statements_torn",
    "statements_unread",
    "failed_calls_full",
    "peers_full",
    "exchanges_full",
    "named_calls_full",
    "answers_full",
    "because_full",
    "programs_skipped",
    "calls_skipped",
    "details",
    "stacks",
    "events",
    "output_lines",
)

STATEMENTS = ("SELECT ", "COMMIT")  # how limits of these begin


class Builder(OtherLines):
    """A recording in the making; every method returns the builder."""

    def __init__(
        self,
        *,
        window: Time = "10 s",
        comm: str = "app",
        pid: int = 100,
        namespace_pid: int | None = None,
        descendants: bool = True,
        stacks: str = "sampled",
        slo: Time | None = None,
        slo_names: Mapping[str, Time] | None = None,
        no_request_names: bool = False,
        no_apps: bool = False,
        asked: str = "",
        cpus: int = 4,
    ) -> None:
        super().__init__(nanoseconds(window), pid)
        self._header = schema.Header(
            schema=schema.SCHEMA_VERSION,
            perfdiag="0.1.0",
            engine="libbpf",
            realtime_ns=1_700_000_000_000_000_000,
            start_ns=START_NS,
            host=schema.Host(
                nodename="testhost",
                release="6.12.0-test",
                machine="x86_64",
                cpus_online=cpus,
                page_size_bytes=4096,
                tick_ns=TICK_NS,
            ),
            options=schema.Options(
                duration_ns=self.window_ns,
                interval_ns=250_000_000,
                descendants=descendants,
                stacks=stacks,
                slo_ns=None if slo is None else nanoseconds(slo),
                slo_names=[
                    schema.Objective(name=name, limit_ns=nanoseconds(limit), statement=name.startswith(STATEMENTS))
                    for name, limit in (slo_names or {}).items()
                ],
                no_request_names=no_request_names,
                no_apps=no_apps,
                asked=asked,
            ),
            targets=[schema.Target(pid=pid, namespace_pid=pid if namespace_pid is None else namespace_pid, comm=comm)],
            probes=[
                schema.Probe(name=f"test_{name}", hook=f"tp_btf/{name}", feature=name, attached=True)
                for name in FEATURES
            ],
        )
        self._lost = dict.fromkeys(COUNTERS, 0)
        self._footer = True
        self._reason = "duration"
        self._cost = schema.Cost(cpu_ns=40_000_000, resident_bytes=11 << 20, programs=[])

    # The header and the footer

    def target(self, pid: int, comm: str, *, namespace_pid: int | None = None) -> Builder:
        """Add one more target process."""
        self._header.targets.append(
            schema.Target(pid=pid, namespace_pid=pid if namespace_pid is None else namespace_pid, comm=comm)
        )
        return self

    def without(self, feature: str, reason: str = "the kernel does not have the hook") -> Builder:
        """Say that the probe of a feature could not be attached."""
        probes = self._header.probes
        probes[:] = [
            msgspec.structs.replace(probe, attached=False, reason=reason) if probe.feature == feature else probe
            for probe in probes
        ]
        return self

    def probe(self, feature: str, reason: str | None = None) -> Builder:
        """Add the probe of one more feature, not attached where there is a reason."""
        self._header.probes.append(
            schema.Probe(name=feature, hook=feature, feature=feature, attached=reason is None, reason=reason)
        )
        return self

    def lost(self, **counters: int) -> Builder:
        """Set counters of the footer."""
        self._lost |= counters
        return self

    def cost(
        self,
        cpu: Time,
        resident_bytes: int | None = 11 << 20,
        programs: Mapping[str, tuple[int | None, int | None]] | None = None,
    ) -> Builder:
        """Set what the recording itself took; programs: name to (runs, ns); None is not measured."""
        self._cost = schema.Cost(
            cpu_ns=nanoseconds(cpu),
            resident_bytes=resident_bytes,
            programs=[schema.ProgramCost(name=name, runs=runs, ns=ns) for name, (runs, ns) in (programs or {}).items()],
        )
        return self

    def budget(self, max_cost_ppm: int, kept: Time, of: Time) -> Builder:
        """Set what the programs might take of the target's CPU time, and what they took since the last step."""
        options = msgspec.structs.replace(self._header.options, max_cost_ppm=max_cost_ppm)
        self._header = msgspec.structs.replace(self._header, options=options)
        self._cost = msgspec.structs.replace(self._cost, kept_ns=nanoseconds(kept), kept_of_ns=nanoseconds(of))
        return self

    def ended(self, reason: str, window: Time | None = None) -> Builder:
        """Say why the recording ended ("signal", "targets gone"), and how long its window became."""
        self._reason = reason
        if window is not None:
            self.window_ns = nanoseconds(window)
        return self

    def cut(self) -> Builder:
        """Leave out the footer, as a killed recorder does."""
        self._footer = False
        return self

    # The result

    def lines(self) -> list[schema.Line]:
        """Return all lines in the recorder's order."""
        threads = [self._thread_line(serial, thread) for serial, thread in enumerate(self._threads, 1)]
        body = [*self._lines, *threads, *self._exited, interval(self._end_ns, threads, self._exited)]
        body += details(self._details, threads, self._exited)
        lines: list[schema.Line] = [self._header, *body]
        if self._footer:
            lines.append(
                schema.Footer(
                    at_ns=self._end_ns,
                    reason=self._reason,
                    threads_seen=len(threads),
                    lost=self._lost,
                    cost=self._cost,
                )
            )
        return lines

    def bytes(self) -> bytes:
        """Return the recording as it would stand in a file."""
        return b"".join(msgspec.json.encode(line) + b"\n" for line in self.lines())

    def recording(self) -> Recording:
        """Return the recording as the reader sees it."""
        return reader.read(io.BytesIO(self.bytes()))

    def model(self) -> Model:
        """Return the model of the recording."""
        return builder.build(self.recording())


__all__ = ["COUNTERS", "Builder"]
