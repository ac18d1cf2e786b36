"""The lines of a recording that are not about the time of threads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from perfdiag.recording import schema

from unit.support.amounts import Sum, Time, account_name, bucket_of, nanoseconds, sum_of
from unit.support.books import account_sums, close
from unit.support.exchanging import Exchanging
from unit.support.threads import START_NS, Threads


class OtherLines(Exchanging, Threads):
    """The part of a builder that only adds lines; every method returns the builder."""

    def __init__(self, window_ns: int, pid: int) -> None:
        super().__init__(window_ns, pid)
        self._lines: list[schema.Line] = []

    def line(self, line: schema.Line) -> Self:
        """Add a line as it is."""
        self._lines.append(line)
        return self

    def because(
        self,
        account: str,
        object: str,
        root: str,
        time: Time,
        root_object: str = "",
        *,
        steps: Sequence[str] = (),
        cut: bool = False,
        count: int = 100,
        root_tid: int = 0,
        inside: bool = False,
    ) -> Self:
        """Add what was waited for in an account and object of the first target: a root, which one thread was in."""
        ns = nanoseconds(time)
        return self.line(
            schema.Because(
                pid=self.pid,
                account=account,
                object=object,
                steps=list(steps),
                cut=cut,
                root=root,
                root_object=root_object,
                root_tid=root_tid,
                root_tid_ns=ns if root_tid else 0,
                sum_ns=ns,
                count=count,
                inside=inside,
            )
        )

    def fact(
        self,
        path: str,
        text: str | None,
        end: str | None = None,
        *,
        error: str | None = None,
        truncated: bool = False,
    ) -> Self:
        """Add a host fact at the begin and (as `end`, or unchanged) at the end; text None with an error: unreadable;
        truncated: the end is not all of it."""
        for phase, at_ns, value in (("begin", START_NS, text), ("end", self._end_ns, text if end is None else end)):
            cut = truncated and phase == "end"
            self._lines.append(schema.Fact(at_ns=at_ns, phase=phase, path=path, text=value, error=error, truncated=cut))
        return self

    def series(self, path: str, *texts: str) -> Self:
        """Add a host fact read several times, evenly over the window."""
        for index, text in enumerate(texts):
            at_ns = START_NS + self.window_ns * index // max(1, len(texts) - 1)
            self._lines.append(schema.Fact(at_ns=at_ns, phase="series", path=path, text=text))
        return self

    def stack(
        self,
        kind: str,
        account: str = "cpu.user",
        *,
        kernel: Sequence[str] = (),
        user: Sequence[str] = (),
        scan: Sequence[str] = (),
        object: str = "",
        count: int = 1,
        weight: Time = "1 ms",
        tid: int | None = None,
        pid: int | None = None,
        long_turns: int = 0,
        script: Sequence[str] = (),
    ) -> Self:
        """Add a sampled stack; functions innermost first."""
        thread = self._threads[-1] if self._threads else {"pid": self.pid, "tid": self.pid}
        self._lines.append(
            schema.Stack(
                kind=kind,
                pid=thread["pid"] if pid is None else pid,
                tid=thread["tid"] if tid is None else tid,
                account=account,
                object=object,
                count=count,
                weight_ns=nanoseconds(weight),
                kernel=list(kernel),
                user=list(user),
                scan=list(scan),
                script=list(script),
                long_turn_count=long_turns,
            )
        )
        return self

    def interpreter(self, file: str, *, known: bool = True) -> Self:
        """Add a file that runs scripts."""
        self._lines.append(schema.Interpreter(file=file, known=known))
        return self

    def unnamed(self, file: str, reason: str, addresses: int) -> Self:
        """Add so many addresses of stacks that have no name."""
        self._lines.append(schema.Unnamed(file=file, reason=reason, addresses=addresses))
        return self

    def device(
        self,
        device: str = "254:0",
        operation: str = "write",
        *,
        count: int,
        queue: Time = "10 us",
        service: Time = "1 ms",
        maximum: Time | None = None,
        errors: int = 0,
        bytes: int | None = None,
    ) -> Self:
        """Add requests of a block device; `queue` and `service` are means per request."""
        queue_ns, service_ns = nanoseconds(queue), nanoseconds(service)
        self._lines.append(
            schema.Device(
                device=device,
                operation=operation,
                count=count,
                errors=errors,
                bytes=4096 * count if bytes is None else bytes,
                queue_ns=queue_ns * count,
                service_ns=service_ns * count,
                max_ns=queue_ns + service_ns if maximum is None else nanoseconds(maximum),
                queue_buckets=[(bucket_of(queue_ns), count)],
                service_buckets=[(bucket_of(service_ns), count)],
            )
        )
        return self

    def file_read(self, object: str, bytes: int, *, size_bytes: int, waits: int = 0, waited: Time = 0) -> Self:
        """Add a file that was read from its disk."""
        self._lines.append(
            schema.FileRead(object=object, bytes=bytes, size_bytes=size_bytes, waits=waits, sum_ns=nanoseconds(waited))
        )
        return self

    def file_flush(self, object: str, waits: int, waited: Time) -> Self:
        """Add a file that was flushed to its disk."""
        self._lines.append(schema.FileFlush(object=object, waits=waits, sum_ns=nanoseconds(waited)))
        return self

    def writeback(
        self, device: str, dirty_bytes: int, *, written_bytes: int, span: Time, rounds: int = 100, cgroup: int = 1
    ) -> Self:
        """Add the dirty pages of a device."""
        self._lines.append(
            schema.Writeback(
                device=device,
                cgroup=cgroup,
                rounds=rounds,
                dirty_bytes=dirty_bytes,
                written_bytes=written_bytes,
                span_ns=nanoseconds(span),
            )
        )
        return self

    def dirtier(self, device: str, comm: str, bytes: int, *, pid: int | None = None, rounds: int = 100) -> Self:
        """Add a thread that dirtied pages of a device."""
        pid = self.pid if pid is None else pid
        self._lines.append(schema.Dirtier(device=device, pid=pid, tid=pid, comm=comm, rounds=rounds, bytes=bytes))
        return self

    def disk_user(
        self,
        device: str,
        comm: str,
        *,
        read: int = 0,
        written: int = 0,
        pid: int | None = None,
        kernel: bool = False,
        io_class: str | None = None,
    ) -> Self:
        """Add a process that read from a device, or wrote to it, in pieces of 64 KiB."""
        self._lines.append(
            schema.DiskUser(
                device=device,
                pid=self.pid if pid is None else pid,
                comm=comm,
                kernel_thread=kernel,
                io_class=io_class,
                count=-(-(read + written) // 65_536),
                read_bytes=read,
                written_bytes=written,
            )
        )
        return self

    def socket(self, object: str, **fields: Any) -> Self:
        """Add a TCP socket; fields not given are those of a healthy connection."""
        healthy: dict[str, Any] = {
            "local": "10.0.0.2:40000",
            "rtt_us": 200,
            "minimum_rtt_us": 150,
            "congestion_window": 10,
            "in_flight": 0,
            "send_window_bytes": 65_536,
            "receive_window_bytes": 65_536,
            "retransmits": 0,
            "retransmits_seen": 0,
            "waits_congestion": 0,
            "waits_receiver": 0,
            "waits_buffer": 0,
        }
        self._lines.append(schema.Socket(object=object, **(healthy | fields)))
        return self

    def packet_drop(self, object: str, kind: str, count: int) -> Self:
        """Add packets of a peer that this host dropped."""
        return self.line(schema.PacketDrop(object=object, kind=kind, count=count))

    def cpu(
        self,
        cpu: int,
        ran: Time,
        *,
        clock: tuple[Time, int] | None = None,
        changes: int = 0,
        idle: Mapping[int, tuple[int, Time]] | None = None,
        counted: tuple[int, int, int] = (0, 0, 0),
    ) -> Self:
        """Add a CPU the target ran on; clock: for how long at how many Hz; idle: state to (count, time in it).

        counted: ticks, delivered and rated cycles.
        """
        clock_ns, hz = (nanoseconds(clock[0]), clock[1]) if clock else (0, 0)
        self._lines.append(
            schema.Cpu(
                cpu=cpu,
                ran_ns=nanoseconds(ran),
                clock_ns=clock_ns,
                clock_cycles=clock_ns * hz // 1_000_000_000,
                clock_changes=changes,
                idle=[(state, count, nanoseconds(time)) for state, (count, time) in (idle or {}).items()],
                clock_ticks=counted[0],
                delivered_cycles=counted[1],
                rated_cycles=counted[2],
            )
        )
        return self

    def vm_exit(
        self,
        code: int,
        running: Time,
        count: int,
        *,
        vendor: str = "svm",
        user: bool = False,
        device: str = "",
        waiting: Time = 0,
        halted: Time = 0,
        polled: Time = 0,
    ) -> Self:
        """Add exits of the last thread's process, with their time on a CPU in its books."""
        running_ns, sum_ns = nanoseconds(running), nanoseconds(running) + nanoseconds(waiting)
        self.row("vm.exit", f"vmexit:{vendor}:{code}", running_ns, count=count)
        self._lines.append(
            schema.VmExit(
                pid=self._threads[-1]["pid"],
                vendor=vendor,
                code=code,
                user=user,
                device=device,
                count=count,
                sum_ns=sum_ns,
                max_ns=sum_ns // count,
                running_ns=running_ns,
                halted_ns=nanoseconds(halted),
                polled_ns=nanoseconds(polled),
                buckets=[(bucket_of(sum_ns // count), count)],
            )
        )
        return self

    def calibration(
        self,
        shortest_ns: int,
        median_ns: int | None = None,
        *,
        tries: int = 400,
        late: tuple[Time, Time] | None = None,
    ) -> Self:
        """Add a calibrated loop of 30,000 cycles; `late`: how late ten sleeps ended, at best and half of them."""
        self._lines.append(
            schema.Calibration(
                at_ns=START_NS,
                cycles=30_000,
                shortest_ns=shortest_ns,
                median_ns=shortest_ns if median_ns is None else median_ns,
                tries=tries,
                late_shortest_ns=None if late is None else nanoseconds(late[0]),
                late_median_ns=None if late is None else nanoseconds(late[1]),
                sleeps=0 if late is None else 10,
            )
        )
        return self

    def operation(
        self,
        name: str,
        *,
        durations: Mapping[str, int],
        errors: int = 0,
        over_slo: int = 0,
        over_slo_accounts: Mapping[str, Sum] | None = None,
        **accounts: Sum,
    ) -> Self:
        """Add one kind of operation with the durations it had: {"3 ms": 400, "5 s": 2}."""
        each = [(nanoseconds(text), number) for text, number in durations.items()]
        buckets: dict[int, int] = {}
        for ns, number in each:
            buckets[bucket_of(ns)] = buckets.get(bucket_of(ns), 0) + number
        sums = {account_name(key): sum_of(value) for key, value in accounts.items()}
        whole_ns = sum(n * c for n, c in each)
        close(sums, max(whole_ns, sum(ns for ns, _, _ in sums.values())), "cpu.user", open_books=False)
        slow = {account_name(key): sum_of(value) for key, value in (over_slo_accounts or {}).items()}
        self._lines.append(
            schema.Operation(
                name=name,
                count=sum(number for _, number in each),
                errors=errors,
                sum_ns=sum(n * c for n, c in each),
                max_ns=max(ns for ns, _ in each),
                buckets=sorted(buckets.items()),
                over_slo=over_slo,
                accounts=account_sums(sums),
                over_slo_accounts=account_sums(slow),
            )
        )
        return self

    def event(self, name: str, text: str = "", *, pid: int | None = None, at: Time = 0, **more: Any) -> Self:
        """Add a rare event, `at` after the start."""
        pid = self.pid if pid is None else pid
        at_ns = START_NS + nanoseconds(at)
        self._lines.append(schema.Event(at_ns=at_ns, name=name, pid=pid, tid=pid, text=text, **more))
        return self


__all__ = ["OtherLines"]
